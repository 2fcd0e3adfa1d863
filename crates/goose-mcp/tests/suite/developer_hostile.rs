//! Files and arguments that were made to do harm: nothing ends the program, holds it up, or floods it.

use std::{fmt::Write as _, fs, process::Command};

use serde_json::{Value, json};

use crate::developer_support::Desk;

/// Files that each ended the program when their parser got them as they are.
fn fatal_files() -> Vec<(&'static str, String)> {
    let mut deep = String::new();
    for level in 0..600 {
        let _ = writeln!(deep, "{}if x:", " ".repeat(level));
    }
    let _ = writeln!(deep, "{}f'{{x}}'", " ".repeat(600));
    let literals = |count: usize| format!("x = {}<<ABCD\nABCD\n", "\"#{".repeat(count));
    vec![
        ("word.rb", format!("x = <<{}\n", "A".repeat(400))),
        ("quoted.rb", format!("x = <<~\"{}\"\ny\n{0}\n", "A".repeat(256))),
        ("many.rb", format!("f({})\n", "<<ABCDEFGH, ".repeat(300))),
        ("literals.rb", literals(203)),
        ("more_literals.rb", literals(202)),
        ("deep.py", deep),
    ]
}

#[tokio::test]
async fn no_file_ends_the_program() {
    let desk = Desk::new();
    for (name, code) in fatal_files() {
        desk.put(name, code);
    }
    desk.put("good.rb", "x = <<~SQL\n  def no\nSQL\nclass <<self\n  def honk\n    list <<Duck\n  end\nend\n");
    let overview = desk.ok("analyze", json!({ "path": "." })).await;
    let refused = desk.err("analyze", json!({ "path": "deep.py" })).await;
    let good = desk.ok("analyze", json!({ "path": "good.rb" })).await;
    assert!(overview.contains("Ruby: 6 files") && !overview.contains("deep.py"), "{overview}");
    assert!(refused.contains("cannot be analyzed"), "{refused}");
    assert!(good.contains("5-7  def honk") && !good.contains("def no"), "{good}");
}

/// A generator of numbers that is the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

const EXTENSIONS: [&str; 11] = ["rs", "py", "js", "ts", "tsx", "go", "java", "c", "cpp", "rb", "cs"];

/// Ingredients of random code: everything that opens something in one of the languages.
const PIECES: [&str; 48] = [
    "<<A", "<<~'B c'", "<<-`x`\n", "A\n", "\"#{", "}\"", "%w(", "%Q{", "`", "f\"{", "f'''", "'''", "r#\"",
    "\"#", "R\"x(", ")x\"", "$@\"{", "$\"\"\"", "{{", "}}", "${", "/*", "*/", "//", "#", "(", ")", "[", "]",
    "{", "}", "<", ">", "\\\n", "\n", "\n\t\t", "\r\n    ", "def f", "fn f", "class A", "if x:", "=>", ";",
    "é", "\u{2028}", "\0", "__END__", "<!--",
];

fn soup(dice: &mut Dice) -> String {
    let mut soup = String::new();
    while soup.len() < 3_000 {
        let piece = PIECES[dice.roll(PIECES.len())];
        let times = if dice.roll(20) == 0 { dice.roll(300) } else { 1 };
        soup.push_str(&piece.repeat(times));
        if dice.roll(4) == 0 {
            soup.push_str(&"\n".repeat(dice.roll(2)));
            soup.push_str(&" ".repeat(dice.roll(120)));
        }
        if dice.roll(40) == 0 {
            soup.push_str(&"W".repeat(dice.roll(600)));
        }
    }
    soup
}

#[tokio::test]
async fn no_soup_of_code_ends_the_program() {
    let desk = Desk::new();
    let mut dice = Dice(20_261_115);
    for extension in EXTENSIONS {
        for number in 0..25 {
            desk.put(&format!("{number}.{extension}"), soup(&mut dice));
        }
        desk.put(&format!("whole.{extension}"), "");
    }
    let overview = desk.ok("analyze", json!({ "path": ".", "force": true })).await;
    for extension in EXTENSIONS {
        assert!(overview.contains(&format!("whole.{extension} ")), "{overview}");
    }
}

