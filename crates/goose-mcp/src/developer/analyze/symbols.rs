//! Definitions and calls of a file of code.

use std::{
    io::Read as _,
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};

use tree_sitter::{
    Node, ParseOptions, QueryCapture, QueryCursor, QueryCursorOptions, StreamingIterator as _, Tree,
};

use super::{super::find::Root, language::Grammar, parser_guard::sanitize};

/// A larger file is not code that people write.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Time limit for parsing a file and for querying it; some broken ones would take minutes.
const MAX_TIME: Duration = Duration::from_secs(1);
/// Maximum number of definitions and calls of one file.
const MAX_SYMBOLS: usize = 20_000;
/// Bytes kept of a name.
const MAX_NAME_BYTES: usize = 256;
/// Characters shown of a definition's first line.
const MAX_SIGNATURE_CHARS: usize = 160;

/// A file's symbols, in the order in which they stand there.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Symbols {
    pub(super) language: &'static str,
    pub(super) lines: usize,
    pub(super) definitions: Vec<Definition>,
    pub(super) calls: Vec<Call>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Definition {
    pub(super) kind: String,
    pub(super) name: String,
    /// Its first line, which begins with 1.
    pub(super) line: usize,
    /// Its last line.
    pub(super) end: usize,
    /// Number of definitions around it.
    pub(super) depth: usize,
    /// Its first line of code.
    pub(super) signature: String,
}

#[derive(Debug, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) line: usize,
}

impl Symbols {
    /// Reads a file; returns nothing if its language is not supported, it is too large, or its parser rejects it.
    pub(super) fn from_file(root: &Root, file: &Path) -> Option<Self> {
        let grammar = Grammar::for_file(file)?;
        Self::from_code(grammar, &sanitize(grammar.name, &bytes(root, file)?)?)
    }

    /// Returns whether a file may define or call a symbol: its name stands there.
    pub(super) fn may_name(root: &Root, file: &Path, symbol: &str) -> bool {
        bytes(root, file).is_some_and(|code| String::from_utf8_lossy(&code).contains(symbol))
    }

    fn from_code(grammar: &Grammar, code: &[u8]) -> Option<Self> {
        let tree = parse(grammar, code)?;
        let query = grammar.query()?;
        let name_of = |capture: &QueryCapture<'_>| query.capture_names()[capture.index as usize];
        let mut symbols = Self {
            language: grammar.name,
            lines: code.split(|byte| *byte == b'\n').count(),
            ..Self::default()
        };
        let mut cursor = QueryCursor::new();
        let mut in_time = in_time();
        let options = QueryCursorOptions::new().progress_callback(&mut in_time);
        let mut matches = cursor.matches_with_options(query, tree.root_node(), code, options);
        while let Some(found) = matches.next() {
            let captures = found.captures();
            let of = |wanted: &str| captures.iter().find(|it| name_of(it) == wanted).map(|it| it.node);
            if let Some(call) = of("call") {
                symbols.calls.push(Call { name: text(call, code), line: line(call) });
            } else if let Some(name) = of("name")
                && let Some(whole) = captures.iter().find(|it| name_of(it) != "name")
            {
                symbols.definitions.push(Definition {
                    kind: name_of(whole).to_owned(),
                    name: text(name, code),
                    line: line(whole.node),
                    end: whole.node.end_position().row + 1,
                    depth: 0,
                    signature: signature(whole.node, code),
                });
            }
            if symbols.count() >= MAX_SYMBOLS {
                break;
            }
        }
        symbols.nest();
        Some(symbols)
    }

    /// Sorts all and finds out which definitions stand in which.
    fn nest(&mut self) {
        self.calls.sort_by_key(|call| call.line);
        self.definitions.sort_by(|a, b| a.line.cmp(&b.line).then(b.end.cmp(&a.end)));
        self.definitions.dedup_by(|a, b| a.line == b.line && a.name == b.name);
        let mut open: Vec<usize> = Vec::new();
        for definition in &mut self.definitions {
            while open.pop_if(|end| *end < definition.end).is_some() {}
            definition.depth = open.len();
            open.push(definition.end);
        }
    }

    /// All calls, each with the innermost function that it stands in.
    pub(super) fn calls_with_callers(&self) -> impl Iterator<Item = (&Call, Option<&Definition>)> {
        let mut coming = self.definitions.iter().filter(|it| it.is_function()).peekable();
        let mut open: Vec<&Definition> = Vec::new();
        self.calls.iter().map(move |call| {
            while let Some(function) = coming.next_if(|it| it.line <= call.line) {
                open.push(function);
            }
            while open.pop_if(|it| it.end < call.line).is_some() {}
            (call, open.last().copied())
        })
    }

    /// Returns the number of definitions and calls.
    pub(super) fn count(&self) -> usize {
        self.definitions.len() + self.calls.len()
    }
}

impl Definition {
    pub(super) fn is_function(&self) -> bool {
        matches!(self.kind.as_str(), "function" | "method" | "macro")
    }
}

/// A file that is not too large.
fn bytes(root: &Root, file: &Path) -> Option<Vec<u8>> {
    let mut code = Vec::new();
    root.open_regular(file)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut code).ok()?;
    (code.len() as u64 <= MAX_FILE_BYTES).then_some(code)
}

/// The syntax of a file, unless it takes too long.
fn parse(grammar: &Grammar, code: &[u8]) -> Option<Tree> {
    let mut in_time = in_time();
    let options = ParseOptions::new().progress_callback(&mut in_time);
    let mut from = |start: usize, _| code.get(start..).unwrap_or_default();
    grammar.parser()?.parse_with_options(&mut from, None, Some(options))
}

/// Goes on until the time is over.
fn in_time<T>() -> impl FnMut(&T) -> ControlFlow<()> {
    let end = Instant::now() + MAX_TIME;
    move |_| if Instant::now() < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

fn line(node: Node<'_>) -> usize {
    node.start_position().row + 1
}

fn text(node: Node<'_>, code: &[u8]) -> String {
    let text = &code[node.byte_range()];
    String::from_utf8_lossy(&text[..text.len().min(MAX_NAME_BYTES)]).into_owned()
}

/// The first line, without what opens a body.
fn signature(node: Node<'_>, code: &[u8]) -> String {
    let whole = &code[node.byte_range()];
    let first = whole.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let first = first.trim().trim_end_matches(['{', ':', '(']).trim_end();
    first.chars().take(MAX_SIGNATURE_CHARS).collect()
}
