//! Fenced code, coloured line by line. The grammars are loaded when the first fence names a language.
//!
//! The sixteen colours of the terminal are used, so that code can be read on any background.

use std::sync::LazyLock;

use anstyle::{AnsiColor, Style};
use syntect::{
    easy::ScopeRangeIterator,
    parsing::{ParseState, Scope, ScopeStack, SyntaxSet},
};

use super::spans::Span;
use crate::output::FAINT;

/// Longer lines are shown without colours: they are data, not code.
const MAX_COLOURED_LINE: usize = 2_000;

static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// Styles of the parts of code; the first match is used.
static LOOKS: LazyLock<Vec<(Scope, Style)>> = LazyLock::new(|| {
    let looks = [
        ("comment", FAINT),
        ("string", AnsiColor::Green.on_default()),
        ("constant", AnsiColor::Cyan.on_default()),
        ("keyword.operator", Style::new()),
        ("keyword", AnsiColor::Magenta.on_default()),
        ("storage.type.function", AnsiColor::Magenta.on_default()),
        ("storage", AnsiColor::Magenta.on_default()),
        ("entity.name.function", AnsiColor::Blue.on_default()),
        ("support.function", AnsiColor::Blue.on_default()),
        ("variable.function", AnsiColor::Blue.on_default()),
        ("entity.name", AnsiColor::Yellow.on_default()),
        ("support.type", AnsiColor::Yellow.on_default()),
        ("markup.inserted", AnsiColor::Green.on_default()),
        ("markup.deleted", AnsiColor::Red.on_default()),
    ];
    looks.into_iter().filter_map(|(scope, style)| Some((Scope::new(scope).ok()?, style))).collect()
});

/// Highlights one code block.
#[derive(Debug)]
pub(super) struct Painter {
    /// `None` if the language is unknown or the grammar failed.
    grammar: Option<(ParseState, ScopeStack)>,
}

impl Painter {
    /// Creates a painter for the language that a fence names.
    pub(super) fn new(language: &str) -> Self {
        if language.is_empty() || matches!(language, "text" | "txt" | "plain" | "plaintext") {
            return Self { grammar: None };
        }
        let grammar = GRAMMARS.find_syntax_by_token(alias(language));
        Self { grammar: grammar.map(|grammar| (ParseState::new(grammar), ScopeStack::new())) }
    }

    /// Splits a line into styled spans.
    pub(super) fn line(&mut self, line: &str) -> Vec<Span> {
        if line.len() > MAX_COLOURED_LINE {
            return vec![Span::new(Style::new(), line)];
        }
        self.coloured(line).unwrap_or_else(|| {
            self.grammar = None;
            vec![Span::new(Style::new(), line)]
        })
    }

    fn coloured(&mut self, line: &str) -> Option<Vec<Span>> {
        let (state, stack) = self.grammar.as_mut()?;
        let line = format!("{line}\n");
        let changes = state.parse_line(&line, &GRAMMARS).ok()?;
        let mut spans = Vec::new();
        for (range, change) in ScopeRangeIterator::new(&changes, &line) {
            stack.apply(change).ok()?;
            let text = line.get(range)?.trim_end_matches('\n');
            if !text.is_empty() {
                spans.push(Span::new(look(stack), text));
            }
        }
        Some(spans)
    }
}

/// Returns the style of the innermost scope that has one.
fn look(stack: &ScopeStack) -> Style {
    let of =
        |scope: &Scope| LOOKS.iter().find(|(look, _)| look.is_prefix_of(*scope)).map(|(_, style)| *style);
    stack.as_slice().iter().rev().find_map(of).unwrap_or_default()
}

/// Maps a language to the name that the grammars know.
fn alias(language: &str) -> &str {
    match language {
        "ts" | "tsx" | "typescript" | "jsx" | "mjs" => "js",
        "shell" | "console" | "zsh" => "sh",
        "jsonc" | "json5" => "json",
        "c++" => "cpp",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_coloured_and_complete() {
        let mut painter = Painter::new("rust");
        let line = "let x = \"text\"; // why";
        let spans = painter.line(line);
        assert_eq!(spans.iter().map(|span| span.text.as_str()).collect::<String>(), line);
        let style_of = |part: &str| spans.iter().find(|span| span.text.contains(part)).unwrap().style;
        assert_eq!(style_of("let"), AnsiColor::Magenta.on_default());
        assert_eq!(style_of("text"), AnsiColor::Green.on_default());
        assert_eq!(style_of("why"), FAINT);
    }

    #[test]
    fn an_unknown_language_stays_as_it_is() {
        assert_eq!(Painter::new("nonesuch").line("let x"), [Span::new(Style::new(), "let x")]);
    }
}
