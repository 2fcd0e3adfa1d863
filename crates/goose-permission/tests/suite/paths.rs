//! Row 41: paths are where they lead, whatever they look like.
#![cfg(unix)]

use std::{fs, os::unix::fs::symlink};

use anyhow::ensure;
use goose_permission::{Mode, Verdict};

use crate::support::{Call, Desk, always, is_ask, is_deny, reasons};

#[test]
fn row_41_a_rule_for_a_folder_is_for_that_folder_alone() -> anyhow::Result<()> {
    let desk = Desk::with_rules(&["allow: write ~/work/**"])?;
    fs::create_dir_all(desk.home().join("work-evil"))?;
    fs::create_dir_all(desk.work().join("src"))?;
    for path in ["a.txt", "src/../a.txt", "./src//a.txt", "~/work/a.txt", "new/deep/a.txt", "../work/a"] {
        let verdict = desk.judge(Mode::SmartApprove, &Call::write(path));
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
        let verdict = desk.judge(Mode::SmartApprove, &Call::write(path));
        ensure!(is_ask(&verdict), "{path}: {verdict:?}");
    }
    Ok(())
}

#[test]
fn row_41_links_are_followed_wherever_they_stand() -> anyhow::Result<()> {
    let desk = Desk::with_rules(&["allow: write src/**", "deny: write ~/secret/**"])?;
    let (work, secret) = (desk.work(), desk.home().join("secret"));
    fs::create_dir_all(work.join("src"))?;
    fs::create_dir_all(&secret)?;
    symlink(&secret, work.join("src/folder"))?;
    symlink(secret.join("key"), work.join("src/dangling"))?;
    symlink("../../secret", work.join("src/relative"))?;
    symlink("round", work.join("src/round"))?;
    symlink(desk.home(), work.join("src/up"))?;
    for path in
        ["src/folder/a", "src/dangling", "src/relative/new/a", "src/up/secret/a", "src/folder/../secret/x"]
    {
        for mode in [Mode::Auto, Mode::SmartApprove] {
            let verdict = desk.judge(mode, &Call::write(path));
            ensure!(is_deny(&verdict), "{path} in {mode}: {verdict:?}");
        }
    }
    ensure!(is_ask(&desk.judge(Mode::SmartApprove, &Call::write("src/up/other"))), "it leads out");
    let round = desk.judge(Mode::SmartApprove, &Call::write("src/round"));
    ensure!(is_ask(&round) && reasons(&round).contains("circles"), "{round:?}");
    ensure!(desk.judge(Mode::SmartApprove, &Call::write("src/fine")) == Verdict::Allow);
    Ok(())
}

/// A folder that a rule names, replaced by a link, is not the folder that was allowed.
#[test]
fn row_41_a_link_in_the_place_of_an_allowed_folder_is_not_allowed() -> anyhow::Result<()> {
    let desk = Desk::with_rules(&["allow: write src/**"])?;
    symlink(desk.home(), desk.work().join("src"))?;
    ensure!(is_ask(&desk.judge(Mode::SmartApprove, &Call::write("src/a"))));
    Ok(())
}

/// A rule that denies holds for the place, whichever of its names is used in the rule or in the call.
#[test]
fn row_41_a_denied_folder_is_denied_under_all_its_names() -> anyhow::Result<()> {
    let desk = Desk::with_rules(&["deny: write ~/alias/**", "deny: read ~/real/sub"])?;
    fs::create_dir_all(desk.home().join("real/sub"))?;
    symlink(desk.home().join("real"), desk.home().join("alias"))?;
    for path in ["~/alias/a", "~/real/a", "../real/a", "../alias/a"] {
        ensure!(is_deny(&desk.judge(Mode::Auto, &Call::write(path))), "{path}");
    }
    ensure!(is_deny(&desk.judge(Mode::Auto, &Call::read("~/alias/sub/file"))), "what is in it, too");
    ensure!(is_ask(&desk.judge(Mode::Auto, &Call::read("~/real"))), "it holds what is denied");
    ensure!(is_ask(&desk.judge(Mode::Auto, &Call::read("~/REAL/sub/x"))), "some file systems do not care");
    ensure!(desk.judge(Mode::Auto, &Call::read("~/real/other")) == Verdict::Allow);
    ensure!(desk.judge(Mode::Auto, &Call::write("~/reality/a")) == Verdict::Allow);
    Ok(())
}

