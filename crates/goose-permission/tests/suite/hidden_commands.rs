//! Commands that look like text to a parser: quotes, here-documents, arithmetic, and syntax that shells parse
//! differently.
#![cfg(unix)]

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::ensure;
use goose_permission::{Mode, Verdict};
use goose_test_support::write_program;

use crate::support::TestHome;

/// Scripts that run `bad` in some shell, although a parser may take it for text. `X` is replaced by `./bad`.
const HIDDEN: &[&str] = &[
    // A `$` before a blank.
    "echo \"$ $(X)\"",
    "echo \"a$\t$(X)\"",
    "echo \"$\n$(X)\"",
    "x=\"$ $(X)\"; cd .",
    "echo $ $(X)",
    // Quotes that are literal within `\"${…}\"`.
    "echo \"${x:-'$(X)'}\"",
    "echo \"${x-'$(X)'}\"",
    "PWD=1; echo \"${PWD:+'$(X)'}\"",
    "[ \"${x:-'$(X)'}\" ]",
    "case \"${x:-'$(X)'}\" in x) ls;; esac",
    "for i in \"${x:-'$(X)'}\"; do ls; done",
    "y=\"${x:-'$(X)'}\"; ls",
    "cat <<E\n${x:-'$(X)'}\nE",
    "echo ${x:-$(X)}",
    "echo ${x:=$(X)}",
    "echo ${x:?$(X)}",
    // Here-documents.
    "cat <<E\n`X`$y\nE",
    "cat <<E\n$y`X`\nE",
    "cat <<E\n$(X)\nE",
    "cat <<-E\n\t$(X)\n\tE",
    "cat <<E\ntext\nE\nX",
    "cat <<'E'\ntext\nE\nX",
    "cat <<'E' && X\ntext\nE",
    "cat <<'E'; X\ntext\nE",
    "cat <<\\E\nE\nX",
    "cat <<E''\nE\nX",
    "cat <<'A' <<'B'\nA\nB\nX",
    "cat <<'A' \"\nA\n\"\nX\nA",
    "echo $(cat <<'E'\nE\nX)",
    "cat <<E \\\n; X\nE",
    "cat <<E\nE\n\tX",
    // Line ends within tests.
    "[ -z \nX ]; ls",
    "[ ! \nX\n ]",
    "[ x = \nX\n ]",
    "[ # \nX\n ]",
    "test x \nX",
    // Line ends after anything else.
    "echo ==\nX",
    "echo =~\nX",
    "echo a=\nX",
    "ls -la\nX",
    "ls \\\\\nX",
    "ls '\\'\nX",
    "ls \"\\\\\"\nX",
    "ls #\nX",
    "ls # \\\nX",
    "ls \\\n; X",
    "ls;\nX",
    "ls &\nX",
    "ls |\nX",
    "ls &&\nX",
    // Backquotes.
    "echo `X`",
    "echo `echo \\`X\\``",
    "echo \"`echo \\\"`X\\`\\\"`\"",
    "echo `cat <<'E'\n`\nX\nE\n`",
    "echo `echo '`\nX\n`'`",
    "echo \\`; X; echo \\`",
    // Braces.
    "echo ${x#{ }; X; echo }}",
    "echo ${x%{ }; X; echo }}",
    "echo ${x#\\}}; X",
    "echo ${x%'}'}; X",
    "echo ${x:-a}; X",
    "echo ${x:-{a}; X; echo }",
    "echo ${x}; X",
    "{ ls; X; }",
    "echo }; X",
    "echo {; X",
    // Arithmetic.
    "echo $(( '$(X)' ))",
    "echo $(( $(X) ))",
    "echo $(( 1 )) $(X)",
    "echo $((X) )",
    "echo $( (X) )",
    "echo $((1)); X",
    "x='a[$(X)]'; echo $((x))",
    "x='a[$(X)]'; echo $[x]",
    "echo $[ $(X) ]",
    "((X))",
    "( (X) )",
    // Quotes that dash does not support.
    "echo $'a\\'; X; echo '\\'",
    "echo $'a'; X",
    "echo $\"a\"; X",
    "echo \"$'\"; X; echo \"'\"",
    // Tests that dash does not support, or that bash evaluates.
    "[[ x =~ a|X ]]; ls",
    "[[ x =~ a;X ]]; ls",
    "[[ x =~ a&X ]]; ls",
    "[[ x < y && X ]]",
    "[ -v 'a[$(X)]' ]; ls",
    "test -v 'a[$(X)]'; ls",
    "[ ! -v 'a[$(X)]' ]; ls",
    "[ x = x -a -v 'a[$(X)]' ]; ls",
    "x='-v a[$(X)]'; [ $x ]; ls",
    "[[ 'a[$(X)]' -eq 0 ]]",
    "x='a[$(X)]'; echo ${HOME:x}",
    "x='a[$(X)]'; echo ${@:x}",
    "x='$(X)'; echo ${x@P}",
    "x='a[$(X)]'; echo ${y[x]}",
    "x='y[$(X)]'; echo ${!x}",
    "printf -v 'a[$(X)]' x",
    "x='-va[$(X)]'; printf \"$x\" y",
    "read 'a[$(X)]' <<'E'\nx\nE",
    "let 'a[$(X)]=1'",
    "declare 'a[$(X)]=1'",
    "typeset -i a; a='b[$(X)]'",
    "unset 'a[$(X)]'",
    "export 'a[$(X)]=1'",
    "mapfile -C X -c 1 <<'E'\nx\nE",
    "trap X EXIT",
    "alias ls=X\nls",
    "shopt -s expand_aliases\nalias ls=X\nls",
    "enable -n echo; echo",
    "hash -p X ls; ls",
    // Operators.
    "ls|X",
    "ls||X",
    "true&&X",
    "ls&X",
    "ls;X",
    "ls >/dev/null;X",
    "ls 2>&1|X",
    "ls 2>&1&X",
    "ls >&2;X",
    "ls &>/dev/null;X",
    "ls |& X",
    "ls <(X)",
    "ls >(X)",
    "ls a<(X)",
    "ls < <(X)",
    "! X",
    "!X",
    "(X)",
    "ls;(X)",
    "if X; then ls; fi",
    "if ls; then X; fi",
    "if false; then ls; elif X; then ls; fi",
    "if false; then ls; else X; fi",
    "while X; do break; done",
    "until X; do break; done",
    "for i in 1; do X; done",
    "for i in 1 2;do X;done",
    "for i in $(X); do ls; done",
    "for i do ls; done; X",
    "for ((i=0;i<1;i++)); do X; done",
    "case x in x) X;; esac",
    "case x in (x) X;; esac",
    "case x in y|x) X;; esac",
    "case x in x) ;; esac; X",
    "case x in x) X\nesac",
    "case $(X) in x) ls;; esac",
    "case x in $(X)) ls;; esac",
    "echo $(case x in x) X;; esac)",
    "case x in x) ls;& y) X;; esac",
    "select i in 1; do X; done <<'E'\n1\nE",
    "coproc X; wait",
    "function f { X; }; f",
    "f() { X; }; f",
    "f()\n{ X; }\nf",
    "ls() { X; }; ls",
    "time X",
    "time { X; }",
    "time -p X",
    "time ! X",
    "time x=1 X",
    "time (X)",
    "eval -- X",
    "eval -- 'ls; X'",
    "x=1 X",
    "x=$(X)",
    "x=(X $(X))",
    "x+=$(X)",
    "x[$(X)]=1",
    ">/dev/null X",
    "2>/dev/null X",
    "</dev/null X",
    "12>/dev/null X",
    "{fd}>/dev/null X",
    "ls >$(X)",
    "ls >\"$(X)\"",
    // Names.
    "\\X",
    "'X'",
    "\"X\"",
    "$(echo X)",
    "x=X; $x",
    "x=X; \"$x\"",
    "x=X; ${x}",
    "x=X; ${x:-ls}",
    "${x:-X}",
    "\"${x:-X}\"",
    "./b[a]d",
    "./b?d",
    "./ba*",
    "{X,}",
    "command X",
    "exec X",
    "eval X",
    "eval 'X'",
    "eval \"X\"",
    "sh -c X",
    "bash -c 'ls; X'",
    "sh -ec 'X'",
    "sh -c \"$ $(X)\"",
    "sh <<'E'\nX\nE",
    "echo X | sh",
    "env X",
    "env -S X",
    "env -i X",
    "xargs X </dev/null",
    "xargs -I{} sh -c {} <<'E'\nX\nE",
    "find . -maxdepth 0 -exec X ;",
    "find . -maxdepth 0 -exec X {} +",
    "find . -maxdepth 0 -execdir X \\;",
    "nice X",
    "nohup X",
    "timeout 5 X",
    "setsid -w X",
    "stdbuf -o0 X",
    ". X",
    "PATH=.; bad",
    "PATH=. bad",
    "export PATH=.; bad",
    "IFS=/; x=./bad; $x",
    "BASH_ENV=X bash -c ls",
    "ENV=X sh -ic ls",
    "PATH=. sh -c bad",
    "PATH=. command bad",
];

