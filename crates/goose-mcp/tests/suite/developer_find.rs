//! `tree`, `search` and `analyze`, in real folders.

use std::{fs, path::Path};

use goose_extension::{CallContext, Extension, ToolOutput};
use goose_mcp::{BuiltinOptions, builtin};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

struct Project(TempDir);

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            project.write(name, text.as_bytes());
        }
        project
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let file = self.0.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }

    async fn output(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.output_in(tool, arguments, CallContext::new().with_working_dir(self.0.path())).await
    }

    async fn output_in(&self, tool: &str, arguments: Value, context: CallContext) -> ToolOutput {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        developer().call(tool, arguments, &context).await.unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> String {
        let output = self.output(tool, arguments).await;
        assert!(!output.is_error, "{}", output.as_text());
        output.as_text()
    }
}

fn developer() -> std::sync::Arc<dyn Extension> {
    builtin("developer", &BuiltinOptions::new(Path::new("/nowhere"))).unwrap()
}

#[tokio::test]
async fn a_tree_shows_what_git_would() {
    let project = Project::new(&[
        (".gitignore", "target/\n"),
        ("README.md", "hi"),
        ("src/main.rs", "fn main() {}"),
        ("src/deep/er/x.rs", ""),
        ("target/debug/goose", "binary"),
        (".git/config", ""),
    ]);

    let tree = project.call("tree", json!({"path": "."})).await;

    assert_eq!(tree, ".gitignore\nREADME.md\nsrc/\n  deep/  (1)\n  main.rs\n");
}

#[tokio::test]
async fn a_tree_of_a_file_or_of_nothing_says_what_to_do() {
    let project = Project::new(&[("README.md", "hi")]);

    let of_file = project.output("tree", json!({"path": "README.md"})).await;
    let of_nothing = project.output("tree", json!({"path": "gone"})).await;

    assert!(of_file.is_error && of_file.as_text().contains("`read`"), "{}", of_file.as_text());
    assert!(of_nothing.is_error && of_nothing.as_text().contains("gone"), "{}", of_nothing.as_text());
}

#[tokio::test]
async fn a_wide_tree_is_cut_and_says_so() {
    let project = Project::new(&[]);
    (0..700).for_each(|number| project.write(&format!("{number:03}"), b""));

    let tree = project.call("tree", json!({"path": "."})).await;

    assert!(tree.ends_with("[100 more. Name a folder below, or a smaller depth.]\n"), "{tree}");
}

#[tokio::test]
async fn a_search_shows_file_line_and_text_in_order() {
    let project = Project::new(&[
        ("b.rs", "fn two() {}\n// nothing\nfn three() {}\n"),
        ("a.rs", "fn one() {}\n"),
        ("notes.txt", "fn four\n"),
        (".gitignore", "ignored.rs"),
        ("ignored.rs", "fn five() {}\n"),
    ]);

    let found = project.call("search", json!({"pattern": r"fn \w+", "glob": "*.rs"})).await;

    assert_eq!(found, "a.rs\n1:fn one() {}\n\nb.rs\n1:fn two() {}\n3:fn three() {}");
}

#[tokio::test]
async fn a_search_can_ignore_case_show_what_is_around_and_stop() {
    let project = Project::new(&[("a.txt", "one\nTWO\nthree\n")]);

    let around =
        project.call("search", json!({"pattern": "two", "ignore_case": true, "context_lines": 1})).await;
    project.write("many.txt", "hit\n".repeat(500).as_bytes());
    let many = project.call("search", json!({"pattern": "hit", "limit": 3})).await;

    assert_eq!(around, "a.txt\n1-one\n2:TWO\n3-three");
    assert!(many.starts_with("many.txt\n1:hit\n2:hit\n3:hit\n\n[Stopped at 3 matches."), "{many}");
}

#[tokio::test]
async fn several_words_also_find_names_in_code_and_the_matches_are_counted() {
    let project = Project::new(&[("a.py", "hit_points = 340\n"), ("b.js", "let hitPoints = 10;\n")]);

    let found = project.output("search", json!({"pattern": "hit points"})).await;
    let none = project.output("search", json!({"pattern": "no such words"})).await;

    let remark = "[No match as it stands; these lines match `hit[ _-]?points`.]";
    assert_eq!(found.as_text(), format!("{remark}\na.py\n1:hit_points = 340\n\nb.js\n1:let hitPoints = 10;"));
    assert_eq!(found.structured, Some(json!({"matches": 2})));
    assert_eq!(none.structured, Some(json!({"matches": 0})));
    project.write("c.txt", b"hit points\n");
    assert_eq!(project.call("search", json!({"pattern": "hit points"})).await, "c.txt\n1:hit points");
}

