//! Agents that crash, hang or talk nonsense: survived, capped, named, and not tried again and again.

use std::time::{Duration, Instant};

use goose::{
    agent_manager::acp_mcp_adapter::{MAX_ANSWER_BYTES, MAX_FAILURES},
    exchange::Outcome,
    permission::Mode,
};

use crate::support::{World, done, program, program_with, tell};

/// A time limit for agents that say nothing.
const IMPATIENT: &str = "    timeout: 1\n";

#[tokio::test]
async fn an_agent_that_does_not_start_is_named_with_the_reason() -> anyhow::Result<()> {
    for (entry, reasons) in [
        (program(&["--exit", "3"])?, vec!["`other`", "exit code 3", "no key found"]),
        (program_with(&["--mute"], IMPATIENT)?, vec!["`other`", "did not greet within 1 s"]),
        (program(&["--version", "2"])?, vec!["`other`", "version 2"]),
        (program(&["--login"])?, vec!["`other`", "wants a login", "env_keys"]),
        ("agents:\n  other: {type: acp, command: /does/not/exist}\n".to_owned(), vec!["`/does/not/exist`"]),
        ("agents:\n  other: {type: acp, command: cat, timeout: 1}\n".to_owned(), vec!["`other`", "greet"]),
        (program_with(&[], "    env_keys: [NOT_THERE]\n")?, vec!["`other`", "NOT_THERE"]),
    ] {
        let world = World::new(&entry)?;
        let exchange = world.open("other", Mode::Auto).await?;
        let seen = tell(&exchange, "say hello").await?;
        let failure = seen.failure()?;
        for reason in reasons {
            assert!(failure.contains(reason), "{failure}\nlacks {reason}");
        }
        assert!(!failure.contains("yourself"), "advice for a model: {failure}");
    }
    Ok(())
}

#[tokio::test]
async fn a_crash_is_told_with_its_last_words_and_the_next_task_starts_anew() -> anyhow::Result<()> {
    let world = World::new(&program(&[])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let begun = Instant::now();
    let seen = tell(&exchange, "crash").await?;
    let failure = seen.failure()?;
    for reason in ["`other`", "in the middle of the task", "exit code 3", "out of ideas"] {
        assert!(failure.contains(reason), "{failure}");
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let last = exchange.messages().last().map(|message| message.text());
    assert_eq!(last.as_deref(), Some("I will just"), "what it said is kept");
    assert_eq!(tell(&exchange, "say hello").await?.text(), "hello");
    Ok(())
}

#[tokio::test]
async fn an_agent_that_says_nothing_is_ended() -> anyhow::Result<()> {
    let world = World::new(&program_with(&[], IMPATIENT)?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let seen = tell(&exchange, "deaf").await?;
    assert!(seen.failure()?.contains("said nothing for 1 s"), "{}", seen.failure()?);
    assert_eq!(tell(&exchange, "say hello").await?.text(), "hello");
    Ok(())
}

#[tokio::test]
async fn lines_that_are_no_messages_are_skipped_but_not_without_end() -> anyhow::Result<()> {
    let world = World::new(&program(&[])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let seen = tell(&exchange, "mumble").await?;
    assert_eq!((seen.text().as_str(), seen.outcome()?), ("fine", &done()));
    let failure = tell(&exchange, "babble").await?;
    let failure = failure.failure()?;
    assert!(failure.contains("not messages") && failure.contains("Loading model"), "{failure}");
    Ok(())
}

#[tokio::test]
async fn a_line_that_is_too_long_ends_the_task_at_once() -> anyhow::Result<()> {
    let world = World::new(&program(&[])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let seen = tell(&exchange, "shout").await?;
    assert!(seen.failure()?.contains("line of more than 8388608 bytes"), "{}", seen.failure()?);
    Ok(())
}

#[tokio::test]
async fn talk_without_end_is_cut() -> anyhow::Result<()> {
    let world = World::new(&program(&[])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let seen = tell(&exchange, "drone").await?;
    assert!(seen.failure()?.contains("did not stop talking"), "{}", seen.failure()?);
    assert!(seen.text().len() <= MAX_ANSWER_BYTES);
    let seen = tell(&exchange, "chatter").await?;
    assert!(seen.failure()?.contains("does not come to an end"), "{}", seen.failure()?);
    assert!(seen.logs().len() <= 500, "{}", seen.logs().len());
    Ok(())
}

#[tokio::test]
async fn other_ends_are_told_apart() -> anyhow::Result<()> {
    let world = World::new(&program(&[])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    assert_eq!(tell(&exchange, "refuse").await?.outcome()?, &Outcome::Refused);
    let failed = tell(&exchange, "fail").await?;
    assert!(failed.failure()?.contains("no more paper"), "{}", failed.failure()?);
    let oddly = tell(&exchange, "oddly").await?;
    assert!(oddly.failure()?.contains("bored"), "{}", oddly.failure()?);
    assert_eq!(tell(&exchange, "say hello").await?.text(), "hello");
    Ok(())
}

#[tokio::test]
async fn an_agent_that_fails_too_often_is_not_started_any_more() -> anyhow::Result<()> {
    let starts = tempfile::NamedTempFile::new()?;
    let path = starts.path().to_string_lossy().into_owned();
    let world = World::new(&program(&["--starts", &path, "--exit", "3"])?)?;
    for _ in 0..MAX_FAILURES {
        // Each in a session of its own: the health of an agent is known to all.
        let exchange = world.open("other", Mode::Auto).await?;
        assert!(tell(&exchange, "say hello").await?.failure()?.contains("exit code 3"));
    }
    let exchange = world.open("other", Mode::Auto).await?;
    let begun = Instant::now();
    let seen = tell(&exchange, "say hello").await?;
    let failure = seen.failure()?;
    for words in ["`other` failed 3 times in a row", "tried again in", "exit code 3"] {
        assert!(failure.contains(words), "{failure}");
    }
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    assert_eq!(std::fs::read_to_string(&path)?.lines().count(), MAX_FAILURES as usize);
    Ok(())
}
