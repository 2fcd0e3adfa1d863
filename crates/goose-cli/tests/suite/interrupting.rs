//! Keys during a reply: Esc, messages that wait, and the sign at the end.

use anyhow::ensure;
use goose_test_support::{ModelServer, Turn, model_server::Asked};

use crate::{
    redacted::screen,
    support::Home,
    talk::{self, at_terminal, at_terminal_with, prompted, say, session_sized, shell},
};

fn texts(server: &ModelServer) -> Vec<String> {
    server.asked().iter().filter_map(Asked::last_user_text).collect()
}

#[test]
fn escape_cancels_a_reply_and_keeps_what_was_typed() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([shell("sleep 600"), Turn::text("Two.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Sleep\r")?;
    terminal.wait_for("▸ shell")?;
    // An arrow key in pieces is not Esc.
    terminal.send("ne")?;
    terminal.wait_for("› ne")?;
    terminal.send("\x1b")?;
    terminal.send("[D")?;
    terminal.send("xt")?;
    terminal.wait_for("› next")?;
    ensure!(!terminal.screen().contains("Cancel"), "{}", terminal.screen());
    terminal.send("\x1b")?;
    terminal.wait_for("Cancelled.")?;
    terminal.wait_until("the line is not kept", |screen| screen.lines().last() == Some("› next"))?;
    terminal.send("\r")?;
    terminal.wait_for("Two.")?;
    assert_eq!(texts(&server).last().map(String::as_str), Some("next"));
    Ok(())
}

#[test]
fn messages_wait_and_are_taken_back_at_all_sizes() -> anyhow::Result<()> {
    for size in talk::SIZES {
        let home = Home::with_short_path()?;
        let release = home.path().join("release");
        let command = "while [ ! -e release ]; do sleep 0.05; done";
        let server = ModelServer::scripted([
            shell(command).costing(1_200, 10),
            Turn::text("One.").costing(1_200, 10),
            Turn::text("Two.").costing(1_200, 10),
        ])?;
        let terminal = session_sized(&home, &server, size)?;
        prompted(&terminal)?;
        terminal.send("Wait\r")?;
        terminal.wait_for("▸ shell")?;
        terminal.send("second\rthird\rhalf")?;
        terminal.wait_until("the queue is not", |screen| {
            ["queued: second", "queued: third", "› half"].iter().all(|line| screen.contains(line))
        })?;
        terminal.send("\x15\x1b[A")?;
        terminal.wait_for("› third")?;
        let shown = screen(&terminal, &home)?;
        ensure!(shown.contains("queued: second") && !shown.contains("queued: third"), "{shown}");
        std::fs::write(&release, "")?;
        terminal.wait_for("Two.")?;
        terminal.wait_until("the line is not kept", |screen| screen.lines().last() == Some("› third"))?;
        assert_eq!(texts(&server), ["Wait", "Wait", "second"]);
        insta::assert_snapshot!(format!("queued_{}x{}", size.0, size.1), screen(&terminal, &home)?);
    }
    Ok(())
}

/// What is typed is shown below an answer that is being written, and is no part of it afterwards.
#[test]
fn messages_wait_below_an_answer_at_all_sizes() -> anyhow::Result<()> {
    for size in talk::SIZES {
        let home = Home::with_short_path()?;
        let words = (1..80).map(|number| format!("word{number} "));
        let begun = words.fold(Turn::text("The pond. "), Turn::and_text);
        let server = ModelServer::scripted([begun.silent_after(80)])?;
        let terminal = session_sized(&home, &server, size)?;
        prompted(&terminal)?;
        terminal.send("Talk\r")?;
        terminal.wait_for("word78")?;
        terminal.send("first\rsecond")?;
        terminal
            .wait_until("the queue is not", |screen| screen.ends_with("word78\nqueued: first\n› second"))?;
        terminal.send("\x15\x1b[A\x15")?;
        terminal.wait_until("the queue is still", |screen| screen.ends_with("word78"))?;
        terminal.send("last")?;
        terminal.wait_until("the line is not", |screen| screen.ends_with("word78\n› last"))?;
        terminal.send("\x1b")?;
        terminal.wait_for("Cancelled.")?;
        terminal.wait_until("the line is not kept", |screen| screen.lines().last() == Some("› last"))?;
        insta::assert_snapshot!(format!("queued_below_{}x{}", size.0, size.1), screen(&terminal, &home)?);
    }
    Ok(())
}

#[test]
fn waiting_messages_are_not_sent_after_a_cancel() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([shell("sleep 600")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Sleep\r")?;
    terminal.wait_for("▸ shell")?;
    terminal.send("and then\r")?;
    terminal.wait_for("queued: and then")?;
    terminal.send("\x03")?;
    terminal.wait_until("the line is not kept", |screen| screen.lines().last() == Some("› and then"))?;
    assert_eq!(server.asked().len(), 1);
    Ok(())
}

#[test]
fn a_question_has_the_keyboard_while_messages_wait() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([
        shell("touch first"),
        shell("touch second"),
        Turn::text("Done."),
        Turn::text("Later."),
    ])?;
    let terminal = at_terminal(&home, &server, "approve", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Touch\r")?;
    terminal.wait_for("Allow it?")?;
    terminal.send("y\r")?;
    terminal.wait_until("no second question is", |screen| screen.matches("Allow it?").count() == 2)?;
    terminal.send("y\r")?;
    say(&terminal, "Go on", "Later.")?;
    ensure!(home.path().join("second").exists());
    Ok(())
}

#[test]
fn reasoning_can_be_read_of_earlier_replies_and_after_a_resume() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([
        Turn::thinking("Geese need water.").and_text("A pond."),
        Turn::thinking("Ducks too.").and_text("A lake."),
        Turn::text("Hm."),
    ])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "What do they need?", "A pond.")?;
    say(&terminal, "And ducks?", "A lake.")?;
    say(&terminal, "/reasoning", "Ducks too.")?;
    say(&terminal, "Really?", "Hm.")?;
    say(&terminal, "/reasoning", "The last reply has no reasoning")?;
    say(&terminal, "/reasoning 2", "Geese need water.")?;
    terminal.send("/exit\r")?;
    terminal.wait()?;
    let terminal = at_terminal(&home, &server, "auto", &["session", "--resume"])?;
    say(&terminal, "/reasoning 1", "Ducks too.")?;
    Ok(())
}

