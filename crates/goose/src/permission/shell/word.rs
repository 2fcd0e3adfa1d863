//! [`Word`]: a word of a command as the shell would see it after removing quotes, as far as that is known beforehand.

use tree_sitter::Node;

use crate::permission::glob::Glob;

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::permission) struct Word {
    /// Its text; `None` where it is not known before the command runs.
    pub(in crate::permission) text: Option<String>,
    /// What is known of it: the texts around what is not.
    pieces: Vec<String>,
    /// Whether it may become several words, or none.
    splits: bool,
    /// Whether all that is not known are names of files that a shell looks up: `src/*.rs`.
    only_names: bool,
}

/// Which files a word may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::permission) enum Reach<'w> {
    /// What it says.
    Exactly(&'w str),
    /// Something in this folder, or deeper.
    Within(&'w str),
    /// Anything.
    Anywhere,
}

impl Word {
    pub(super) fn literal(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { pieces: vec![text.clone()], text: Some(text), splits: false, only_names: true }
    }

    /// Any words, also none.
    pub(super) fn anything() -> Self {
        Self { text: None, pieces: vec![String::new(); 2], splits: true, only_names: false }
    }

    /// What it begins with, as far as that is known.
    fn prefix(&self) -> &str {
        self.pieces.first().map_or("", String::as_str)
    }

    /// The name of the program that this word starts, without its folder.
    pub(in crate::permission) fn program(&self) -> Option<&str> {
        let text = self.text.as_deref()?;
        text.rsplit('/').next()
    }

    /// Whether it is, or may become, an option.
    pub(in crate::permission) fn may_be_option(&self) -> bool {
        match &self.text {
            Some(text) => text.starts_with('-'),
            None => self.splits || self.prefix().is_empty() || self.prefix().starts_with('-'),
        }
    }

    /// Whether this text may be in it.
    pub(super) fn may_hold(&self, text: &str) -> bool {
        self.text.as_ref().is_none_or(|own| own.contains(text))
    }

    /// Which files it may stand for.
    pub(in crate::permission) fn reach(&self) -> Reach<'_> {
        if let Some(text) = &self.text {
            return Reach::Exactly(text);
        }
        // `.*` may be `..`, which leads out again.
        let leads_out = self.pieces.iter().any(|piece| piece.contains("..") || piece.ends_with('.'));
        if self.splits || !self.only_names || leads_out {
            return Reach::Anywhere;
        }
        match self.prefix().rfind('/') {
            Some(end) => Reach::Within(&self.prefix()[..=end]),
            None => Reach::Within("."),
        }
    }

    /// Whether what is known of it fits this absolute path. Where nothing is known, nothing fits.
    pub(in crate::permission) fn hints_at(&self, path: &str, home: Option<&str>) -> bool {
        let says_something = |piece: &String| piece.contains(char::is_alphanumeric);
        if self.text.is_some() || !self.pieces.iter().any(says_something) {
            return false;
        }
        let mut pieces = self.pieces.clone();
        let first = pieces.first_mut().map(std::mem::take).unwrap_or_default();
        match (first.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => pieces[0] = format!("{home}/{rest}"),
            _ if first.starts_with('/') => pieces[0] = first,
            // Relative to what, is not looked into.
            _ => {
                pieces[0] = first.rsplit("../").next().unwrap_or(&first).trim_start_matches("./").to_owned();
                pieces.insert(0, String::new());
            }
        }
        Glob::of_pieces(pieces).matches_any_case(path)
    }

    /// Reads a word of the tree.
    pub(super) fn read(node: Node<'_>, source: &str) -> Self {
        let mut reader = Reader { pieces: vec![String::new()], splits: false, only_names: true };
        reader.read(node, source, Position::Alone);
        reader.finish()
    }
}

/// The text of a node.
pub(super) fn text_of<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// The whole word.
    Alone,
    Start,
    Middle,
}

struct Reader {
    /// The texts around what is not known; one piece means that all is.
    pieces: Vec<String>,
    splits: bool,
    only_names: bool,
}

