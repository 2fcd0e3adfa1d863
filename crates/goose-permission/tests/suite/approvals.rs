//! Approvals: the rules that are offered, and the commands that a rule allows.

use std::{fs, path::Path, process::Command};

use anyhow::ensure;
use goose_permission::{Mode, Permissions, Verdict};
use serde_json::json;

use crate::support::{Call, TestHome, always, is_ask, reasons};

/// Answers a question with "for this session".
fn allow_for_session(permissions: &Permissions, verdict: &Verdict) -> anyhow::Result<()> {
    let Verdict::Ask { reasons, session, shown, .. } = verdict else { anyhow::bail!("{verdict:?}") };
    permissions.allow_for_session(session, shown, reasons);
    Ok(())
}

/// Makes a repository that tracks these files.
pub(crate) fn track(folder: &Path, files: &[&str]) -> anyhow::Result<()> {
    for file in files {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        fs::write(file, "")?;
    }
    for arguments in [&["init", "-q"][..], &["add", "-f", "--"]] {
        let files = if arguments[0] == "add" { files } else { &[] };
        let status = Command::new("git").current_dir(folder).args(arguments).args(files).status()?;
        ensure!(status.success(), "{arguments:?}");
    }
    Ok(())
}

#[test]
fn rules_are_offered_part_by_part_and_for_scripts_of_the_project() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    track(&home.work(), &["tests/test_calc.py", "build.sh", "node_modules/.bin/tsc", "src/a.rs"])?;
    fs::write(home.path().join("outside.py"), "")?;
    for (command, rules) in [
        ("git add -A && git commit -m wip", Some("allow: shell git add *; allow: shell git commit *")),
        (
            "cargo build && cargo test | tail -n 3",
            Some("allow: shell cargo build *; allow: shell cargo test *"),
        ),
        ("python3 -m pytest -q", Some("allow: shell python3 -m pytest *")),
        ("python3 -m http.server", None),
        ("npx tsc --noEmit", Some("allow: shell npx tsc --noEmit")),
        ("npx --yes tsc --noEmit", None),
        ("npx missing", None),
        ("npx ../../other", None),
        ("python3 -m venv .venv", Some("allow: shell python3 -m venv .venv")),
        ("mv a.txt b.txt", Some("allow: shell mv a.txt b.txt")),
        ("mypy src > mypy.log 2>&1", Some("allow: shell mypy src")),
        ("mypy src | tail -n 3 > mypy.log", Some("allow: shell mypy src")),
        ("mypy src > mypy.py", None),
        ("rm -rf build > rm.log", None),
        ("python3 tests/test_calc.py", Some("allow: shell python3 tests/test_calc.py")),
        ("python3 -i tests/test_calc.py", None),
        ("./build.sh --fast", Some("allow: shell ./build.sh --fast")),
        ("sh build.sh", Some("allow: shell sh build.sh")),
        ("sudo ./build.sh", None),
        ("python3 ../outside.py", None),
        ("python3 missing.py", None),
        ("cd src && cargo test", Some("allow: shell cargo test *")),
        ("cd .. && cargo test", None),
        ("cargo test > notes.md", None),
        ("a && b && c && d && e", None),
    ] {
        let verdict = home.shell(Mode::SmartApprove, command);
        ensure!(is_ask(&verdict) && always(&verdict).as_deref() == rules, "{command}: {verdict:?}");
    }
    Ok(())
}

