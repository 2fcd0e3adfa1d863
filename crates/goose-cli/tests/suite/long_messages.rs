//! Messages that are too long for the model.

use std::fs;

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn, model_server::Asked};
use serde_json::json;

use crate::{
    run::goose,
    support::Home,
    talk::{at_terminal, say},
};

/// Size of a request above which the model refuses it, in bytes.
pub(crate) const LIMIT: usize = 100_000;

/// A model that refuses long requests, and otherwise says how many it has answered.
pub(crate) fn model() -> anyhow::Result<ModelServer> {
    let mut count = 0;
    ModelServer::answering(move |asked: &Asked| {
        let error =
            json!({"error": {"code": "context_length_exceeded", "message": "maximum context length is 9"}});
        if asked.bytes > LIMIT {
            return Turn::raw(400, "application/json", error.to_string());
        }
        count += 1;
        Turn::text(format!("Answer {count}.")).costing(1_200, 10)
    })
}

#[test]
fn long_message_is_saved_as_a_file_that_the_model_can_read() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model()?;
    let long = format!("Begin {} End", "word ".repeat(LIMIT / 4));
    let input = home.path().join("input.txt");
    fs::write(&input, format!("hello\n{long}\nhello after\n"))?;
    let run = goose(&home, &server, &["session"]).stdin(fs::File::open(&input)?).output()?;
    let (shown, told) = (String::from_utf8(run.stdout)?, String::from_utf8(run.stderr)?);
    ensure!(shown.contains("Answer 3."), "{shown}{told}");
    ensure!(told.contains("too long for the model") && !told.contains("error:"), "{told}");

    let asked = server.asked();
    let texts: Vec<String> = asked.iter().filter_map(Asked::last_user_text).collect();
    // The message may be refused more than once before it is saved.
    let [first, .., sent, last] = texts.as_slice() else { anyhow::bail!("{} requests", texts.len()) };
    assert_eq!((first.as_str(), last.as_str()), ("hello", "hello after"));
    ensure!(sent.starts_with("Begin ") && sent.ends_with(" End") && sent.len() < 4_000, "{sent}");
    let file = fs::read_dir(home.path().join("state/cache/messages"))?.next().context("a file")??.path();
    ensure!(sent.contains(&file.display().to_string()) && told.contains(&file.display().to_string()));
    assert_eq!(fs::read_to_string(&file)?, long);
    Ok(())
}

#[test]
fn message_that_cannot_be_saved_is_withdrawn() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model()?;
    fs::create_dir_all(home.path().join("state/cache"))?;
    fs::write(home.path().join("state/cache/messages"), "not a folder")?;
    let input = home.path().join("input.txt");
    fs::write(&input, format!("hello\n{}\nhello after\n", "word ".repeat(LIMIT / 4)))?;
    let run = goose(&home, &server, &["session"]).stdin(fs::File::open(&input)?).output()?;
    let (shown, told) = (String::from_utf8(run.stdout)?, String::from_utf8(run.stderr)?);
    ensure!(shown.contains("Answer 2."), "{shown}{told}");
    ensure!(told.contains("compacting did not free enough space"), "{told}");
    ensure!(told.contains("The message was removed from the conversation."), "{told}");
    let last = server.asked().pop().context("a request")?;
    ensure!(last.bytes < LIMIT && last.last_user_text().as_deref() == Some("hello after"), "{last:?}");
    Ok(())
}

#[test]
fn compact_says_when_there_is_nothing_to_compact() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = model()?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "hello", "Answer 1.")?;
    say(&terminal, "/compact", "Nothing to compact: ")?;
    Ok(())
}
