//! [`Word`]: a word of a command as the shell would see it after removing quotes, as far as that is known beforehand.

use tree_sitter::Node;

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::permission) struct Word {
    /// Its text; `None` where it is not known before the command runs.
    pub(in crate::permission) text: Option<String>,
    /// What it begins with, as far as that is known.
    prefix: String,
    /// Whether it may become several words, or none.
    splits: bool,
}

impl Word {
    pub(super) fn literal(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { prefix: text.clone(), text: Some(text), splits: false }
    }

    /// Any words, also none.
    pub(super) fn anything() -> Self {
        Self { text: None, prefix: String::new(), splits: true }
    }

    /// The name of the program that this word starts, without its folder.
    pub(in crate::permission) fn program(&self) -> Option<&str> {
        let text = self.text.as_deref()?;
        text.rsplit('/').next()
    }

    /// Whether it is, or may become, an option.
    pub(super) fn may_be_option(&self) -> bool {
        match &self.text {
            Some(text) => text.starts_with('-'),
            None => self.splits || self.prefix.is_empty() || self.prefix.starts_with('-'),
        }
    }

    /// Reads a word of the tree.
    pub(super) fn read(node: Node<'_>, source: &str) -> Self {
        let mut reader = Reader { known: true, ..Reader::default() };
        reader.read(node, source, Position::Start);
        reader.finish()
    }
}

/// The text of a node.
pub(super) fn text_of<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Start,
    Middle,
}

#[derive(Default)]
struct Reader {
    text: String,
    known: bool,
    splits: bool,
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
            self.read(child, source, if index == 0 { position } else { Position::Middle });
        }
        if end != node.end_byte() || has_braces(text_of(node, source)) {
            self.lose(true);
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
        if position == Position::Start && text.starts_with('~') && text != "~" && !text.starts_with("~/") {
            self.lose(false);
        }
        if has_braces(text) {
            self.lose(true);
        }
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('\n') => {}
                    Some(next) => self.push_char(next),
                    None => self.lose(true),
                },
                '*' | '?' | '[' if text != "[" => self.lose(false),
                '$' | '`' | '"' | '\'' => self.lose(true),
                _ => self.push_char(c),
            }
        }
    }

    fn push(&mut self, text: &str) {
        if self.known {
            self.text.push_str(text);
        }
    }

    fn push_char(&mut self, c: char) {
        if self.known {
            self.text.push(c);
        }
    }

    /// From here on it is not known.
    fn lose(&mut self, splits: bool) {
        self.known = false;
        self.splits |= splits;
    }

    fn finish(self) -> Word {
        Word { text: self.known.then(|| self.text.clone()), prefix: self.text, splits: self.splits }
    }
}

/// `{a,b}` and `{1..3}`, which become several words; `{}` does not.
fn has_braces(text: &str) -> bool {
    text.contains('{') && (text.contains(',') || text.contains(".."))
}
