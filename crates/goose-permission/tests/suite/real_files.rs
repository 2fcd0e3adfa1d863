//! A judgement names the real files: through links, and for files with other names.

use std::{fs, os::unix::fs::symlink};

use anyhow::ensure;
use goose_extension::{FileTarget, HardLinks};
use goose_permission::{Mode, Verdict};

use crate::support::{Call, Desk, always, is_ask, is_deny, reasons};

/// The files of a judgement.
fn files(desk: &Desk, mode: Mode, call: &Call) -> Vec<Result<FileTarget, String>> {
    let judgement = desk.permissions(mode).judgement(&call.in_folder(&desk.work()));
    judgement.files.into_iter().map(|file| file.target).collect()
}

#[test]
fn every_judgement_names_the_real_files() -> anyhow::Result<()> {
    let desk = Desk::new()?;
    let work = desk.work().canonicalize()?;
    fs::create_dir(work.join("real"))?;
    symlink("real", work.join("alias"))?;
    symlink("round", work.join("round"))?;
    for mode in [Mode::Auto, Mode::SmartApprove, Mode::Approve] {
        let (path, hard_links) = (work.join("real/a"), HardLinks::Refused);
        ensure!(
            files(&desk, mode, &Call::write("alias/a")) == [Ok(FileTarget { path, hard_links })],
            "{mode}"
        );
        let (path, hard_links) = (work.join("real"), HardLinks::AllowedIfPublic);
        ensure!(
            files(&desk, mode, &Call::read("./alias")) == [Ok(FileTarget { path, hard_links })],
            "{mode}"
        );
        ensure!(
            matches!(&files(&desk, mode, &Call::read("round"))[..], [Err(why)] if why.contains("circles"))
        );
        ensure!(files(&desk, mode, &Call::shell("ls")).is_empty());
    }
    Ok(())
}

#[test]
fn a_file_with_other_names_is_asked_about() -> anyhow::Result<()> {
    let plain = Desk::new()?;
    let strict = Desk::with_rules(&["deny: read ~/secret/**", "deny: write ~/secret/**"])?;
    for desk in [&plain, &strict] {
        fs::create_dir(desk.home().join("secret"))?;
        fs::write(desk.home().join("secret/key"), "x")?;
        fs::set_permissions(
            desk.home().join("secret/key"),
            std::os::unix::fs::PermissionsExt::from_mode(0o600),
        )?;
        fs::write(desk.home().join("secret/public"), "x")?;
        for name in ["key", "public"] {
            fs::hard_link(desk.home().join("secret").join(name), desk.work().join(name))?;
        }
        fs::write(desk.work().join("single"), "x")?;
    }
    let asks = |verdict: &Verdict| is_ask(verdict) && reasons(verdict).contains("other names");
    // In every mode writing changes what the other names lead to.
    for (desk, name) in [(&plain, "key"), (&plain, "public"), (&strict, "key"), (&strict, "public")] {
        for mode in [Mode::Auto, Mode::SmartApprove, Mode::Approve] {
            ensure!(asks(&desk.judge(mode, &Call::write(name))), "{name} in {mode}");
            ensure!(always(&desk.judge(mode, &Call::write(name))).is_none(), "{name}");
        }
    }
    // A public file is not a secret, unless a rule says what is.
    ensure!(asks(&plain.judge(Mode::Auto, &Call::read("key"))));
    ensure!(plain.judge(Mode::Auto, &Call::read("public")) == Verdict::Allow);
    for name in ["key", "public"] {
        ensure!(asks(&strict.judge(Mode::Auto, &Call::read(name))), "{name}");
        ensure!(is_ask(&strict.shell(Mode::Auto, &format!("cat {name}"))), "cat {name}");
        ensure!(is_ask(&strict.shell(Mode::Auto, &format!("echo x > {name}"))), "echo > {name}");
        ensure!(is_ask(&strict.shell(Mode::Auto, &format!("cp single {name}"))), "cp {name}");
    }
    ensure!(is_deny(&strict.judge(Mode::Auto, &Call::read("../secret/key"))));
    for desk in [&plain, &strict] {
        ensure!(desk.judge(Mode::Auto, &Call::write("single")) == Verdict::Allow);
        ensure!(desk.judge(Mode::Auto, &Call::read("single")) == Verdict::Allow);
        ensure!(desk.shell(Mode::Auto, "cat single") == Verdict::Allow);
    }
    Ok(())
}
