//! Redirections: the operator, and the file that it reads or writes.

use super::{
    current_folders::Folders,
    reader::{DIFFERS, Reader, is_delimiter},
    script::{Access, FileUse, Redirected},
};

impl Reader<'_, '_> {
    /// Parses the redirections after `}`, `)`, `fi` and `done`.
    pub(super) fn trailing_redirections(&mut self, folders: &Folders) {
        loop {
            self.blanks();
            let digit = self.byte(0).is_some_and(|byte| byte.is_ascii_digit());
            match self.byte(usize::from(digit)) {
                Some(b'<' | b'>') => {
                    self.at += usize::from(digit);
                    let redirected = self.redirection(folders);
                    self.script.has_shared_input |= redirected.reads_file;
                    self.script.mixes_errors |= redirected.mixes_errors;
                }
                Some(b'&') if self.starts("&>") => {
                    self.doubt_at(self.at, DIFFERS);
                    return;
                }
                Some(b'#') if !digit => return self.comment(),
                None => return,
                Some(byte) if matches!(byte, b'\n' | b';' | b'&' | b'|' | b')') && !digit => return,
                _ => return self.doubt_at(self.at, "is out of place"),
            }
        }
    }

    /// Returns true if the word is the file descriptor of a redirection directly after it.
    pub(super) fn is_descriptor(&mut self, from: usize) -> bool {
        let text = &self.text[from..self.at];
        if !matches!(self.byte(0), Some(b'<' | b'>')) || self.byte(1) == Some(b'(') {
            return false;
        }
        if text.starts_with('{') || (text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_digit())) {
            self.doubt_at(from, DIFFERS);
        }
        text.len() == 1 && text.as_bytes()[0].is_ascii_digit()
    }

    /// Parses a redirection at its operator.
    pub(super) fn redirection(&mut self, folders: &Folders) -> Redirected {
        let start = self.at;
        let duplicates_output = self.starts(">&") && !self.starts(">&2");
        let redirected = |reads_file, mixes_errors| Redirected { reads_file, mixes_errors };
        let Some(access) = self.redirection_operator() else { return redirected(false, duplicates_output) };
        self.blanks();
        if matches!(self.byte(0), Some(b'<' | b'>')) && self.byte(1) == Some(b'(') {
            self.doubt_at(start, "is not understood");
            self.substituted("<(");
            return redirected(true, duplicates_output);
        }
        let from = self.at;
        let word = self.word();
        if from == self.at {
            self.doubt_at(start, "does not name a file");
            return redirected(true, duplicates_output);
        }
        if matches!(self.byte(0), Some(b'<' | b'>'))
            && self.text[from..self.at].bytes().all(|byte| byte.is_ascii_digit())
        {
            self.doubt_at(start, "is not understood");
        }
        let path = word.path().map(str::to_owned);
        let source = self.text[from..self.at].to_owned();
        let at = self.source_position(from);
        let reads = access == Access::Read && path.as_deref() != Some("/dev/null");
        // Errors may go where the output goes.
        let is_device =
            |path: &str| path != "/dev/null" && (path.starts_with("/dev/") || path.starts_with("/proc/"));
        let mixes = access == Access::Write && path.as_deref().is_none_or(is_device);
        self.script.files.push(FileUse { path, word, source, access, folders: folders.clone(), at });
        redirected(reads, mixes || duplicates_output)
    }

    /// Parses the operator of a redirection. Returns the access to the file after it; `None` if no file
    /// follows.
    fn redirection_operator(&mut self) -> Option<Access> {
        let start = self.at;
        // dash has no here-strings.
        if self.starts("<<<") {
            self.doubt_at(start, DIFFERS);
            self.at += 3;
            self.blanks();
            let word = self.word();
            self.loose_word(None, word);
            return None;
        }
        if self.starts("<<") {
            self.at += 2;
            self.heredoc();
            return None;
        }
        if self.starts("<&") || self.starts(">&") {
            return self.duplication();
        }
        if self.starts("<>") {
            self.doubt_at(start, "is not understood");
        }
        let (length, access) = match () {
            () if self.starts("<>") || self.starts(">>") || self.starts(">|") => (2, Access::Write),
            () if self.starts(">") => (1, Access::Write),
            () => (1, Access::Read),
        };
        self.at += length;
        Some(access)
    }

    /// Parses `>&1` and `<&-`. With any other word, some shells write to a file of that name.
    fn duplication(&mut self) -> Option<Access> {
        let start = self.at;
        // Another descriptor may be any file.
        self.script.has_shared_input |= self.starts("<&");
        self.at += 2;
        self.blanks();
        let is_descriptor = self.byte(0).is_some_and(|byte| byte.is_ascii_digit() || byte == b'-')
            && self.byte(1).is_none_or(is_delimiter);
        if !is_descriptor {
            self.doubt_at(start, DIFFERS);
            return Some(Access::Write);
        }
        self.at += 1;
        // `2>&1<x` has no number before its `<`.
        if matches!(self.byte(0), Some(b'<' | b'>')) {
            self.doubt_at(start, "is not understood");
        }
        None
    }
}
