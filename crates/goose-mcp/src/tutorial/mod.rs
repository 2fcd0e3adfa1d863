//! `tutorial`: texts that tell a model how to guide a person through something new, step by step.
//!
//! The texts are part of the program. The model loads one by name; MCP clients can also read them as resources,
//! `tutorial://NAME`.

use goose_extension::{Resource, ResourceContents, prelude::*};

/// Prefix of the address of a tutorial.
const SCHEME: &str = "tutorial://";

const MARKDOWN: &str = "text/markdown";

/// Characters of an unknown name that an error quotes.
const MAX_QUOTE_CHARS: usize = 60;

/// The tutorials.
#[derive(Debug, Clone, Copy)]
struct Lesson {
    name: &'static str,
    /// One line: what the person has in the end.
    summary: &'static str,
    text: &'static str,
}

const LESSONS: [Lesson; 4] = [
    Lesson {
        name: "build-mcp-extension",
        summary: "write an MCP server in Python or TypeScript, test it with the MCP Inspector, use it in any client",
        text: include_str!("build-mcp-extension.md"),
    },
    Lesson {
        name: "first-game",
        summary: "make a small game that runs in the browser, from a single HTML file",
        text: include_str!("first-game.md"),
    },
    Lesson {
        name: "first-steps",
        summary: "get to know goose: a first task and session, permissions and modes, agents, an extension",
        text: include_str!("first-steps.md"),
    },
    Lesson {
        name: "rust-extension",
        summary: "write a goose extension in Rust with #[extension] and #[tool], test it, serve it over MCP",
        text: include_str!("rust-extension.md"),
    },
];

/// The `tutorial` extension.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Tutorial;

impl Tutorial {
    /// The tutorials that come with goose.
    pub fn new() -> Self {
        Self
    }
}

#[extension(
    name = "tutorial",
    description = "Tutorials that guide a person step by step",
    instructions = "When the person wants to learn or build one of the things listed here, load the tutorial and \
                    follow it with them: one step at a time, at their pace, and only on when the step works."
)]
impl Extension for Tutorial {
    fn prompt(&self) -> String {
        format!("{}\n\nTutorials:\n{}", self.instructions(), list())
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        let names: Vec<&str> = LESSONS.iter().map(|lesson| lesson.name).collect();
        Ok(hashmap! { "tutorials" => json!(names) })
    }

    async fn list_resources(&self) -> ToolResult<Vec<Resource>> {
        Ok(LESSONS.iter().map(Lesson::resource).collect())
    }

    async fn read_resource(&self, uri: &str, _context: &CallContext) -> ToolResult<Vec<ResourceContents>> {
        match uri.strip_prefix(SCHEME).and_then(find) {
            Some(lesson) => Ok(vec![ResourceContents::text(lesson.text, uri).with_mime_type(MARKDOWN)]),
            None => {
                Err(ToolError::ResourceNotFound(format!("There is no resource {}. {}", quote(uri), known())))
            }
        }
    }

    /// Load a tutorial: build-mcp-extension, first-game, first-steps (goose itself) or rust-extension. Returns Markdown that
    /// tells you how to guide the person through it. Fails if there is none of that name, and lists those that there are.
    #[tool(title = "Load a tutorial", group = "read", read_only, idempotent, open_world = false)]
    fn load_tutorial(
        &self,
        /// One of these names
        name: &str,
    ) -> ToolResult<String> {
        match find(name) {
            Some(lesson) => Ok(lesson.text.to_owned()),
            None => {
                Err(ToolError::ExecutionError(format!("There is no tutorial {}. {}", quote(name), known())))
            }
        }
    }
}

impl Lesson {
    fn resource(&self) -> Resource {
        Resource::new(format!("{SCHEME}{}", self.name), self.name)
            .with_description(self.summary)
            .with_mime_type(MARKDOWN)
            .with_size(self.text.len() as u64)
    }
}

fn find(name: &str) -> Option<&'static Lesson> {
    LESSONS.iter().find(|lesson| lesson.name == name)
}

/// The tutorials, one on a line.
fn list() -> String {
    let lines: Vec<String> =
        LESSONS.iter().map(|lesson| format!("- {}: {}", lesson.name, lesson.summary)).collect();
    lines.join("\n")
}

fn known() -> String {
    format!("Use one of these names:\n{}", list())
}

fn quote(name: &str) -> String {
    let shown: String = name.chars().take(MAX_QUOTE_CHARS).collect();
    let dots = if shown.len() < name.len() { "…" } else { "" };
    format!("{shown:?}{dots}")
}