#[test]
fn session_allows_the_offered_rules_or_exactly_this_call() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    let permissions = home.permissions(Mode::SmartApprove);
    let judge = |command: &str| permissions.judge(&Call::shell(command).in_folder(&home.work()));
    for command in ["rm -rf build", "cargo test -q"] {
        allow_for_session(&permissions, &judge(command))?;
        ensure!(judge(command) == Verdict::Allow, "{command}");
    }
    ensure!(judge("cargo test --all") == Verdict::Allow, "the rule is for more than these words");
    for other in ["rm -rf src", "rm -rf build src", "cargo run"] {
        ensure!(is_ask(&judge(other)), "{other}");
    }
    let elsewhere = home.path().join("other");
    fs::create_dir_all(&elsewhere)?;
    ensure!(is_ask(&permissions.judge(&Call::shell("rm -rf build").in_folder(&elsewhere))));
    ensure!(is_ask(&home.shell(Mode::SmartApprove, "cargo test")), "another session has its own");
    ensure!(!home.file().exists(), "nothing is stored");
    Ok(())
}

#[test]
fn session_does_not_cover_new_reasons() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    let permissions = home.permissions(Mode::SmartApprove);
    let judge = || permissions.judge(&Call::shell("rm -rf build; git status").in_folder(&home.work()));
    allow_for_session(&permissions, &judge())?;
    ensure!(judge() == Verdict::Allow);
    fs::create_dir_all(home.work().join(".git"))?;
    fs::write(home.work().join(".git/config"), "[core]\n\tfsmonitor = ./evil\n")?;
    ensure!(is_ask(&judge()), "the repository now runs a program");
    Ok(())
}

#[test]
fn protected_files_name_their_rule_and_can_be_allowed_for_the_session() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    fs::write(home.work().join(".env"), "SECRET=1")?;
    fs::write(home.work().join(".env.local"), "SECRET=2")?;
    fs::write(home.work().join("a.txt"), "a")?;
    let permissions = home.permissions(Mode::SmartApprove);
    let judge = |call: &Call| permissions.judge(&call.in_folder(&home.work()));
    let read = judge(&Call::read(".env"));
    let rule = format!("allow: read {}", fs::canonicalize(home.work())?.join(".env").display());
    ensure!(reasons(&read).contains(&rule), "{read:?}");
    ensure!(always(&read).is_none(), "never for all sessions at a keystroke");
    allow_for_session(&permissions, &read)?;
    ensure!(judge(&Call::read(".env")) == Verdict::Allow);
    ensure!(judge(&Call::shell("cat .env")) == Verdict::Allow, "the rule is about the file");
    ensure!(is_ask(&judge(&Call::read(".env.local"))));
    ensure!(is_ask(&judge(&Call::write(".env"))));
    Ok(())
}

/// A rule about a command holds where models add something to it that changes nothing.
#[test]
fn rules_hold_in_the_project_and_with_output() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["allow: shell cargo test *", "allow: shell git add *"])?;
    let work = home.work();
    let tracked = ["src/a.rs", "module/a", "bare/HEAD", "pinned/rust-toolchain.toml", "requirements.txt"];
    track(&work, &tracked)?;
    fs::write(work.join("module/.git"), "gitdir: elsewhere")?;
    fs::create_dir_all(work.join("bare/objects"))?;
    fs::create_dir_all(work.join("vendor/untracked"))?;
    fs::create_dir_all(home.path().join("elsewhere"))?;
    std::os::unix::fs::symlink(home.path().join("elsewhere"), work.join("link"))?;
    for (command, is_allowed) in [
        ("cd src && cargo test", true),
        ("cd ./src; cargo test -q 2>&1 | tail -n 20", true),
        ("cd src && git add .", true),
        ("RUST_BACKTRACE=1 cargo test", true),
        ("cargo test > out.txt", true),
        ("cargo test > test.log 2>&1", true),
        ("cargo test 2>&1 | grep FAILED > failed.out", true),
        ("cd src && cargo test > test.log", true),
        ("(cd src && cargo test)", true),
        ("FOO=1 cargo test", false),
        ("RUSTC_WRAPPER=./x cargo test", false),
        ("cd module && cargo test", false),
        ("cd bare && git add .", false),
        ("cd pinned && cargo test", false),
        ("cd vendor/untracked && cargo test", false),
        ("cd .. && cargo test", false),
        ("cd link && cargo test", false),
        ("cd missing; cargo test", false),
        ("cd $X && cargo test", false),
        ("cargo test > requirements.txt", false),
        ("cargo test > build.rs", false),
        ("cargo test > .cargo/config.log", false),
        ("cargo test > ../out.log", false),
        ("cargo test > /tmp/out.log", false),
        ("cargo test > link/out.log", false),
        ("echo x > test.log", false),
        ("cargo --version > test.log", false),
        ("mypy src > test.log", false),
        ("echo x > test.log; cargo test", false),
        ("cargo test; echo x > test.log", false),
        ("cargo test | tee test.log", false),
        ("cargo test | sh > test.log", false),
    ] {
        let verdict = home.shell(Mode::SmartApprove, command);
        ensure!((verdict == Verdict::Allow) == is_allowed, "{command}: {verdict:?}");
    }
    for (command, is_allowed) in [
        ("cargo test | tail -n 5", true),
        ("cargo test 2>&1 | grep -c FAILED", true),
        ("cargo test | cat requirements.txt", false),
        ("ls | tail -n 5", false),
        ("tail -n 5", false),
    ] {
        let verdict = home.shell(Mode::Approve, command);
        ensure!((verdict == Verdict::Allow) == is_allowed, "approve: {command}: {verdict:?}");
    }
    Ok(())
}

