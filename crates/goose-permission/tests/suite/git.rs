//! Read-only git commands in hostile repositories. Each attack first runs with the real git, to show that it
//! works, and is judged then.
#![cfg(unix)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};
use goose_permission::{Mode, Verdict};
use goose_test_support::write_program;

use crate::support::{TestHome, is_ask, reasons};

/// Common commands that only read.
const READING: [&str; 24] = [
    "git status",
    "git status -sb",
    "git --no-pager status --porcelain",
    "git diff",
    "git diff --stat",
    "git diff --cached",
    "git diff HEAD",
    "git log --oneline -5",
    "git log -p -1",
    "git log --show-signature -1",
    "git log '--format=%G?' -1",
    "git show",
    "git show HEAD:f",
    "git show --stat HEAD",
    "git blame f",
    "git grep a",
    "git ls-files",
    "git ls-files -m",
    "git describe --always --dirty",
    "git for-each-ref",
    "git branch -a",
    "git stash list",
    "git rev-parse HEAD",
    "git cat-file -p HEAD",
];

/// A repository in the working folder, and a program that creates a marker file.
struct Attack {
    home: TestHome,
}

impl Attack {
    fn new() -> anyhow::Result<Self> {
        let attack = Self { home: TestHome::new()? };
        write_program(&attack.program(), &format!("#!/bin/sh\ntouch {}\ncat\n", attack.mark().display()))?;
        attack.run(
            "git init -q -b main . && git config user.name a && git config user.email a@example.com \
             && echo a > f \
             && git add f && git commit -qm one && echo b >> f",
        )?;
        Ok(attack)
    }

    fn program(&self) -> PathBuf {
        self.home.path().join("program")
    }

    fn mark(&self) -> PathBuf {
        self.home.path().join("mark")
    }

    fn has_run(&self) -> bool {
        fs::remove_file(self.mark()).is_ok()
    }

    /// Runs a command in the working folder. `$P` is the program.
    fn run(&self, script: &str) -> anyhow::Result<bool> {
        let status = Command::new("sh")
            .args(["-c", script])
            .current_dir(self.home.work())
            .env("HOME", self.home.path())
            .env("P", self.program())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "a")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "a@example.com")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        Ok(status.success())
    }

    /// Runs the allowed ones of the read-only commands. Fails if one of them runs the program.
    fn reads(&self) -> anyhow::Result<()> {
        for command in READING {
            let verdict = self.home.shell(Mode::SmartApprove, command);
            // git has to compare the file again.
            fs::write(self.home.work().join("f"), "a\nb\nc\n")?;
            if verdict == Verdict::Allow {
                self.run(command)?;
                ensure!(!self.has_run(), "`{command}` ran a program without approval");
            }
        }
        Ok(())
    }
}

