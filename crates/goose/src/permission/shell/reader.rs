//! [`Reader`]: characters and words of a command line.
//!
//! It knows a small language that dash and all versions of bash read alike, in POSIX mode too. Whatever is outside of it is
//! a doubt, and reading goes on behind it as well as it can, so that a denied command in plain sight is found all the same.
//! Every byte is looked at once, and nesting is bounded.

use super::{
    Doubt, MAX_COMMAND_BYTES, MAX_NESTING, Script,
    heredoc::Heredoc,
    place::{Flow, Folders},
    word::{Word, WordBuilder},
};

/// How many brackets, loops and quotes within each other are looked into.
const MAX_DEPTH: usize = 48;

/// How many doubts are kept: one is enough to ask.
const MAX_DOUBTS: usize = 32;

/// How much of the source a doubt shows.
const SHOWN_CHARS: usize = 60;

/// The words that a shell takes for its own where a command could begin.
pub(super) const RESERVED: [&str; 19] = [
    "!", "{", "}", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function",
    "if", "select", "then", "until", "while",
];

/// Where a reader is in a command line.
pub(super) struct Reader<'t, 's> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) script: &'s mut Script,
    /// Where the text stands in the whole source, as far as that can be told.
    pub(super) origin: Option<usize>,
    /// How many shells in shells this is.
    pub(super) nesting: usize,
    /// How many brackets and loops are open.
    pub(super) depth: usize,
    /// How many `$(` are open.
    pub(super) substitutions: usize,
    /// The here-documents that begin with the next line.
    pub(super) heredocs: Vec<Heredoc>,
    /// The folders in which the next command may run.
    pub(super) folders: Folders,
    /// How often the folder of the shell itself was changed so far.
    pub(super) moves: usize,
    /// Whether a here-document had no end; others are not looked for then.
    pub(super) is_unended: bool,
}

impl Reader<'_, '_> {
    /// Reads a whole script in these folders, and says in which it ends.
    pub(super) fn read(
        script: &mut Script,
        text: &str,
        origin: Option<usize>,
        nesting: usize,
        folders: Folders,
    ) -> Flow {
        let mut reader = Reader {
            text,
            at: 0,
            script,
            origin,
            nesting,
            depth: 0,
            substitutions: 0,
            heredocs: Vec::new(),
            folders,
            moves: 0,
            is_unended: false,
        };
        if nesting > MAX_NESTING {
            reader.doubt("it starts shells in shells");
            return Flow::stays(Folders::Unknown);
        }
        if text.len() > MAX_COMMAND_BYTES {
            reader.doubt("it is too long to be looked into");
            return Flow::stays(Folders::Unknown);
        }
        if text.chars().any(is_strange) {
            reader.doubt("it has control characters or unusual blanks");
        }
        reader.whole()
    }

    /// Reads a text that a shell evaluates once more, which is a part of this one.
    pub(super) fn nested(&mut self, text: &str) -> Flow {
        let origin = Some(self.place(self.at));
        Reader::read(self.script, text, origin, self.nesting + 1, self.folders.clone())
    }