#[tokio::test]
async fn pipes_hold_nothing_up() {
    let desk = Desk::new();
    desk.put("real.py", "def honk(): pass\n");
    assert!(Command::new("mkfifo").arg(desk.path("pipe.py")).status().unwrap().success());
    let refused = desk.err("analyze", json!({ "path": "pipe.py" })).await;
    let overview = desk.ok("analyze", json!({ "path": "." })).await;
    let found = desk.ok("search", json!({ "pattern": "honk" })).await;
    let named = desk.err("search", json!({ "pattern": "honk", "path": "pipe.py" })).await;
    assert!(refused.contains("is a pipe, not a file"), "{refused}");
    assert!(overview.contains("real.py") && !overview.contains("pipe.py"), "{overview}");
    assert!(found.contains("1:def honk") && named.contains("is a pipe, not a file"), "{found} {named}");
}

#[tokio::test]
async fn results_stay_small() {
    let desk = Desk::new();
    desk.put("lines.txt", format!("{}\n", "ä honk".repeat(60)).repeat(5_000));
    let mut code = String::new();
    for number in 0..2_000 {
        let _ = writeln!(code, "fn {}_{number}() {{}}", "long".repeat(35));
    }
    desk.put("code.rs", code);
    let arguments = json!({ "pattern": "honk", "path": "lines.txt", "limit": 1000, "context_lines": 10 });
    let found = desk.ok("search", arguments).await;
    let usual = desk.ok("analyze", json!({ "path": "code.rs" })).await;
    let forced = desk.ok("analyze", json!({ "path": "code.rs", "force": true })).await;
    assert!(found.len() < 50_000 && found.contains("[Cut here: too much to show."), "{}", found.len());
    assert!(usual.len() < 33_000 && usual.contains("`force` shows more"), "{}", usual.len());
    assert!((200_000..263_000).contains(&forced.len()) && forced.contains("[Cut here."), "{}", forced.len());
}

/// Permissions read the path as it is written, so the tools must not read another.
#[tokio::test]
async fn a_path_with_blanks_at_its_ends_is_refused() {
    let desk = Desk::new();
    let secret = desk.put("secret.txt", "honk");
    for path in [format!(" {}", secret.display()), "secret.txt ".to_owned(), "\tsecret.txt".to_owned()] {
        for (tool, more) in [
            ("read", json!({})),
            ("write", json!({ "content": "x" })),
            ("edit", json!({ "before": "honk", "after": "x" })),
            ("tree", json!({})),
            ("search", json!({ "pattern": "honk" })),
            ("analyze", json!({})),
        ] {
            let Value::Object(mut arguments) = more else { continue };
            arguments.insert("path".to_owned(), json!(path));
            let message = desk.err(tool, Value::Object(arguments)).await;
            assert!(message.contains("has blanks at its ends"), "{tool}: {message}");
        }
    }
    assert_eq!(fs::read_to_string(secret).unwrap(), "honk");
}

#[tokio::test]
async fn an_optional_argument_may_be_null() {
    let desk = Desk::new();
    desk.put("a.rs", "fn honk() {}\n");
    let searched =
        json!({ "pattern": "honk", "path": null, "glob": null, "ignore_case": null, "limit": null });
    assert_eq!(desk.ok("search", searched).await, "a.rs\n1:fn honk() {}");
    assert!(desk.ok("read", json!({ "path": "a.rs", "offset": null, "limit": null })).await.contains("honk"));
    assert!(
        desk.ok("analyze", json!({ "path": "a.rs", "focus": null, "force": null })).await.contains("honk")
    );
    let edit =
        json!({ "path": "a.rs", "before": "honk", "after": "peep", "edits": null, "replace_all": null });
    desk.ok("edit", edit).await;
    assert_eq!(desk.text("a.rs"), "fn peep() {}\n");
    assert!(desk.refused("search", json!({ "pattern": null, "glob": null })).await.contains("pattern"));
}
