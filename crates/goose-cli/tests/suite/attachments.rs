//! Files, images and resources that a message attaches.

use std::fs;

use anyhow::ensure;
use goose_test_support::{ModelServer, Turn};

use crate::{
    redacted::screen,
    run::goose,
    support::{Home, Run},
    talk::{self, at_terminal, prompted, say, session_sized},
};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot much of an image";

/// A home with files, and a model that answers.
fn home() -> anyhow::Result<Home> {
    let home = Home::with_short_path()?;
    let path = |name: &str| home.path().join(name);
    for folder in ["src/inner", "security"] {
        fs::create_dir_all(path(folder))?;
    }
    fs::write(path("pond.txt"), "two geese\n")?;
    fs::write(path("my notes.txt"), "with a blank")?;
    fs::write(path("src/a.rs"), "fn a() {}")?;
    fs::write(path("src/b.rs"), "fn b() {}")?;
    fs::write(path("src/data.bin"), [0, 1, 2])?;
    fs::write(path("src/.hidden"), "hidden")?;
    fs::write(path("security/rules.txt"), "be careful")?;
    fs::write(path("data.bin"), [0, 1, 2])?;
    fs::write(path("shot.png"), PNG)?;
    fs::write(path(".env"), "TOKEN=1")?;
    Ok(home)
}

fn model() -> anyhow::Result<ModelServer> {
    ModelServer::answering(|_: &goose_test_support::model_server::Asked| {
        Turn::text("Seen.").costing(1_200, 10)
    })
}

fn run(home: &Home, server: &ModelServer, arguments: &[&str]) -> anyhow::Result<Run> {
    let arguments = [&["run"], arguments].concat();
    goose(home, server, &arguments).env("GOOSE_MODEL", "gpt-4o").output()?.try_into()
}

/// The text that the model gets for a message.
fn sent(home: &Home, message: &str) -> anyhow::Result<String> {
    let server = model()?;
    let run = run(home, &server, &["-t", message])?;
    ensure!(run.code == Some(0), "{run:?}");
    Ok(server
        .asked()
        .last()
        .and_then(goose_test_support::model_server::Asked::last_user_text)
        .unwrap_or_default())
}

#[test]
fn a_text_file_arrives_as_a_marked_block() -> anyhow::Result<()> {
    let home = home()?;
    let pond = "<file path=\"pond.txt\">\ntwo geese\n</file>";
    let all = home.path().join("pond.txt").display().to_string();
    for (message, block) in [
        ("count @pond.txt", pond.to_owned()),
        ("what (see @pond.txt), and @pond.txt again?", pond.to_owned()),
        ("@my\\ notes.txt", "<file path=\"my notes.txt\">\nwith a blank\n</file>".to_owned()),
        ("@\"my notes.txt\"", "<file path=\"my notes.txt\">\nwith a blank\n</file>".to_owned()),
        ("@~/pond.txt", pond.replace("pond.txt", "~/pond.txt")),
        (&format!("@{all}"), pond.replace("pond.txt", &all)),
        (
            "look at @src/",
            "<file path=\"src/a.rs\">\nfn a() {}\n</file>\n<file path=\"src/b.rs\">\nfn b() {}\n</file>\n\
             <folder path=\"src/\">\ndata.bin (not text)\ninner/\n</folder>"
                .to_owned(),
        ),
    ] {
        assert_eq!(sent(&home, message)?, format!("{message}\n{block}"));
    }
    Ok(())
}

#[test]
fn other_words_with_the_mark_stay_text() -> anyhow::Result<()> {
    let home = home()?;
    for message in [
        "write to ada@pond.txt and ada@example.com",
        "what does @property or @types/node or @/components mean?",
        "is \\@pond.txt a file, and what are @ . and @..?",
        "make shot.png smaller",
        "see https://example.com/shot.png",
        // The agent wins over the folder.
        "@security look around",
    ] {
        assert_eq!(sent(&home, message)?, message);
    }
    let sent = sent(&home, "@./security/ look around")?;
    ensure!(sent.contains("<file path=\"./security/rules.txt\">\nbe careful"), "{sent}");
    Ok(())
}

#[test]
fn images_are_sent_as_images() -> anyhow::Result<()> {
    let home = home()?;
    for arguments in [
        &["-t", "what is @shot.png?"][..],
        &["-t", "what is ./shot.png?"],
        &["-t", "what is this?", "--image", "shot.png"],
    ] {
        let server = model()?;
        let run = run(&home, &server, arguments)?;
        let body = server.asked()[0].body.to_string();
        ensure!(body.contains("data:image/png;base64,iVBORw0KGgpub3Q"), "{run:?} {body}");
        ensure!(run.stderr.contains("shot.png (image, 28 bytes)"), "{run:?}");
    }
    Ok(())
}

/// Runs a message that cannot be sent. Returns the error.
fn refused(home: &Home, model_name: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let server = model()?;
    let arguments = [&["run"], arguments].concat();
    let run: Run = goose(home, &server, &arguments).env("GOOSE_MODEL", model_name).output()?.try_into()?;
    ensure!(run.code == Some(1) && server.asked().is_empty(), "{run:?}");
    Ok(run.stderr)
}

