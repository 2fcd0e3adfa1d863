//! The languages that `analyze` reads, and what counts as a definition and as a call in each.

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

const C_DEFINITIONS: &str = "
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @function
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(type_definition declarator: (type_identifier) @name) @type
(preproc_function_def name: (identifier) @name) @macro
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
";

const CPP_DEFINITIONS: &str = "
(class_specifier name: (type_identifier) @name body: (_)) @class
(namespace_definition name: (namespace_identifier) @name) @module
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @method
(function_definition declarator: (function_declarator declarator: (qualified_identifier name: (identifier) @name))) @method
(function_definition declarator: (reference_declarator (function_declarator declarator: (identifier) @name))) @function
(call_expression function: (qualified_identifier name: (identifier) @call))
";

const JAVASCRIPT_DEFINITIONS: &str = "
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (property_identifier) @name) @method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(call_expression function: (identifier) @call)
(call_expression function: (member_expression property: (property_identifier) @call))
";

const JAVASCRIPT_CLASSES: &str = "
(class_declaration name: (identifier) @name) @class
(new_expression constructor: (identifier) @call)
";

const TYPESCRIPT_TYPES: &str = "
(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @enum
(internal_module name: (identifier) @name) @module
(new_expression constructor: (identifier) @call)
";

const RUST_DEFINITIONS: &str = "
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(union_item name: (type_identifier) @name) @struct
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(mod_item name: (identifier) @name body: (_)) @module
(macro_definition name: (identifier) @name) @macro
(impl_item type: (type_identifier) @name) @impl
(impl_item type: (generic_type type: (type_identifier) @name)) @impl
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(call_expression function: (scoped_identifier name: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (scoped_identifier name: (identifier) @call)))
(macro_invocation macro: (identifier) @call)
";

const PYTHON_DEFINITIONS: &str = "
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
";

const GO_DEFINITIONS: &str = "
(function_declaration name: (identifier) @name) @function
(method_declaration name: (field_identifier) @name) @method
(type_spec name: (type_identifier) @name type: (struct_type)) @struct
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(call_expression function: (identifier) @call)
(call_expression function: (selector_expression field: (field_identifier) @call))
";

const JAVA_DEFINITIONS: &str = "
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(record_declaration name: (identifier) @name) @class
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(method_invocation name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
";

const RUBY_DEFINITIONS: &str = "
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(class name: (_) @name) @class
(module name: (_) @name) @module
(call method: (identifier) @call)
";

const C_SHARP_DEFINITIONS: &str = "
(class_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @struct
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(namespace_declaration name: (_) @name) @module
(invocation_expression function: (identifier) @call)
(invocation_expression function: (member_access_expression name: (identifier) @call))
(object_creation_expression type: (identifier) @call)
";

static GRAMMARS: [Grammar; 11] = [
    grammar("Rust", &["rs"], tree_sitter_rust::LANGUAGE, &[RUST_DEFINITIONS]),
    grammar("Python", &["py", "pyi"], tree_sitter_python::LANGUAGE, &[PYTHON_DEFINITIONS]),
    grammar(
        "JavaScript",
        &["js", "jsx", "mjs", "cjs"],
        tree_sitter_javascript::LANGUAGE,
        &[JAVASCRIPT_DEFINITIONS, JAVASCRIPT_CLASSES],
    ),
    grammar(
        "TypeScript",
        &["ts", "mts", "cts"],
        tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        &[JAVASCRIPT_DEFINITIONS, TYPESCRIPT_TYPES],
    ),
    grammar(
        "TypeScript",
        &["tsx"],
        tree_sitter_typescript::LANGUAGE_TSX,
        &[JAVASCRIPT_DEFINITIONS, TYPESCRIPT_TYPES],
    ),
    grammar("Go", &["go"], tree_sitter_go::LANGUAGE, &[GO_DEFINITIONS]),
    grammar("Java", &["java"], tree_sitter_java::LANGUAGE, &[JAVA_DEFINITIONS]),
    grammar("C", &["c", "h"], tree_sitter_c::LANGUAGE, &[C_DEFINITIONS]),
    grammar(
        "C++",
        &["cc", "cpp", "cxx", "hpp", "hh", "hxx"],
        tree_sitter_cpp::LANGUAGE,
        &[C_DEFINITIONS, CPP_DEFINITIONS],
    ),
    grammar("Ruby", &["rb"], tree_sitter_ruby::LANGUAGE, &[RUBY_DEFINITIONS]),
    grammar("C#", &["cs"], tree_sitter_c_sharp::LANGUAGE, &[C_SHARP_DEFINITIONS]),
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
    pub(super) fn of(file: &Path) -> Option<&'static Self> {
        let extension = file.extension()?.to_str()?;
        GRAMMARS.iter().find(|grammar| grammar.extensions.contains(&extension))
    }

    /// What can be read, for messages.
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