#[tokio::test]
async fn a_pattern_that_is_none_is_explained() {
    let project = Project::new(&[]);

    let output = project.output("search", json!({"pattern": "fn("})).await;

    assert!(output.is_error);
    let text = output.as_text();
    assert!(text.contains("unclosed group") && text.contains("backslash"), "{text}");
}

#[tokio::test]
async fn binary_files_broken_text_and_long_lines_do_no_harm() {
    let project = Project::new(&[]);
    project.write("binary", b"needle\0needle");
    project.write("latin1.txt", b"caf\xe9 needle\n");
    project.write("long.txt", format!("needle {}\n", "é".repeat(5_000_000)).as_bytes());

    let found = project.call("search", json!({"pattern": "needle"})).await;

    assert!(found.contains("caf\u{fffd} needle"), "{found}");
    assert!(!found.contains("binary"), "{found}");
    assert!(found.len() < 2_000, "{}", found.len());
}

#[tokio::test]
async fn a_cancelled_search_finds_nothing_more() {
    let project = Project::new(&[("a.txt", "needle")]);
    let token = CancellationToken::new();
    token.cancel();
    let context = CallContext::new().with_working_dir(project.0.path()).with_cancellation(token);

    let found =
        developer().call("search", json!({"pattern": "needle"}).as_object().unwrap().clone(), &context).await;

    assert!(!found.is_ok_and(|output| output.as_text().contains("needle\n")));
}

const SAMPLES: &[(&str, &str, &[&str])] = &[
    (
        "a.rs",
        "struct Pond;\nimpl Pond {\n    fn honk(&self) {\n        call();\n    }\n}\nfn call() {}\n",
        &["struct Pond", "impl Pond", "  fn honk(&self)", "fn call()"],
    ),
    (
        "a.py",
        "class Pond:\n    def honk(self):\n        call()\n\ndef call(): pass\n",
        &["class Pond", "  def honk(self)", "def call(): pass"],
    ),
    (
        "a.js",
        "class Pond {\n  honk() {\n    call()\n  }\n}\nconst call = () => 1\n",
        &["class Pond", "  honk()", "call = () => 1"],
    ),
    (
        "a.ts",
        "interface Bird { honk(): void }\nclass Pond {\n  honk(): void {\n    call()\n  }\n}\nfunction call() {}\n",
        &["interface Bird", "class Pond", "  honk(): void", "function call()"],
    ),
    (
        "a.tsx",
        "function call() {}\nconst View = () => <b>{call()}</b>\n",
        &["function call()", "View = () =>"],
    ),
    (
        "a.go",
        "package p\ntype Pond struct{}\nfunc (p Pond) honk() {\n\tcall()\n}\nfunc call() {}\n",
        &["Pond struct", "func (p Pond) honk()", "func call()"],
    ),
    (
        "A.java",
        "class Pond {\n  void honk() {\n    call();\n  }\n  void call() {}\n}\n",
        &["class Pond", "  void honk()", "  void call()"],
    ),
    (
        "a.c",
        "struct pond { int x; };\nvoid honk(void) {\n  call();\n}\nint *call(void) { return 0; }\n",
        &["struct pond", "void honk(void)", "int *call(void)"],
    ),
    (
        "a.cpp",
        "class Pond {\n  void honk() {\n    call();\n  }\n};\nvoid call() {}\n",
        &["class Pond", "  void honk()", "void call()"],
    ),
    (
        "a.rb",
        "class Pond\n  def honk\n    call()\n  end\nend\ndef call\nend\n",
        &["class Pond", "  def honk", "def call"],
    ),
    (
        "a.cs",
        "class Pond {\n  void honk() {\n    call();\n  }\n  void call() {}\n}\n",
        &["class Pond", "  void honk()", "  void call()"],
    ),
];

#[tokio::test]
async fn files_of_all_languages_have_an_outline() {
    for (name, code, expected) in SAMPLES {
        let project = Project::new(&[(name, code)]);

        let outline = project.call("analyze", json!({"path": name})).await;

        for line in *expected {
            assert!(outline.contains(line), "{name} lacks {line:?}:\n{outline}");
        }
    }
}