#[test]
fn limits_are_named_before_anything_is_sent() -> anyhow::Result<()> {
    let home = home()?;
    let path = |name: &str| home.path().join(name);
    fs::create_dir(path("many"))?;
    for number in 0..21 {
        fs::write(path(&format!("many/{number}.txt")), "x")?;
    }
    fs::write(path("long.txt"), "x".repeat(256 * 1024 + 1))?;
    fs::write(path("large.png"), [PNG, &vec![0; 10 * 1024 * 1024]].concat())?;
    fs::write(path("small.png"), [PNG, &vec![0; 9 * 1024 * 1024]].concat())?;
    for (arguments, expected) in [
        (["-t", "@many/"], "has 21 attached files; at most 20 are possible"),
        (["-t", "@long.txt"], "With long.txt, the attached text is larger than 256 KB"),
        (["-t", "@large.png"], "large.png is larger than 10 MB"),
        (["-t", "@data.bin"], "data.bin is neither UTF-8 text nor"),
        (["-t", "@./missing.rs"], "./missing.rs cannot be attached: there is no such file"),
        (["-t", "look at @src/missing.rs"], "src/missing.rs cannot be attached: there is no such file"),
        (["look", "--image=gone.png"], "gone.png cannot be attached"),
        (["look", "--image=pond.txt"], "pond.txt is not a PNG"),
        (["-t", "@.env"], ".env was not attached, so the message was not sent"),
    ] {
        let error = refused(&home, "gpt-4o", &arguments)?;
        ensure!(error.contains(expected), "{error}");
    }
    let error = refused(&home, "command-r", &["-t", "@shot.png"])?;
    ensure!(error.contains("command-r cannot look at images, so shot.png cannot be attached"), "{error}");
    let server = model()?;
    ensure!(run(&home, &server, &["-t", "@small.png"])?.code == Some(0));
    Ok(())
}

#[test]
fn what_is_piped_or_pasted_attaches_nothing() -> anyhow::Result<()> {
    let home = home()?;
    let server = model()?;
    let mut command = goose(&home, &server, &["run", "-t", "What is this:"]);
    let input = home.path().join("input");
    fs::write(&input, "see @pond.txt")?;
    command.stdin(fs::File::open(&input)?).output()?;
    goose(&home, &server, &["session"]).stdin(fs::File::open(&input)?).output()?;
    let texts: Vec<_> = server.asked().iter().filter_map(|asked| asked.last_user_text()).collect();
    assert_eq!(texts, ["What is this:\n\nsee @pond.txt", "see @pond.txt"]);

    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "\x1b[200~see @pond.txt\x1b[201~", "Seen.")?;
    terminal.send("/clear\r")?;
    terminal.wait_for("Cleared")?;
    prompted(&terminal)?;
    terminal.send("and \x1b[200~'/nowhere/my shot.png'\x1b[201~ and @pond.txt\r")?;
    terminal.wait_for("Attached: pond.txt")?;
    ensure!(terminal.screen().matches("Attached").count() == 1, "{}", terminal.screen());
    Ok(())
}

#[test]
fn resources_are_attached_by_their_extension() -> anyhow::Result<()> {
    let home = Home::with_config(
        "extensions:\n  notes: {enabled: true, type: stdio, name: notes, cmd: '{kitchen_sink}', args: []}\n",
    )?;
    let message = "read (@notes:note://2), @notes:note://2 and @other:note://1.";
    let text = sent(&home, message)?;
    ensure!(text.starts_with(&format!("{message}\n<file path=\"notes:note://2\">\n")), "{text}");
    ensure!(text.matches("<file").count() == 1, "{text}");
    Ok(())
}

#[test]
fn a_protected_file_is_asked_about_at_all_sizes() -> anyhow::Result<()> {
    for size in talk::SIZES {
        let home = home()?;
        let server = model()?;
        let terminal = session_sized(&home, &server, size)?;
        prompted(&terminal)?;
        terminal.send("compare @.env with @pond.txt\r")?;
        terminal.wait_for("Attach it?")?;
        terminal.send("n\r")?;
        terminal.wait_for("not sent")?;
        ensure!(server.asked().is_empty(), "it was sent");
        prompted(&terminal)?;
        terminal.send("\x1b[A\r")?;
        terminal.wait_until("no second question is", |screen| {
            screen.lines().last().is_some_and(|line| line.starts_with("Attach it?"))
        })?;
        terminal.send("y\r")?;
        terminal.wait_for("Seen.")?;
        prompted(&terminal)?;
        let asked = server.asked().pop().and_then(|asked| asked.last_user_text()).unwrap_or_default();
        ensure!(asked.contains("TOKEN=1") && asked.contains("two geese"), "{asked}");
        insta::assert_snapshot!(format!("attachments_{}x{}", size.0, size.1), screen(&terminal, &home)?);
    }
    Ok(())
}

#[test]
fn completion_says_what_is_an_agent_and_what_a_file() -> anyhow::Result<()> {
    let home = home()?;
    let server = model()?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("@s\t\t")?;
    terminal.wait_for("security (agent)")?;
    terminal.wait_for("shot.png (file)")?;
    terminal.send("\x15@my\t please\r")?;
    terminal.wait_for("Attached: my notes.txt")?;
    Ok(())
}

#[test]
fn completion_offers_resources() -> anyhow::Result<()> {
    let home = Home::with_config(
        "extensions:\n  notes: {enabled: true, type: stdio, name: notes, cmd: '{kitchen_sink}', args: []}\n",
    )?;
    let server = model()?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    fs::write(home.path().join("notes.txt"), "geese")?;
    terminal.send("read @not\t\t")?;
    terminal.wait_for("notes.txt (file)")?;
    terminal.wait_for("(resource)")?;
    Ok(())
}
