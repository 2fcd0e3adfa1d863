//! Jobs as people give them to goose every day, from the request to the commit: the transcript, and what became of the
//! files.

use std::{fs, path::Path, process::Command};

use anyhow::ensure;
use goose_test_support::{ModelServer, Terminal, Turn};
use serde_json::json;

use crate::{
    redacted,
    run::goose,
    support::{Home, Run},
    talk::{environment, prompted, shell},
};

/// Size of a terminal that shows a whole job.
const TALL: (u16, u16) = (100, 100);

const CALC: &str = "average() {\n  total=0\n  for number in \"$@\"; do total=$((total + number)); done\n  echo $((total / ($# + 1)))\n}\n";

const TESTS: &str = "set -e\n. ./src/calc.sh\ntest \"$(average 1 2 3)\" = 2 || { echo \"average 1 2 3 is $(average 1 2 3)\"; exit 1; }\necho \"all tests pass\"\n";

const MEDIAN_TEST: &str =
    "test \"$(median 3 1 2)\" = 2 || { echo \"median 3 1 2 is $(median 3 1 2)\"; exit 1; }\n";

const BUG: (&str, &str) = ("($# + 1)", "$#");

fn read(path: &str) -> Turn {
    Turn::call("developer__read", json!({ "path": path }))
}

fn edit(path: &str, before: &str, after: &str) -> Turn {
    Turn::call("developer__edit", json!({ "path": path, "before": before, "after": after }))
}

/// A repository with a function whose test fails.
fn project() -> anyhow::Result<Home> {
    let home = Home::with_short_path()?;
    let file = |path: &str, text: &str| {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(home.path()))?;
        fs::write(path, text)
    };
    file("src/calc.sh", CALC)?;
    file("tests/test_calc.sh", TESTS)?;
    file("README.md", "# calc\n\n- `average NUMBER…`\n")?;
    file(".gitignore", "config\ndata\nstate\n.*\n")?;
    git(&home, &["init", "-q", "-b", "main"])?;
    git(&home, &["config", "user.name", "Ada"])?;
    git(&home, &["config", "user.email", "ada@example.com"])?;
    git(&home, &["add", "-A"])?;
    git(&home, &["commit", "-q", "-m", "Begin"])?;
    Ok(home)
}

fn git(home: &Home, arguments: &[&str]) -> anyhow::Result<String> {
    let output =
        Command::new("git").current_dir(home.path()).env("HOME", home.path()).args(arguments).output()?;
    ensure!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Find, fix, run and commit.
fn fixing() -> Vec<Turn> {
    vec![
        read("src/calc.sh"),
        shell("sh tests/test_calc.sh"),
        edit("src/calc.sh", BUG.0, BUG.1),
        shell("sh tests/test_calc.sh"),
        shell("git add -A && git commit -q -m 'Divide by the count of numbers'"),
        Turn::text("`average` divided by one too many. The test passes, and the fix is committed."),
    ]
}

const FIX: &str =
    "The test in tests/test_calc.sh fails. Find the bug, fix it, run the test and commit the fix.";

fn is_fixed(home: &Home) -> anyhow::Result<()> {
    assert_eq!(git(home, &["log", "--format=%s"])?, "Divide by the count of numbers\nBegin\n");
    assert_eq!(git(home, &["status", "--porcelain"])?, "");
    ensure!(fs::read_to_string(home.path().join("src/calc.sh"))?.contains("total / $#"));
    Ok(())
}

/// The transcript of a run without a terminal.
fn transcript(home: &Home, server: &ModelServer, task: &str) -> anyhow::Result<String> {
    let run: Run = goose(home, server, &["run", "-t", task]).output()?.try_into()?;
    assert_eq!(run.code, Some(0), "{run:?}");
    redacted::text(&format!("{}----\n{}", run.stderr, run.stdout), home)
}

/// One agent does all of it, and everything that it does can be seen.
#[test]
fn a_failing_test_is_fixed_and_committed() -> anyhow::Result<()> {
    let home = project()?;
    let server = ModelServer::scripted(fixing())?;
    let shown = transcript(&home, &server, FIX)?;
    assert_eq!(server.asked().len(), 6, "{shown}");
    is_fixed(&home)?;
    insta::assert_snapshot!(shown);
    Ok(())
}

/// A new function whose tests fail at first, in nine steps.
#[test]
fn a_function_is_added_with_tests_and_documentation() -> anyhow::Result<()> {
    let home = project()?;
    let median = "median() {\n  printf '%s\\n' \"$@\" | sort -n | sed -n \"$((($# + 1) / 2))p\"\n}\n";
    let wrong = median.replace("sort -n", "sort -r -n | tail -n 1");
    let calc = CALC.replace(BUG.0, BUG.1);
    let server = ModelServer::scripted([
        read("src/calc.sh"),
        read("tests/test_calc.sh"),
        edit("src/calc.sh", BUG.0, BUG.1),
        Turn::call("developer__write", json!({"path": "src/calc.sh", "content": format!("{calc}\n{wrong}")})),
        edit("tests/test_calc.sh", "echo \"all", &format!("{MEDIAN_TEST}echo \"all")),
        shell("sh tests/test_calc.sh"),
        edit("src/calc.sh", "sort -r -n | tail -n 1", "sort -n"),
        shell("sh tests/test_calc.sh"),
        edit("README.md", "- `average NUMBER…`\n", "- `average NUMBER…`\n- `median NUMBER…`\n"),
        Turn::text("I added `median` with a test and documented it. All tests pass."),
    ])?;
    let task = "Add a function median to src/calc.sh with tests, run them, and update the README.";
    let shown = transcript(&home, &server, task)?;
    assert_eq!(server.asked().len(), 10, "{shown}");
    let changed = git(&home, &["status", "--porcelain"])?;
    assert_eq!(changed, " M README.md\n M src/calc.sh\n M tests/test_calc.sh\n");
    let tests = Command::new("sh").arg("tests/test_calc.sh").current_dir(home.path()).output()?;
    ensure!(tests.status.success(), "{tests:?}");
    insta::assert_snapshot!(shown);
    Ok(())
}

/// With "always" where it is offered, the same command asks once, and so does a later session for none of it.
#[test]
fn a_fix_asks_for_each_command_once() -> anyhow::Result<()> {
    let home = project()?;
    let server = ModelServer::scripted(fixing().into_iter().map(|turn| turn.costing(1_200, 10)))?;
    let environment = environment(&home, &server, "smart_approve")?;
    let program = Path::new(env!("CARGO_BIN_EXE_goose"));
    let terminal = Terminal::start_sized(program, ["session"], environment, home.path(), TALL)?;
    prompted(&terminal)?;
    terminal.send(&format!("{FIX}\r"))?;
    for question in 1..=3 {
        terminal.wait_until("no question is", |screen| screen.matches("Allow it?").count() == question)?;
        terminal.send("a\r")?;
    }
    terminal.wait_for("is committed.")?;
    prompted(&terminal)?;
    is_fixed(&home)?;
    let rules = fs::read_to_string(home.path().join("config/permission.yaml"))?;
    for rule in ["shell sh tests/test_calc.sh", "shell git add *", "shell git commit *"] {
        ensure!(rules.contains(&format!("- allow: {rule}\n")), "{rules}");
    }
    insta::assert_snapshot!(redacted::screen(&terminal, &home)?);
    Ok(())
}
