//! [`Functions`]: the tools of the agent as functions, `developer__shell` as `developer.shell`.
//!
//! A name that is not an identifier becomes one in a way that depends only on the names: other characters
//! turn into `_`, a leading digit gets a `_` before it, a reserved word gets a `_` behind it, and of two
//! functions with the same name the second is called `name_2`.

use std::collections::{BTreeMap, HashSet};

use goose_extension::Tool;

/// Separator between the names of an extension and a tool.
const SEPARATOR: &str = "__";

/// Name of this extension, whose tools are not functions.
pub(crate) const NAME: &str = "code_execution";

/// Namespace of tools without an extension in their name.
const DEFAULT_NAMESPACE: &str = "tools";

/// Maximum number of names that an error suggests.
const MAX_SUGGESTIONS: usize = 5;

/// Maximum length of an unknown name in comparisons and errors.
const MAX_SHOWN_NAME: usize = 80;

/// Minimum similarity of a suggested name.
const MIN_SIMILARITY: f64 = 0.6;

/// Words that cannot be names in a script.
const RESERVED: &[&str] = &[
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Names with another meaning in programs.
const GLOBALS: &[&str] = &[
    "Array",
    "Boolean",
    "BigInt",
    "Date",
    "Error",
    "Infinity",
    "Intl",
    "JSON",
    "Map",
    "Math",
    "NaN",
    "Number",
    "Object",
    "Promise",
    "Proxy",
    "Reflect",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "clearTimeout",
    "console",
    "globalThis",
    "run",
    "setTimeout",
];

/// Tool as a function.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) tool: Tool,
}

impl Function {
    /// Returns the function as programs call it.
    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.namespace, self.name)
    }
}

/// Functions of a program, sorted by namespace and name of the tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct Functions(Vec<Function>);

