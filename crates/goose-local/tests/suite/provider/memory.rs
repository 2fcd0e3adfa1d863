//! Computed states are used again: from turn to turn, from run to run, and never where it is damaged.

use std::{fs, sync::Arc};

use goose_extension::Message;
use goose_local::provider::{LoadOptions, LocalProvider, forget};
use goose_providers::{Provider as _, Reply, Usage};
use goose_test_support::tiny_model;

use super::{Question, TestModel};

/// A question whose answer is a text that ended well, so that it is kept.
async fn kept(test_model: &TestModel) -> anyhow::Result<(Question, Reply)> {
    let provider = test_model.provider();
    for number in 0..60 {
        let mut question = Question::new(&format!("Question {number}")).at_temperature(4.0).that_only_ends();
        question.options.conversation = Some(format!("talk {number}"));
        let reply = question.reply(&provider).await?;
        if reply.stop == goose_providers::StopReason::EndTurn {
            return Ok((question, reply));
        }
    }
    anyhow::bail!("the model never gave an answer")
}

/// The question after an answer.
fn next(question: &Question, reply: &Reply) -> Question {
    let mut next = Question::new("").at_temperature(1.0);
    next.options = question.options.clone();
    next.options.max_tokens = Some(300);
    next.messages = question.messages.clone();
    next.messages.push(Arc::new(reply.message.clone()));
    next.messages.push(Arc::new(Message::user("And then?")));
    next
}

fn fed(usage: Usage) -> u64 {
    usage.input - usage.cached_input
}

#[tokio::test]
async fn a_second_turn_reads_only_what_is_new() -> anyhow::Result<()> {
    let test_model = TestModel::new(4)?;
    let provider = test_model.provider();
    let mut question = Question::new("One.");
    question.options.max_tokens = Some(60);
    let first = question.reply(&provider).await?;
    let second = question.reply(&provider).await?;
    assert_eq!(second.usage.input, first.usage.input);
    assert_eq!(fed(second.usage), 1);
    question.messages.push(Arc::new(Message::assistant("Two.")));
    question.messages.push(Arc::new(Message::user("Three.")));
    let third = question.reply(&provider).await?;
    assert!(fed(third.usage) < 120, "{:?}", third.usage);
    assert!(third.usage.cached_input > third.usage.input / 2);
    Ok(())
}

#[tokio::test]
async fn another_run_goes_on_where_the_last_ended() -> anyhow::Result<()> {
    let test_model = TestModel::new(4)?;
    let (question, reply) = kept(&test_model).await?;
    let next = next(&question, &reply).reply(&test_model.provider()).await?;
    assert!(next.usage.cached_input >= reply.usage.input, "{:?} after {:?}", next.usage, reply.usage);
    Ok(())
}

#[tokio::test]
async fn a_new_conversation_shares_its_beginning_and_nothing_is_kept_of_one_that_is_not_to_be()
-> anyhow::Result<()> {
    let test_model = TestModel::new(6)?;
    let mut question = Question::new("A secret.");
    question.options.is_ephemeral = true;
    question.options.max_tokens = Some(40);
    let first = question.reply(&test_model.provider()).await?;
    assert_eq!(first.usage.cached_input, 0);
    let mut other = Question::new("Something else.");
    other.options.is_ephemeral = true;
    other.options.max_tokens = Some(40);
    other.options.conversation = Some("another".to_owned());
    let second = other.reply(&test_model.provider()).await?;
    assert!(second.usage.cached_input > second.usage.input / 2, "{:?}", second.usage);
    let states =
        test_model.cache().iter().filter(|path| path.extension().is_some_and(|kind| kind == "state")).count();
    assert_eq!(states, 2, "the beginnings of conversations and of questions about plans");
    Ok(())
}

