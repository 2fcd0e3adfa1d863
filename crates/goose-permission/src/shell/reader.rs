//! [`Reader`]: parses the characters and words of a command line.
//!
//! It supports a subset of the syntax that dash and all versions of bash parse alike, also in POSIX mode.
//! Everything else is a doubt, and parsing continues after it as well as possible, so that a denied command
//! is still found. Every byte is read once, and nesting is limited.

use super::{
    current_folders::{Flow, Folders},
    expansions::Quotes,
    heredoc::Heredoc,
    script::{Context, LooseWord, MAX_COMMAND_BYTES, MAX_NESTING, MAX_PARTS, Script, TOO_MANY_PARTS},
    word::{Unknown, Word, WordBuilder},
};

/// Maximum nesting of brackets, loops and quotes.
const MAX_DEPTH: usize = 48;

/// Maximum number of doubts that are kept: one is enough to ask.
const MAX_DOUBTS: usize = 32;

/// Maximum number of characters of the source that a doubt shows.
const SHOWN_CHARS: usize = 60;

/// Doubt about syntax that dash, bash and bash in POSIX mode do not parse alike.
pub(super) const DIFFERS: &str = "means different things to different shells";

/// Reserved words of shells, which are recognized at the start of a command.
pub(super) const RESERVED: [&str; 19] = [
    "!", "{", "}", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function",
    "if", "select", "then", "until", "while",
];

/// A parser and its position in a command line.
pub(super) struct Reader<'t, 's> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) script: &'s mut Script,
    /// Position of the text in the whole source, if it is a part of it.
    pub(super) origin: Option<usize>,
    /// Nesting of shells.
    pub(super) nesting: usize,
    /// Number of open brackets and loops.
    pub(super) depth: usize,
    /// Number of open `$(`.
    pub(super) substitutions: usize,
    /// Here-documents whose texts start in the next line.
    pub(super) heredocs: Vec<Heredoc>,
    /// Folders that the next command may run in.
    pub(super) folders: Folders,
    /// Context of the next command.
    pub(super) context: Context,
    /// Number of changes of the shell's folder so far.
    pub(super) moves: usize,
    /// True if a here-document had no end. Further ones are not parsed then.
    pub(super) has_open_heredoc: bool,
}

impl Reader<'_, '_> {
    /// Parses a whole script, and returns the folders afterwards.
    pub(super) fn read(script: &mut Script, text: &str) -> Flow {
        let reader = Reader {
            text,
            at: 0,
            script,
            origin: None,
            nesting: 0,
            depth: 0,
            substitutions: 0,
            heredocs: Vec::new(),
            folders: Folders::here(),
            context: Context::default(),
            moves: 0,
            has_open_heredoc: false,
        };
        reader.read_all()
    }

    /// Parses a part of this text that a shell evaluates again.
    pub(super) fn nested(&mut self, text: &str) -> Flow {
        Reader { nesting: self.nesting + 1, depth: 0, substitutions: 0, ..self.within(text) }.read_all()
    }

