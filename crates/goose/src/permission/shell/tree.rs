//! From source to [`Script`]: every node of the tree is either known and followed, or a doubt and followed all the same,
//! so that a denied command is found even in what is not understood.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::{
    Access, FileUse, Form, MAX_COMMAND_BYTES, MAX_NESTING, MAX_SEGMENTS, MAX_SEGMENTS_READ, Says, Script,
    Segment, SegmentKind, Weight, assignments,
    distrust::{hides_command, is_one_word},
    heredoc,
    word::{Word, text_of},
    wrappers::{self, Unwrapped},
};

/// How many wrappers around a command are taken off.
const MAX_WRAPPERS: usize = 8;

/// How many here-documents a command may have. Their ends are the parser's weak point.
const MAX_HEREDOCS: usize = 8;

/// How long parsing may take, on a machine that has much else to do.
const PARSE_TIME: Duration = Duration::from_secs(2);

/// How much of the source a doubt shows.
const SHOWN_CHARS: usize = 60;

/// Reads a command line.
pub(in crate::permission) fn read(source: &str) -> Script {
    let mut script = Script::default();
    read_into(&mut script, source, 0);
    if script.segments.len() > MAX_SEGMENTS {
        let count = script.segments.len();
        script.doubt(Weight::Opaque, format!("it has {count} parts, too many to look at each"));
    }
    script
}

fn read_into(script: &mut Script, source: &str, nesting: usize) {
    if nesting > MAX_NESTING {
        return script.doubt(Weight::Opaque, "it starts shells in shells");
    }
    if source.len() > MAX_COMMAND_BYTES {
        return script.doubt(Weight::Opaque, "it is too long to be looked into");
    }
    if source.chars().any(is_strange) || glues_lines(source) {
        return script
            .doubt(Weight::Opaque, "it has control characters, unusual blanks, or words across lines");
    }
    if source.matches("<<").count() > MAX_HEREDOCS {
        return script.doubt(Weight::Opaque, "it has too many here-documents");
    }
    let Some(tree) = parse(source) else {
        return script.doubt(Weight::Opaque, "it could not be parsed");
    };
    Walk { script, source, nesting }.follow(tree.root_node());
}

/// The parser's own scanner looks letters up in a table that has only ASCII, and reads beyond it for others. To a shell all
/// others are letters, so it is given as many plain ones.
fn parse(source: &str) -> Option<Tree> {
    let plain: Vec<u8> = source.bytes().map(|byte| if byte.is_ascii() { byte } else { b'u' }).collect();
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let deadline = Instant::now() + PARSE_TIME;
    let mut is_late = |_: &ParseState| match Instant::now() > deadline {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let options = ParseOptions::new().progress_callback(&mut is_late);
    parser.parse_with_options(&mut |at, _| plain.get(at..).unwrap_or_default(), None, Some(options))
}

/// A line that goes on in the middle of a word or an operator: `<\` and `<` in the next line are one.
fn glues_lines(source: &str) -> bool {
    source.match_indices("\\\n").any(|(at, _)| !source[..at].ends_with([' ', '\t', '\n']))
}

/// Characters that the parser takes for blanks and a shell does not, or that nobody writes.
fn is_strange(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || (c.is_whitespace() && !" \n\t".contains(c))
        || c == '\u{feff}'
}

pub(super) struct Walk<'s> {
    script: &'s mut Script,
    pub(super) source: &'s str,
    nesting: usize,
}

