//! TypeScript to JavaScript by erasure: types become blanks, so that lines and columns do not change.
//!
//! Syntax with a meaning at run time (enums, namespaces, decorators, parameter properties, imports) is
//! refused by line, with what to write instead. Two cases need more than blanks:
//!
//! - An erased statement leaves a `;`, and so does an erased end of one (`x as any`), because the next line
//!   may begin with `(`.
//! - `=>` must follow `)` on the same line. The `)` moves behind a return type of several lines.

use std::{collections::HashSet, ops::ControlFlow, time::Instant};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::limits::MAX_PARSING;

/// Maximum number of refusals in one error.
const MAX_REFUSALS: usize = 5;

/// Maximum length of the code that a syntax error shows.
const MAX_SHOWN_CHARS: usize = 40;

/// Refusal of an import.
const NOTHING_TO_IMPORT: &str =
    "there is nothing to import. All functions are defined already: call them as `extension.tool({…})`.";

/// Function that is called if a program only declares.
const ENTRY: &str = "run";

/// Program without types.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ErasedProgram {
    /// JavaScript code.
    pub(crate) code: String,
    /// True if the program returns a value at the top level.
    pub(crate) has_return: bool,
    /// True if the last statement is an expression.
    pub(crate) ends_in_expression: bool,
    /// First position that the grammar does not accept. The grammar does not cover all of JavaScript, so the
    /// engine decides.
    pub(crate) syntax_error: Option<String>,
}

/// Reason why the types of a program cannot be erased. The text is for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EraseError {
    #[error("The program could not be parsed in time. Make it shorter and simpler.")]
    TimedOut,
    /// Messages about syntax that has a meaning at run time, each with its line.
    #[error("{}", .0.join("\n"))]
    Unsupported(Vec<String>),
}

/// Erases the types of a program.
///
/// # Errors
///
/// Fails if the program has syntax that cannot be erased, or takes too long to parse.
pub(crate) fn erase(code: &str) -> Result<ErasedProgram, EraseError> {
    let tree = parse(code).ok_or(EraseError::TimedOut)?;
    let root = tree.root_node();
    let mut eraser = Eraser { code: code.as_bytes().to_vec(), ..Eraser::default() };
    eraser.walk(root);
    if !eraser.refusals.is_empty() {
        eraser.refusals.truncate(MAX_REFUSALS);
        return Err(EraseError::Unsupported(eraser.refusals));
    }
    let mut erased = ErasedProgram {
        // Only whole characters were replaced, so the text is valid UTF-8.
        code: String::from_utf8_lossy(&eraser.code).into_owned(),
        has_return: eraser.has_return,
        ends_in_expression: ends_in_expression(root),
        syntax_error: root.has_error().then(|| syntax_error(root, code)),
    };
    if erased.syntax_error.is_none() && only_declares(root, code) {
        erased.code.push_str(&format!("\n{ENTRY}();"));
        erased.ends_in_expression = true;
    }
    Ok(erased)
}

fn parse(code: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()).ok()?;
    let began = Instant::now();
    let mut in_time = |_: &_| match began.elapsed() < MAX_PARSING {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut in_time);
    parser.parse_with_options(&mut |at, _| code.as_bytes().get(at..).unwrap_or_default(), None, Some(options))
}

fn named_children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    children(node).filter(|child| child.is_named() && child.kind() != "comment")
}

fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    node.children(&mut node.walk()).collect::<Vec<_>>().into_iter()
}

fn child<'a>(node: Node<'a>, kind: &str) -> Option<Node<'a>> {
    children(node).find(|child| child.kind() == kind)
}

fn ends_in_expression(root: Node<'_>) -> bool {
    let last = named_children(root).filter(|statement| statement.kind() != "empty_statement").last();
    last.is_some_and(|statement| statement.kind() == "expression_statement")
}

/// Returns whether a program only declares, and declares a function `run`.
fn only_declares(root: Node<'_>, code: &str) -> bool {
    let mut has_entry = false;
    for statement in named_children(root) {
        let statement = match statement.kind() {
            "export_statement" => statement.child_by_field_name("declaration").unwrap_or(statement),
            _ => statement,
        };
        match statement.kind() {
            "function_declaration" => {
                let name = statement.child_by_field_name("name").map(|name| &code[name.byte_range()]);
                has_entry |= name == Some(ENTRY);
            }
            "lexical_declaration"
            | "variable_declaration"
            | "class_declaration"
            | "interface_declaration"
            | "type_alias_declaration"
            | "ambient_declaration"
            | "function_signature"
            | "empty_statement" => {}
            _ => return false,
        }
    }
    has_entry
}

