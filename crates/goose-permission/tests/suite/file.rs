//! `permission.yaml`: earlier formats, errors, and rules that goose adds.

use std::fs;

use anyhow::{Context as _, ensure};
use goose_permission::{Effect, Mode, Rule, Verdict};
use serde_json::json;

use crate::support::{Call, TestHome, is_ask, is_deny, reasons};

fn rule(text: &str) -> anyhow::Result<Rule> {
    Ok(Rule::parse(Effect::Allow, text)?)
}

#[test]
fn lists_of_earlier_versions_are_read() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    fs::write(
        home.file(),
        "user:\n  always_allow:\n  - hub__list\n  ask_before: [hub__edit]\n  never_allow:\n  - hub__drop\n\
         smart_approve:\n  always_allow: [hub__anything]\n  ask_before: []\n  never_allow: []\n",
    )?;
    let judge = |mode, name| home.judge(mode, &Call::foreign(name, json!({})));
    ensure!(judge(Mode::Approve, "hub__list") == Verdict::Allow);
    ensure!(is_ask(&judge(Mode::Auto, "hub__edit")));
    ensure!(is_deny(&judge(Mode::Auto, "hub__drop")));
    ensure!(is_ask(&judge(Mode::Approve, "hub__anything")), "decisions of `smart_approve` are ignored");
    Ok(())
}

/// If the file cannot be read, every call asks. The error is reported once, with the line, and the file is
/// kept.
#[test]
fn broken_file_asks_for_everything_and_is_never_overwritten() -> anyhow::Result<()> {
    for (text, words) in [
        ("rules:\n  - allow: shell ls *\n  - alow: shell x\n", "permission.yaml:3"),
        ("rules:\n  - allow: shell a && b\n", "permission.yaml:2"),
        ("rules:\n  - deny: write ../x\n", "permission.yaml:2"),
        ("rules:\n  - allow: a\n    deny: b\n", "exactly one"),
        ("rule:\n  - deny: shell rm *\n", "permission.yaml:1"),
        ("rules: [", "permission.yaml:"),
        ("rules: 7\n", "permission.yaml:1"),
        ("rules:\n  - allow: x__y\n    tool: short\n", "permission.yaml:3"),
    ] {
        let home = TestHome::new()?;
        fs::write(home.file(), text)?;
        let permissions = home.permissions(Mode::Auto);
        let problem = permissions.problem().with_context(|| format!("{text:?} is fine"))?;
        ensure!(problem.contains(words), "{text:?}: {problem}");
        ensure!(permissions.problem().is_none(), "reported once");
        for call in [Call::shell("ls"), Call::read("a"), Call::foreign("a__b", json!({}))] {
            let verdict = permissions.judge(&call.in_folder(&home.work()));
            ensure!(
                is_ask(&verdict) && reasons(&verdict).contains("cannot be read"),
                "{text:?}: {verdict:?}"
            );
        }
        ensure!(permissions.remember(&rule("shell ls *")?).is_err());
        ensure!(fs::read_to_string(home.file())? == text, "the file is kept");
    }
    Ok(())
}

#[test]
fn remembered_rule_is_added_and_other_text_kept() -> anyhow::Result<()> {
    let cases = [
        ("", ""),
        ("# mine\n", "# mine\nrules:\n  - allow: shell cargo test *\n"),
        (
            "user:\n  always_allow: [a__b]",
            "user:\n  always_allow: [a__b]\nrules:\n  - allow: shell cargo test *\n",
        ),
        (
            "rules:   # what I allow\n    # first\n    - deny: shell rm *   # never\n\n# the end\n",
            "rules:   # what I allow\n    # first\n    - deny: shell rm *   # never\n\
             \x20   - allow: shell cargo test *\n\n# the end\n",
        ),
        ("rules:\n- ask: a__b\nuser: {}\n", "rules:\n- ask: a__b\n- allow: shell cargo test *\nuser: {}\n"),
        ("rules: []  # none\nuser: {}\n", "rules:  # none\n  - allow: shell cargo test *\nuser: {}\n"),
        ("rules:\n", "rules:\n  - allow: shell cargo test *\n"),
        ("rules:\r\n  - ask: a__b\r\n", "rules:\r\n  - ask: a__b\r\n  - allow: shell cargo test *\r\n"),
    ];
    for (before, after) in cases {
        let home = TestHome::new()?;
        fs::write(home.file(), before)?;
        let permissions = home.permissions(Mode::Approve);
        permissions.judge(&Call::shell("ls").in_folder(&home.work()));
        permissions.remember(&rule("shell cargo test *")?)?;
        let now = fs::read_to_string(home.file())?;
        ensure!(before.is_empty() || now == after, "{before:?} became {now:?}");
        let test = Call::shell("cargo test -q");
        ensure!(permissions.judge(&test.in_folder(&home.work())) == Verdict::Allow, "{now}");
        permissions.remember(&rule("shell cargo test *")?)?;
        ensure!(fs::read_to_string(home.file())? == now, "an existing rule is not added again");
    }
    Ok(())
}

