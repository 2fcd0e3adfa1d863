//! [`ErrorLines`]: errors of the engine as the model gets them.

use super::{FILE, Thrown};
use crate::{functions::Functions, limits::MAX_MEMORY_BYTES};

/// Translation of engine positions to lines and columns of the program.
pub(super) struct ErrorLines {
    /// Number of lines of the program.
    lines: usize,
    /// Columns that the engine's code has before the first line.
    shift: usize,
}

impl ErrorLines {
    pub(super) fn new(program: &str, shift: usize) -> Self {
        Self { lines: program.lines().count(), shift }
    }

    /// Returns the text of an error for the model: positions in the program, and advice for known errors.
    pub(super) fn explain(&self, Thrown(text): &Thrown, functions: &Functions) -> String {
        let mut explained: Vec<String> = text.lines().filter_map(|line| self.line(line)).collect();
        let message = text.lines().next().unwrap_or_default();
        if message.contains("out of memory") {
            explained.push(format!(
                "A program has {} MB of memory. Keep less at a time: filter results as they come.",
                MAX_MEMORY_BYTES / 1024 / 1024
            ));
        }
        let undefined =
            message.strip_prefix("ReferenceError: ").and_then(|rest| rest.strip_suffix(" is not defined"));
        if let Some(name) = undefined {
            explained.extend(functions.suggest(name.trim_matches(['\'', '"'])));
        }
        explained.join("\n")
    }

    /// Returns a line of an error. Frames of the prelude and the engine are left out.
    fn line(&self, line: &str) -> Option<String> {
        let Some(frame) = line.strip_prefix("    at ") else {
            return (!line.trim().is_empty()).then(|| line.to_owned());
        };
        let (function, place) = match frame.trim_end_matches(')').rsplit_once('(') {
            Some((function, place)) => (function.trim(), place),
            None => ("", frame),
        };
        let mut numbers = place.strip_prefix(FILE)?.split(':').skip(1).map(str::parse::<usize>);
        let (line, column) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        if line > self.lines {
            return None;
        }
        let column = if line == 1 { column.saturating_sub(self.shift) } else { column };
        let inside = match function {
            "" | "<anonymous>" | "<eval>" => String::new(),
            name => format!(" in {name}"),
        };
        Some(format!("  at line {line}, column {column}{inside}"))
    }
}
