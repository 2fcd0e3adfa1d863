//! Rules about paths apply to the file that a path resolves to.
#![cfg(unix)]

use std::{fs, os::unix::fs::symlink};

use anyhow::ensure;
use goose_permission::{Mode, Verdict};

use crate::support::{Call, TestHome, always, is_ask, is_deny, reasons};

#[test]
fn folder_rule_matches_only_that_folder() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["allow: write ~/work/**"])?;
    fs::create_dir_all(home.path().join("work-evil"))?;
    fs::create_dir_all(home.work().join("src"))?;
    for path in ["a.txt", "src/../a.txt", "./src//a.txt", "~/work/a.txt", "new/deep/a.txt", "../work/a"] {
        let verdict = home.judge(Mode::SmartApprove, &Call::write(path));
        ensure!(verdict == Verdict::Allow, "{path}: {verdict:?}");
    }
    for path in [
        "../work-evil/a.txt",
        "~/work-evil/a",
        "../a",
        "src/../../a",
        "new/../../a",
        "/work/a",
        "../WORK/a",
        "/etc/x",
    ] {
        let verdict = home.judge(Mode::SmartApprove, &Call::write(path));
        ensure!(is_ask(&verdict), "{path}: {verdict:?}");
    }
    Ok(())
}

#[test]
fn links_are_resolved_anywhere_in_a_path() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["allow: write src/**", "deny: write ~/secret/**"])?;
    let (work, secret) = (home.work(), home.path().join("secret"));
    fs::create_dir_all(work.join("src"))?;
    fs::create_dir_all(&secret)?;
    symlink(&secret, work.join("src/folder"))?;
    symlink(secret.join("key"), work.join("src/dangling"))?;
    symlink("../../secret", work.join("src/relative"))?;
    symlink("round", work.join("src/round"))?;
    symlink(home.path(), work.join("src/up"))?;
    for path in
        ["src/folder/a", "src/dangling", "src/relative/new/a", "src/up/secret/a", "src/folder/../secret/x"]
    {
        for mode in [Mode::Auto, Mode::SmartApprove] {
            let verdict = home.judge(mode, &Call::write(path));
            ensure!(is_deny(&verdict), "{path} in {mode}: {verdict:?}");
        }
    }
    ensure!(is_ask(&home.judge(Mode::SmartApprove, &Call::write("src/up/other"))), "outside of the folder");
    let round = home.judge(Mode::SmartApprove, &Call::write("src/round"));
    ensure!(is_ask(&round) && reasons(&round).contains("cycle"), "{round:?}");
    ensure!(home.judge(Mode::SmartApprove, &Call::write("src/fine")) == Verdict::Allow);
    Ok(())
}

#[test]
fn link_that_replaces_an_allowed_folder_is_not_allowed() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["allow: write src/**"])?;
    symlink(home.path(), home.work().join("src"))?;
    ensure!(is_ask(&home.judge(Mode::SmartApprove, &Call::write("src/a"))));
    Ok(())
}

/// A deny rule applies to the folder, whichever of its names the rule or the call uses.
#[test]
fn denied_folder_is_denied_under_all_names() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: write ~/alias/**", "deny: read ~/real/sub"])?;
    fs::create_dir_all(home.path().join("real/sub"))?;
    symlink(home.path().join("real"), home.path().join("alias"))?;
    for path in ["~/alias/a", "~/real/a", "../real/a", "../alias/a"] {
        ensure!(is_deny(&home.judge(Mode::Auto, &Call::write(path))), "{path}");
    }
    ensure!(is_deny(&home.judge(Mode::Auto, &Call::read("~/alias/sub/file"))), "files in the folder");
    ensure!(is_ask(&home.judge(Mode::Auto, &Call::read("~/real"))), "a parent of the denied folder");
    ensure!(is_ask(&home.judge(Mode::Auto, &Call::read("~/REAL/sub/x"))), "some file systems ignore case");
    ensure!(home.judge(Mode::Auto, &Call::read("~/real/other")) == Verdict::Allow);
    ensure!(home.judge(Mode::Auto, &Call::write("~/reality/a")) == Verdict::Allow);
    Ok(())
}

/// `edit` shows the content of a file if it does not find the text to replace.
#[test]
fn read_rules_also_restrict_tools_that_write() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: read ~/secret/**", "ask: read ~/notes/**"])?;
    ensure!(is_deny(&home.judge(Mode::Auto, &Call::write("~/secret/key"))));
    ensure!(is_ask(&home.judge(Mode::Auto, &Call::write("~/notes/a"))));
    ensure!(home.judge(Mode::Auto, &Call::write("a")) == Verdict::Allow);
    Ok(())
}

#[test]
fn single_star_stays_within_a_name() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["allow: write src/*.rs", "allow: write docs/**/*.md"])?;
    for path in ["src/a.rs", "docs/a.md", "docs/x/y/a.md"] {
        ensure!(home.judge(Mode::SmartApprove, &Call::write(path)) == Verdict::Allow, "{path}");
    }
    for path in ["src/x/a.rs", "src/a.rs.txt", "docs/a.txt", "a.md", "x/docs/a.md"] {
        ensure!(is_ask(&home.judge(Mode::SmartApprove, &Call::write(path))), "{path}");
    }
    Ok(())
}

#[test]
fn always_for_a_file_covers_its_folder_if_safe() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    let work = home.work().canonicalize()?;
    let offered = |path: &str| always(&home.judge(Mode::SmartApprove, &Call::write(path)));
    ensure!(offered("src/a.rs") == Some(format!("allow: write {}/src/*", work.display())));
    ensure!(offered("a.rs") == Some(format!("allow: write {}/*", work.display())));
    for path in
        [".git/hooks/pre-commit", ".env", "src/.cargo/config.toml", "../a", "~/.bashrc", "/etc/passwd"]
    {
        ensure!(offered(path).is_none(), "{path}: {:?}", offered(path));
    }
    Ok(())
}

#[test]
fn stars_in_allow_rules_do_not_match_hidden_names() -> anyhow::Result<()> {
    let home =
        TestHome::with_rules(&["allow: write **", "allow: write src/*/x", "allow: write docs/.notes/**"])?;
    for path in ["a", "src/b", "src/a/x", "docs/.notes/a", "docs/.notes/b/c"] {
        let verdict = home.judge(Mode::SmartApprove, &Call::write(path));
        ensure!(verdict == Verdict::Allow, "{path}: {verdict:?}");
    }
    for path in [".a", "src/.b", "src/.a/x", ".github/x", "docs/.notes/.d", "docs/.notes/b/.d", "a/.b/c/d"] {
        let verdict = home.judge(Mode::SmartApprove, &Call::write(path));
        ensure!(is_ask(&verdict), "{path}: {verdict:?}");
    }
    let home = TestHome::with_rules(&["deny: write **"])?;
    ensure!(is_deny(&home.judge(Mode::Auto, &Call::write(".a/.b"))), "restricting rules match hidden names");
    Ok(())
}

#[test]
fn writing_the_rules_file_asks() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["allow: write ~/**", "allow: shell *", "deny: shell rm *"])?;
    let path = home.file().display().to_string();
    for mode in [Mode::Auto, Mode::SmartApprove] {
        ensure!(is_ask(&home.judge(mode, &Call::write(&path))), "{mode}");
        ensure!(is_ask(&home.shell(mode, &format!("echo > {path}"))), "{mode}");
        ensure!(is_ask(&home.shell(mode, &format!("cp x {path}"))), "{mode}");
        ensure!(home.judge(mode, &Call::write("~/other")) == Verdict::Allow, "{mode}");
    }
    Ok(())
}
