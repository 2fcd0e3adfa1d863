//! Files of a judgement: resolved links, and files with several names.

use std::{fs, os::unix::fs::symlink};

use anyhow::ensure;
use goose_extension::{FileTarget, HardLinks};
use goose_permission::{Mode, Verdict};

use crate::support::{Call, TestHome, always, is_ask, is_deny, reasons};

/// Returns the files of a judgement.
fn files(home: &TestHome, mode: Mode, call: &Call) -> Vec<Result<FileTarget, String>> {
    let judgement = home.permissions(mode).judgement(&call.in_folder(&home.work()));
    judgement.files.into_iter().map(|file| file.target).collect()
}

#[test]
fn judgement_has_the_resolved_files() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    let work = home.work().canonicalize()?;
    fs::create_dir(work.join("real"))?;
    symlink("real", work.join("alias"))?;
    symlink("round", work.join("round"))?;
    for mode in [Mode::Auto, Mode::SmartApprove, Mode::Approve] {
        let (path, hard_links) = (work.join("real/a"), HardLinks::Refused);
        ensure!(
            files(&home, mode, &Call::write("alias/a")) == [Ok(FileTarget { path, hard_links })],
            "{mode}"
        );
        let (path, hard_links) = (work.join("real"), HardLinks::AllowedIfPublic);
        ensure!(
            files(&home, mode, &Call::read("./alias")) == [Ok(FileTarget { path, hard_links })],
            "{mode}"
        );
        ensure!(matches!(&files(&home, mode, &Call::read("round"))[..], [Err(why)] if why.contains("cycle")));
        ensure!(files(&home, mode, &Call::shell("ls")).is_empty());
    }
    Ok(())
}

#[test]
fn hard_linked_file_asks() -> anyhow::Result<()> {
    let plain = TestHome::new()?;
    let strict = TestHome::with_rules(&["deny: read ~/secret/**", "deny: write ~/secret/**"])?;
    for home in [&plain, &strict] {
        fs::create_dir(home.path().join("secret"))?;
        fs::write(home.path().join("secret/key"), "x")?;
        fs::set_permissions(
            home.path().join("secret/key"),
            std::os::unix::fs::PermissionsExt::from_mode(0o600),
        )?;
        fs::write(home.path().join("secret/public"), "x")?;
        for name in ["key", "public"] {
            fs::hard_link(home.path().join("secret").join(name), home.work().join(name))?;
        }
        fs::write(home.work().join("single"), "x")?;
    }
    let asks = |verdict: &Verdict| is_ask(verdict) && reasons(verdict).contains("other names");
    // Writing changes the file under its other names as well.
    for (home, name) in [(&plain, "key"), (&plain, "public"), (&strict, "key"), (&strict, "public")] {
        for mode in [Mode::Auto, Mode::SmartApprove, Mode::Approve] {
            ensure!(asks(&home.judge(mode, &Call::write(name))), "{name} in {mode}");
            ensure!(always(&home.judge(mode, &Call::write(name))).is_none(), "{name}");
        }
    }
    // A public file is not a secret, unless a rule restricts reading.
    ensure!(asks(&plain.judge(Mode::Auto, &Call::read("key"))));
    ensure!(plain.judge(Mode::Auto, &Call::read("public")) == Verdict::Allow);
    for name in ["key", "public"] {
        ensure!(asks(&strict.judge(Mode::Auto, &Call::read(name))), "{name}");
        ensure!(is_ask(&strict.shell(Mode::Auto, &format!("cat {name}"))), "cat {name}");
        ensure!(is_ask(&strict.shell(Mode::Auto, &format!("echo x > {name}"))), "echo > {name}");
        ensure!(is_ask(&strict.shell(Mode::Auto, &format!("cp single {name}"))), "cp {name}");
    }
    ensure!(is_deny(&strict.judge(Mode::Auto, &Call::read("../secret/key"))));
    for home in [&plain, &strict] {
        ensure!(home.judge(Mode::Auto, &Call::write("single")) == Verdict::Allow);
        ensure!(home.judge(Mode::Auto, &Call::read("single")) == Verdict::Allow);
        ensure!(home.shell(Mode::Auto, "cat single") == Verdict::Allow);
    }
    Ok(())
}