impl Functions {
    /// Creates functions for the tools that the model sees, without those of this extension.
    pub(crate) fn new(tools: &[Tool]) -> Self {
        let own = format!("{NAME}{SEPARATOR}");
        let mut tools: Vec<&Tool> = tools.iter().filter(|tool| !tool.name().starts_with(&own)).collect();
        tools.sort_by_key(|tool| tool.name());
        let mut taken = HashSet::new();
        let mut functions: Vec<Function> = tools.into_iter().map(|tool| named(tool, &mut taken)).collect();
        functions.sort_by(|one, other| one.namespace.cmp(&other.namespace));
        Self(functions)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Function> {
        self.0.get(index)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Function> {
        self.0.iter()
    }

    /// Groups functions by namespace.
    pub(crate) fn by_namespace<'a>(
        functions: impl IntoIterator<Item = &'a Function>,
    ) -> BTreeMap<&'a str, Vec<&'a Function>> {
        let mut namespaces: BTreeMap<&str, Vec<&Function>> = BTreeMap::new();
        for function in functions {
            namespaces.entry(&function.namespace).or_default().push(function);
        }
        namespaces
    }

    /// Returns the functions that a name refers to: a function, a namespace, or a tool as the model calls it.
    pub(crate) fn find(&self, name: &str) -> Vec<&Function> {
        let is_meant = |function: &&Function| {
            function.path() == name || function.namespace == name || function.tool.name() == name
        };
        self.0.iter().filter(is_meant).collect()
    }

    /// Returns the error for a name that no function has.
    pub(crate) fn unknown(&self, name: &str) -> String {
        let name = goose_fs::truncate_chars(name, MAX_SHOWN_NAME);
        match self.suggest(&name) {
            Some(suggestion) => format!("There is no function `{name}`. {suggestion}"),
            None => {
                format!("There is no function `{name}`. Call list_functions to see all functions.")
            }
        }
    }

    /// Returns a question with functions and namespaces whose names are similar to an unknown one.
    pub(crate) fn suggest(&self, name: &str) -> Option<String> {
        let name = goose_fs::head_chars(name, MAX_SHOWN_NAME).to_lowercase();
        let bare = name.rsplit(['.', '_']).next().filter(|bare| bare.len() > 2).unwrap_or(&name);
        let mut near: Vec<(f64, String)> = Vec::new();
        for function in &self.0 {
            let names = [function.path(), function.name.clone(), function.tool.name().to_owned()];
            let similarity =
                names.iter().map(|known| strsim::normalized_levenshtein(&known.to_lowercase(), &name));
            let best = similarity.fold(0.0, f64::max);
            let contained = function.name.to_lowercase().contains(bare);
            let score = if contained { best.max(MIN_SIMILARITY) } else { best };
            near.push((score, function.path()));
        }
        for namespace in Self::by_namespace(&self.0).into_keys() {
            near.push((
                strsim::normalized_levenshtein(&namespace.to_lowercase(), &name),
                namespace.to_owned(),
            ));
        }
        near.retain(|(score, _)| *score >= MIN_SIMILARITY);
        near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let names: Vec<String> = near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect();
        (!names.is_empty()).then(|| format!("Did you mean {}?", names.join(", ")))
    }
}

fn named(tool: &Tool, taken: &mut HashSet<String>) -> Function {
    let (namespace, name) = tool.name().split_once(SEPARATOR).unwrap_or((DEFAULT_NAMESPACE, tool.name()));
    let (mut namespace, name) = (identifier(namespace), identifier(name));
    if GLOBALS.contains(&namespace.as_str()) {
        namespace.push('_');
    }
    let mut function = Function { namespace, name: name.clone(), tool: tool.clone() };
    let mut number = 1;
    while !taken.insert(function.path()) {
        number += 1;
        function.name = format!("{name}_{number}");
    }
    function
}

fn identifier(name: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut name: String = name.chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    if RESERVED.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// Returns whether a name can be written without quotes.
pub(crate) fn is_identifier(name: &str) -> bool {
    !RESERVED.contains(&name) && identifier(name) == name
}

#[cfg(test)]
mod tests {
    use goose_extension::JsonObject;

    use super::*;

    fn functions(names: &[&'static str]) -> Functions {
        let tools: Vec<Tool> = names.iter().map(|name| Tool::new(*name, "", JsonObject::new())).collect();
        Functions::new(&tools)
    }

    fn paths(names: &[&'static str]) -> Vec<String> {
        functions(names).iter().map(Function::path).collect()
    }

    #[test]
    fn names_become_identifiers() {
        assert_eq!(
            paths(&[
                "developer__shell",
                "my-server__list-files",
                "_7zip__7z",
                "a__delete",
                "console__log",
                "bare"
            ]),
            [
                "_7zip._7z",
                "a.delete_",
                "console_.log",
                "developer.shell",
                "my_server.list_files",
                "tools.bare"
            ]
        );
    }

    #[test]
    fn equal_names_are_numbered_in_the_order_of_the_tools() {
        let forth = paths(&["a__b-c", "a__b_c", "a__b__c"]);
        assert_eq!(forth, ["a.b_c", "a.b__c", "a.b_c_2"]);
        assert_eq!(forth, paths(&["a__b_c", "a__b__c", "a__b-c"]));
    }

    #[test]
    fn tools_of_this_extension_are_left_out() {
        assert_eq!(
            paths(&["code_execution__execute_typescript", "code_executions__a"]),
            ["code_executions.a"]
        );
    }

    #[test]
    fn function_is_found_by_path_namespace_and_tool() {
        let functions = functions(&["developer__shell", "developer__read", "my-server__x"]);
        let found = |name: &str| functions.find(name).len();
        assert_eq!(["developer.shell", "developer", "my-server__x", "shell"].map(found), [1, 2, 1, 0]);
    }

    #[test]
    fn unknown_names_get_suggestions() {
        let functions = functions(&["developer__shell", "developer__read", "memory__search_memories"]);
        for (name, suggested) in [
            ("developer.shel", "developer.shell"),
            ("developr", "developer"),
            ("shell", "developer.shell"),
            ("memory.search", "memory.search_memories"),
            ("developer__shelll", "developer.shell"),
        ] {
            let error = functions.unknown(name);
            assert!(error.contains(&format!("Did you mean {suggested}")), "{name}: {error}");
        }
        assert!(functions.unknown("zzz").contains("list_functions"));
    }
}
