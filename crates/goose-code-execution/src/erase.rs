//! TypeScript to JavaScript by erasure: types become blanks, so that every line and column stays where it was.
//!
//! Syntax that has a meaning at run time (enums, namespaces, decorators, parameter properties, imports) is refused by line,
//! with what to write instead. Two things need more than blanks:
//!
//! - An erased statement leaves a `;`, and so does an erased end of one (`x as any`): the next line may begin with `(`.
//! - `=>` must follow `)` in the same line. The `)` moves behind a return type of several lines.

use std::{collections::HashSet, ops::ControlFlow, time::Instant};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::limits::MAX_PARSING;

/// The refusals that are reported at once.
const MAX_REFUSALS: usize = 5;

/// The longest part of a line that a syntax error shows.
const MAX_SHOWN_CHARS: usize = 40;

/// The function that is called where a program only declares.
const ENTRY: &str = "run";

/// A program without types.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Erased {
    /// The JavaScript.
    pub(super) code: String,
    /// It returns a value at the top level.
    pub(super) has_return: bool,
    /// Its last statement is an expression.
    pub(super) ends_in_expression: bool,
    /// The first place that the grammar does not accept. The grammar does not know all of JavaScript, so the engine has the
    /// last word.
    pub(super) syntax_error: Option<String>,
}