#[test]
fn flow_style_list_is_left_alone_and_reported() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    let text = "rules: [{allow: shell ls *}]\n";
    fs::write(home.file(), text)?;
    let error = home.permissions(Mode::Auto).remember(&rule("shell cargo test *")?);
    let error = error.err().context("this cannot be added")?.to_string();
    ensure!(error.contains("allow: shell cargo test *"), "{error}");
    ensure!(fs::read_to_string(home.file())? == text);
    Ok(())
}

#[test]
fn unusual_rules_survive_the_file() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    let permissions = home.permissions(Mode::Approve);
    let texts = [
        "shell git commit -m 'a: b # c'",
        "write /a folder/größe & co/**",
        "x__y name='#1'",
        "shell \"it's\" *",
    ];
    for text in texts {
        permissions.remember(&rule(text)?)?;
    }
    let read = permissions.rules()?;
    ensure!(read.iter().map(Rule::text).collect::<Vec<_>>() == texts, "{read:?}");
    Ok(())
}

#[test]
#[cfg(unix)]
fn new_file_is_private_and_existing_link_and_mode_are_kept() -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &std::path::Path| anyhow::Ok(fs::metadata(path)?.permissions().mode() & 0o777);
    let home = TestHome::new()?;
    home.permissions(Mode::Auto).remember(&rule("shell ls *")?)?;
    ensure!(mode(&home.file())? == 0o600);
    let home = TestHome::new()?;
    let kept = home.path().join("dotfiles.yaml");
    fs::write(&kept, "# mine\n")?;
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o640))?;
    std::os::unix::fs::symlink(&kept, home.file())?;
    home.permissions(Mode::Auto).remember(&rule("shell ls *")?)?;
    ensure!(fs::symlink_metadata(home.file())?.is_symlink() && mode(&kept)? == 0o640);
    ensure!(fs::read_to_string(&kept)?.starts_with("# mine\n"));
    Ok(())
}

/// Changes of the file by the user or by another process apply from the next call on.
#[test]
fn file_changes_apply_at_once() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    let (one, other) = (home.permissions(Mode::Approve), home.permissions(Mode::Approve));
    let call = Call::shell("make all");
    ensure!(is_ask(&one.judge(&call.in_folder(&home.work()))));
    other.remember(&rule("shell make *")?)?;
    ensure!(one.judge(&call.in_folder(&home.work())) == Verdict::Allow);
    fs::write(home.file(), "rules:\n  - deny: shell make *\n")?;
    ensure!(is_deny(&one.judge(&call.in_folder(&home.work()))));
    fs::remove_file(home.file())?;
    ensure!(is_ask(&one.judge(&call.in_folder(&home.work()))));
    Ok(())
}

#[test]
fn concurrently_added_rules_are_all_kept() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    let threads: Vec<_> = (0..8)
        .map(|index| {
            let permissions = home.permissions(Mode::Auto);
            std::thread::spawn(move || -> anyhow::Result<()> {
                for round in 0..5 {
                    permissions.remember(&rule(&format!("shell make target-{index}-{round}"))?)?;
                }
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| anyhow::anyhow!("a thread failed"))??;
    }
    ensure!(home.permissions(Mode::Auto).rules()?.len() == 40);
    Ok(())
}

/// Opening a pipe would block until a writer opens it.
#[cfg(unix)]
#[test]
fn pipe_or_folder_as_rules_file_is_an_error_at_once() -> anyhow::Result<()> {
    for make in ["mkfifo", "mkdir"] {
        let home = TestHome::new()?;
        ensure!(std::process::Command::new(make).arg(home.file()).status()?.success());
        let permissions = home.permissions(Mode::Auto);
        let problem = permissions.problem().unwrap_or_default();
        ensure!(problem.contains("not a regular file"), "{make}: {problem}");
        ensure!(is_ask(&home.judge(Mode::Auto, &Call::write("x"))));
    }
    Ok(())
}

#[test]
fn restricting_rules_without_a_tool_are_found() -> anyhow::Result<()> {
    let rules = [
        "deny: shel rm *",
        "deny: shell rm *",
        "deny: developer__shell rm *",
        "deny: developer__sh*",
        "ask: github__*",
        "deny: write ~/x",
        "deny: wirte ~/x",
        "ask: search_memories",
        "allow: shel ls",
    ];
    let home = TestHome::with_rules(&rules)?;
    let tools = ["developer__shell", "memory__search_memories"];
    let void = home.permissions(Mode::Auto).rules_about_no_tool(tools.into_iter());
    let void: Vec<String> = void.iter().map(ToString::to_string).collect();
    ensure!(void == ["deny: shel rm *", "ask: github__*", "deny: wirte ~/x"], "{void:?}");
    Ok(())
}
