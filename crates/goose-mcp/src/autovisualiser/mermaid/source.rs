//! [`Source`]: the lines of a diagram, without comments, directives and front matter.

use super::{
    super::{
        fault::{Checked, Fault},
        text::{clean, without_tags},
    },
    FIELD,
};

const MAX_LINES: usize = 2_000;

/// Lines of a label that are kept.
const MAX_LABEL_LINES: usize = 12;

/// A line with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) text: String,
}

/// The lines that say something, one after the other.
#[derive(Debug)]
pub(super) struct Source {
    lines: std::vec::IntoIter<Line>,
    /// The title of the front matter.
    pub(super) title: Option<String>,
}

impl Source {
    pub(super) fn new(code: &str) -> Checked<Self> {
        if code.lines().count() > MAX_LINES {
            return Err(Fault::new(FIELD, format!("it has more than {MAX_LINES} lines. Draw a part of it.")));
        }
        let mut title = None;
        let mut lines = Vec::new();
        let mut is_front_matter = false;
        let mut is_description = false;
        for (index, text) in code.lines().enumerate() {
            let text = text.trim();
            match text {
                "---" if lines.is_empty() => is_front_matter = !is_front_matter,
                _ if is_front_matter => {
                    let given = text
                        .strip_prefix("title:")
                        .map(|title| clean(title.trim().trim_matches(['"', '\''])));
                    title = given.or(title);
                }
                "}" if is_description => is_description = false,
                _ if is_description
                    || text.is_empty()
                    || text.starts_with("%%")
                    || text.starts_with("```") => {}
                _ if text.starts_with("accDescr") && text.ends_with('{') => is_description = true,
                _ if text.starts_with("accDescr") || text.starts_with("accTitle") => {}
                _ => lines.push(Line { number: index + 1, text: text.to_owned() }),
            }
        }
        Ok(Self { lines: lines.into_iter(), title })
    }
}

impl Iterator for Source {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        self.lines.next()
    }
}

/// Returns a problem with a line.
pub(super) fn fault(line: &Line, problem: &str) -> Fault {
    Fault::new(FIELD, format!("line {} ({}): {problem}", line.number, clean(&line.text)))
}

/// Returns a label as lines of plain text: without quotes, tags, Markdown emphasis and character codes.
pub(super) fn label(text: &str) -> Vec<String> {
    let text = text.trim().trim_matches('"').trim_matches('`');
    let text = text.replace("\\n", "\n").replace("**", "");
    let mut lines = Vec::new();
    for part in text.split('\n').flat_map(split_breaks) {
        lines.push(clean(&decoded(&without_tags(part))));
    }
    lines.truncate(MAX_LABEL_LINES);
    lines
}

/// Splits a text at `<br>` and its forms.
fn split_breaks(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    // ASCII lower case keeps all positions.
    while let Some(start) = rest.to_ascii_lowercase().find("<br") {
        let Some(end) = rest[start..].find('>') else { break };
        parts.push(&rest[..start]);
        rest = &rest[start + end + 1..];
    }
    parts.push(rest);
    parts
}

/// Replaces the codes for characters that the syntax needs: `#quot;`, `#35;`, and those of HTML.
fn decoded(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['#', '&']) {
        let (before, code) = rest.split_at(start);
        result += before;
        let end = code.find(';').filter(|end| (2..=8).contains(end));
        match end.and_then(|end| Some((character(&code[1..end])?, end))) {
            Some((c, end)) => {
                result.push(c);
                rest = &code[end + 1..];
            }
            None => {
                result += &code[..1];
                rest = &code[1..];
            }
        }
    }
    result + rest
}

fn character(code: &str) -> Option<char> {
    Some(match code {
        "quot" => '"',
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "nbsp" => ' ',
        number => char::from_u32(number.trim_start_matches('#').parse().ok()?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_plain_text() {
        assert_eq!(label("\"a<br/>b <b>c</b>\""), ["a", "b c"]);
        assert_eq!(label("#quot;x#quot; #35; &lt;y&gt; R&D #; **z**"), ["\"x\" # <y> R&D #; z"]);
        assert_eq!(label(""), [""]);
    }

    #[test]
    fn comments_and_front_matter_are_left_out() {
        let code =
            "---\ntitle: \"A\"\nconfig: x\n---\n%%{init: {}}%%\ngraph TD\n\n  A-->B\naccDescr {\n x\n}\n C";
        let source = Source::new(code).unwrap();
        assert_eq!(source.title.as_deref(), Some("A"));
        let lines: Vec<(usize, String)> = source.map(|line| (line.number, line.text)).collect();
        assert_eq!(lines, [(6, "graph TD".to_owned()), (8, "A-->B".to_owned()), (12, "C".to_owned())]);
    }
}
