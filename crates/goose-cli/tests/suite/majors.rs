//! Screens that were hard to use once, as a user sees them now: at three sizes of terminals, with and without colours.

use std::{fs, path::Path, thread};

use anyhow::{anyhow, ensure};
use goose_test_support::{ModelServer, Terminal, Turn};
use serde_json::json;

use crate::{
    extensions, long_messages, redacted,
    support::Home,
    talk::{SIZES, environment, prompted, say, shell},
};

/// Size whose colours are recorded as well.
const COLOURED: (u16, u16) = (80, 24);

/// A part of a session, recorded at its end.
pub(crate) struct Scene {
    pub(crate) mode: &'static str,
    /// `config.yaml`, as for [`Home::configured`].
    pub(crate) config: &'static str,
    /// Variables besides those of every session.
    pub(crate) more: &'static [(&'static str, &'static str)],
    pub(crate) prepare: fn(&Path) -> std::io::Result<()>,
    pub(crate) turns: fn() -> Vec<Turn>,
    /// Model in place of one that has these turns.
    pub(crate) model: Option<fn() -> anyhow::Result<ModelServer>>,
    pub(crate) play: fn(&Terminal) -> anyhow::Result<()>,
    /// True if the screen has colours at all.
    pub(crate) has_colours: bool,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            mode: "auto",
            config: "",
            more: &[],
            prepare: |_| Ok(()),
            turns: Vec::new,
            model: None,
            play: |terminal| say(terminal, "Go on", "Done."),
            has_colours: true,
        }
    }
}

impl Scene {
    /// Returns the screen as text, and with its colours.
    fn played(&self, size: (u16, u16), has_colours: bool) -> anyhow::Result<(String, String)> {
        let home = Home::with_short_path()?.configured(self.config)?;
        (self.prepare)(home.path())?;
        // A count that a real model would give, so that it is believed.
        let scripted =
            || ModelServer::scripted((self.turns)().into_iter().map(|turn| turn.costing(1_200, 10)));
        let server = self.model.map_or_else(scripted, |model| model())?;
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
        let shown = thread::scope(|scope| {
            let play = |size, has_colours| scope.spawn(move || self.played(size, has_colours));
            let begun = SIZES.map(|size| (size, play(size, true), play(size, false)));
            begun.map(|(size, coloured, plain)| (size, coloured.join(), plain.join()))
        });
        let ended = |played: thread::Result<anyhow::Result<(String, String)>>| {
            played.unwrap_or_else(|_| Err(anyhow!("it panicked")))
        };
        for (size, coloured, plain) in shown {
            let at = format!("{name}_{}x{}", size.0, size.1);
            let ((text, styled), (plain, unstyled)) = (ended(coloured)?, ended(plain)?);
            assert_eq!(text, plain, "{at}");
            ensure!(!has_colour(&unstyled), "{at}: {unstyled:?}");
            if size == COLOURED {
                ensure!(has_colour(&styled) == self.has_colours, "{at}: {styled:?}");
                insta::assert_snapshot!(format!("{at}_coloured"), styled);
            }
            insta::assert_snapshot!(at, text);
        }
        Ok(())
    }
}

/// Returns true if a screen has colours. Bold and faint text is no colour.
fn has_colour(styled: &str) -> bool {
    let sequences = styled.split("␛[").filter_map(|rest| rest.split_once('m'));
    let is_colour = |code: &str| matches!(code.as_bytes(), [b'3', b'0'..=b'7']);
    sequences.flat_map(|(codes, _)| codes.split(';')).any(is_colour)
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

#[test]
fn a_pasted_text_is_shown_as_a_marker() -> anyhow::Result<()> {
    let scene = Scene {
        turns: || vec![Turn::text("Done.")],
        play: |terminal| {
            let log: String = (1..=500).map(|line| format!("line {line}\r\n")).collect();
            terminal.send(&format!("Look: \x1b[200~{log}\x1b[201~ What is wrong?"))?;
            terminal
                .wait_until("no marker is", |screen| screen.replace('\n', "").ends_with("What is wrong?"))?;
            terminal.send("\r")?;
            terminal.wait_for("Done.")?;
            prompted(terminal)
        },
        has_colours: false,
        ..Scene::default()
    };
    scene.record("paste")
}

#[test]
fn unusable_entries_are_named_at_the_start() -> anyhow::Result<()> {
    let scene = Scene {
        config: extensions::UNUSABLE,
        turns: || vec![Turn::text("Done.")],
        play: |_| Ok(()),
        ..Scene::default()
    };
    scene.record("unusable_entries")
}

/// Alone, so that notices about others are not in the way.
const SLOW: &str = "\
extensions:
  slow: {type: stdio, name: slow, cmd: '{faulty_server}', args: [--slow-start, '60']}
";

/// The answer does not wait for a server that starts slowly.
#[test]
fn a_slow_start_is_named() -> anyhow::Result<()> {
    let scene = Scene { config: SLOW, turns: || vec![Turn::text("Done.")], ..Scene::default() };
    scene.record("slow_start")
}

/// A message that the model refuses as too long is saved as a file, and the session goes on.
#[test]
fn a_long_message_is_saved_as_a_file() -> anyhow::Result<()> {
    let scene = Scene {
        model: Some(long_messages::model),
        play: |terminal| {
            say(terminal, "hello", "Answer 1.")?;
            // Pasted, as a long text usually is.
            let lines = "A line of a log that a user pasted.\n".repeat(long_messages::LIMIT / 30);
            terminal.send(&format!("\x1b[200~{lines}\x1b[201~\r"))?;
            terminal.wait_for("Answer 2.")?;
            prompted(terminal)
        },
        ..Scene::default()
    };
    scene.record("long_message")
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