impl Walk<'_> {
    /// Without recursion: a chain of thousands is as deep as it is long.
    fn follow(&mut self, root: Node<'_>) {
        // Asking a node for its parent would look for it from the root.
        let mut pending = vec![(root, None)];
        while let Some((node, parent)) = pending.pop() {
            if self.script.segments.len() > MAX_SEGMENTS_READ {
                return self.doubt(Weight::Opaque, "it has too many parts");
            }
            self.look_at(node, parent);
            pending.extend(children(node).into_iter().map(|child| (child, Some(node))));
        }
    }

    fn look_at(&mut self, node: Node<'_>, parent: Option<Node<'_>>) {
        if node.is_error() || node.is_missing() {
            return self.unknown(node, "cannot be parsed");
        }
        match node.kind() {
            _ if !node.is_named() => self.token(node),
            "command" => self.command(node),
            "declaration_command" | "unset_command" => self.declaration(node),
            "variable_assignment" => self.assignment(node, parent),
            "file_redirect" => self.redirection(node),
            "heredoc_redirect" => {
                if !heredoc::is_as_parsed(node, self.source) {
                    self.unknown(node, "may end elsewhere than it seems");
                }
            }
            "for_statement" => self.for_loop(node),
            "test_command" => self.test(node),
            "compound_statement" => {
                if !text_of(node, self.source).starts_with('{') {
                    self.unknown(node, "means different things to different shells");
                }
            }
            "comment" => self.comment(node),
            "expansion" => self.expansion(node),
            "arithmetic_expansion" => self.arithmetic(node),
            "function_definition" => {
                if text_of(node, self.source).starts_with("function") {
                    self.unknown(node, "means different things to different shells");
                }
            }
            kind if is_structure(kind) => self.check_gaps(node),
            "heredoc_body" => self.heredoc_body(node, parent),
            "heredoc_content" | "raw_string" | "heredoc_end" | "heredoc_start" => {}
            kind if is_leaf(kind) => {
                let text = text_of(node, self.source);
                if node.child_count() == 0 && (hides_command(text) || kind == "word" && !is_one_word(text)) {
                    self.unknown(node, "may hide a command");
                }
            }
            _ => self.unknown(node, "is not understood"),
        }
    }

    /// Text that the parser passed over.
    fn check_gaps(&mut self, node: Node<'_>) {
        let mut end = node.start_byte();
        for child in children(node) {
            if !is_blank(self.source.get(end..child.start_byte())) {
                self.unknown(node, "cannot be parsed");
            }
            end = child.end_byte();
        }
    }

    fn token(&mut self, node: Node<'_>) {
        if matches!(node.kind(), "select" | "coproc") {
            self.unknown(node, "is not understood");
        }
    }

    fn command(&mut self, node: Node<'_>) {
        self.check_gaps(node);
        let (mut words, mut variables) = (Vec::new(), Vec::new());
        for child in children(node) {
            match child.kind() {
                "variable_assignment" => variables.extend(name_of(child, self.source)),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {}
                "subshell" => self.unknown(node, "is not understood"),
                _ => words.push(Word::read(child, self.source)),
            }
        }
        self.segment(words, variables, node);
    }

    fn segment(&mut self, words: Vec<Word>, mut variables: Vec<String>, node: Node<'_>) {
        let (mut forms, mut kind) = (vec![Form { words, says: Says::All }], SegmentKind::Own);
        let reserved = forms.iter().flat_map(|form| &form.words).take_while(|word| is_reserved(word)).count();
        if reserved > 0 {
            self.unknown(node, "cannot be parsed");
            let rest = forms.first().map(|form| form.words[reserved..].to_vec()).unwrap_or_default();
            forms = vec![Form { words: rest, says: Says::All }];
        }
        while let Some(Form { words, says }) = forms.last() {
            if words.first().is_none_or(|word| word.text.as_ref().is_none_or(String::is_empty)) {
                self.unknown(node, "runs what is not known before");
            }
            let inner = match wrappers::unwrap(words) {
                Unwrapped::Plain => break,
                Unwrapped::Inner { words, variables: more, says: inner } => {
                    variables.extend(more);
                    Form { words, says: if *says == Says::Nothing { Says::Nothing } else { inner } }
                }
                Unwrapped::Script(text) => {
                    kind = SegmentKind::Carrier;
                    read_into(self.script, &text, self.nesting + 1);
                    break;
                }
                Unwrapped::Opaque(reason) => {
                    self.unknown(node, reason);
                    break;
                }
            };
            if forms.len() > MAX_WRAPPERS {
                self.unknown(node, "is wrapped too often");
                break;
            }
            forms.push(inner);
        }
        let carried = forms.last().map(|form| wrappers::carried(&form.words)).unwrap_or_default();
        // What stands behind `sudo` needs more than to be allowed without it.
        if kind == SegmentKind::Carrier && forms.iter().any(|form| form.says == Says::Nothing) {
            kind = SegmentKind::Own;
        }
        self.script.segments.push(Segment { forms, variables, kind });
        for words in carried {
            self.segment(words, Vec::new(), node);
        }
    }

    /// `export`, `declare`, `local`, `unset`: a command, whatever the parser calls it.
    fn declaration(&mut self, node: Node<'_>) {
        let words = children(node).into_iter().map(|child| match child.kind() {
            "variable_assignment" => Word::anything(),
            _ if child.child_count() == 0 => Word::literal(text_of(child, self.source)),
            _ => Word::read(child, self.source),
        });
        let form = Form { words: words.collect(), says: Says::All };
        self.script.segments.push(Segment {
            forms: vec![form],
            variables: Vec::new(),
            kind: SegmentKind::Own,
        });
    }

    fn assignment(&mut self, node: Node<'_>, parent: Option<Node<'_>>) {
        if parent.is_some_and(|parent| matches!(parent.kind(), "command" | "declaration_command")) {
            return;
        }
        match name_of(node, self.source) {
            Some(name) if assignments::is_local(&name) => {}
            Some(name) => self.doubt(Weight::Subtle, format!("it sets `{name}`, which programs may look at")),
            None => self.unknown(node, "is not understood"),
        }
    }

    fn for_loop(&mut self, node: Node<'_>) {
        let variable = node.child_by_field_name("variable").map(|name| text_of(name, self.source));
        if !variable.is_some_and(assignments::is_local) {
            self.doubt(Weight::Subtle, "a loop sets a variable that programs may look at");
        }
    }

    fn redirection(&mut self, node: Node<'_>) {
        let operators = children(node).into_iter().filter(|child| !child.is_named());
        let operator = operators.map(|child| child.kind()).next().unwrap_or_default();
        let destinations: Vec<Node<'_>> =
            node.children_by_field_name("destination", &mut node.walk()).collect();
        let access = match operator {
            "<" => Access::Read,
            ">" | ">>" | ">|" | "&>" | "&>>" => Access::Write,
            "<&" | ">&" => return self.duplication(node, &destinations),
            "<&-" | ">&-" => return,
            _ => return self.unknown(node, "is not understood"),
        };
        let [destination] = destinations.as_slice() else {
            return self.unknown(node, "is not understood");
        };
        self.file(*destination, access);
    }

    /// `2>&1` is no file; `>&file` is.
    fn duplication(&mut self, node: Node<'_>, destinations: &[Node<'_>]) {
        let [destination] = destinations else { return self.unknown(node, "is not understood") };
        let text = text_of(*destination, self.source);
        if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            self.file(*destination, Access::Write);
        }
    }

    fn file(&mut self, destination: Node<'_>, access: Access) {
        let word = Word::read(destination, self.source);
        let source = text_of(destination, self.source).to_owned();
        // In quotes it is a name and no home.
        let path = word.text.clone().filter(|path| !path.starts_with('~') || source.starts_with('~'));
        self.script.files.push(FileUse { path, word, source, access });
    }

    pub(super) fn unknown(&mut self, node: Node<'_>, reason: &str) {
        let shown = self.shown(node);
        self.doubt(Weight::Opaque, format!("`{shown}` {reason}"));
    }

    pub(super) fn doubt(&mut self, weight: Weight, reason: impl Into<String>) {
        self.script.doubt(weight, reason);
    }

    pub(super) fn shown(&self, node: Node<'_>) -> String {
        let text = text_of(node, self.source);
        let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        shown
    }
}

pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

/// Words that a shell takes for its own where a command could begin. A parser that lets one through has lost its way.
fn is_reserved(word: &Word) -> bool {
    const RESERVED: [&str; 20] = [
        "!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
        "function", "if", "select", "then", "until", "while",
    ];
    word.text.as_deref().is_some_and(|text| RESERVED.contains(&text))
}

fn name_of(assignment: Node<'_>, source: &str) -> Option<String> {
    let name = assignment.child_by_field_name("name")?;
    (name.kind() == "variable_name").then(|| text_of(name, source).to_owned())
}

fn is_blank(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.replace("\\\n", "").chars().all(|c| " \t\n".contains(c)))
}

/// Nodes that only hold others.
fn is_structure(kind: &str) -> bool {
    const STRUCTURE: [&str; 24] = [
        "case_item",
        "case_statement",
        "command_name",
        "command_substitution",
        "concatenation",
        "do_group",
        "elif_clause",
        "else_clause",
        "herestring_redirect",
        "if_statement",
        "list",
        "negated_command",
        "pipeline",
        "process_substitution",
        "program",
        "redirected_statement",
        "subshell",
        "variable_assignments",
        "while_statement",
        "binary_expression",
        "unary_expression",
        "parenthesized_expression",
        "postfix_expression",
        "ternary_expression",
    ];
    STRUCTURE.contains(&kind)
}

/// Nodes that are text, or hold only expansions.
fn is_leaf(kind: &str) -> bool {
    const LEAVES: [&str; 16] = [
        "ansi_c_string",
        "array",
        "brace_expression",
        "extglob_pattern",
        "file_descriptor",
        "number",
        "regex",
        "simple_expansion",
        "special_variable_name",
        "string",
        "string_content",
        "subscript",
        "test_operator",
        "translated_string",
        "variable_name",
        "word",
    ];
    LEAVES.contains(&kind)
}