#[tokio::test]
async fn each_choice_of_tools_has_a_beginning_of_its_own() -> anyhow::Result<()> {
    let test_model = TestModel::new(6)?;
    let question = |tools: usize| {
        let mut question = Question::new("Something.");
        question.options.is_ephemeral = true;
        question.options.max_tokens = Some(40);
        question.tools.truncate(tools);
        question
    };
    for tools in [3, 2] {
        question(tools).reply(&test_model.provider()).await?;
    }
    for tools in [3, 2] {
        let usage = question(tools).reply(&test_model.provider()).await?.usage;
        assert!(usage.cached_input > usage.input / 2, "{tools} tools: {usage:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_conversation_is_forgotten_and_others_are_not() -> anyhow::Result<()> {
    let test_model = TestModel::new(4)?;
    let (question, reply) = kept(&test_model).await?;
    let before = test_model.cache().len();
    forget(&test_model.path("cache"), "another talk")?;
    forget(&test_model.path("nowhere"), "another talk")?;
    assert_eq!(test_model.cache().len(), before);
    let conversation = question.options.conversation.clone().unwrap_or_default();
    forget(&test_model.path("cache"), &conversation)?;
    assert_eq!(test_model.cache().len(), before - 2);
    let next = next(&question, &reply).reply(&test_model.provider()).await?;
    assert!((1..reply.usage.input / 2 + 400).contains(&next.usage.cached_input), "{:?}", next.usage);
    assert!(next.usage.cached_input < reply.usage.input, "only what is nobody's is left: {:?}", next.usage);
    Ok(())
}

/// Another run may have more room.
#[tokio::test]
async fn a_state_that_this_run_has_no_room_for_stays() -> anyhow::Result<()> {
    let test_model = TestModel::new(4)?;
    let (question, reply) = kept(&test_model).await?;
    let less = usize::try_from(reply.usage.input)?;
    let narrow = LocalProvider::new("tiny", LoadOptions { context: less, ..test_model.options() });
    let mut short = Question::new("Short.");
    short.tools.clear();
    short.options.max_tokens = Some(20);
    short.reply(&narrow).await?;
    let next = next(&question, &reply).reply(&test_model.provider()).await?;
    assert!(next.usage.cached_input >= reply.usage.input, "{:?} after {:?}", next.usage, reply.usage);
    Ok(())
}

#[tokio::test]
async fn what_is_announced_is_what_the_model_was_trained_for() -> anyhow::Result<()> {
    let test_model = TestModel::new(4)?;
    let limit = |file: &str, context: usize| {
        let options = LoadOptions { file: test_model.path(file), context, ..test_model.options() };
        LocalProvider::new("tiny", options).model().context_limit
    };
    assert_eq!(limit("tiny.gguf", 200_000), tiny_model::CONTEXT as u64);
    assert_eq!(limit("tiny.gguf", 1_000), 1_000);
    // Whatever the file says, there is an end.
    assert_eq!(limit("none.gguf", 200_000), 32 * 1024);
    Ok(())
}

#[tokio::test]
async fn damaged_and_foreign_files_are_passed_over() -> anyhow::Result<()> {
    let test_model = TestModel::new(4)?;
    let (question, reply) = kept(&test_model).await?;
    for path in test_model.cache() {
        let mut bytes = fs::read(&path)?;
        if path.extension().is_some_and(|kind| kind == "state") {
            let middle = bytes.len() / 2;
            bytes.truncate(middle);
            bytes[10] ^= 0xFF;
        }
        fs::write(&path, bytes)?;
    }
    fs::write(test_model.path("cache/x.tokens"), "odd")?;
    fs::create_dir(test_model.path("cache/y.tokens"))?;
    let question = next(&question, &reply);
    let answered = question.reply(&test_model.provider()).await?;
    assert_eq!(answered.usage.cached_input, 0, "nothing of it is trusted");
    Ok(())
}

#[tokio::test]
async fn the_cache_stays_small_and_private() -> anyhow::Result<()> {
    let test_model = TestModel::new(4)?;
    for _ in 0..3 {
        kept(&test_model).await?;
    }
    let provider = test_model.provider();
    for number in 0..40 {
        let mut question = Question::new(&format!("More {number}")).at_temperature(4.0).that_only_ends();
        question.options.conversation = Some(format!("more {number}"));
        question.reply(&provider).await?;
    }
    let states: Vec<_> = test_model
        .cache()
        .into_iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "state"))
        .collect();
    assert!((1..=8).contains(&states.len()), "{states:?}");
    #[cfg(unix)]
    for path in test_model.cache() {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o077, 0, "{}", path.display());
    }
    Ok(())
}