#[test]
fn reading_an_ordinary_repository_is_allowed() -> anyhow::Result<()> {
    let attack = Attack::new()?;
    attack.run(
        "git remote add origin https://example.com/x.git && git config branch.main.remote origin \
         && git config branch.main.merge refs/heads/main && git config core.hooksPath .husky/_ \
         && git config pull.rebase true \
         && git config --add remote.origin.fetch +refs/heads/*:refs/remotes/origin/* && git tag v1",
    )?;
    for command in READING {
        let verdict = attack.home.shell(Mode::SmartApprove, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    fs::create_dir_all(attack.home.work().join("src"))?;
    attack.run("git worktree add -q ../tree && rm -rf src && git worktree add -q src")?;
    let verdict = attack.home.shell(Mode::SmartApprove, "git status");
    ensure!(verdict == Verdict::Allow, "a worktree below: {verdict:?}");
    Ok(())
}

/// The third parent of a stash has files that were not tracked, such as secrets.
#[test]
fn untracked_files_of_a_stash_are_not_shown_without_approval() -> anyhow::Result<()> {
    let attack = Attack::new()?;
    ensure!(attack.run("echo KEY > .env && git stash -q -u && git stash list | grep -q .")?);
    let shows = |command: &str| attack.run(&format!("{command} | grep -q KEY"));
    for command in [
        "git show stash@{0}^3",
        "git show stash^3:.env",
        "git show refs/stash^3",
        "git show -m stash@{0}",
        "git show 'stash^@'",
        "git show ':/untracked files'",
        "git show 'stash^{/untracked}'",
        "git log -p stash",
        "git log -p --all",
        "git log --reflog --unified=1",
        "git diff HEAD stash^3",
        "git diff HEAD..stash^3",
        "git cat-file -p refs/stash^3:.env",
        "git grep KEY stash^3",
        "r=stash; git show \"$r^3\"",
        "r=3; git show \"stash^$r\"",
    ] {
        let verdict = attack.home.shell(Mode::SmartApprove, command);
        ensure!(is_ask(&verdict), "{command}: {verdict:?}");
        ensure!(shows(command)?, "`{command}` shows nothing, so it tests nothing");
    }
    for command in [
        "git stash list",
        "git stash show -p",
        "git show stash@{0}",
        "git show -p stash@{0}",
        "git show 'HEAD^{tree}'",
        "git show stash@{0}:f",
        "git diff stash@{0}",
        "git diff HEAD stash^1",
        "git log --oneline --graph --all",
        "git log --stat --all",
        "git log -p stash^",
        "git diff HEAD -- stash.rs",
    ] {
        let verdict = attack.home.shell(Mode::SmartApprove, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
        ensure!(!shows(command)?, "`{command}` shows the file");
    }
    Ok(())
}

#[test]
fn repository_programs_do_not_run_without_approval() -> anyhow::Result<()> {
    // The preparation of the attack, and a command that runs the program then.
    for (setup, trigger) in [
        ("git config core.fsmonitor $P", "git status"),
        ("git config CORE.FSMonitor $P", "git status"),
        ("printf '[core]fsmonitor = %s\\n' $P >> .git/config", "git status"),
        ("printf '[core]\\n\\tfsmonitor = \\\\\\n%s\\n' $P >> .git/config", "git status"),
        ("printf '; x\\r\\n[core] # y\\r\\n fsmonitor=\"%s\"\\r\\n' $P >> .git/config", "git status"),
        ("git config diff.external $P", "git diff"),
        ("echo '* diff=x' > .gitattributes; git config diff.x.textconv $P", "git diff"),
        ("echo '* diff=x' > .git/info/attributes; git config diff.x.command $P", "git diff"),
        ("echo '* filter=x' > .gitattributes; git config filter.x.clean $P", "git diff"),
        ("echo '* filter=x' > .gitattributes; git config filter.x.process $P", "git diff"),
        ("echo '* filter=a.b' > .gitattributes; git config filter.a.b.clean $P", "git diff"),
        (
            "git config gpg.program $P; git config log.showSignature true; \
          git cat-file commit HEAD \
          | sed 's/^$/gpgsig -----BEGIN PGP SIGNATURE-----\\n \\n x\\n -----END PGP SIGNATURE-----\\n/;t;' \
          | git hash-object -t commit -w --stdin | xargs git update-ref HEAD",
            "git log",
        ),
        // git writes the index for a file whose time alone is new.
        ("cp $P .git/hooks/post-index-change; echo > g; git add g; touch -t 200001010000 g", "git status"),
        (
            "mkdir h; cp $P h/post-index-change; git config core.hooksPath h; echo > g; git add g; \
             touch -t 200001010000 g",
            "git status",
        ),
        ("printf '[core]\\nfsmonitor = %s\\n' $P > x.conf; git config include.path ../x.conf", "git status"),
        (
            "printf '[core]\\nfsmonitor = %s\\n' $P > x.conf; git config includeIf.gitdir:**.path ../x.conf",
            "git status",
        ),
        ("git config extensions.worktreeConfig true; git config --worktree core.fsmonitor $P", "git status"),
        (
            "mv .git ../real; echo 'gitdir: ../real' > .git; git --git-dir=../real config core.fsmonitor $P",
            "git status",
        ),
        ("mv .git ../real; ln -s ../real .git; git config core.fsmonitor $P", "git status"),
        (
            "mv .git ../real; mv * ..; git --git-dir=../real config core.fsmonitor $P; mv ../real ../.git",
            "git status",
        ),
        // The working folder itself is a bare repository.
        (
            "git clone -q --bare . b && mv b/* . && rm -rf .git && git config core.bare false \
             && git config core.worktree . \
          && git config core.fsmonitor $P",
            "git status",
        ),
        // A nested repository, which counts as a submodule.
        (
            "git init -q s && git -C s commit -q --allow-empty -m x && git add s \
             && git -C s config core.fsmonitor $P",
            "git status",
        ),
        (
            "git init -q s && git -C s commit -q --allow-empty -m x && git add s && git commit -qm y \
             && echo > s/f && git -C s add f \
          && git -C s config core.fsmonitor $P",
            "git diff",
        ),
        (
            "git init -q s && git init -q s/t && git -C s/t commit -q --allow-empty -m x \
             && git -C s add t && git -C s commit -qm x \
          && git add s && git -C s/t config core.fsmonitor $P",
            "git status",
        ),
        (
            "git init -q s && git -C s commit -q --allow-empty -m x && git add s && mv s/.git .git/s \
             && echo 'gitdir: ../.git/s' > s/.git \
          && git --git-dir=.git/s config core.fsmonitor $P",
            "git status",
        ),
        (
            "git worktree add -q ../tree; git config core.fsmonitor $P; mv .git ../real; \
             echo \"gitdir: $PWD/../real\" > .git",
            "git status",
        ),
    ] {
        let attack = Attack::new()?;
        attack.run(setup)?;
        attack.has_run();
        fs::write(attack.home.work().join("f"), "a\nb\nc\n")?;
        attack.run(trigger)?;
        ensure!(attack.has_run(), "the attack has no effect: {setup}");
        let verdict = attack.home.shell(Mode::SmartApprove, trigger);
        ensure!(is_ask(&verdict), "{setup}: {verdict:?}");
        attack.reads().with_context(|| setup.to_owned())?;
    }
    Ok(())
}

/// Settings that do not run a program today but still ask: only settings that are known to be harmless are
/// listed.
#[test]
fn unknown_settings_ask_and_are_named() -> anyhow::Result<()> {
    for (key, value) in [
        ("alias.x", "!true"),
        ("core.pager", "cat"),
        ("core.sshCommand", "ssh"),
        ("core.worktree", "/"),
        ("core.attributesFile", "/x"),
        ("diff.x.textconv", "true"),
        ("log.showSignature", "true"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", "true"),
        ("url.x.insteadOf", "y"),
        ("status.submoduleSummary", "true"),
        ("gpg.ssh.program", "true"),
        ("interactive.diffFilter", "true"),
    ] {
        let attack = Attack::new()?;
        let file = attack.home.work().join(".git/config");
        attack.run(&format!("git config --file '{}' '{key}' '{value}'", file.display()))?;
        let verdict = attack.home.shell(Mode::SmartApprove, "git status");
        let named = reasons(&verdict).to_lowercase().contains(&key.to_lowercase());
        ensure!(is_ask(&verdict) && named, "{key}: {verdict:?}");
    }
    Ok(())
}

#[test]
fn unusual_repository_files_ask() -> anyhow::Result<()> {
    let make = |setup: &str| -> anyhow::Result<Verdict> {
        let attack = Attack::new()?;
        ensure!(attack.run(setup)?, "{setup}");
        Ok(attack.home.shell(Mode::SmartApprove, "git status"))
    };
    for setup in [
        "rm .git/config && mkfifo .git/config",
        "rm .git/config && mkdir .git/config",
        "head -c 300000 /dev/zero | tr '\\0' '#' >> .git/config",
        "printf '\\0' >> .git/config",
        "printf '\\377' >> .git/config",
        "mv .git x && mkfifo .git",
        "git update-index --split-index",
        "git init -q s && git -C s commit -q --allow-empty -m x && git add s \
         && git update-index --index-version 4",
        "echo '[core' >> .git/config",
        "echo '[remote \"a\\\"b\"]' >> .git/config",
    ] {
        let verdict = make(setup)?;
        ensure!(is_ask(&verdict), "{setup}: {verdict:?}");
    }
    let plain = make("git init -q s && git -C s commit -q --allow-empty -m x && git add s")?;
    ensure!(plain == Verdict::Allow, "a submodule with an ordinary configuration: {plain:?}");
    Ok(())
}

#[test]
fn other_modes_ignore_repositories() -> anyhow::Result<()> {
    let attack = Attack::new()?;
    attack.run("git config core.fsmonitor $P")?;
    ensure!(attack.home.shell(Mode::Auto, "git status") == Verdict::Allow);
    ensure!(is_ask(&attack.home.shell(Mode::Approve, "git status")));
    ensure!(Path::new(&attack.program()).exists());
    Ok(())
}

/// A rule about a command that only reads does not allow what a repository makes git run.
#[test]
fn rules_do_not_allow_programs_of_hostile_repositories() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["allow: shell git status"])?;
    for mode in [Mode::SmartApprove, Mode::Approve] {
        ensure!(home.shell(mode, "git status") == Verdict::Allow, "{mode}");
    }
    fs::create_dir_all(home.work().join(".git/objects"))?;
    fs::write(home.work().join(".git/config"), "[core]\n\tfsmonitor = ./x\n")?;
    for mode in [Mode::SmartApprove, Mode::Approve] {
        let verdict = home.shell(mode, "git status");
        ensure!(is_ask(&verdict) && reasons(&verdict).contains("fsmonitor"), "{mode}: {verdict:?}");
    }
    Ok(())
}
