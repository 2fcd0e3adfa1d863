//! Properties of verdicts about shell commands: a denied command is found in any nesting, and an allowed
//! script runs nothing else in a real shell.
#![cfg(unix)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anyhow::Context as _;
use goose_permission::{Mode, Verdict};
use goose_test_support::write_program;
use proptest::prelude::*;

use crate::support::{TestHome, is_deny};

/// Returns a home with rules, created once.
fn shared_home() -> Result<&'static TestHome, TestCaseError> {
    static HOME: OnceLock<TestHome> = OnceLock::new();
    if let Some(home) = HOME.get() {
        return Ok(home);
    }
    let home = TestHome::with_rules(&["deny: shell rm *", "allow: shell ok *"]);
    let home = home.map_err(|error| TestCaseError::fail(error.to_string()))?;
    Ok(HOME.get_or_init(|| home))
}

/// Returns a script that runs this one.
fn wrapped(script: &str, how: usize) -> String {
    match how {
        0 => format!("ok && {script}"),
        1 => format!("ok; {script}"),
        2 => format!("ok || {script}"),
        3 => format!("ok | {script}"),
        4 => format!("ok\n{script}"),
        5 => format!("( {script} )"),
        6 => format!("{{ {script}; }}"),
        7 => format!("ok $( {script} )"),
        8 => format!("ok \"a $( {script} ) b\""),
        9 => format!("if ok; then {script}; fi"),
        10 => format!("for f in a b; do {script}; done"),
        11 => format!("while ok; do {script}; done"),
        12 => format!("case x in x) {script};; esac"),
        13 => format!("f() {{ {script}; }}; f"),
        14 => format!("bash -c {}", quoted(script)),
        15 => format!("eval {}", quoted(script)),
        16 => format!("ok <( {script} )"),
        17 => format!("x=$( {script} )"),
        18 => format!("{script} && ok"),
        19 => format!("{script} | ok 2>&1"),
        20 => format!("timeout 5 sh -c {}", quoted(script)),
        _ => format!("! ( {script} )"),
    }
}

fn quoted(script: &str) -> String {
    format!("'{}'", script.replace('\'', r"'\''"))
}

fn nested(core: &'static [&'static str]) -> impl Strategy<Value = String> {
    (prop::sample::select(core), prop::collection::vec(0_usize..22, 0..6))
        .prop_map(|(core, hows)| hows.into_iter().fold(core.to_owned(), |script, how| wrapped(&script, how)))
}

/// Pieces that shells and parsers disagree about most easily.
const PIECES: &[&str] = &[
    "ok",
    "bad",
    "ok a",
    "bad",
    " ",
    " ",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{ ",
    " }",
    "; }",
    "$(",
    "`",
    "\"",
    "'",
    "\\",
    "#",
    "<<E",
    "<<-E",
    "<<'E'",
    "\nE\n",
    "\n\tE\n",
    "[[",
    "]]",
    "[",
    "]",
    "((",
    "))",
    "if ",
    "then ",
    "fi",
    "do ",
    "done",
    "for x in ",
    "while ",
    "case x in x) ",
    ";;",
    "esac",
    "!",
    "=",
    "x=",
    "$x",
    "${x:-",
    "}",
    "$((",
    "<(",
    ">(",
    "<",
    "> out",
    "2>&1",
    "eval ",
    "bash -c ",
    "sh -c ",
    "xargs ",
    "env ",
    "exec ",
    "command ",
    "time ",
    "function f",
    "f() ",
    "$'",
    "\\\n",
    "\t",
    "*",
    "~",
    "alias ok=bad\n",
    "trap bad EXIT",
    "1",
    ",",
    "..",
    "{ok,bad}",
    "coproc ",
    "select x in ",
    "<<<",
    "&>",
    "|&",
    "@",
    "-",
];

/// Creates two programs: one that does nothing, and one that creates a marker file.
fn programs(folder: &Path) -> anyhow::Result<()> {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin)?;
    for (name, text) in [("ok", "#!/bin/sh\n"), ("bad", "#!/bin/sh\n: >\"$MARK\"\n")] {
        write_program(&bin.join(name), text)?;
    }
    for name in ["sh", "bash", "xargs", "env"] {
        if let Some(place) = place(name) {
            std::os::unix::fs::symlink(place, bin.join(name))?;
        }
    }
    Ok(())
}

/// Returns the path of a system program.
fn place(name: &str) -> Option<PathBuf> {
    let places = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
    places.into_iter().find(|place| place.exists())
}

/// Returns true if `bad` was run.
fn runs_bad(shell: &str, script: &str) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir()?;
    programs(folder.path())?;
    let (work, mark) = (folder.path().join("work"), folder.path().join("mark"));
    fs::create_dir(&work)?;
    // Endless loops are killed.
    Command::new(place("timeout").context("timeout is missing")?)
        .args(["-s", "KILL", "2", shell, "-c", script])
        .env_clear()
        .env("PATH", folder.path().join("bin"))
        .env("MARK", &mark)
        .current_dir(&work)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()?;
    Ok(mark.exists())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn denied_command_is_found_in_any_nesting(script in nested(&["rm x", "rm -rf /", "sudo rm x"])) {
        for mode in [Mode::Auto, Mode::SmartApprove, Mode::Approve] {
            let verdict = shared_home()?.shell(mode, &script);
            prop_assert!(is_deny(&verdict), "{script:?}: {verdict:?}");
        }
    }

    #[test]
    fn nesting_does_not_allow_a_command(script in nested(&["bad", "touch x", "ok > out"])) {
        prop_assert_ne!(shared_home()?.shell(Mode::Approve, &script), Verdict::Allow, "{:?}", script);
    }

    #[test]
    fn nesting_does_not_deny_an_allowed_command(script in nested(&["ok", "ok a 'b c'"])) {
        prop_assert!(!is_deny(&shared_home()?.shell(Mode::Approve, &script)), "{:?}", script);
    }

    #[test]
    fn any_text_can_be_judged(
        script in "\\PC{0,200}",
        bytes in prop::collection::vec(any::<char>(), 0..100),
    ) {
        shared_home()?.shell(Mode::SmartApprove, &script);
        shared_home()?.shell(Mode::SmartApprove, &bytes.into_iter().collect::<String>());
    }

    /// Runs random scripts in real shells.
    #[test]
    fn allowed_scripts_run_only_allowed_commands(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 1..9),
    ) {
        let script = pieces.concat();
        if script.contains("bad") && shared_home()?.shell(Mode::Approve, &script) == Verdict::Allow {
            for shell in ["sh", "bash"] {
                let has_run = runs_bad(shell, &script);
                let has_run = has_run.map_err(|error| TestCaseError::fail(error.to_string()))?;
                prop_assert!(!has_run, "{shell}: {script:?}");
            }
        }
    }
}