    /// Where a byte of this text stands in the whole source.
    pub(super) fn place(&self, at: usize) -> usize {
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

    /// Something that is not understood.
    pub(super) fn doubt(&mut self, reason: impl Into<String>) {
        if self.script.doubts.len() < MAX_DOUBTS {
            self.script.doubts.push(Doubt { reason: reason.into() });
        }
    }

    /// What stands here is not understood.
    pub(super) fn unknown(&mut self, from: usize, reason: &str) {
        if self.script.doubts.len() < MAX_DOUBTS {
            let shown = shown(&self.text[from..]);
            self.doubt(format!("`{shown}` {reason}"));
        }
    }

    /// Goes one level deeper; `false` where that is too deep, and the rest is left unread.
    pub(super) fn enter(&mut self) -> bool {
        self.depth += 1;
        let is_fine = self.depth <= MAX_DEPTH;
        if !is_fine {
            self.doubt("its parts are nested too deeply");
            self.at = self.text.len();
        }
        is_fine
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Skips blanks within a line, and lines that are continued where a word could begin.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.byte(0) {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.byte(1) == Some(b'\n') => {
                    let before = self.at.checked_sub(1).map(|at| self.text.as_bytes()[at]);
                    self.at += 2;
                    if !matches!(before, None | Some(b' ' | b'\t' | b'\n')) || self.byte(0) == Some(b'#') {
                        self.unknown(self.at - 2, "is a line that goes on in the middle of something");
                    }
                    if !self.heredocs.is_empty() {
                        self.doubt("a line goes on before its here-document");
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips blanks, ends of lines and remarks between commands.
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

    /// A remark up to the end of its line.
    pub(super) fn comment(&mut self) {
        let end = self.text[self.at..].find('\n').map_or(self.text.len(), |length| self.at + length);
        if self.substitutions > 0 || self.text[self.at..end].ends_with('\\') {
            self.unknown(self.at, "may not be a remark");
        }
        self.at = end;
    }

    /// The word that a shell takes for its own, if one stands here.
    pub(super) fn reserved(&self) -> Option<&'static str> {
        let is_end = |length: usize| self.byte(length).is_none_or(is_delimiter);
        RESERVED.into_iter().find(|word| self.starts(word) && is_end(word.len()))
    }

    /// Skips a reserved word if it is the next.
    pub(super) fn accept(&mut self, word: &str) -> bool {
        let is_next = self.reserved() == Some(word);
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    /// A word. Stands still where none begins.
    pub(super) fn word(&mut self) -> Word {
        let start = self.at;
        let (mut word, mut has_brace) = (WordBuilder::new(), false);
        if self.byte(0) == Some(b'~') {
            self.at += 1;
            word.tilde(self.byte(0).is_none_or(|byte| byte == b'/' || is_delimiter(byte)));
        }
        while let Some(byte) = self.byte(0) {
            match byte {
                b'<' | b'>' if self.byte(1) == Some(b'(') => {
                    self.unknown(self.at, "stands in the middle of a word");
                    break;
                }
                _ if is_delimiter(byte) => break,
                b'\'' => self.raw(&mut word),
                b'"' => self.quoted(&mut word),
                b'\\' if self.byte(1) == Some(b'\n') => {
                    if !self.byte(2).is_none_or(|byte| matches!(byte, b' ' | b'\t')) {
                        self.unknown(start, "goes on in the next line");
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
                b'{' => {
                    has_brace = true;
                    self.plain(&mut word);
                }
                _ => self.plain(&mut word),
            }
        }
        word.finish(&self.text[start..self.at], has_brace)
    }

    /// One character as it is.
    fn plain(&mut self, word: &mut WordBuilder) {
        let Some(c) = self.text[self.at..].chars().next() else { return };
        let end = self.at + c.len_utf8();
        if !c.is_ascii() {
            self.check_foreign(end);
        }
        word.push(&self.text[self.at..end]);
        self.at = end;
    }

    /// Some shells on some systems take the bytes 0x85 and 0xA0 for blanks, and in other encodings a letter may swallow
    /// the backslash behind it.
    fn check_foreign(&mut self, end: usize) {
        let has_blank = self.text.as_bytes()[self.at..end].iter().any(|byte| matches!(byte, 0x85 | 0xa0));
        if has_blank || self.text.as_bytes().get(end) == Some(&b'\\') {
            self.unknown(self.at, "has letters that shells read differently; put them into quotes");
        }
    }

    /// `'…'`
    fn raw(&mut self, word: &mut WordBuilder) {
        let start = self.at;
        self.at += 1;
        let rest = &self.text[self.at..];
        let end = rest.find('\'').unwrap_or_else(|| {
            self.unknown(start, "has no end");
            rest.len()
        });
        self.lines_within(&rest[..end]);
        word.push(&rest[..end]);
        self.at = (self.at + end + 1).min(self.text.len());
    }

    /// A here-document begins with the next line; what if that line is within something else?
    fn lines_within(&mut self, text: &str) {
        if !self.heredocs.is_empty() && text.contains('\n') {
            self.doubt("a line ends in quotes before its here-document");
        }
    }

    /// `"…"`
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
                        self.unknown(start, "has a line that goes on in quotes");
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
                _ => self.foreign_in_quotes(word),
            }
        }
        self.unknown(start, "has no end");
    }

    fn foreign_in_quotes(&mut self, word: &mut WordBuilder) {
        let Some(c) = self.text[self.at..].chars().next() else { return };
        let end = self.at + c.len_utf8();
        if self.text.as_bytes().get(end) == Some(&b'\\') {
            self.check_foreign(end);
        }
        word.push(&self.text[self.at..end]);
        self.at = end;
    }

    /// `\x` outside of quotes.
    fn escaped(&mut self, word: &mut WordBuilder) {
        self.at += 1;
        match self.text[self.at..].chars().next() {
            Some(c) => {
                let end = self.at + c.len_utf8();
                if !c.is_ascii() {
                    self.check_foreign(end);
                }
                word.push(&self.text[self.at..end]);
                self.at = end;
            }
            None => {
                self.unknown(self.at - 1, "ends with a backslash");
                word.lose(true);
            }
        }
    }

    /// `` `…` ``: what is in it is unescaped and read again, in ways that differ.
    pub(super) fn backquoted(&mut self, word: &mut WordBuilder) {
        let start = self.at;
        self.unknown(start, "has backquotes; write `$(…)`");
        word.lose(true);
        self.at += 1;
        let (mut inner, mut from) = (String::new(), self.at);
        while let Some(byte) = self.byte(0) {
            match byte {
                b'`' => {
                    inner.push_str(&self.text[from..self.at]);
                    self.nested(&inner);
                    self.at += 1;
                    return;
                }
                b'\\' if matches!(self.byte(1), Some(b'`' | b'\\' | b'$')) => {
                    inner.push_str(&self.text[from..self.at]);
                    from = self.at + 1;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        // Without an end, what stands behind it is read as if it were not there.
        self.at = start + 1;
    }

    /// Everything that begins with `$`.
    pub(super) fn dollar(&mut self, word: &mut WordBuilder, quotes: Quotes) {
        let start = self.at;
        let splits = quotes == Quotes::None;
        match self.byte(1) {
            Some(byte) if is_name_start(byte) => {
                self.at += 1;
                self.name();
                word.lose(splits);
            }
            // Numbers, and what has neither blanks nor stars in it.
            Some(b'#' | b'?' | b'$' | b'!' | b'-') => {
                self.at += 2;
                word.lose(false);
            }
            Some(b'@') => {
                self.at += 2;
                word.lose(true);
            }
            Some(b'*' | b'0'..=b'9') => {
                self.at += 2;
                word.lose(splits);
            }
            Some(b'{') => self.braced(word, splits),
            Some(b'(') if self.byte(2) == Some(b'(') => self.calculated(word, splits),
            Some(b'(') => {
                self.substituted("$(");
                word.lose(splits);
            }
            Some(b'\'' | b'"') if quotes == Quotes::Double => {
                word.push("$");
                self.at += 1;
            }
            Some(b'\'' | b'"' | b'[' | b'`' | b'\\') => {
                self.unknown(start, "means different things to different shells");
                word.lose(true);
                self.at += 1;
            }
            Some(byte) if !byte.is_ascii() => {
                self.unknown(start, "means different things to different shells");
                word.lose(true);
                self.at += 1;
            }
            _ => {
                word.push("$");
                self.at += 1;
            }
        }
    }

    /// A command within a word: `$(…)`, `<(…)`.
    pub(super) fn substituted(&mut self, open: &str) {
        let start = self.at;
        self.at += open.len();
        let (folders, moves) = (self.folders.clone(), self.moves);
        if self.enter() {
            self.substitutions += 1;
            if !self.heredocs.is_empty() {
                self.unknown(start, "stands before a here-document");
            }
            self.list(&[], true);
            if self.byte(0) == Some(b')') {
                self.at += 1;
            } else {
                self.unknown(start, "has no end");
            }
            self.substitutions -= 1;
        }
        self.leave();
        (self.folders, self.moves) = (folders, moves);
    }

    /// `$((…))`: shells evaluate what a variable holds once more when they calculate with it, so only numbers are known.
    fn calculated(&mut self, word: &mut WordBuilder, splits: bool) {
        let body = &self.text.as_bytes()[self.at + 3..];
        let mut open = 0_usize;
        for (index, byte) in body.iter().enumerate() {
            match byte {
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b')' if index > 0 && body.get(index + 1) == Some(&b')') => {
                    self.at += 3 + index + 2;
                    return word.lose(false);
                }
                b'0'..=b'9' | b' ' | b'+' | b'-' | b'*' | b'/' | b'%' => {}
                _ => break,
            }
        }
        self.unknown(self.at, "calculates with what is not known before");
        word.lose(splits);
        self.at += 1;
    }

    /// `${…}`: a variable, what stands for it where it is not set, or it without its start or end.
    fn braced(&mut self, word: &mut WordBuilder, splits: bool) {
        let start = self.at;
        self.at += 2;
        let counts = self.byte(0) == Some(b'#') && self.byte(1).is_some_and(is_name_start);
        if counts {
            self.at += 1;
        }
        let is_known = match self.byte(0) {
            Some(byte) if is_name_start(byte) => {
                self.name();
                true
            }
            Some(b'@' | b'*') => {
                self.at += 1;
                true
            }
            Some(byte) if byte.is_ascii_digit() => {
                while self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) {
                    self.at += 1;
                }
                true
            }
            _ => false,
        };
        if is_known && !counts {
            self.alternative();
        }
        if is_known && self.byte(0) == Some(b'}') {
            let splits = (splits && !counts) || self.text.as_bytes()[start + 2] == b'@';
            self.at += 1;
            return word.lose(splits);
        }
        self.unknown(start, "is not understood");
        word.lose(true);
        // What stands behind it is read as if it were not there.
        self.at = start + 2;
    }

    /// `:-word`, `%pattern` and the like, up to the brace.
    fn alternative(&mut self) {
        const WORDS: [&str; 4] = [":-", ":+", "-", "+"];
        const PATTERNS: [&str; 4] = ["%%", "%", "##", "#"];
        let find = |reader: &Self, all: &[&'static str]| all.iter().find(|one| reader.starts(one)).copied();
        let (operator, more) = match (find(self, &WORDS), find(self, &PATTERNS)) {
            (Some(operator), _) => (operator, ""),
            (_, Some(operator)) => (operator, "*?"),
            _ => return,
        };
        self.at += operator.len();
        let is_plain = |byte: u8| {
            byte.is_ascii_alphanumeric() || b"_./,:@=-".contains(&byte) || more.as_bytes().contains(&byte)
        };
        let from = self.at;
        while self.byte(0).is_some_and(is_plain) {
            self.at += 1;
        }
        // What may stand for it is a word that counts: `${x:-/etc/passwd}`.
        if more.is_empty() && self.at > from {
            let alternative = Word::literal(&self.text[from..self.at]);
            self.loose_word(alternative);
        }
    }

    /// A word that belongs to no command: the value of a variable, what a loop goes through.
    pub(super) fn loose_word(&mut self, word: Word) {
        self.script.loose.push((word, self.folders.clone()));
    }

    /// The name of a variable.
    pub(super) fn name(&mut self) -> &str {
        let start = self.at;
        while self.byte(0).is_some_and(is_name) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }
}

/// Which quotes an expansion stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    None,
    Double,
}

pub(super) fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What ends a word.
pub(super) fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

/// Characters that shells read differently, that change how a text looks, or that are hardly ever written.
fn is_strange(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || (c.is_whitespace() && !" \n\t".contains(c))
        || matches!(c, '\u{feff}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}')
}

/// As much of a text as a doubt shows.
pub(super) fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut shown: String = line.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