    /// Returns a parser for a part of this text.
    pub(super) fn within<'t>(&mut self, text: &'t str) -> Reader<'t, '_> {
        Reader {
            text,
            at: 0,
            origin: Some(self.source_position(self.at)),
            nesting: self.nesting,
            depth: self.depth,
            substitutions: self.substitutions,
            heredocs: Vec::new(),
            folders: self.folders.clone(),
            context: self.context,
            moves: 0,
            has_open_heredoc: false,
            script: self.script,
        }
    }

    fn read_all(mut self) -> Flow {
        if self.nesting > MAX_NESTING {
            return self.leave_unread("it nests shells too deeply");
        }
        if self.text.len() > MAX_COMMAND_BYTES {
            return self.leave_unread("it is too long to check");
        }
        if self.text.bytes().any(|byte| !matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
            && self.text.chars().any(is_strange)
        {
            self.doubt("it has control characters or unusual blanks");
        }
        self.whole()
    }

    /// Returns the position of a byte of this text in the whole source.
    pub(super) fn source_position(&self, at: usize) -> usize {
        self.origin.unwrap_or(at)
    }

    pub(super) fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn starts(&self, text: &str) -> bool {
        self.text.as_bytes()[self.at..].starts_with(text.as_bytes())
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Stops parsing. The command needs approval in every mode, because the rest may contain anything.
    pub(super) fn leave_unread(&mut self, reason: &'static str) -> Flow {
        self.script.unread = Some(reason);
        self.at = self.text.len();
        Flow::stays(Folders::Unknown)
    }

    /// Counts commands and words; returns false if there are too many.
    pub(super) fn spend(&mut self, parts: usize) -> bool {
        self.script.parts = self.script.parts.saturating_add(parts);
        self.script.parts <= MAX_PARTS
    }

    /// Adds a doubt.
    pub(super) fn doubt(&mut self, reason: impl Into<String>) {
        if self.script.doubts.len() < MAX_DOUBTS {
            self.script.doubts.push(reason.into());
        }
    }

    /// Adds a doubt about the text at a position.
    pub(super) fn doubt_at(&mut self, from: usize, reason: &str) {
        if self.script.doubts.len() < MAX_DOUBTS {
            let shown = shown(&self.text[from..]);
            self.doubt(format!("`{shown}` {reason}"));
        }
    }

    /// Enters a nested part; returns false if the nesting is too deep, and stops parsing.
    pub(super) fn enter(&mut self) -> bool {
        self.depth += 1;
        let is_fine = self.depth <= MAX_DEPTH;
        if !is_fine {
            self.leave_unread("its parts are nested too deeply");
        }
        is_fine
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Skips blanks within a line, and line continuations between words.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.byte(0) {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.byte(1) == Some(b'\n') => {
                    let before = self.at.checked_sub(1).map(|at| self.text.as_bytes()[at]);
                    self.at += 2;
                    if !matches!(before, None | Some(b' ' | b'\t' | b'\n')) || self.byte(0) == Some(b'#') {
                        self.doubt_at(self.at - 2, "is a line continuation in an unusual place");
                    }
                    if !self.heredocs.is_empty() {
                        self.doubt("a line continues before its here-document");
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips blanks, line ends and comments between commands.
    pub(super) fn lines(&mut self) {
        loop {
            self.blanks();
            match self.byte(0) {
                Some(b'\n') => self.line_end(),
                Some(b'#') => self.comment(),
                _ => return,
            }
        }
    }

    pub(super) fn line_end(&mut self) {
        self.at += 1;
        if !self.heredocs.is_empty() {
            self.heredoc_bodies();
        }
    }

    /// Skips a comment.
    pub(super) fn comment(&mut self) {
        let end = self.text[self.at..].find('\n').map_or(self.text.len(), |length| self.at + length);
        if self.substitutions > 0 || self.text[self.at..end].ends_with('\\') {
            self.doubt_at(self.at, "may not be a comment");
        }
        self.at = end;
    }

    /// Returns the reserved word at this position.
    pub(super) fn reserved(&self) -> Option<&'static str> {
        // One byte more than the longest reserved word.
        let rest = self.text.as_bytes()[self.at..].chunks(9).next()?;
        let word = rest.split(|byte| is_delimiter(*byte)).next()?;
        RESERVED.into_iter().find(|reserved| reserved.as_bytes() == word)
    }

    /// Skips a reserved word if it is next.
    pub(super) fn accept(&mut self, word: &str) -> bool {
        let is_next = self.reserved() == Some(word);
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    /// Parses a word. Does not advance if there is none.
    pub(super) fn word(&mut self) -> Word {
        let start = self.at;
        let mut word = WordBuilder::new();
        if self.byte(0) == Some(b'~') {
            self.at += 1;
            word.tilde(self.byte(0).is_none_or(|byte| byte == b'/' || is_delimiter(byte)));
        }
        while let Some(byte) = self.byte(0) {
            match byte {
                b'<' | b'>' if self.byte(1) == Some(b'(') => {
                    self.doubt_at(self.at, "is in the middle of a word");
                    break;
                }
                _ if is_delimiter(byte) => break,
                b'\'' => self.raw(&mut word),
                b'"' => self.quoted(&mut word),
                b'\\' if self.byte(1) == Some(b'\n') => {
                    if !self.byte(2).is_none_or(|byte| matches!(byte, b' ' | b'\t')) {
                        self.doubt_at(start, "continues in the next line");
                    }
                    self.at += 2;
                }
                b'\\' => self.escaped(&mut word),
                b'$' => self.dollar(&mut word, Quotes::None),
                b'`' => self.backquoted(&mut word),
                b'*' | b'?' | b'[' => {
                    self.at += 1;
                    word.glob();
                }
                b'{' | b'}' | b',' => {
                    word.push_brace(&self.text[self.at..=self.at]);
                    self.at += 1;
                }
                _ => self.plain(&mut word),
            }
        }
        word.finish(&self.text[start..self.at])
    }

    /// Parses a literal character and the ordinary characters after it.
    fn plain(&mut self, word: &mut WordBuilder) {
        let Some(c) = self.text[self.at..].chars().next() else { return };
        let is_always_plain = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-./".contains(byte);
        let mut end = self.at + c.len_utf8();
        if !c.is_ascii() {
            self.check_non_ascii(end);
        }
        end += self.text.as_bytes()[end..].iter().take_while(is_always_plain).count();
        word.push(&self.text[self.at..end]);
        self.at = end;
    }

    /// Adds a doubt about characters that shells parse differently: some treat the bytes 0x85 and 0xA0 as
    /// blanks, and in other encodings a character may include the backslash after it.
    fn check_non_ascii(&mut self, end: usize) {
        let has_blank = self.text.as_bytes()[self.at..end].iter().any(|byte| matches!(byte, 0x85 | 0xa0));
        if has_blank || self.text.as_bytes().get(end) == Some(&b'\\') {
            self.doubt_at(self.at, "has characters that shells parse differently; quote them");
        }
    }

    /// Parses `'…'`.
    fn raw(&mut self, word: &mut WordBuilder) {
        let start = self.at;
        self.at += 1;
        let rest = &self.text[self.at..];
        let end = rest.find('\'').unwrap_or_else(|| {
            self.doubt_at(start, "has an unbalanced quote");
            rest.len()
        });
        self.lines_within(&rest[..end]);
        word.push(&rest[..end]);
        self.at = (self.at + end + 1).min(self.text.len());
    }

    /// Adds a doubt if a here-document would start within quotes.
    fn lines_within(&mut self, text: &str) {
        if !self.heredocs.is_empty() && text.contains('\n') {
            self.doubt("a line ends in quotes before its here-document");
        }
    }

    /// Parses `"…"`.
    fn quoted(&mut self, word: &mut WordBuilder) {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' => match self.byte(1) {
                    Some(b'$' | b'`' | b'"' | b'\\') => {
                        word.push(&self.text[self.at + 1..self.at + 2]);
                        self.at += 2;
                    }
                    Some(b'\n') => {
                        self.doubt_at(start, "has a line continuation in quotes");
                        self.at += 2;
                    }
                    _ => self.plain(word),
                },
                b'$' => self.dollar(word, Quotes::Double),
                b'`' => self.backquoted(word),
                b'\n' => {
                    self.lines_within("\n");
                    self.plain(word);
                }
                _ if byte.is_ascii() => self.plain(word),
                _ => self.non_ascii_in_quotes(word),
            }
        }
        self.doubt_at(start, "has an unbalanced quote");
    }

    fn non_ascii_in_quotes(&mut self, word: &mut WordBuilder) {
        let Some(c) = self.text[self.at..].chars().next() else { return };
        let end = self.at + c.len_utf8();
        if self.text.as_bytes().get(end) == Some(&b'\\') {
            self.check_non_ascii(end);
        }
        word.push(&self.text[self.at..end]);
        self.at = end;
    }

    /// Parses `\x` outside of quotes.
    fn escaped(&mut self, word: &mut WordBuilder) {
        self.at += 1;
        match self.text[self.at..].chars().next() {
            Some(c) => {
                let end = self.at + c.len_utf8();
                if !c.is_ascii() {
                    self.check_non_ascii(end);
                }
                word.push(&self.text[self.at..end]);
                self.at = end;
            }
            None => {
                self.doubt_at(self.at - 1, "ends with a backslash");
                word.push_unknown(Unknown::Anything, true);
            }
        }
    }

    /// Adds a word outside of commands: a value of this variable, if it is one.
    pub(super) fn loose_word(&mut self, variable: Option<String>, word: Word) {
        if self.spend(1) {
            self.script.loose.push(LooseWord { variable, body: 0..0, word, folders: self.folders.clone() });
        } else {
            self.leave_unread(TOO_MANY_PARTS);
        }
    }

    /// Returns a new stream.
    pub(super) fn new_stream(&mut self) -> usize {
        self.script.streams += 1;
        self.script.streams
    }

    /// Parses the name of a variable.
    pub(super) fn name(&mut self) -> &str {
        let start = self.at;
        while self.byte(0).is_some_and(is_name) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }
}

pub(super) fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns true if a byte ends a word.
pub(super) fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

/// Returns true for characters that shells parse differently, that change how a text looks, or that are
/// rarely used.
fn is_strange(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || (c.is_whitespace() && !" \n\t".contains(c))
        || matches!(c, '\u{feff}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}')
}

/// Shortens a text for a doubt.
pub(super) fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut shown: String = line.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
