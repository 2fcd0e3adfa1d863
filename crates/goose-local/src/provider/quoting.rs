//! [`Quoting`]: a change whose old text is a part of what the model has seen of the file. Small models quote inexactly, and
//! what is not there cannot be replaced.

use serde_json::{Value, json};

use super::seen::Seen;

/// The changes of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Quoting {
    /// How the model knows the tool.
    tool: String,
    path: String,
    /// What was seen of the file.
    text: String,
    /// What is not quoted again.
    refused: Vec<String>,
}

impl Quoting {
    /// For each file of which something was seen.
    pub(super) fn of(tool: &str, seen: &Seen) -> Vec<Self> {
        let files = seen.texts().iter().filter(|(_, text)| !text.trim().is_empty());
        files
            .map(|(path, text)| Self {
                tool: tool.to_owned(),
                path: path.clone(),
                text: text.clone(),
                refused: seen.refused(path),
            })
            .collect()
    }

    /// The file that is changed.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The rules of a grammar, of which the first has this name. `text` is the rule for any text. What is a token in
    /// other calls is one here, so that calls can be told apart.
    pub(super) fn rules(&self, name: &str, index: usize) -> String {
        let parts = [
            "{",
            "\"tool\"",
            ":",
            &quoted(&self.tool),
            ",",
            "\"path\"",
            ":",
            &quoted(&self.path),
            ",",
            "\"before\"",
            ":",
        ];
        let start: Vec<String> = parts.iter().map(|part| literal(part)).collect();
        let refused = self.refused.iter().filter(|text| !text.is_empty());
        let refused: String = refused.map(|text| format!(" & ~{}", literal(&inside(text)))).collect();
        let chunks = json!({ "substring_chunks": chunks(&inside(&self.text)) });
        format!(
            r#"{name}: {} QUOTED_{index} "," "\"after\"" ":" text ("," "\"replace_all\"" ":" "true")? "}}"
PART_{index}: %regex {chunks}
FRESH_{index}: PART_{index} & /(?s:.+)/{refused}
QUOTED_{index}: "\"" FRESH_{index} "\"""#,
            start.join(" ")
        )
    }
}

/// As a JSON text.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// As it stands between the quotation marks of a JSON text.
fn inside(text: &str) -> String {
    let quoted = quoted(text);
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// As a literal of a grammar, which is written as JSON texts are.
fn literal(text: &str) -> String {
    quoted(text)
}

/// The characters of a JSON text; an escape is one.
fn chunks(text: &str) -> Vec<&str> {
    let mut chunks = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match (first, rest.as_bytes().get(1)) {
            ('\\', Some(b'u')) => 6,
            ('\\', Some(_)) => 2,
            _ => first.len_utf8(),
        };
        let (chunk, after) = rest.split_at(length.min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_is_one_character() {
        assert_eq!(chunks(&inside("a\"b\n\u{1}ä")), ["a", "\\\"", "b", "\\n", "\\u0001", "ä"]);
        assert_eq!(chunks(""), Vec::<&str>::new());
    }
}