/// The repository of the working folder is the project, but not one of the home folder.
#[test]
fn rules_hold_in_the_same_repository() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&[
        "allow: shell cargo test *",
        "allow: shell ./run",
        "allow: shell sh run",
        "allow: shell npx tsc",
        "allow: shell mv a.txt b.txt",
        "allow: shell cp *",
    ])?;
    let inner = home.work().join("crates/a");
    let files = ["crates/a/run", "crates/b/run"];
    for file in files.map(|file| home.work().join(file)) {
        fs::create_dir_all(file.parent().unwrap_or(&inner))?;
        fs::write(file, "")?;
    }
    let judge =
        |command: &str| home.permissions(Mode::SmartApprove).judge(&Call::shell(command).in_folder(&inner));
    ensure!(is_ask(&judge("cd ../b && cargo test")));
    track(home.path(), &["work/crates/a/run", "work/crates/b/run"])?;
    ensure!(is_ask(&judge("cd ../b && cargo test")), "the home folder is no project");
    track(&home.work(), &files)?;
    ensure!(judge("cd ../b && cargo test") == Verdict::Allow);
    ensure!(judge("cd ../.. && cargo test") == Verdict::Allow);
    ensure!(is_ask(&judge("cd ../../.. && cargo test")));
    for script in ["./run", "sh run", "npx tsc"] {
        ensure!(judge(script) == Verdict::Allow);
        ensure!(is_ask(&judge(&format!("cd ../b && {script}"))), "another script");
    }
    ensure!(judge("mv a.txt b.txt") == Verdict::Allow);
    ensure!(is_ask(&judge("cd ../b && mv a.txt b.txt")), "other files");
    ensure!(judge("cd ../b && cp a.txt b.txt") == Verdict::Allow, "any words are allowed");
    Ok(())
}

/// Rules of the session do not lift a rule that denies.
#[test]
fn session_lifts_no_denial() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: shell cargo test --release *"])?;
    let permissions = home.permissions(Mode::SmartApprove);
    let judge = |command: &str| permissions.judge(&Call::shell(command).in_folder(&home.work()));
    allow_for_session(&permissions, &judge("cargo test"))?;
    ensure!(matches!(judge("cargo test --release x"), Verdict::Deny { .. }));
    let foreign = Call::foreign("hub__issue", json!({ "title": "x" }));
    let verdict = permissions.judge(&foreign.in_folder(&home.work()));
    allow_for_session(&permissions, &verdict)?;
    ensure!(permissions.judge(&foreign.in_folder(&home.work())) == Verdict::Allow);
    Ok(())
}