/// Creates the script `bad`, which creates a marker file.
fn bad(folder: &Path) -> anyhow::Result<()> {
    let mark = folder.join("mark");
    write_program(&folder.join("bad"), &format!("#!/bin/sh\n: >'{}'\n", mark.display()))
}

/// Returns true if a real shell runs `bad`.
fn runs(shell: &[&str], script: &str) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir()?;
    bad(folder.path())?;
    let mut child = Command::new("timeout");
    child.args(["-s", "KILL", "5"]).args(shell).args(["-c", script]).current_dir(folder.path());
    child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(folder.path().join("mark").exists())
}

#[test]
fn hidden_commands_are_not_taken_for_text() -> anyhow::Result<()> {
    let plain = TestHome::new()?;
    let allows = ["allow: shell ls *", "allow: shell cat *", "allow: shell echo *", "allow: shell true *"];
    let ruled = TestHome::with_rules(&allows)?;
    let denied = TestHome::with_rules(&["deny: shell bad *"])?;
    let mut holes = Vec::new();
    for script in HIDDEN {
        let script = script.replace('X', "./bad");
        for (home, mode) in [
            (&plain, Mode::SmartApprove),
            (&plain, Mode::Approve),
            (&ruled, Mode::Approve),
            (&denied, Mode::Auto),
            (&denied, Mode::SmartApprove),
        ] {
            let verdict = home.shell(mode, &script);
            if verdict == Verdict::Allow {
                holes.push((mode, script.clone()));
            }
        }
    }
    ensure!(holes.is_empty(), "{holes:#?}");
    Ok(())
}

/// Checks the table itself: real shells run most of the commands.
#[test]
fn hidden_commands_run_in_real_shells() -> anyhow::Result<()> {
    let mut idle = Vec::new();
    for script in HIDDEN {
        let script = script.replace('X', "./bad");
        let mut is_run = false;
        for shell in [&["dash"][..], &["bash"], &["bash", "--posix"]] {
            is_run |= runs(shell, &script).unwrap_or_default();
        }
        if !is_run {
            idle.push(script);
        }
    }
    ensure!(idle.len() * 4 < HIDDEN.len(), "{} are never run: {idle:#?}", idle.len());
    Ok(())
}