/// Returns a message about the first position that does not fit the grammar.
fn syntax_error(root: Node<'_>, code: &str) -> String {
    let mut node = root;
    while let Some(inner) = children(node).find(|child| child.has_error() || child.is_missing()) {
        node = inner;
        if node.is_error() || node.is_missing() {
            break;
        }
    }
    let at = node.start_position();
    let place = format!("Line {}, column {}: syntax error", at.row + 1, at.column + 1);
    if node.is_missing() {
        return format!("{place}: expected `{}`", node.kind());
    }
    let rest = code[node.start_byte()..].lines().next().unwrap_or_default();
    format!("{place} near `{}`", goose_fs::truncate_chars(rest, MAX_SHOWN_CHARS))
}

/// Next node of the walk.
#[derive(PartialEq)]
enum Next {
    Inside,
    Past,
}

#[derive(Default)]
struct Eraser {
    code: Vec<u8>,
    refusals: Vec<String>,
    /// Ids of nodes that are already erased.
    skipped: HashSet<usize>,
    has_return: bool,
}

impl Eraser {
    /// Visits all nodes in the order of the program. A loop instead of a recursion, because nesting may be
    /// deep.
    fn walk(&mut self, root: Node<'_>) {
        let mut cursor = root.walk();
        let mut above: Vec<Node<'_>> = Vec::new();
        loop {
            let node = cursor.node();
            if self.visit(node, &above) == Next::Inside && cursor.goto_first_child() {
                above.push(node);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                above.pop();
            }
        }
    }

