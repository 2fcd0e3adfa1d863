//! Template tags of a text, found without parsing their expressions.

use std::ops::Range;

/// Kind of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagKind {
    /// `{{ … }}`.
    Expression,
    /// `{% … %}`.
    Statement,
}

/// Tag of a template.
#[derive(Debug)]
pub(super) struct Tag<'t> {
    pub(super) kind: TagKind,
    /// Text between the braces, without the marks that remove blanks.
    pub(super) inner: &'t str,
    pub(super) range: Range<usize>,
}

impl<'t> Tag<'t> {
    /// Returns the first word of a statement.
    pub(super) fn keyword(&self) -> Option<&'t str> {
        self.inner.split(|c: char| !c.is_alphanumeric() && c != '_').find(|word| !word.is_empty())
    }

    /// Returns the text without its quoted parts.
    pub(super) fn without_strings(&self) -> String {
        let mut quote = None;
        let is_outside = |c: &char| match quote {
            Some(open) => {
                if *c == open {
                    quote = None;
                }
                false
            }
            None if matches!(c, '"' | '\'') => {
                quote = Some(*c);
                false
            }
            None => true,
        };
        self.inner.chars().filter(is_outside).collect()
    }

    /// Returns the first quoted part, such as the file of an `include`.
    pub(super) fn first_string(&self) -> Option<&'t str> {
        let begin = self.inner.find(['"', '\''])?;
        let quote = self.inner[begin..].chars().next()?;
        let rest = &self.inner[begin + 1..];
        Some(&rest[..rest.find(quote)?])
    }
}

/// Returns the tags of a text. Comments and the content of `{% raw %}` have none.
pub(super) fn tags(text: &str) -> Vec<Tag<'_>> {
    let (mut tags, mut at) = (Vec::new(), 0);
    while let Some((begin, kind)) = next_opening(text, at) {
        let Some(kind) = kind else {
            at = text[begin..].find("#}").map_or(text.len(), |end| begin + end + 2);
            continue;
        };
        let close = if kind == TagKind::Expression { "}}" } else { "%}" };
        let Some(end) = closing(text, begin + 2, close) else { break };
        let inner = text[begin + 2..end].trim_start_matches(['-', '+']).trim_end_matches(['-', '+']);
        let tag = Tag { kind, inner, range: begin..end + 2 };
        at = end + 2;
        if kind == TagKind::Statement && tag.keyword() == Some("raw") {
            at = end_of_raw(text, at);
        }
        tags.push(tag);
    }
    tags
}

/// Returns the next opening brace pair; without a kind for a comment.
fn next_opening(text: &str, from: usize) -> Option<(usize, Option<TagKind>)> {
    text[from..].match_indices('{').find_map(|(at, _)| {
        let at = from + at;
        match text.as_bytes().get(at + 1)? {
            b'{' => Some((at, Some(TagKind::Expression))),
            b'%' => Some((at, Some(TagKind::Statement))),
            b'#' => Some((at, None)),
            _ => None,
        }
    })
}

/// Returns the position of the closing braces, which may not be in a string.
fn closing(text: &str, from: usize, close: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text[from..].char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if text[from + at..].starts_with(close) => return Some(from + at),
            None if c == '"' || c == '\'' => quote = Some(c),
            None => {}
        }
    }
    // An apostrophe in plain words begins no string.
    text[from..].find(close).map(|at| from + at)
}

fn end_of_raw(text: &str, from: usize) -> usize {
    let end = text[from..].match_indices("{%").find(|(at, _)| {
        let inner = text[from + at + 2..].trim_start_matches(['-', '+']).trim_start();
        inner.starts_with("endraw")
    });
    let Some((at, _)) = end else { return text.len() };
    text[from + at..].find("%}").map_or(text.len(), |close| from + at + close + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_tags_outside_of_raw_text_and_comments() {
        let text = "{# {{ no }} #}{{ a }} {%- if b == '%}' -%}{% raw %}{{ c }}{% endraw %}{{ it's }}";
        let inner: Vec<&str> = tags(text).iter().map(|tag| tag.inner.trim()).collect();
        assert_eq!(inner, ["a", "if b == '%}'", "raw", "it's"]);
        let found = tags("{% include \"x.txt\" ~ '*' %}");
        assert_eq!(
            (found[0].first_string(), found[0].without_strings().trim()),
            (Some("x.txt"), "include  ~")
        );
    }
}
