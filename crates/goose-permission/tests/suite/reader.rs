//! The parser of shell commands: current folders, words that contain paths or commands, and its cost.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::symlink,
    time::{Duration, Instant},
};

use anyhow::ensure;
use goose_permission::{Mode, Verdict};

use crate::support::{Call, TestHome, is_ask, is_deny};

/// Everyday commands that only read.
const EVERYDAY: &[&str] = &[
    "ls -la src | head -20",
    "cat Cargo.toml 2>/dev/null | grep -n version",
    "git status --short && git diff --stat",
    "git log --oneline -20 2>&1 | tail -20",
    "git log --format='%h %s' --since=\"2 weeks ago\" | wc -l",
    "git show HEAD:src/lib.rs | sed -n '10,20p'",
    "find . -name '*.rs' -not -path './target/*' | xargs wc -l | sort -n | tail -5",
    "for f in *.rs; do wc -l \"$f\"; done",
    "for f in src/*.rs; do echo \"== $f\"; head -5 \"$f\"; done",
    "for f in $(git ls-files '*.md'); do echo \"${f%.md}: $(wc -l < \"$f\")\"; done",
    "if [ -f Cargo.toml ]; then cat Cargo.toml; else echo \"none\"; fi",
    "[ -d src ] && ls src || echo 'no src'",
    "[ \"$(uname)\" = Linux ] && echo linux",
    "test -n \"$HOME\" && echo \"$HOME\"",
    "cd sub && ls -la",
    "cd sub && cat a.txt | head",
    "(cd sub && ls); ls",
    "rg -n 'fn main' --type rust -g '!target' | head",
    "grep -rn \"TODO\\|FIXME\" src --include='*.rs' | wc -l",
    "grep -E '^(a|b)$' file",
    "grep \"foo$\" file",
    "cat <<'EOF'\nany $(text) `here`\nEOF",
    "cat <<EOF | wc -l\nplain text\nEOF",
    "cat package.json | jq '.scripts | keys[]'",
    "jq -r '.a[] | select(.b == \"c\") | .d' x.json",
    "du -sh * | sort -h",
    "ps aux | grep node",
    "ps -ef | head",
    "echo \"total: $(ls | wc -l) files\"",
    "echo \"$USER has ${HOME:-none} and $#\"",
    "echo 'it'\\''s fine'",
    "echo a\\ b",
    "head -c 100 file | xxd",
    "od -c file | head -3",
    "diff <(sort a) <(sort b)",
    "while read -r line; do echo \"$line\"; done < file",
    "while IFS= read -r line; do echo \"> $line\"; done < file",
    "git diff HEAD~1 -- src/a.rs | grep '^+' | cut -c2- | sort | uniq -c | sort -rn | head",
    "set -e; ls; pwd",
    "set -euo pipefail\nls\npwd",
    "printf '%s\\n' a b c | sort",
    "printf '%-10s %s\\n' \"$x\" y",
    "seq 1 10 | tail -3 | tr '\\n' ' '",
    "ls *.txt 2>/dev/null || echo 'none'",
    "ls && echo ok; echo \"exit: $?\"",
    "command -v node >/dev/null 2>&1 && echo yes",
    "which python3 || exit 1",
    "sed 's/foo/bar/g' file | head",
    "sed -n '/start/,/end/p' file",
    "echo $((1 + 2))",
    "case \"$x\" in\n  a|b) echo ab ;;\n  *) echo other ;;\nesac",
    "ls \\\n  -la \\\n  src",
    "# what is here?\nls # all of it",
    "true && { ls; pwd; }",
    "! grep -q foo file",
    "sort file | uniq -d &",
    "stat -c '%s' file",
    "docker ps -a",
    "ls -la ~/projects",
    "cat \"$HOME/notes.txt\"",
    "wc -l $(git ls-files)",
    "timeout 10 grep -r foo . | head",
    "LC_ALL=C sort file",
    "column -t file",
    "fd -e rs",
    "base64 file | head -1",
    "cat größe.txt",
    "echo \"größe: à\"",
    "x=5; echo \"$x\"",
    "until grep -q done log; do sleep 1; done",
    "find src -name '*.rs' -exec grep -l main {} \\;",
    "find . -type f -exec wc -l {} +",
    "awk '{print $1}' file | sort -u",
    "ps aux | awk 'NR>1 {print $2}'",
    "awk -F, '{sum += $3} END {print sum}' data.csv",
    "git config user.email",
    "git check-ignore -v x",
    "python3 --version",
    "kubectl get pods -n default -o wide",
    "top -b -n 1 | head -20",
];