/// `edit` says what is in a file instead of what it was told to replace.
#[test]
fn what_may_not_be_read_may_not_be_changed_by_tools() -> anyhow::Result<()> {
    let desk = Desk::with_rules(&["deny: read ~/secret/**", "ask: read ~/notes/**"])?;
    ensure!(is_deny(&desk.judge(Mode::Auto, &Call::write("~/secret/key"))));
    ensure!(is_ask(&desk.judge(Mode::Auto, &Call::write("~/notes/a"))));
    ensure!(desk.judge(Mode::Auto, &Call::write("a")) == Verdict::Allow);
    Ok(())
}

#[test]
fn stars_stay_within_a_name_and_two_of_them_do_not() -> anyhow::Result<()> {
    let desk = Desk::with_rules(&["allow: write src/*.rs", "allow: write docs/**/*.md"])?;
    for path in ["src/a.rs", "docs/a.md", "docs/x/y/a.md"] {
        ensure!(desk.judge(Mode::SmartApprove, &Call::write(path)) == Verdict::Allow, "{path}");
    }
    for path in ["src/x/a.rs", "src/a.rs.txt", "docs/a.txt", "a.md", "x/docs/a.md"] {
        ensure!(is_ask(&desk.judge(Mode::SmartApprove, &Call::write(path))), "{path}");
    }
    Ok(())
}

#[test]
fn always_for_a_file_is_the_files_beside_it_where_that_is_safe() -> anyhow::Result<()> {
    let desk = Desk::new()?;
    let work = desk.work().canonicalize()?;
    let offered = |path: &str| always(&desk.judge(Mode::SmartApprove, &Call::write(path)));
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
fn stars_of_rules_that_allow_do_not_match_hidden_names() -> anyhow::Result<()> {
    let desk = Desk::with_rules(&["allow: write **", "allow: write src/*/x", "allow: write docs/.notes/**"])?;
    for path in ["a", "src/b", "src/a/x", "docs/.notes/a", "docs/.notes/b/c"] {
        let verdict = desk.judge(Mode::SmartApprove, &Call::write(path));
        ensure!(verdict == Verdict::Allow, "{path}: {verdict:?}");
    }
    for path in [".a", "src/.b", "src/.a/x", ".github/x", "docs/.notes/.d", "docs/.notes/b/.d", "a/.b/c/d"] {
        let verdict = desk.judge(Mode::SmartApprove, &Call::write(path));
        ensure!(is_ask(&verdict), "{path}: {verdict:?}");
    }
    let desk = Desk::with_rules(&["deny: write **"])?;
    ensure!(is_deny(&desk.judge(Mode::Auto, &Call::write(".a/.b"))), "a rule that restricts means them all");
    Ok(())
}

#[test]
fn goose_s_own_rules_are_not_changed_unasked() -> anyhow::Result<()> {
    let desk = Desk::with_rules(&["allow: write ~/**", "allow: shell *", "deny: shell rm *"])?;
    let path = desk.file().display().to_string();
    for mode in [Mode::Auto, Mode::SmartApprove] {
        ensure!(is_ask(&desk.judge(mode, &Call::write(&path))), "{mode}");
        ensure!(is_ask(&desk.shell(mode, &format!("echo > {path}"))), "{mode}");
        ensure!(is_ask(&desk.shell(mode, &format!("cp x {path}"))), "{mode}");
        ensure!(desk.judge(mode, &Call::write("~/other")) == Verdict::Allow, "{mode}");
    }
    Ok(())
}