#[tokio::test]
async fn callers_and_callees_are_found_in_all_languages() {
    for (name, code, _) in SAMPLES.iter().filter(|(name, ..)| *name != "a.tsx") {
        let project = Project::new(&[(name, code)]);

        let callers = project.call("analyze", json!({"path": ".", "focus": "call"})).await;
        let callees = project.call("analyze", json!({"path": name, "focus": "honk"})).await;

        assert!(callers.contains("Callers:\n  honk  "), "{name}:\n{callers}");
        assert!(callees.contains("Calls:\n  call  "), "{name}:\n{callees}");
    }
}

#[tokio::test]
async fn calls_are_followed_as_deep_as_asked_and_circles_end() {
    let project = Project::new(&[
        ("a.py", "def one(): two()\ndef two(): three()\n"),
        ("b.py", "from a import *\ndef three(): one()\n"),
    ]);

    let near = project.call("analyze", json!({"path": ".", "focus": "one", "follow_depth": 1})).await;
    let far = project.call("analyze", json!({"path": ".", "focus": "one", "follow_depth": 5})).await;

    assert_eq!(
        near,
        "defined at a.py:1: def one(): two()\nCallers:\n  three  b.py:2\nCalls:\n  two  a.py:1\n"
    );
    assert!(far.contains("Calls:\n  two  a.py:1\n    three  a.py:2\n      one  b.py:2\n"), "{far}");
}

/// More files than one call reads: the symbol is found all the same, in the last of them.
#[tokio::test]
async fn a_symbol_is_found_in_a_large_folder() {
    let project = Project::new(&[("z/last.py", "def honk(): pass\n"), ("z/also.py", "def loud(): honk()\n")]);
    for number in 0..3_100 {
        project.write(&format!("{}/{number}.py", number % 50), b"def f(): pass\n");
    }

    let found = project.call("analyze", json!({"path": ".", "focus": "honk"})).await;
    let unknown = project.output("analyze", json!({"path": ".", "focus": "quack"})).await;
    let overview = project.call("analyze", json!({"path": ".", "force": true})).await;

    assert!(
        found.starts_with("defined at z/last.py:1: def honk(): pass\nCallers:\n  loud  z/also.py:1\n"),
        "{found}"
    );
    assert!(found.contains("[Read 3000 files, among them all that have `honk` in them"), "{found}");
    assert!(unknown.is_error && unknown.as_text().contains("Read 3000 files"), "{}", unknown.as_text());
    assert!(overview.contains("[Stopped after 3000 files."), "{}", overview.len());
}

#[tokio::test]
async fn a_folder_has_an_overview_and_an_unknown_symbol_suggestions() {
    let project = Project::new(&[("src/a.rs", "struct Pond;\nfn honk_loudly() {}\n"), ("x.txt", "no code")]);

    let overview = project.call("analyze", json!({"path": "."})).await;
    let unknown = project.output("analyze", json!({"path": ".", "focus": "honk"})).await;
    let no_code = project.output("analyze", json!({"path": "x.txt"})).await;

    assert_eq!(overview, "Rust: 1 files, 3 lines\nsrc/a.rs (3 lines): Pond, honk_loudly\n");
    assert!(
        unknown.is_error && unknown.as_text().contains("Did you mean honk_loudly?"),
        "{}",
        unknown.as_text()
    );
    assert!(no_code.is_error && no_code.as_text().contains("Rust, Python"), "{}", no_code.as_text());
}

#[tokio::test]
async fn broken_and_hostile_code_gives_what_it_can() {
    let project = Project::new(&[("deep.c", &"(".repeat(100_000)), ("half.rs", "fn whole() {}\nfn half(")]);
    project.write("not_utf8.py", b"def caf\xe9(): pass\ndef ok(): pass\n");

    let half = project.call("analyze", json!({"path": "half.rs"})).await;
    let not_utf8 = project.call("analyze", json!({"path": "not_utf8.py"})).await;
    let deep = project.output("analyze", json!({"path": "deep.c"})).await;

    assert!(half.contains("fn whole()"), "{half}");
    assert!(not_utf8.contains("def ok()"), "{not_utf8}");
    assert!(!deep.is_error || deep.as_text().contains("too broken"), "{}", deep.as_text());
}
