//! The languages that `analyze` reads. What counts as a definition and as a call in each is in `queries/`.

use std::{path::Path, sync::OnceLock};

use tree_sitter::{Language, Parser, Query};
use tree_sitter_language::LanguageFn;

/// A language: its grammar, and a query whose captures are `name` inside a definition of some kind, and `call`.
pub(super) struct Grammar {
    pub(super) name: &'static str,
    extensions: &'static [&'static str],
    language: LanguageFn,
    queries: &'static [&'static str],
    compiled: OnceLock<Option<Query>>,
}

// Grammars of one family share a query.
const C: &str = include_str!("queries/c.scm");
const JAVASCRIPT: &str = include_str!("queries/javascript.scm");
const TYPESCRIPT: &str = include_str!("queries/typescript.scm");

static GRAMMARS: [Grammar; 11] = [
    grammar("Rust", &["rs"], tree_sitter_rust::LANGUAGE, &[include_str!("queries/rust.scm")]),
    grammar("Python", &["py", "pyi"], tree_sitter_python::LANGUAGE, &[include_str!("queries/python.scm")]),
    grammar(
        "JavaScript",
        &["js", "jsx", "mjs", "cjs"],
        tree_sitter_javascript::LANGUAGE,
        &[JAVASCRIPT, include_str!("queries/javascript_classes.scm")],
    ),
    grammar(
        "TypeScript",
        &["ts", "mts", "cts"],
        tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        &[JAVASCRIPT, TYPESCRIPT],
    ),
    grammar("TypeScript", &["tsx"], tree_sitter_typescript::LANGUAGE_TSX, &[JAVASCRIPT, TYPESCRIPT]),
    grammar("Go", &["go"], tree_sitter_go::LANGUAGE, &[include_str!("queries/go.scm")]),
    grammar("Java", &["java"], tree_sitter_java::LANGUAGE, &[include_str!("queries/java.scm")]),
    grammar("C", &["c", "h"], tree_sitter_c::LANGUAGE, &[C]),
    grammar(
        "C++",
        &["cc", "cpp", "cxx", "hpp", "hh", "hxx"],
        tree_sitter_cpp::LANGUAGE,
        &[C, include_str!("queries/cpp.scm")],
    ),
    grammar("Ruby", &["rb"], tree_sitter_ruby::LANGUAGE, &[include_str!("queries/ruby.scm")]),
    grammar("C#", &["cs"], tree_sitter_c_sharp::LANGUAGE, &[include_str!("queries/c_sharp.scm")]),
];

const fn grammar(
    name: &'static str,
    extensions: &'static [&'static str],
    language: LanguageFn,
    queries: &'static [&'static str],
) -> Grammar {
    Grammar { name, extensions, language, queries, compiled: OnceLock::new() }
}

impl Grammar {
    /// The grammar for a file, by its name.
    pub(super) fn for_file(file: &Path) -> Option<&'static Self> {
        let extension = file.extension()?.to_str()?;
        GRAMMARS.iter().find(|grammar| grammar.extensions.contains(&extension))
    }

    /// Returns the names of all languages, for messages.
    pub(super) fn names() -> String {
        let mut names: Vec<&str> = GRAMMARS.iter().map(|grammar| grammar.name).collect();
        names.dedup();
        names.join(", ")
    }

    /// A parser for this language.
    pub(super) fn parser(&self) -> Option<Parser> {
        let mut parser = Parser::new();
        parser.set_language(&Language::new(self.language)).ok()?;
        Some(parser)
    }

    /// The query, compiled at its first use.
    pub(super) fn query(&self) -> Option<&Query> {
        let compile = || Query::new(&Language::new(self.language), &self.queries.concat()).ok();
        self.compiled.get_or_init(compile).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_fits_its_grammar() {
        for grammar in &GRAMMARS {
            let compiled = Query::new(&Language::new(grammar.language), &grammar.queries.concat());
            assert!(compiled.is_ok(), "{}: {:?}", grammar.name, compiled.err());
            assert!(grammar.parser().is_some(), "{}", grammar.name);
        }
    }
}
