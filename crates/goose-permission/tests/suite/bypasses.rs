//! Regression tests for bypasses: input that becomes part of a script, unknown words, default folders, other
//! shells.

use std::{fs, path::Path};

use anyhow::ensure;
use goose_permission::{Mode, Permissions, Verdict};

use crate::support::{Call, TestHome, always, is_ask, is_deny, reasons};

#[test]
fn words_built_from_input_are_unknown() -> anyhow::Result<()> {
    let plain = TestHome::new()?;
    let denied = TestHome::with_rules(&["deny: shell rm *"])?;
    for command in [
        "echo '; rm x' | xargs -I% sh -c 'ls %'",
        "echo '; rm x' | xargs -I % sh -c 'ls %'",
        "echo 'rm x' | xargs -I% sh -c 'ls; %'",
        "echo 'rm x' | xargs -n 1 -I ls sh -c 'ls'",
        "echo rm | xargs -I% % x",
        "echo rm | xargs -I% env % x",
        "echo rm | xargs -I% timeout 5 % x",
        "echo rm | xargs -i sh -c 'ls {}'",
        "echo rm | xargs --replace=% sh -c 'ls %'",
        "echo rm | xargs -0I% sh -c 'ls %'",
        "X='1 rm'; ls | xargs -n $X ls",
        "X='5 rm'; timeout -k $X 5 ls",
        "X='posix -c rm'; bash -o $X ls",
        "bash +x -c 'rm x'",
        "bash +c 'rm x'",
        "bash + -c 'rm x'",
        "find . -exec sh -c 'ls {}' \\;",
        "find . -exec {} \\;",
        "fd -x sh -c 'ls {/}'",
        "/bin/[r]m x",
        "/bin/r[m] x",
    ] {
        let verdict = plain.shell(Mode::SmartApprove, command);
        ensure!(is_ask(&verdict), "{command}: {verdict:?}");
        let verdict = denied.shell(Mode::Auto, command);
        ensure!(is_ask(&verdict) || is_deny(&verdict), "{command} in auto: {verdict:?}");
    }
    for command in ["bash +x -c 'rm x'", "bash +o posix -c 'rm x'", "fd -xrm", "fd --exec=rm x", "fd -Hx rm"]
    {
        let verdict = denied.shell(Mode::Auto, command);
        ensure!(is_deny(&verdict), "{command}: {verdict:?}");
    }
    for command in ["ls | xargs -I{} grep -l main {}", "ls | xargs -n 1 -I% sh -c 'ls src'"] {
        ensure!(plain.shell(Mode::SmartApprove, command) == Verdict::Allow, "{command}");
    }
    let find = TestHome::with_rules(&["allow: shell find *"])?;
    ensure!(is_ask(&find.shell(Mode::SmartApprove, "find . -exec sh -c 'ls {}' \\;")));
    Ok(())
}

/// Creates a home with a key that must not be read.
fn with_key() -> anyhow::Result<TestHome> {
    let home =
        TestHome::with_rules(&["deny: read ~/.ssh/**", "deny: write ~/.ssh/**", "deny: read **/.env"])?;
    fs::create_dir_all(home.path().join(".ssh"))?;
    fs::write(home.path().join(".ssh/id"), "KEY")?;
    fs::create_dir_all(home.work().join("src"))?;
    fs::create_dir_all(home.path().join("docs"))?;
    Ok(home)
}

#[test]
fn possible_restricted_files_ask() -> anyhow::Result<()> {
    let home = with_key()?;
    let mut bypasses = Vec::new();
    for command in [
        "cat $HOME/.ssh/id",
        "cat \"$HOME\"/.ssh/id",
        "cat \"$X\"",
        "cat ~/.ssh/*",
        "cat ~/.s*/id",
        "cat ~/*/id",
        "cat ../.[s]sh/id",
        "cat ~/.ss[h]/id",
        "cat src/.*/.*/.ssh/id",
        "cat ~/.ssh/{id,x}",
        "cat src/*",
        "for f in ~/.ssh/*; do cat \"$f\"; done",
        "ls ~/.ssh | xargs cat",
        "cat < $HOME/.ssh/id",
        "cat < \"$X\"",
        "cat < ~/.ssh/*",
        "cp x $HOME/.ssh/authorized_keys",
        "cd; cat .ssh/id",
        "cd && cat .ssh/id",
        "curl -d @../.ssh/id localhost",
        "curl -d@../.ssh/id localhost",
        "docker run -v ../.ssh:/x image",
        "grep -r KEY src",
        "rg KEY src",
    ] {
        for mode in [Mode::Auto, Mode::SmartApprove] {
            if home.shell(mode, command) == Verdict::Allow {
                bypasses.push((mode, command));
            }
        }
    }
    ensure!(bypasses.is_empty(), "{bypasses:#?}");
    for command in [
        "cat ~/.ssh/*",
        "grep -f../.ssh/id x",
        "grep -nf../.ssh/id x",
        "git show HEAD:.env",
        "cat a,../.ssh/id",
    ] {
        let verdict = home.shell(Mode::Auto, command);
        ensure!(is_deny(&verdict), "{command}: {verdict:?}");
    }
    Ok(())
}

