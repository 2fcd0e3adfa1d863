//! What was hard to use once, as a person sees it now: at three sizes of terminals, with and without colours.

use std::{fs, path::Path};

use anyhow::ensure;
use goose_test_support::{ModelServer, Terminal, Turn};
use serde_json::json;

use crate::{
    redacted,
    support::Home,
    talk::{SIZES, environment, prompted, say, shell},
};

/// Size whose colours are recorded as well.
const COLOURED: (u16, u16) = (80, 24);

/// A part of a session, recorded at its end.
pub(crate) struct Scene {
    pub(crate) mode: &'static str,
    /// Variables besides those of every session.
    pub(crate) more: &'static [(&'static str, &'static str)],
    pub(crate) prepare: fn(&Path) -> std::io::Result<()>,
    pub(crate) turns: fn() -> Vec<Turn>,
    pub(crate) play: fn(&Terminal) -> anyhow::Result<()>,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            mode: "auto",
            more: &[],
            prepare: |_| Ok(()),
            turns: Vec::new,
            play: |terminal| say(terminal, "Go on", "Done."),
        }
    }
}

impl Scene {
    /// Returns the screen as text, and with its colours.
    fn played(&self, size: (u16, u16), has_colours: bool) -> anyhow::Result<(String, String)> {
        let home = Home::with_short_path()?;
        (self.prepare)(home.path())?;
        // A count that a real model would give, so that it is believed.
        let server = ModelServer::scripted((self.turns)().into_iter().map(|turn| turn.costing(1_200, 10)))?;
        let mut environment = environment(&home, &server, self.mode)?;
        environment.extend(self.more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        environment.extend((!has_colours).then(|| ("NO_COLOR", "1".to_owned())));
        let program = Path::new(env!("CARGO_BIN_EXE_goose"));
        let terminal = Terminal::start_sized(program, ["session"], environment, home.path(), size)?;
        prompted(&terminal)?;
        (self.play)(&terminal)?;
        Ok((redacted::screen(&terminal, &home)?, redacted::styled_screen(&terminal, &home)?))
    }

    pub(crate) fn record(&self, name: &str) -> anyhow::Result<()> {
        for size in SIZES {
            let at = format!("{name}_{}x{}", size.0, size.1);
            let (text, styled) = self.played(size, true)?;
            let (plain, unstyled) = self.played(size, false)?;
            assert_eq!(text, plain, "{at}");
            ensure!(!has_colour(&unstyled), "{at}: {unstyled:?}");
            if size == COLOURED {
                ensure!(has_colour(&styled), "{at}: {styled:?}");
                insta::assert_snapshot!(format!("{at}_coloured"), styled);
            }
            insta::assert_snapshot!(at, text);
        }
        Ok(())
    }
}

/// Returns true if a screen has colours. Bold and faint text is no colour.
fn has_colour(styled: &str) -> bool {
    (0..8).any(|colour| styled.contains(&format!("␛[3{colour}m")))
}

fn until_asked(terminal: &Terminal) -> anyhow::Result<()> {
    terminal.send("Go on\r")?;
    terminal.wait_until("no question is", |screen| screen.lines().last() == Some("Allow it?"))
}

#[test]
fn commands_run_in_bash() -> anyhow::Result<()> {
    let scene = Scene {
        turns: || {
            let command = "[[ 1 == 1 ]] && echo yes; diff <(echo a) <(echo b); echo {1..3}; exit 4";
            vec![shell(command), Turn::text("Done.")]
        },
        ..Scene::default()
    };
    scene.record("bash")
}

#[test]
fn withheld_variables_are_named() -> anyhow::Result<()> {
    let scene = Scene {
        more: &[("GITHUB_TOKEN", "abc")],
        turns: || vec![shell("echo \"token: [$GITHUB_TOKEN]\"; exit 1"), Turn::text("Done.")],
        ..Scene::default()
    };
    scene.record("withheld_variable")
}

#[test]
fn a_change_is_shown_before_it_is_allowed() -> anyhow::Result<()> {
    let scene = Scene {
        mode: "smart_approve",
        prepare: |folder| fs::write(folder.join("pond.txt"), lines("old", "old")),
        turns: || {
            let write = json!({"path": "pond.txt", "content": lines("old", "new")});
            vec![
                Turn::call("developer__read", json!({"path": "pond.txt"})),
                Turn::call("developer__write", write),
            ]
        },
        play: until_asked,
        ..Scene::default()
    };
    scene.record("approval_of_a_change")
}

/// Three hundred lines, one of which has another word.
fn lines(word: &str, other: &str) -> String {
    let word = |line: u32| if line == 150 { other } else { word };
    (1..=300).map(|line| format!("{} {line}\n", word(line))).collect()
}

#[test]
fn a_command_is_allowed_for_the_session() -> anyhow::Result<()> {
    let scene = Scene {
        mode: "smart_approve",
        turns: || {
            vec![shell("rm -rf build"), Turn::text("Once."), shell("rm -rf build"), Turn::text("Twice.")]
        },
        play: |terminal| {
            until_asked(terminal)?;
            terminal.send("s\r")?;
            terminal.wait_for("Once.")?;
            say(terminal, "Again", "Twice.")
        },
        ..Scene::default()
    };
    scene.record("approval_for_the_session")
}

#[test]
fn rules_are_stored_part_by_part() -> anyhow::Result<()> {
    let scene = Scene {
        mode: "smart_approve",
        turns: || vec![shell("mkdir a && touch a/b"), Turn::text("Done.")],
        play: |terminal| {
            until_asked(terminal)?;
            terminal.send("a\r")?;
            terminal.wait_for("Done.")?;
            prompted(terminal)
        },
        ..Scene::default()
    };
    scene.record("stored_rules")
}

/// The model says that it ran what it wrote.
#[test]
fn a_run_that_was_none_is_contradicted() -> anyhow::Result<()> {
    let scene = Scene {
        turns: || {
            let write = json!({"path": "hello.sh", "content": "echo hello\n"});
            vec![Turn::call("developer__write", write), Turn::text("I created hello.sh and ran it. Done.")]
        },
        ..Scene::default()
    };
    scene.record("nothing_was_run")
}

/// Only the marker of a long text is shown, and the model gets all of it.
#[test]
fn a_pasted_text_is_sent_whole() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("Done.")])?;
    let terminal = crate::talk::at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    let log: String = (1..=500).map(|line| format!("line {line}\r\n")).collect();
    terminal.send(&format!("Look: \x1b[200~{log}\x1b[201~ What is wrong?"))?;
    terminal.wait_for("Look: [pasted, 500 lines] What is wrong?")?;
    terminal.send("\r")?;
    terminal.wait_for("Done.")?;
    let expected = format!("Look: {} What is wrong?", log.replace('\r', ""));
    assert_eq!(server.asked()[0].last_user_text(), Some(expected));
    Ok(())
}
