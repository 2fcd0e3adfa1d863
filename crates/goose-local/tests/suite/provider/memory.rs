//! Computed states are reused from turn to turn and from run to run, unless they are damaged.

use std::{fs, sync::Arc};

use goose_extension::Message;
use goose_local::provider::{LoadOptions, LocalProvider, forget};
use goose_providers::{Provider as _, Reply, Usage};
use goose_test_support::tiny_model;

use super::{Question, TestModel};

/// Returns a question whose answer is a complete text, so that its state is saved.
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

/// Returns the question after an answer.
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
async fn another_run_reuses_the_saved_state() -> anyhow::Result<()> {
    let test_model = TestModel::new(4)?;
    let (question, reply) = kept(&test_model).await?;
    let next = next(&question, &reply).reply(&test_model.provider()).await?;
    assert!(next.usage.cached_input >= reply.usage.input, "{:?} after {:?}", next.usage, reply.usage);
    Ok(())
}

#[tokio::test]
async fn conversations_share_their_opening_and_ephemeral_ones_are_not_saved() -> anyhow::Result<()> {
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
async fn each_set_of_tools_has_its_own_saved_opening() -> anyhow::Result<()> {
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
async fn forgetting_a_conversation_keeps_others() -> anyhow::Result<()> {
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
    assert!(next.usage.cached_input < reply.usage.input, "only the shared opening is left: {:?}", next.usage);
    Ok(())
}

/// Another run may have a larger context.
#[tokio::test]
async fn a_state_that_does_not_fit_is_kept_for_other_runs() -> anyhow::Result<()> {
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
async fn the_context_limit_is_that_of_the_model() -> anyhow::Result<()> {
    let test_model = TestModel::new(4)?;
    let limit = |file: &str, context: usize| {
        let options = LoadOptions { file: test_model.path(file), context, ..test_model.options() };
        LocalProvider::new("tiny", options).model().context_limit
    };
    assert_eq!(limit("tiny.gguf", 200_000), tiny_model::CONTEXT as u64);
    assert_eq!(limit("tiny.gguf", 1_000), 1_000);
    // Without a readable file, there is still a limit.
    assert_eq!(limit("none.gguf", 200_000), 32 * 1024);
    Ok(())
}

#[tokio::test]
async fn damaged_and_foreign_states_are_ignored() -> anyhow::Result<()> {
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
