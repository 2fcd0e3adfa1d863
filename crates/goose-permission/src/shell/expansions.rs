//! Expansions in a word: `$name`, `${name:-word}`, `$(…)`, `$((…))`, and backquotes.

use super::{
    reader::{DIFFERS, Reader, is_name_start},
    word::{Unknown, Word, WordBuilder},
};

/// Quotes around an expansion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    None,
    Double,
}

impl Reader<'_, '_> {
    /// Parses `` `…` ``. Shells unescape its content and parse it again, each in its own way.
    pub(super) fn backquoted(&mut self, word: &mut WordBuilder) {
        let start = self.at;
        self.doubt_at(start, "has backquotes; write `$(…)`");
        let stream = self.new_stream();
        word.push_unknown(Unknown::Stream { stream, is_split: true }, true);
        self.at += 1;
        let (mut inner, mut from) = (String::new(), self.at);
        while let Some(byte) = self.byte(0) {
            match byte {
                b'`' => {
                    inner.push_str(&self.text[from..self.at]);
                    let output = std::mem::replace(&mut self.context.output, stream);
                    self.nested(&inner);
                    self.context.output = output;
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
        // Without an end, continue after the backquote.
        self.at = start + 1;
    }

    /// Parses everything that starts with `$`.
    pub(super) fn dollar(&mut self, word: &mut WordBuilder, quotes: Quotes) {
        let start = self.at;
        let splits = quotes == Quotes::None;
        match self.byte(1) {
            Some(byte) if is_name_start(byte) => {
                self.at += 1;
                let name = self.name().to_owned();
                word.push_unknown(self.variable(name), splits);
            }
            // Values without blanks and wildcards.
            Some(b'#' | b'?' | b'$' | b'!' | b'-') => {
                self.at += 2;
                word.push_unknown(Unknown::Number, false);
            }
            Some(byte @ (b'@' | b'*' | b'0'..=b'9')) => {
                self.at += 2;
                word.push_unknown(self.variable(char::from(byte).to_string()), splits || byte == b'@');
            }
            Some(b'{') => self.braced(word, splits),
            Some(b'(') if self.byte(2) == Some(b'(') => self.calculated(word, splits),
            Some(b'(') => {
                let stream = self.substituted("$(");
                word.push_unknown(Unknown::Stream { stream, is_split: splits }, splits);
            }
            Some(b'\'' | b'"') if quotes == Quotes::Double => {
                word.push("$");
                self.at += 1;
            }
            Some(b'\'' | b'"' | b'[' | b'`' | b'\\') => {
                self.doubt_at(start, DIFFERS);
                word.push_unknown(Unknown::Anything, true);
                self.at += 1;
            }
            Some(byte) if !byte.is_ascii() => {
                self.doubt_at(start, DIFFERS);
                word.push_unknown(Unknown::Anything, true);
                self.at += 1;
            }
            _ => {
                word.push("$");
                self.at += 1;
            }
        }
    }

    fn variable(&self, name: String) -> Unknown {
        Unknown::Variable { name, operator: "", operand: String::new(), at: self.position() }
    }

    /// Returns this position in the source, unless this is a nested script.
    fn position(&self) -> Option<usize> {
        self.origin.is_none().then_some(self.at)
    }

    /// Parses a command within a word: `$(…)`, `<(…)`. Returns the stream of its output.
    pub(super) fn substituted(&mut self, open: &str) -> usize {
        let start = self.at;
        self.at += open.len();
        let (folders, moves) = (self.folders.clone(), self.moves);
        let stream = self.new_stream();
        let output = std::mem::replace(&mut self.context.output, stream);
        if self.enter() {
            self.substitutions += 1;
            if !self.heredocs.is_empty() {
                self.doubt_at(start, "is before a here-document");
            }
            self.list(&[], true);
            if self.byte(0) == Some(b')') {
                self.at += 1;
            } else {
                self.doubt_at(start, "has no end");
            }
            self.substitutions -= 1;
        }
        self.leave();
        (self.folders, self.moves) = (folders, moves);
        std::mem::replace(&mut self.context.output, output)
    }

    /// Parses `$((…))`. Shells evaluate the values of variables in it again, so only numbers are accepted.
    fn calculated(&mut self, word: &mut WordBuilder, splits: bool) {
        let body = &self.text.as_bytes()[self.at + 3..];
        let mut open = 0_usize;
        for (index, byte) in body.iter().enumerate() {
            match byte {
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b')' if index > 0 && body.get(index + 1) == Some(&b')') => {
                    self.at += 3 + index + 2;
                    return word.push_unknown(Unknown::Number, false);
                }
                b'0'..=b'9' | b' ' | b'+' | b'-' | b'*' | b'/' | b'%' => {}
                _ => break,
            }
        }
        self.doubt_at(self.at, "calculates with values that are only known at run time");
        word.push_unknown(Unknown::Anything, splits);
        self.at += 1;
    }

    /// Parses `${…}`: a variable, with a default or without a prefix or suffix.
    fn braced(&mut self, word: &mut WordBuilder, splits: bool) {
        let start = self.at;
        self.at += 2;
        let counts = self.byte(0) == Some(b'#') && self.byte(1).is_some_and(is_name_start);
        if counts {
            self.at += 1;
        }
        let name = match self.byte(0) {
            Some(byte) if is_name_start(byte) => Some(self.name().to_owned()),
            Some(byte @ (b'@' | b'*')) => {
                self.at += 1;
                Some(char::from(byte).to_string())
            }
            Some(byte) if byte.is_ascii_digit() => {
                let from = self.at;
                while self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) {
                    self.at += 1;
                }
                Some(self.text[from..self.at].to_owned())
            }
            _ => None,
        };
        let (operator, operand) =
            if name.is_some() && !counts { self.alternative() } else { Default::default() };
        if let Some(name) = name.filter(|_| self.byte(0) == Some(b'}')) {
            let splits = (splits && !counts) || self.text.as_bytes()[start + 2] == b'@';
            self.at += 1;
            let value = match counts {
                true => Unknown::Number,
                false => Unknown::Variable { name, operator, operand, at: self.position() },
            };
            return word.push_unknown(value, splits);
        }
        self.doubt_at(start, "is not understood");
        word.push_unknown(Unknown::Anything, true);
        // Continue after the opening brace.
        self.at = start + 2;
    }

    /// Parses `:-word`, `%pattern` and similar operators up to the brace. Returns the operator and its word.
    fn alternative(&mut self) -> (&'static str, String) {
        const WORDS: [&str; 4] = [":-", ":+", "-", "+"];
        const PATTERNS: [&str; 4] = ["%%", "%", "##", "#"];
        let find = |reader: &Self, all: &[&'static str]| all.iter().find(|one| reader.starts(one)).copied();
        let (operator, more) = match (find(self, &WORDS), find(self, &PATTERNS)) {
            (Some(operator), _) => (operator, ""),
            (_, Some(operator)) => (operator, "*?"),
            _ => return Default::default(),
        };
        self.at += operator.len();
        let is_plain = |byte: u8| {
            byte.is_ascii_alphanumeric() || b"_./,:@=-".contains(&byte) || more.as_bytes().contains(&byte)
        };
        let from = self.at;
        while self.byte(0).is_some_and(is_plain) {
            self.at += 1;
        }
        let operand = self.text[from..self.at].to_owned();
        // The default value may be a path: `${x:-/etc/passwd}`.
        if more.is_empty() && self.at > from {
            self.loose_word(None, Word::literal(operand.clone()));
        }
        (operator, operand)
    }
}