/// Erases the types of a program.
///
/// # Errors
///
/// The syntax that cannot be erased, by line.
pub(super) fn erase(code: &str) -> Result<Erased, String> {
    let tree = parse(code).ok_or("The program could not be parsed in time. Make it shorter and simpler.")?;
    let root = tree.root_node();
    let mut eraser = Eraser { source: code, code: code.as_bytes().to_vec(), ..Eraser::default() };
    eraser.walk(root);
    if !eraser.refusals.is_empty() {
        eraser.refusals.truncate(MAX_REFUSALS);
        return Err(eraser.refusals.join("\n"));
    }
    let mut erased = Erased {
        // Whole characters were replaced, so this loses nothing.
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

/// Returns whether a program does nothing but declare, and declares a function `run`.
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

/// The first place that does not fit the grammar.
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

/// The way on from a node.
#[derive(PartialEq)]
enum Next {
    Inside,
    Past,
}

#[derive(Default)]
struct Eraser<'a> {
    source: &'a str,
    code: Vec<u8>,
    refusals: Vec<String>,
    /// Nodes that are erased already.
    skipped: HashSet<usize>,
    has_return: bool,
}

impl Eraser<'_> {
    /// Visits all nodes in the order of the program. Nesting may be deep, so this is a loop.
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

    /// Refuses what has a meaning at run time.
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
            "import_statement" | "import_alias" => self.refuse(
                node,
                "there is nothing to import. The functions are there already: call them as `extension.tool({…})`.",
            ),
            "call_expression" if node.child_by_field_name("function").is_some_and(|it| it.kind() == "import") => self
                .refuse(
                    node,
                    "there is nothing to import. The functions are there already: call them as `extension.tool({…})`.",
                ),
            _ => Next::Inside,
        }
    }

    fn refuse(&mut self, node: Node<'_>, why: &str) -> Next {
        self.refusals.push(format!("Line {}: {why}", node.start_position().row + 1));
        Next::Past
    }

    /// `x as T` and `x satisfies T`.
    fn assertion(&mut self, node: Node<'_>, above: &[Node<'_>]) -> Next {
        let Some(value) = node.child(0) else { return Next::Inside };
        self.skipped.extend(children(node).skip(1).map(|child| child.id()));
        self.blank_range(value.end_byte()..node.end_byte());
        let ends_here = above.iter().rev().take_while(|node_above| node_above.end_byte() == node.end_byte());
        // A type cannot be called: a `(` in the next line begins a statement, although the grammar goes on.
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
                "parameter properties are not supported. Declare the field, and assign it in the constructor.",
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

    /// Replaces a blank. Line ends stay.
    fn put(&mut self, at: usize, byte: u8) {
        debug_assert!(at < self.source.len());
        if let Some(place) = self.code.get_mut(at).filter(|place| **place == b' ') {
            *place = byte;
        }
    }
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
mod tests {
    use super::*;

    fn erased(code: &str) -> String {
        let erased = erase(code).unwrap();
        assert_eq!(erased.syntax_error, None, "{code}");
        erased.code
    }

    #[test]
    fn types_become_blanks() {
        for (code, expected) in [
            ("let x: number = 1;", "let x         = 1;"),
            ("const f = <T,>(a: T, b?: string): T => a;", "const f =     (a   , b         )    => a;"),
            ("f<string>(x as any)!.y;", "f        (x       ) .y;"),
            ("type A = {b: string};\nlet x = 1;", ";                    \nlet x = 1;"),
            ("interface A {\n  b: string\n}\nx;", ";            \n           \n \nx;"),
            ("declare const z: string;", ";                       "),
            ("let y = x satisfies A;", "let y = x            ;"),
            ("let v!: string;", "let v         ;"),
            ("try {} catch (e: unknown) {}", "try {} catch (e         ) {}"),
            ("function f(this: A, b) {}", "function f(         b) {}"),
            (
                "function f(a: string): void;\nfunction f(a) {}",
                ";                           \nfunction f(a) {}",
            ),
            ("import type { A } from \"a\";", ";                         "),
            ("const a = <any>b;", "const a =      b;"),
            ("x = y as const;", "x = y         ;"),
            ("new Map<string, number>();", "new Map                ();"),
        ] {
            assert_eq!(erased(code).trim_end(), expected.trim_end(), "{code}");
            assert_eq!(erased(code).len(), code.len());
        }
    }

    #[test]
    fn classes_lose_their_types() {
        let code = "abstract class A<T> extends B<T> implements C {\n  private readonly a?: string = '';\n  declare b: number;\n  abstract c(): void;\n  public static async d<U>(x: U): Promise<U> { return x; }\n  [key: string]: unknown;\n}";
        let expected = "         class A    extends B                 {\n                   a          = '';\n  ;                 \n  ;                  \n         static async d   (x   )             { return x; }\n  ;                     \n}";
        let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        let (erased, expected) = (lines(&erased(code)), lines(expected));
        for (erased, expected) in erased.iter().zip(&expected) {
            let squeeze = |line: &str| {
                line.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ;", ";").replace(";;", ";")
            };
            assert_eq!(squeeze(erased), squeeze(expected));
        }
        assert_eq!(erased.len(), 7);
    }

    #[test]
    fn an_erased_end_of_a_statement_leaves_a_semicolon() {
        assert_eq!(erased("const a = b as any\n(c)()"), "const a = b;      \n(c)()");
        assert_eq!(erased("let a = 1\ntype B = string\n(c)()"), "let a = 1\n;              \n(c)()");
        assert_eq!(erased("f(b as any)\n"), "f(b       )\n");
        assert_eq!(erased("const a = b as any,\n  c = d"), "const a = b       ,\n  c = d");
    }

    #[test]
    fn the_arrow_follows_its_parenthesis() {
        let code = "const f = (a): {\n  b: string;\n} => a;";
        assert_eq!(erased(code), "const f = (a    \n            \n) => a;");
    }

    #[test]
    fn syntax_with_a_meaning_at_run_time_is_refused_by_line() {
        for (code, line, word) in [
            ("let a;\nenum A { B }", 2, "enums"),
            ("\n\nnamespace A { export const b = 1 }", 3, "namespaces"),
            ("@d class A {}", 1, "decorators"),
            ("class A {\n  constructor(private a: string) {}\n}", 2, "parameter properties"),
            ("import { a } from \"b\";", 1, "nothing to import"),
            ("await import(\"fs\");", 1, "nothing to import"),
            ("export * from \"a\";", 1, "no exports"),
        ] {
            let refused = erase(code).unwrap_err();
            assert!(
                refused.starts_with(&format!("Line {line}: ")) && refused.contains(word),
                "{code}: {refused}"
            );
        }
    }

    #[test]
    fn syntax_errors_name_their_line() {
        for (code, line) in [("let a = 1;\nlet b = ;\n", 2), ("f(1;\n", 1), ("let = = 3", 1)] {
            let error = erase(code).unwrap().syntax_error.unwrap();
            assert!(error.starts_with(&format!("Line {line}, column ")), "{code}: {error}");
        }
    }

    #[test]
    fn the_shape_of_a_program_is_known() {
        let shape = |code: &str| {
            let erased = erase(code).unwrap();
            (erased.has_return, erased.ends_in_expression, erased.code.ends_with("run();"))
        };
        assert_eq!(shape("1 + 1"), (false, true, false));
        assert_eq!(shape("if (a) return 1;"), (true, false, false));
        assert_eq!(shape("const f = () => { return 1 };"), (false, false, false));
        assert_eq!(shape("export async function run() { return 1 }"), (false, true, true));
        assert_eq!(shape("async function run() {}\nrun()"), (false, true, false));
    }

    #[test]
    fn deep_nesting_is_no_problem() {
        let code = format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000));
        assert_eq!(erased(&code), code);
    }
}