    fn visit(&mut self, node: Node<'_>, above: &[Node<'_>]) -> Next {
        if self.skipped.contains(&node.id()) {
            return Next::Past;
        }
        if !node.is_named() {
            return Next::Inside;
        }
        match node.kind() {
            "type_annotation"
            | "asserts_annotation"
            | "type_predicate_annotation"
            | "type_parameters"
            | "type_arguments"
            | "implements_clause"
            | "accessibility_modifier"
            | "override_modifier" => self.blank(node),
            "interface_declaration"
            | "type_alias_declaration"
            | "ambient_declaration"
            | "function_signature"
            | "abstract_method_signature"
            | "method_signature"
            | "index_signature" => self.drop_statement(node),
            "as_expression" | "satisfies_expression" => self.assertion(node, above),
            "non_null_expression" => self.blank_tokens(node, &["!"]),
            "required_parameter" | "optional_parameter" => self.parameter(node),
            "public_field_definition" => self.field(node),
            "method_definition" => self.blank_tokens(node, &["?", "readonly"]),
            "variable_declarator" => self.blank_tokens(node, &["!"]),
            "abstract_class_declaration" => self.blank_tokens(node, &["abstract"]),
            "arrow_function" => self.arrow(node),
            "export_statement" => self.export(node),
            "return_statement" => {
                self.has_return |= !above.iter().any(|node| is_function(node.kind()));
                Next::Inside
            }
            _ => self.refuse_unless_plain(node),
        }
    }

    /// Refuses syntax with a meaning at run time.
    fn refuse_unless_plain(&mut self, node: Node<'_>) -> Next {
        match node.kind() {
            "enum_declaration" => self.refuse(
                node,
                "enums are not supported. Write a constant: `const Color = { Red: \"red\" } as const`.",
            ),
            "internal_module" | "module" => self.refuse(
                node,
                "namespaces are not supported. Write plain functions, or a constant object that holds them.",
            ),
            "decorator" => self.refuse(node, "decorators are not supported. Call the function instead."),
            "import_statement" if child(node, "type").is_some() => self.drop_statement(node),
            "import_statement" | "import_alias" => self.refuse(node, NOTHING_TO_IMPORT),
            "call_expression" if is_import(node) => self.refuse(node, NOTHING_TO_IMPORT),
            _ => Next::Inside,
        }
    }

    fn refuse(&mut self, node: Node<'_>, why: &str) -> Next {
        self.refusals.push(format!("Line {}: {why}", node.start_position().row + 1));
        Next::Past
    }

    /// Erases the type of `x as T` and `x satisfies T`.
    fn assertion(&mut self, node: Node<'_>, above: &[Node<'_>]) -> Next {
        let Some(value) = node.child(0) else { return Next::Inside };
        self.skipped.extend(children(node).skip(1).map(|child| child.id()));
        self.blank_range(value.end_byte()..node.end_byte());
        let ends_here = above.iter().rev().take_while(|node_above| node_above.end_byte() == node.end_byte());
        // A type cannot be called: a `(` on the next line begins a statement, although the grammar continues
        // the expression.
        let is_called = above.last().is_some_and(|node_above| {
            matches!(node_above.kind(), "call_expression" | "member_expression" | "subscript_expression")
                && node_above.start_byte() == node.start_byte()
        });
        if is_called || ends_here.into_iter().any(|node| is_statement(node.kind())) {
            self.put(value.end_byte(), b';');
        }
        Next::Inside
    }

    fn parameter(&mut self, node: Node<'_>) -> Next {
        let modifiers = ["accessibility_modifier", "override_modifier", "readonly"];
        if modifiers.iter().any(|modifier| child(node, modifier).is_some()) {
            return self.refuse(
                node,
                "parameter properties are not supported. Declare the field, and assign it in the \
                 constructor.",
            );
        }
        if node.child_by_field_name("pattern").is_some_and(|pattern| pattern.kind() == "this") {
            if let Some(comma) = node.next_sibling().filter(|next| next.kind() == ",") {
                self.blank(comma);
            }
            return self.blank(node);
        }
        self.blank_tokens(node, &["?"])
    }

    fn field(&mut self, node: Node<'_>) -> Next {
        if child(node, "declare").is_some() || child(node, "abstract").is_some() {
            return self.drop_statement(node);
        }
        if child(node, "accessor").is_some() {
            return self.refuse(node, "accessor fields are not supported. Write a getter and a setter.");
        }
        self.blank_tokens(node, &["readonly", "?", "!"])
    }

    fn arrow(&mut self, node: Node<'_>) -> Next {
        let (parameters, result) =
            (node.child_by_field_name("parameters"), node.child_by_field_name("return_type"));
        if let (Some(parameters), Some(result)) = (parameters, result)
            && parameters.end_position().row != result.end_position().row
        {
            self.skipped.insert(result.id());
            if let Some(end) = child(parameters, ")") {
                self.blank(end);
            }
            self.blank(result);
            self.put(result.end_byte() - 1, b')');
        }
        Next::Inside
    }

    fn export(&mut self, node: Node<'_>) -> Next {
        let has = |kind: &str| child(node, kind).is_some();
        if has("type") {
            return self.drop_statement(node);
        }
        if node.child_by_field_name("source").is_some() || ["=", "*", "namespace"].into_iter().any(has) {
            return self
                .refuse(node, "a program has no exports. Print the result with console.log, or return it.");
        }
        if has("export_clause") {
            return self.drop_statement(node);
        }
        self.blank_tokens(node, &["export", "default"])
    }

    fn blank(&mut self, node: Node<'_>) -> Next {
        self.blank_range(node.byte_range());
        Next::Past
    }

    fn blank_tokens(&mut self, node: Node<'_>, tokens: &[&str]) -> Next {
        for token in children(node).filter(|child| !child.is_named() && tokens.contains(&child.kind())) {
            self.blank_range(token.byte_range());
        }
        Next::Inside
    }

    fn drop_statement(&mut self, node: Node<'_>) -> Next {
        self.blank_range(node.byte_range());
        self.put(node.start_byte(), b';');
        Next::Past
    }

    fn blank_range(&mut self, range: std::ops::Range<usize>) {
        for byte in self.code[range].iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    }

    /// Replaces a blank by another byte. Line ends stay.
    fn put(&mut self, at: usize, byte: u8) {
        debug_assert!(at < self.code.len());
        if let Some(place) = self.code.get_mut(at).filter(|place| **place == b' ') {
            *place = byte;
        }
    }
}

/// Returns whether a call is `import(…)`.
fn is_import(call: Node<'_>) -> bool {
    call.child_by_field_name("function").is_some_and(|function| function.kind() == "import")
}

fn is_function(kind: &str) -> bool {
    matches!(
        kind,
        "function_declaration"
            | "function_expression"
            | "arrow_function"
            | "method_definition"
            | "generator_function"
            | "generator_function_declaration"
            | "class_static_block"
    )
}

/// Returns whether a node of this kind may end without a semicolon.
fn is_statement(kind: &str) -> bool {
    matches!(
        kind,
        "expression_statement"
            | "lexical_declaration"
            | "variable_declaration"
            | "return_statement"
            | "throw_statement"
            | "export_statement"
            | "public_field_definition"
    )
}

#[cfg(test)]
#[path = "erase_tests.rs"]
mod tests;
