//! Where the parser is not taken at its word: texts that shells evaluate once more, or that different shells read
//! differently.

use tree_sitter::Node;

use super::{
    Weight,
    tree::{Walk, children},
    word::text_of,
};

impl Walk<'_> {
    /// Where the word that ends it has no quotes, what is in it is evaluated.
    pub(super) fn heredoc_body(&mut self, node: Node<'_>, parent: Option<Node<'_>>) {
        let siblings = parent.map(children).unwrap_or_default();
        let is_quoted = siblings
            .iter()
            .filter(|sibling| sibling.kind() == "heredoc_start")
            .any(|start| text_of(*start, self.source).contains(['\'', '"', '\\']));
        let plain = children(node).into_iter().filter(|child| child.kind() == "heredoc_content");
        let text: String = plain.map(|child| text_of(child, self.source)).collect();
        let whole = if node.child_count() == 0 { text_of(node, self.source) } else { text.as_str() };
        if !is_quoted && hides_command(whole) {
            self.unknown(node, "may hide a command");
        }
    }

    /// `[ … ]`: operators that a shell without `[[` takes for its own are doubts.
    pub(super) fn test(&mut self, node: Node<'_>) {
        let text = text_of(node, self.source);
        if !text.starts_with('[') {
            return self.unknown(node, "means different things to different shells");
        }
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            match node.kind() {
                "command_substitution" | "process_substitution" => continue,
                "<" | ">" | "&&" | "||" | "&" | "|" | ";" | "(" | "parenthesized_expression" => {
                    return self.unknown(node, "means different things to different shells");
                }
                "variable_name" | "subscript" if text.starts_with("[[") => {
                    self.doubt(Weight::Subtle, "a test may calculate with what a variable holds");
                }
                _ => {}
            }
            pending.extend(children(node));
        }
    }

    /// `#` begins a comment only where a word could begin, and ends with the line.
    pub(super) fn comment(&mut self, node: Node<'_>) {
        let before = self.source.get(..node.start_byte()).and_then(|text| text.chars().next_back());
        let text = text_of(node, self.source);
        if !before.is_none_or(|c| " \t\n;&|()".contains(c)) || text.contains('\n') || text.ends_with('\\') {
            self.unknown(node, "may be no comment");
        }
    }

    pub(super) fn expansion(&mut self, node: Node<'_>) {
        let operators = node
            .children_by_field_name("operator", &mut node.walk())
            .map(|child| child.kind())
            .any(|kind| matches!(kind, "!" | "@" | "=" | ":=" | "P" | "E"));
        let has_subscript = node.named_children(&mut node.walk()).any(|child| child.kind() == "subscript");
        if operators || has_subscript {
            self.doubt(Weight::Subtle, format!("what `{}` becomes is not clear", self.shown(node)));
        }
    }

    /// Shells evaluate what a variable holds once more when they calculate with it.
    pub(super) fn arithmetic(&mut self, node: Node<'_>) {
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            if matches!(node.kind(), "variable_name" | "subscript" | "expansion" | "command_substitution") {
                return self.doubt(Weight::Subtle, "it calculates with what a variable holds");
            }
            pending.extend(children(node));
        }
    }
}

/// Whether a text that the parser saw nothing in has something that shells evaluate.
pub(super) fn hides_command(text: &str) -> bool {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '`' => return true,
            '$' | '<' | '>' if chars.peek() == Some(&'(') => return true,
            '$' if chars.peek() == Some(&'{') => return true,
            _ => {}
        }
    }
    false
}

/// Whether a shell, too, would see only one word.
pub(super) fn is_one_word(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')' => return false,
            _ => {}
        }
    }
    true
}
