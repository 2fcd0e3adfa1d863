//! The developer's tools as a small model sees them: examples and words made by hand, and only the arguments that it
//! handles well.

use goose_extension::JsonObject;
use serde_json::{Value, json};

use super::seen::OVERWRITE;

/// How a tool is shown to the model.
pub(super) struct Known {
    /// The tool's full name.
    pub(super) name: &'static str,
    /// The arguments of the example, as JSON.
    example: &'static str,
    /// What it does, in a few words.
    pub(super) words: &'static str,
    pub(super) used_to: Use,
    /// The schema of each argument, in the order in which it is written; the names end with `?` where they may be left
    /// out.
    arguments: &'static [(&'static str, Kind)],
    /// What is passed besides, without the model's doing.
    besides: &'static [(&'static str, Besides)],
}

/// What a tool is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Look,
    Change,
    Run,
    Other,
}

#[derive(Clone, Copy)]
enum Besides {
    Yes,
    No,
    Number(u32),
}

#[derive(Clone, Copy)]
enum Kind {
    Line,
    Text,
    Number,
    Yes,
}

/// The tools that others here know by name.
pub(super) const READ: &str = "developer__read";
pub(super) const SEARCH: &str = "developer__search";
pub(super) const EDIT: &str = "developer__edit";
pub(super) const WRITE: &str = "developer__write";
pub(super) const SHELL: &str = "developer__shell";

/// How long a path, a pattern or a command may be, in characters.
const MAX_LINE_CHARS: usize = 1_000;

/// How long a text may be, in characters.
pub(super) const MAX_TEXT_CHARS: usize = 6_000;

/// Always offered, in this order.
pub(super) const KNOWN: [Known; 6] = [
    Known {
        name: READ,
        example: r#"{"path":"README.md"}"#,
        words: "shows a file",
        used_to: Use::Look,
        arguments: &[("path", Kind::Line), ("offset?", Kind::Number)],
        besides: &[],
    },
    Known {
        name: SEARCH,
        example: r#"{"pattern":"budget"}"#,
        words: "finds text in all files",
        used_to: Use::Look,
        arguments: &[("pattern", Kind::Line)],
        besides: &[("ignore_case", Besides::Yes), ("context_lines", Besides::Number(2))],
    },
    Known {
        name: "developer__tree",
        example: r#"{"path":"."}"#,
        words: "lists a folder",
        used_to: Use::Look,
        arguments: &[("path", Kind::Line)],
        besides: &[],
    },
    Known {
        name: EDIT,
        example: r#"{"path":"README.md","before":"old words","after":"new words"}"#,
        words: "replaces text in a file (\"after\":\"\" deletes it; \"replace_all\":true means everywhere)",
        used_to: Use::Change,
        arguments: &[
            ("path", Kind::Line),
            ("before", Kind::Text),
            ("after", Kind::Text),
            ("replace_all?", Kind::Yes),
        ],
        besides: &[],
    },
    Known {
        name: WRITE,
        example: r#"{"path":"todo.txt","content":"one\ntwo\n"}"#,
        words: "makes a new file, and its folders",
        used_to: Use::Change,
        arguments: &[("path", Kind::Line), ("content", Kind::Text)],
        besides: &[(OVERWRITE, Besides::No)],
    },
    Known {
        name: SHELL,
        example: r#"{"command":"cp -r docs backup"}"#,
        words: "runs any command: to copy, move, join, delete, sort or count, or to start a program",
        used_to: Use::Run,
        arguments: &[("command", Kind::Text)],
        besides: &[],
    },
];

impl Known {
    /// The tool of this name.
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.name == name)
    }

    /// The arguments of the example.
    pub(super) fn example(&self) -> JsonObject {
        serde_json::from_str(self.example).unwrap_or_default()
    }

    /// What is passed besides.
    pub(super) fn besides(&self) -> JsonObject {
        self.besides.iter().map(|(name, value)| ((*name).to_owned(), value.as_json())).collect()
    }

    /// What the model may pass.
    pub(super) fn schema(&self) -> JsonObject {
        let properties: JsonObject = self
            .arguments
            .iter()
            .map(|(name, kind)| (name.trim_end_matches('?').to_owned(), kind.schema()))
            .collect();
        let required: Vec<Value> = self
            .arguments
            .iter()
            .filter(|(name, _)| !name.ends_with('?'))
            .map(|(name, _)| Value::from(*name))
            .collect();
        JsonObject::from_iter([
            ("type".to_owned(), json!("object")),
            ("properties".to_owned(), Value::Object(properties)),
            ("required".to_owned(), Value::Array(required)),
        ])
    }
}

impl Besides {
    fn as_json(self) -> Value {
        match self {
            Self::Yes => json!(true),
            Self::No => json!(false),
            Self::Number(number) => json!(number),
        }
    }
}

impl Kind {
    fn schema(self) -> Value {
        match self {
            Self::Line => json!({ "type": "string", "minLength": 1, "maxLength": MAX_LINE_CHARS }),
            Self::Text => json!({ "type": "string", "maxLength": MAX_TEXT_CHARS }),
            Self::Yes => json!({ "const": true }),
            Self::Number => json!({ "type": "integer", "minimum": 1, "maximum": 1_000_000 }),
        }
    }
}
