//! Here-documents: the delimiter, and the text up to it.

use super::{expansions::Quotes, reader::Reader, word::WordBuilder};

/// Maximum number of here-documents in one line.
const MAX_HEREDOCS: usize = 8;

/// A here-document whose text has not started yet.
#[derive(Debug)]
pub(super) struct Heredoc {
    delimiter: String,
    /// True if the text is not expanded, because the delimiter is quoted.
    is_raw: bool,
    strips_tabs: bool,
}

impl Reader<'_, '_> {
    /// Parses `<<WORD` after the operator.
    pub(super) fn heredoc(&mut self) {
        let strips_tabs = self.byte(0) == Some(b'-');
        if strips_tabs {
            self.at += 1;
        }
        self.blanks();
        let start = self.at;
        let quote = self.byte(0).filter(|byte| matches!(byte, b'\'' | b'"'));
        if quote.is_some() {
            self.at += 1;
        }
        let from = self.at;
        while self.byte(0).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)) {
            self.at += 1;
        }
        let delimiter = self.text[from..self.at].to_owned();
        let is_closed = quote.is_none() || self.byte(0) == quote;
        if quote.is_some() && is_closed {
            self.at += 1;
        }
        let is_word = self.byte(0).is_none_or(super::reader::is_delimiter);
        if delimiter.is_empty() || !is_closed || !is_word || self.heredocs.len() >= MAX_HEREDOCS {
            self.doubt_at(start, "is not understood as the end of a here-document");
            // Skip whatever is there.
            self.word();
            return;
        }
        if self.substitutions > 0 {
            self.doubt("it has a here-document in `$(…)`");
        }
        self.heredocs.push(Heredoc { delimiter, is_raw: quote.is_some(), strips_tabs });
    }

    /// Parses the texts of the here-documents of the last line.
    pub(super) fn heredoc_bodies(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            if self.has_open_heredoc {
                return;
            }
            let start = self.at;
            match self.end_of(&heredoc) {
                Some(end) => {
                    self.script.heredocs.push(self.text[start..end].to_owned());
                    if !heredoc.is_raw {
                        self.evaluated(start, end);
                    }
                }
                None => {
                    self.doubt(format!("the here-document up to `{}` has no end", heredoc.delimiter));
                    // If a shell does not see a here-document here, the lines are commands.
                    self.has_open_heredoc = true;
                    self.at = start;
                    return;
                }
            }
        }
    }

    /// Skips a here-document and returns the end of its text.
    fn end_of(&mut self, heredoc: &Heredoc) -> Option<usize> {
        let start = self.at;
        for line in self.text[start..].split('\n') {
            let plain = if heredoc.strips_tabs { line.trim_start_matches('\t') } else { line };
            let (from, end) = (self.at, self.at + line.len());
            self.at = (end + 1).min(self.text.len());
            if plain == heredoc.delimiter {
                return Some(from);
            }
            // To the user it looks as if it ended here.
            if line.trim() == heredoc.delimiter {
                self.doubt_at(from, "is not the end of a here-document");
            }
        }
        None
    }

    /// Parses a text that the shell expands.
    fn evaluated(&mut self, start: usize, end: usize) {
        let body = &self.text[start..end];
        if !body.contains(['$', '`', '\\']) {
            return;
        }
        self.doubt_at(start, "is in a here-document that is expanded; quote its delimiter");
        let mut reader = self.within(body);
        let mut word = WordBuilder::new();
        while let Some(byte) = reader.byte(0) {
            match byte {
                b'\\' if matches!(reader.byte(1), Some(b'$' | b'`' | b'\\')) => reader.at += 2,
                b'$' => reader.dollar(&mut word, Quotes::Double),
                b'`' => reader.backquoted(&mut word),
                _ => reader.at += 1,
            }
        }
    }
}