#[test]
fn everyday_read_only_commands_run() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    fs::create_dir_all(home.work().join("sub"))?;
    let asked: Vec<_> = EVERYDAY
        .iter()
        .map(|command| (command, home.shell(Mode::SmartApprove, command)))
        .filter(|(_, verdict)| *verdict != Verdict::Allow)
        .collect();
    ensure!(asked.is_empty(), "{asked:#?}");
    Ok(())
}

/// Creates a home with `secret/s`, `.ssh`, and a working folder with `sub` and `sub/deep`.
fn protected() -> anyhow::Result<TestHome> {
    let home = TestHome::with_rules(&["deny: write ~/.ssh/**", "deny: read ~/secret/**"])?;
    fs::create_dir_all(home.path().join(".ssh"))?;
    fs::create_dir_all(home.path().join("secret"))?;
    fs::write(home.path().join("secret/s"), "S")?;
    fs::create_dir_all(home.work().join("sub/deep"))?;
    symlink("sub/deep", home.work().join("link"))?;
    Ok(home)
}

#[test]
fn words_are_resolved_in_the_current_folder() -> anyhow::Result<()> {
    let home = protected()?;
    for command in [
        "cd sub && cat ../../secret/s",
        "cd sub && cd deep && cat ../../../secret/s",
        "(cd sub && cat ../../secret/s)",
        "cd sub && (cat ../../secret/s)",
        "cd sub && { cat ../../secret/s; }",
        "cd sub && if true; then cat ../../secret/s; fi",
        "cd sub && echo $(cat ../../secret/s)",
        "cd sub && ls | cat ../../secret/s",
        "sh -c 'cd sub && cat ../../secret/s'",
        "eval 'cd sub' && cat ../../secret/s",
        "command cd sub && cat ../../secret/s",
        "cd && cat secret/s",
        "cd ~ && cat secret/s",
        "cd .. && cat secret/s",
        "cd ../secret && cat s",
        "cd ~/secret && ls",
        "cd sub || cat ../secret/s",
        "cd ./sub/ && cat ../../secret/s",
    ] {
        for mode in [Mode::Auto, Mode::SmartApprove] {
            let verdict = home.shell(mode, command);
            ensure!(is_deny(&verdict), "{command} in {mode}: {verdict:?}");
        }
    }
    for command in [
        "cd sub && cp payload ../../.ssh/authorized_keys",
        "cd sub; cp payload ../../.ssh/authorized_keys",
        "cd sub; cat ../../secret/s",
        "cd sub || true; cat ../../secret/s",
        "cd link && cat ../../../secret/s",
        "cd link/.. && cat ../secret/s",
        "cd link/.. && cat ../../secret/s",
        "cd - && cat secret/s",
        "cd \"$x\" && cat s",
        "cd $x; cat s",
        "cd sub*; cat s",
        "cd -P sub && cat s",
        "pushd sub && cat s",
        "pushd sub; popd; cat s",
        "CDPATH=..; cd secret && cat s",
        "CDPATH=.. cd secret && cat s",
        "for d in a b; do cd ..; cat secret/s; done",
        "while cd ..; do cat secret/s; done",
        "git -C sub diff --output=../../.ssh/x",
        "git -C .. diff --output=.ssh/x",
        "tar -C .. -xf a.tar .ssh/x",
        "tar --directory=.. -xf a.tar .ssh/x",
        "tar xfC a.tar .. .ssh/x",
        "env -C .. cat secret/s",
        "env --chdir=.. cat secret/s",
        "find .. -execdir cat s \\;",
        "make -C .. secret",
        "ln -s .. x && cat x/secret/s",
        "ln -s ../.. sub/x && cat sub/x/secret/s",
        "ln -s ../../secret sub/x && cat sub/x/s",
        "ln -s \"$HOME\" x && cat x/secret/s",
        "f() { cd ..; }; f; cat secret/s",
        "f=~/secret/s; cat \"$f\"",
        "for f in ../secret/s; do cat \"$f\"; done",
        "cat ${x:-../secret/s}",
        "x=../secret; cat $x/s",
        "cd sub && ls > ../../.ssh/x && true",
        "echo a > /proc/self/cwd/../.ssh/x",
        "cat /proc/self/cwd/../secret/s",
        "cat /proc/thread-self/root/x",
        "cat /tmp/../proc/1/cwd/secret/s",
        "cat /dev/fd/3/../x",
        "sort --files0-from=list",
        "curl file:///%68ome/x",
        "curl 'file:///{home,x}/y'",
        "cat ~root/../x",
        "cat .?/secret/s",
    ] {
        let verdict = home.shell(Mode::Auto, command);
        ensure!(verdict != Verdict::Allow, "{command}: {verdict:?}");
    }
    for command in [
        "cd sub && cat ../a.txt",
        "cd sub && cat ../secret/s",
        "(cd ..); cat secret/s",
        "(cd .. && ls work) | cat secret/s",
        "cd .. | cat secret/s",
        "cd sub && cd .. && cat secret/s",
        "cat secret/s",
        "cd sub && ls",
        "cp a sub/b",
        "for f in *.txt; do echo \"$f\"; done",
        "x=5; echo $x",
    ] {
        let verdict = home.shell(Mode::Auto, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    Ok(())
}

#[test]
fn rules_allow_only_in_the_project() -> anyhow::Result<()> {
    let home =
        TestHome::with_rules(&["allow: shell git status", "allow: shell cargo test *", "allow: shell cd *"])?;
    fs::create_dir_all(home.work().join("sub"))?;
    for mode in [Mode::SmartApprove, Mode::Approve] {
        for command in [
            "cd sub && git status",
            "cd sub; git status",
            "(cd sub && git status)",
            "(cd sub; cargo test)",
            "cd sub && sh -c 'git status'",
            "cd sub && cargo test",
            "eval 'cd sub'; git status",
            "sh -c 'cd sub && git status'",
            "for d in a b; do git status; cd ..; done",
            "git -C sub status",
            "env -C sub git status",
        ] {
            let verdict = home.shell(mode, command);
            ensure!(is_ask(&verdict), "{command} in {mode}: {verdict:?}");
        }
        let here = format!("cd {} && git status", home.work().display());
        for command in [
            here.as_str(),
            "cd . && git status",
            "cd sub && cd .. && git status",
            "git status",
            "cargo test -p x",
            "(cd sub); git status",
            "git status && cd sub",
            "git status | cargo test",
        ] {
            let verdict = home.shell(mode, command);
            ensure!(verdict == Verdict::Allow, "{command} in {mode}: {verdict:?}");
        }
    }
    Ok(())
}

#[test]
fn launchers_and_command_lines_in_words_ask_if_a_rule_denies() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: shell rm *", "ask: shell git push *"])?;
    let mut holes = Vec::new();
    for command in [
        "script -qc 'rm F' /dev/null",
        "su -c 'rm F'",
        "flock x -c 'rm F'",
        "flock x rm F",
        "watch 'rm F'",
        "tmux new 'rm F'",
        "screen -dm rm F",
        "npm exec -c 'rm F'",
        "npx -c 'rm F'",
        "git -c alias.x='!rm F' x",
        "git -c core.fsmonitor='rm F' status",
        "git rebase --exec 'rm F' HEAD~1",
        "git rebase -x 'rm F' HEAD~1",
        "git bisect run rm F",
        "git submodule foreach 'rm F'",
        "git x",
        "git config alias.x '!rm F'; git x",
        "git config core.fsmonitor 'rm F'; git status",
        "setarch x86_64 rm F",
        "linux64 rm F",
        "prlimit --nofile=10 rm F",
        "setpriv rm F",
        "choom -n 0 rm F",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm F",
        "dbus-run-session rm F",
        ". ./file",
        "source ./file",
        "sh file",
        "./file",
        "make",
        "make -f x",
        "awk 'BEGIN{system(\"rm F\")}'",
        "gawk -f x",
        "perl -e 'unlink F'",
        "python3 -c 'x'",
        "python3.12 x.py",
        "node -e 'x'",
        "sed -n '1e rm F' x",
        "sed '1w F' x",
        "vim -c ':!rm F'",
        "ed x",
        "tar cf x y --checkpoint=1 --checkpoint-action=exec='rm F'",
        "tar -xf x --to-command='rm F'",
        "tar -cf x -I 'rm F' y",
        "gdb -batch -ex 'shell rm F'",
        "sqlite3 x '.shell rm F'",
        "BASH_ENV=x bash -c ls",
        "LD_PRELOAD=./x.so ls",
        "PATH=.:$PATH ls",
        "PATH=.; ls",
        "GIT_SSH_COMMAND='rm F' git fetch",
        "busybox sh x",
        "xargs -a x rm",
        "parallel rm ::: F",
        "entr rm F",
        "ssh host rm F",
        "docker run -v .:/x image sh -c 'rm F'",
        "docker exec x rm F",
        "unknown-launcher 'rm F'",
        "unknown-launcher --run='rm F'",
        "unknown-launcher 'ls; rm F'",
        "unknown-launcher \"sh -c 'rm F'\"",
        "git send-pack origin main",
        "/usr/lib/git-core/git-push origin main",
        "git-push origin",
        "unknown 'git push'",
        "x='$(rm F)'; echo ${x@P}",
        "x='a[$(rm F)]'; echo $((x))",
        "echo $[x]",
        "test -v 'a[$(rm F)]'",
        "read x[0]",
        "let x=1",
        "time ! rm F",
        "time x=1 rm F",
        "sudo X=1 rm F",
        "eval -- rm F",
        "ssh-agent rm F",
        "tar xPf evil.tar",
        "tar -xPf evil.tar",
        "tar xIf x y",
        "hyperfine 'rm F'",
        "unknown-launcher rm F",
        "unknown-launcher -x -- /bin/rm F",
        "unknown-launcher git push",
        "cpio -idm",
    ] {
        if home.shell(Mode::Auto, command) == Verdict::Allow {
            holes.push(command);
        }
    }
    ensure!(holes.is_empty(), "{holes:#?}");
    for command in [
        "cargo build --release",
        "npm install",
        "npm test",
        "git commit -m 'fix the build'",
        "git commit -m 'rm old files'",
        "git add . && git commit -m 'a b' && git fetch",
        "git config user.name 'A B'",
        "pytest -q tests",
        "cp a b && mv b c",
        "docker ps",
        "tar -xzf a.tgz",
        "curl -s http://localhost/x -H 'A: b'",
        "NODE_ENV=production npm install",
        "VERSION=1; echo $VERSION",
        "mkdir -p x && touch x/y",
        "sed -n '1,5p' x",
        "/bin/ls",
        "go test ./...",
        "git rm x",
        "grep rm x",
        "unknown \"$x\" y",
        "cp rm x",
    ] {
        let verdict = home.shell(Mode::Auto, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    let allowed = TestHome::with_rules(&[
        "deny: shell rm *",
        "allow: shell make check",
        "allow: shell python3 x.py *",
    ])?;
    for command in ["make check", "python3 x.py a"] {
        ensure!(allowed.shell(Mode::Auto, command) == Verdict::Allow, "{command}");
        ensure!(allowed.shell(Mode::Approve, command) == Verdict::Allow, "{command}");
    }
    ensure!(is_ask(&allowed.shell(Mode::Auto, "make")));
    Ok(())
}

#[test]
fn restricted_path_within_a_word_is_found() -> anyhow::Result<()> {
    let test_home = protected()?;
    let home = test_home.path().display().to_string();
    for command in [
        "sed -n 'w ~/.ssh/x' a".to_owned(),
        format!("sed -n 'r {home}/secret/s' a"),
        format!("awk '{{print > \"{home}/.ssh/x\"}}'"),
        format!("python3 -c 'open(\"{home}/.ssh/x\",\"w\")'"),
        format!("unknown 'write:{home}/.ssh/x;'"),
        "unknown '(../.ssh/x)'".to_owned(),
        "unknown 'a;$HOME/secret/s;b'".to_owned(),
        "unknown \"$x/.ssh/y\"".to_owned(),
        format!("unknown 'readfile(\"{home}/secret/s\")'"),
        format!("sqlite3 x \".output {home}/.ssh/x\""),
        "unknown --x='{\"f\": \"~/.ssh/x\"}'".to_owned(),
    ] {
        let verdict = test_home.shell(Mode::Auto, &command);
        ensure!(is_ask(&verdict) || is_deny(&verdict), "{command}: {verdict:?}");
    }
    for command in ["unknown 'my.sshd'", "unknown '.ssh-agent-info'", "echo 'see ~/.ssh/config'"] {
        let verdict = test_home.shell(Mode::Auto, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    Ok(())
}

#[test]
fn star_does_not_match_exec_options_and_output_files() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&[
        "allow: shell cargo test *",
        "allow: shell cargo build *",
        "allow: shell go test *",
        "allow: shell pytest *",
        "allow: shell find *",
        "allow: shell sort *",
        "allow: shell sort -o out *",
        "allow: shell git diff *",
        "allow: shell make check *",
        "allow: shell git *",
        "allow: shell tar *",
    ])?;
    for command in [
        "cargo test -vZ unstable-options",
        "cargo build -qvZ x",
        "cargo test --target-dir /etc/x",
        "cargo test --target-dir=/etc/x",
        "cargo test --target-d=/etc/x",
        "cargo build --artifact-dir x",
        "cargo build --target ./evil.json",
        "cargo build --target=evil.json",
        "cargo build --target $x",
        "cargo test -- --logfile=/etc/x",
        "cargo test -- --logfile /etc/x",
        "go test -o /etc/x",
        "go test -coverprofile=/etc/x",
        "pytest -vp evil",
        "pytest --junitxml=/etc/x",
        "find . -delete",
        "find . -fprint x",
        "find . $x",
        "sort -ox f",
        "sort --output=x f",
        "sort --compress-program=./x f",
        "git diff --output=x",
        "git diff --no-index --output x a b",
        "make check SHELL=./x",
        "make check -f evil.mk",
        "make check -kf evil.mk",
        "make check --eval=x",
        "make check -C x",
        "make check $x",
        "git bisect run x",
        "git x",
        "git submodule foreach x",
        "git rebase --exec x",
        "tar xf x --to-command=y",
    ] {
        let verdict = home.shell(Mode::Approve, command);
        ensure!(is_ask(&verdict), "{command}: {verdict:?}");
    }
    for command in [
        "cargo test -vv --release",
        "cargo build --target x86_64-unknown-linux-gnu",
        "cargo test -- --nocapture --test-threads=1",
        "go test -v ./...",
        "pytest -xvs tests",
        "find . -name '*.rs'",
        "sort -rn f",
        "sort -o out f",
        "git diff --stat HEAD",
        "make check -j4",
        "git push origin main",
        "tar xf x",
    ] {
        let verdict = home.shell(Mode::Approve, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    Ok(())
}

/// Judges 200 KB of hostile text. The limit is for a debug build on a busy machine; a release build is 20
/// times faster.
#[test]
fn judging_takes_linear_time() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: shell rm *", "deny: read ~/.ssh/**", "ask: shell git push *"])?;
    let many = |text: &str, count: usize| text.repeat(count);
    for (name, command) in [
        ("segments", many("ls a; ", 33_000)),
        ("commands of find", format!("find . {}", many("-exec ls ; ", 18_000))),
        ("commands of find without end", format!("find . {}", many("-exec ls ", 22_000))),
        ("redirections", format!("ls {}", many(">a ", 66_000))),
        ("brackets", many("(", 200_000)),
        ("substitutions", many("$(", 100_000)),
        ("quoted substitutions", many("\"$(", 66_000)),
        ("braces", many("${", 100_000)),
        ("backquotes", many("`a` ", 50_000)),
        ("open backquotes", many("\\`", 100_000)),
        ("quotes", many("'a'\"b\"", 33_000)),
        ("here-documents", many("cat <<E\n", 25_000)),
        ("ended here-documents", many("cat <<'E'\nE\n", 16_000)),
        ("numbers", format!("echo {}", many("$((1 ", 40_000))),
        ("moves", many("cd a && ", 25_000)),
        ("unsure moves", many("cd a; ", 33_000)),
        ("loops", many("while a; do ", 16_000)),
        ("conditions", many("if a; then ", 18_000)),
        ("reserved words", many("fi ", 66_000)),
        ("operators", many("&& ", 66_000)),
        ("words", format!("docker {}", many("git ", 50_000))),
        ("folders", format!("tar {}", many("-C a ", 40_000))),
        ("command lines", format!("unknown {}", many("'a b' ", 33_000))),
        ("command lines in command lines", format!("unknown '{}'", many("\"a b\" ", 33_000))),
        ("one word", format!("unknown '{}'", many("/.ss", 50_000))),
        ("scripts", format!("sh -c '{}'", many("sh -c \"ls\"; ", 16_000))),
        ("variables", many("a=b ", 50_000)),
        ("functions", many("f() ", 50_000)),
        ("cases", many("case a in a) ", 15_000)),
        ("links", format!("ln {}", many("a ", 100_000))),
    ] {
        for mode in [Mode::Auto, Mode::SmartApprove] {
            let begun = Instant::now();
            home.judge(mode, &Call::shell(&command));
            let taken = begun.elapsed();
            ensure!(taken < Duration::from_secs(20), "{name} in {mode}: {taken:?}");
        }
    }
    Ok(())
}
