//! The documentation: its commands are run, its links lead somewhere, and its reference is what the program says.
//!
//! - `commands`: the fenced blocks of shell commands, and commands within sentences;
//! - `links`: links and anchors, and the table of contents;
//! - `reference`: the pages below `docs/reference`, which are generated.

mod commands;
mod links;
mod reference;

use std::{
    fs,
    path::{Path, PathBuf},
};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A file of the documentation.
struct Page {
    /// Path from the root of the repository.
    name: String,
    text: String,
}

/// A fenced block. Its info string is a language, and then nothing, `file: PATH`, or `not run: REASON`.
struct Block {
    /// Line of its first line of text.
    line: usize,
    info: String,
    text: String,
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the pages for people: those of the root, and all below `docs`.
fn pages() -> anyhow::Result<Vec<Page>> {
    let mut names =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned).to_vec();
    add_pages("docs", &mut names)?;
    names.sort();
    let read = |name: String| Ok(Page { text: fs::read_to_string(root().join(&name))?, name });
    names.into_iter().map(read).collect()
}

fn add_pages(folder: &str, names: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(root().join(folder))? {
        let entry = entry?;
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            add_pages(&name, names)?;
        } else if name.ends_with(".md") {
            names.push(name);
        }
    }
    Ok(())
}

impl Page {
    /// Returns true for pages that describe what is, to people who use goose.
    fn is_guide(&self) -> bool {
        let is_other = |prefix| self.name.starts_with(prefix);
        !["docs/decisions/", "docs/reference/", "CHANGELOG"].into_iter().any(is_other)
    }

    fn line_of(&self, at: usize) -> usize {
        self.text.get(..at).unwrap_or_default().matches('\n').count() + 1
    }

    fn events(&self) -> impl Iterator<Item = (Event<'_>, std::ops::Range<usize>)> {
        Parser::new_ext(&self.text, Options::ENABLE_TABLES).into_offset_iter()
    }

    /// Returns the fenced blocks, in order.
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (event, range) in self.events() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    let line = self.line_of(range.start) + 1;
                    open = Some(Block { line, info: info.to_string(), text: String::new() });
                }
                Event::Text(text) => {
                    if let Some(block) = &mut open {
                        block.text.push_str(&text);
                    }
                }
                Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
                _ => {}
            }
        }
        blocks
    }

    /// Returns the code within sentences, with its line.
    fn inline_code(&self) -> Vec<(usize, String)> {
        let code = |(event, range): (Event<'_>, std::ops::Range<usize>)| match event {
            Event::Code(text) => Some((self.line_of(range.start), text.to_string())),
            _ => None,
        };
        self.events().filter_map(code).collect()
    }
}

impl Block {
    /// Returns true if it has commands for a shell.
    fn is_shell(&self) -> bool {
        matches!(self.info.split(' ').next(), Some("sh" | "console"))
    }

    /// Returns the path of the file that it is, if it is one.
    fn file(&self) -> Option<&str> {
        self.info.split_once(" file: ").map(|(_, path)| path.trim())
    }

    /// Returns the reason why its commands are not run.
    fn not_run(&self) -> Option<&str> {
        self.info.split_once(" not run: ").map(|(_, reason)| reason.trim())
    }
}
