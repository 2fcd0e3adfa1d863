//! The outline of one file.

use std::fmt::Write as _;

use super::symbols::Symbols;

pub(super) fn map(symbols: &Symbols) -> String {
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