/// The bytes that goose sends to its terminal in a session with a question.
fn output(home: &Home, server: &ModelServer, notify: &[(&'static str, &str)]) -> anyhow::Result<String> {
    let notify: Vec<_> = notify.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let terminal = at_terminal_with(home, server, "approve", &["session"], &notify)?;
    prompted(&terminal)?;
    terminal.send("Touch\r")?;
    terminal.wait_for("Allow it?")?;
    terminal.send("n\r")?;
    terminal.wait_for("Done.")?;
    prompted(&terminal)?;
    Ok(terminal.output())
}

#[test]
fn a_question_rings_the_bell_unless_it_is_off() -> anyhow::Result<()> {
    for (notify, sign) in [
        (&[][..], Some("\x07")),
        (&[("GOOSE_NOTIFY", "off")], None),
        (
            &[("GOOSE_NOTIFY", "desktop"), ("TERM_PROGRAM", "WezTerm")],
            Some("\x1b]9;goose has a question\x07"),
        ),
    ] {
        let home = Home::new()?;
        let server = ModelServer::scripted([shell("touch first"), Turn::text("Done.")])?;
        let bytes = output(&home, &server, notify)?;
        assert_eq!(bytes.contains('\x07'), sign.is_some(), "{notify:?}: {bytes:?}");
        ensure!(sign.is_none_or(|sign| bytes.contains(sign)), "{notify:?}: {bytes:?}");
    }
    let home = Home::with_config("GOOSE_NOTIFY: off\n")?;
    let server = ModelServer::scripted([shell("touch first"), Turn::text("Done.")])?;
    let bytes = output(&home, &server, &[])?;
    ensure!(!bytes.contains('\x07') && !bytes.contains("unknown"), "{bytes:?}");
    Ok(())
}
