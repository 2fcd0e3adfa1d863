//! The outline of a file, and the overview of a folder: each file with what it defines at its top.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    code::Code,
    symbols::{Definition, Symbols},
};

/// Maximum number of names shown of one file.
const MAX_NAMES: usize = 12;

/// Lists the files of a folder with their main names.
pub(super) fn overview(code: &Code) -> String {
    let mut languages: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (_, symbols) in &code.files {
        let (files, lines) = languages.entry(symbols.language).or_default();
        *files += 1;
        *lines += symbols.lines;
    }
    let mut map = String::new();
    for (language, (files, lines)) in languages {
        let _ = writeln!(map, "{language}: {files} files, {lines} lines");
    }
    for (file, symbols) in &code.files {
        let _ = writeln!(map, "{} ({} lines){}", file.display(), symbols.lines, names(symbols));
    }
    if code.files.is_empty() {
        map.push_str("No code that is understood, within this depth.\n");
    }
    map.extend(code.remark.clone());
    map
}

/// The names at the top of a file, those of types first.
fn names(symbols: &Symbols) -> String {
    let top =
        || symbols.definitions.iter().filter(|definition| definition.depth == 0 && definition.kind != "impl");
    let types = top().filter(|definition| !definition.is_function());
    let functions = top().filter(|definition| definition.is_function());
    let all: Vec<&Definition> = types.chain(functions).collect();
    let mut names: Vec<&str> =
        all.iter().take(MAX_NAMES).map(|definition| definition.name.as_str()).collect();
    if all.len() > MAX_NAMES {
        names.push("…");
    }
    if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
}

/// Lists the definitions of a file.
pub(super) fn outline(symbols: &Symbols) -> String {
    let mut map = format!("{}, {} lines\n", symbols.language, symbols.lines);
    for definition in &symbols.definitions {
        let indent = "  ".repeat(definition.depth);
        let lines = format!("{}-{}", definition.line, definition.end);
        let _ = writeln!(map, "{lines:>11}  {indent}{}", definition.signature);
    }
    if symbols.definitions.is_empty() {
        map.push_str("It defines nothing.\n");
    }
    map
}