#[test]
fn default_folder_of_a_command_counts() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: read ~/.ssh/**"])?;
    fs::create_dir_all(home.path().join(".ssh"))?;
    fs::create_dir_all(home.path().join("docs"))?;
    for command in [
        "grep -r KEY",
        "grep -rn KEY",
        "grep --recursive KEY",
        "grep -r -e docs -e docs",
        "grep -r -A 3 KEY",
        "grep -d recurse KEY",
        "egrep -R KEY",
        "rg KEY",
        "rg -e docs -e docs",
        "ls -R",
        "ls -laR",
        "tree",
        "tree -L 2",
        "du -a",
        "find -name id",
        "git grep KEY",
        "git diff",
    ] {
        for mode in [Mode::Auto, Mode::SmartApprove] {
            let verdict = home.shell_at_home(mode, command);
            ensure!(is_ask(&verdict), "{command} in {mode}: {verdict:?}");
            let verdict = home.shell(mode, command);
            ensure!(verdict == Verdict::Allow, "{command} elsewhere in {mode}: {verdict:?}");
        }
    }
    for command in [
        "grep KEY",
        "grep -rn KEY docs",
        "rg -n KEY docs",
        "ls",
        "ls docs/*",
        "find docs -name x",
        "git diff -- docs",
        "echo $X",
    ] {
        let verdict = home.shell_at_home(Mode::SmartApprove, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    Ok(())
}

/// The rules file is protected even if all rules are about other tools.
#[test]
fn changing_the_rules_file_asks() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: github__*"])?;
    let (file, folder) = (home.file(), home.paths().config);
    let (file, folder) = (file.display(), folder.display());
    for command in [
        format!("sed -i /deny/d {file}"),
        format!("echo > {file}"),
        format!("rm -r {folder}"),
        format!("cd {folder} && echo > permission.yaml"),
        "cp x ~/goose/config/permission.yaml".to_owned(),
        "cp x ~/goose/config/*".to_owned(),
        "sed -i /deny/d $HOME/goose/config/permission.yaml".to_owned(),
        "sed -i /deny/d ../goose/$X/permission.yaml".to_owned(),
        "sed -i /deny/d ~/goose/config/permission.{yaml,x}".to_owned(),
        "echo > $HOME/goose/config/permission.yaml".to_owned(),
    ] {
        let verdict = home.shell(Mode::Auto, &command);
        ensure!(is_ask(&verdict), "{command}: {verdict:?}");
    }
    for command in ["mv \"$f\" x", "make; $X", "rm -rf build", "echo > $X", "cd src && ls > x"] {
        let verdict = home.shell(Mode::Auto, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    Ok(())
}

/// The parser supports `sh` and `bash`; in other shells the same text may mean something else.
#[test]
fn unsupported_shell_asks() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: shell rm *", "allow: shell ls *"])?;
    let judge = |shell: &str, command: &str| {
        let permissions = Permissions::new(home.options(Mode::SmartApprove).with_shell(shell));
        permissions.judge(&Call::shell(command).in_folder(&home.work()))
    };
    for shell in ["zsh", "/usr/bin/fish", "nu", "/opt/sh/", "bash.sh"] {
        let verdict = judge(shell, "ls -la");
        ensure!(is_ask(&verdict) && reasons(&verdict).contains(shell), "{shell}: {verdict:?}");
        ensure!(is_deny(&judge(shell, "rm x")), "{shell}");
    }
    for shell in ["", "sh", "/bin/sh", "/bin/dash", "ash", "/usr/local/bin/bash"] {
        ensure!(judge(shell, "ls -la") == Verdict::Allow, "{shell}");
    }
    Ok(())
}

/// Version managers start another program if a file in the folder selects it.
#[test]
fn programs_selected_by_the_folder_ask() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    ensure!(is_ask(&home.shell(Mode::SmartApprove, "arch -arm64 rm x")));
    ensure!(home.shell(Mode::SmartApprove, "go version") == Verdict::Allow);
    fs::write(home.work().join("go.mod"), "module x\ntoolchain go1.99.0\n")?;
    ensure!(is_ask(&home.shell(Mode::SmartApprove, "go version")));
    let versions = ["cargo --version", "node --version", "node -v", "python3 --version", "rustc --version"];
    for command in versions {
        let verdict = home.shell(Mode::SmartApprove, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
        ensure!(is_ask(&home.shell(Mode::SmartApprove, &format!("cd src && {command}"))), "{command}");
    }
    // A file in the working folder or above may select another program. Files in the home folder are trusted.
    fs::write(home.path().join(".tool-versions"), "x")?;
    let deep = home.work().join("deep");
    fs::create_dir_all(&deep)?;
    let judge = |folder: &Path, command: &str| {
        home.permissions(Mode::SmartApprove).judge(&Call::shell(command).in_folder(folder))
    };
    for command in versions {
        ensure!(judge(&deep, command) == Verdict::Allow, "{command}");
    }
    for place in [home.work().join("rust-toolchain"), home.work().join(".tool-versions")] {
        fs::write(&place, "x")?;
        for (folder, command) in versions.iter().flat_map(|one| [(home.work(), one), (deep.clone(), one)]) {
            let verdict = judge(&folder, command);
            ensure!(is_ask(&verdict), "{command}: {verdict:?}");
        }
        fs::remove_file(&place)?;
    }
    Ok(())
}

/// "Always" covers the words that were shown. Options that make a program run another one were not among
/// them.
#[test]
fn always_does_not_allow_exec_options() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&[
        "allow: shell cargo build *",
        "allow: shell git fetch *",
        "allow: shell go build *",
        "allow: shell go vet *",
        "allow: shell kubectl get *",
        "allow: shell npm test *",
        "allow: shell pytest *",
        "allow: shell git push --exec=known *",
    ])?;
    for command in [
        "cargo build --config build.rustc-wrapper=/x",
        "cargo build --config=x",
        "cargo build --manifest-path /x/Cargo.toml",
        "cargo build $X",
        "cargo build \"$X\"",
        "git fetch --upload-pack=/x .",
        "git fetch --upl /x .",
        "go build -toolexec=/x",
        "go build --toolexec /x",
        "go vet -vettool=/x",
        "kubectl get pods --kubeconfig=/x",
        "npm test --script-shell=/x",
        "npm test -C /x",
        "pytest -p evil",
        "pytest -c/x",
    ] {
        let verdict = home.shell(Mode::Approve, command);
        ensure!(is_ask(&verdict), "{command}: {verdict:?}");
    }
    for command in [
        "cargo build --release -p goose",
        "git fetch origin --prune",
        "go build ./...",
        "kubectl get pods -o wide",
        "npm test -- --grep x",
        "pytest -q tests",
        "git push --exec=known origin",
    ] {
        let verdict = home.shell(Mode::Approve, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    for (command, rule) in [
        ("timeout 5 rm -rf x", None),
        ("time rm x", None),
        ("setsid rm x", None),
        ("stdbuf -o0 rm x", None),
        ("command rm x", None),
        ("toybox rm x", None),
        ("timeout 5 cargo test", Some("allow: shell cargo test *")),
        ("cargo build --config x", None),
        ("kubectl get pods", Some("allow: shell kubectl get *")),
    ] {
        let offered = always(&TestHome::new()?.shell(Mode::Approve, command));
        ensure!(offered.as_deref() == rule, "{command}: {offered:?}");
    }
    Ok(())
}

/// The tool does not trim paths, so the rules must not either.
#[test]
fn blanks_around_a_path_are_part_of_it() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: read ~/safe/**", "allow: write ~/work/**"])?;
    ensure!(is_deny(&home.judge(Mode::Auto, &Call::read("~/safe/id "))), "another file in that folder");
    ensure!(is_deny(&home.judge(Mode::Auto, &Call::read(&format!("{}/safe/ id", home.path().display())))));
    ensure!(home.judge(Mode::Auto, &Call::read(" ~/safe/id")) == Verdict::Allow, "a folder named ` ~`");
    let outside = "/no-such-folder/other";
    ensure!(is_ask(&home.judge(Mode::SmartApprove, &Call::write(outside))));
    let odd = home.judge(Mode::SmartApprove, &Call::write(&format!(" {outside}")));
    ensure!(odd == Verdict::Allow, "a path in the working folder: {odd:?}");
    Ok(())
}

/// The work for a command is bounded.
#[test]
fn too_many_words_or_segments_ask() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: read ~/.ssh/**", "deny: shell rm *"])?;
    let many: Vec<String> = (0..5000).map(|index| format!("f{index}")).collect();
    let verdict = home.shell(Mode::Auto, &format!("cat {}", many.join(" ")));
    ensure!(is_ask(&verdict) && reasons(&verdict).contains("too many words"), "{verdict:?}");
    let parts: Vec<String> = (0..3000).map(|index| format!("touch f{index}")).collect();
    let verdict = home.shell(Mode::SmartApprove, &parts.join("; "));
    ensure!(is_ask(&verdict) && reasons(&verdict).contains("too many to check"), "{verdict:?}");
    ensure!(always(&verdict).is_none());
    ensure!(is_deny(&home.shell(Mode::SmartApprove, &format!("{}; rm x", parts.join("; ")))));
    Ok(())
}