impl Reader {
    fn read(&mut self, node: Node<'_>, source: &str, position: Position) {
        let text = text_of(node, source);
        match node.kind() {
            "word" | "number" if node.named_child_count() == 0 => self.unquoted(text, position),
            "raw_string" => self.raw(text),
            "string" => self.quoted(node, text),
            "command_name" => match node.child(0) {
                Some(child) if node.child_count() == 1 => self.read(child, source, position),
                _ => self.lose(true),
            },
            "concatenation" => self.concatenated(node, source, position),
            "process_substitution" => {
                self.push("/dev/fd/");
                self.lose(false);
            }
            "ansi_c_string" | "translated_string" => self.lose(false),
            _ if !node.is_named() && matches!(text, "==" | "=~") => self.push(text),
            _ => self.lose(true),
        }
    }

    fn raw(&mut self, text: &str) {
        match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            Some(inner) => self.push(inner),
            None => self.lose(true),
        }
    }

    fn concatenated(&mut self, node: Node<'_>, source: &str, position: Position) {
        let mut end = node.start_byte();
        for (index, child) in node.children(&mut node.walk()).enumerate() {
            // Something between the parts that the parser passed over.
            if child.start_byte() != end {
                self.lose(true);
            }
            end = child.end_byte();
            let starts = index == 0 && position != Position::Middle;
            self.read(child, source, if starts { Position::Start } else { Position::Middle });
        }
        if end != node.end_byte() {
            self.lose(true);
        }
        if has_braces(text_of(node, source)) {
            self.lose_from_brace();
        }
    }

    fn quoted(&mut self, node: Node<'_>, text: &str) {
        let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let plain = node.named_children(&mut node.walk()).all(|child| child.kind() == "string_content");
        let Some(inner) = inner.filter(|_| plain) else {
            // `"$@"` becomes several words; so may others that hold it.
            return self.lose(text.contains('@'));
        };
        let mut chars = inner.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if chars.next_if(|next| *next == '\n').is_some() => {}
                '\\' => self.push_char(chars.next_if(|next| "\"\\$`".contains(*next)).unwrap_or('\\')),
                // The parser has seen nothing here, a shell would.
                '`' | '$' if chars.peek().is_some_and(|next| c == '`' || !next.is_whitespace()) => {
                    return self.lose(true);
                }
                _ => self.push_char(c),
            }
        }
    }

    fn unquoted(&mut self, text: &str, position: Position) {
        if position != Position::Middle && text.starts_with('~') && text != "~" && !text.starts_with("~/") {
            self.lose(false);
        }
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('\n') => {}
                    Some(next) => self.push_char(next),
                    None => self.lose(true),
                },
                // `[` alone is a program; in a word it begins a choice of letters.
                '*' | '?' | '[' if text != "[" || position != Position::Alone => {
                    self.pieces.push(String::new())
                }
                '$' | '`' | '"' | '\'' => self.lose(true),
                _ => self.push_char(c),
            }
        }
        if has_braces(text) {
            self.lose_from_brace();
        }
    }

    fn push(&mut self, text: &str) {
        if let Some(piece) = self.pieces.last_mut() {
            piece.push_str(text);
        }
    }

    fn push_char(&mut self, c: char) {
        self.push(c.encode_utf8(&mut [0; 4]));
    }

    /// Here is something that is not known.
    fn lose(&mut self, splits: bool) {
        self.pieces.push(String::new());
        self.splits |= splits;
        self.only_names = false;
    }

    /// From the first brace on nothing is known.
    fn lose_from_brace(&mut self) {
        if let Some(at) = self.pieces.iter().position(|piece| piece.contains('{')) {
            self.pieces.truncate(at + 1);
            self.pieces[at] = self.pieces[at].split('{').next().unwrap_or_default().to_owned();
        }
        self.lose(true);
    }

    fn finish(self) -> Word {
        let text = match self.pieces.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        };
        Word { text, pieces: self.pieces, splits: self.splits, only_names: self.only_names }
    }
}

/// `{a,b}` and `{1..3}`, which become several words; `{}` does not.
fn has_braces(text: &str) -> bool {
    text.contains('{') && (text.contains(',') || text.contains(".."))
}
