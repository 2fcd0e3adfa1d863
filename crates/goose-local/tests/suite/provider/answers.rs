//! Answers: their form, the stream, the end.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::StreamExt as _;
use goose_extension::{JsonObject, Message, Tool};
use goose_local::provider::{LoadOptions, LocalProvider};
use goose_providers::{
    Arguments, Collector, Provider as _, ProviderError, Reply, ReplyEvent, Request, RequestOptions,
    StopReason,
};
use goose_test_support::tiny_model;

use super::{Question, TestModel};

#[tokio::test]
async fn an_answer_keeps_its_form_whatever_the_weights_are() -> anyhow::Result<()> {
    let mut calls = 0;
    let mut texts = 0;
    for seed in 1..=12 {
        let test_model = TestModel::new(seed)?;
        for temperature in [0.0, 1.0, 3.0] {
            let question = Question::new("What is the weather?").at_temperature(temperature);
            let events = question.ask(&test_model.provider()).await?;
            let finished = events.iter().filter(|event| matches!(event, ReplyEvent::Finished(_))).count();
            assert_eq!(finished, 1, "{events:?}");
            let text: String = events.iter().filter_map(text).collect();
            match events.iter().find_map(call) {
                Some((name, Arguments::Object(arguments))) => {
                    calls += 1;
                    assert!(text.is_empty());
                    let tool = question
                        .tools
                        .iter()
                        .find(|tool| tool.name() == name)
                        .expect("a tool that was offered");
                    let keys: Vec<&str> = arguments.keys().map(String::as_str).collect();
                    let wanted: &[&str] = match tool.name() {
                        "developer__shell" => &["command"],
                        "developer__edit" if arguments.contains_key("replace_all") => {
                            assert_eq!(arguments["replace_all"], true, "it is only there to say yes");
                            &["path", "before", "after", "replace_all"]
                        }
                        "developer__edit" => &["path", "before", "after"],
                        _ => &["days", "where"],
                    };
                    assert_eq!(keys, wanted);
                    if name == "weather__forecast" {
                        assert!(arguments["days"].as_u64().is_some_and(|days| (1..=9).contains(&days)));
                    }
                }
                // Text that repeats itself or does not end is reported as such, and not made into a call.
                Some((_, Arguments::Malformed { why, .. })) => assert!(why.contains("cut off"), "{why}"),
                None => {
                    texts += 1;
                    assert!(!text.is_empty());
                }
            }
        }
    }
    assert!(calls > 0 && texts + calls > 6, "{calls} calls, {texts} texts");
    Ok(())
}

fn call(event: &ReplyEvent) -> Option<(&str, &Arguments)> {
    match event {
        ReplyEvent::Call(call) => Some((&call.name, &call.arguments)),
        _ => None,
    }
}

fn text(event: &ReplyEvent) -> Option<&str> {
    match event {
        ReplyEvent::Text(text) => Some(text),
        _ => None,
    }
}

#[tokio::test]
async fn without_tools_the_answer_is_text_up_to_the_limit() -> anyhow::Result<()> {
    let test_model = TestModel::new(3)?;
    let mut question = Question::new("Say something.").at_temperature(1.0);
    question.tools.clear();
    question.options.max_tokens = Some(20);
    let reply = question.reply(&test_model.provider()).await?;
    assert!(reply.usage.output <= 20, "{:?}", reply.usage);
    assert!(matches!(reply.stop, StopReason::MaxTokens | StopReason::EndTurn));
    Ok(())
}

#[tokio::test]
async fn the_same_seed_gives_the_same_answer() -> anyhow::Result<()> {
    let test_model = TestModel::new(5)?;
    let question = Question::new("Go.").at_temperature(0.8);
    let first = question.reply(&test_model.provider()).await?;
    let again = question.reply(&test_model.provider()).await?;
    assert_eq!(first.message.text(), again.message.text());
    assert_eq!(first.usage.output, again.usage.output);
    Ok(())
}

#[tokio::test]
async fn a_dropped_stream_ends_the_answer_and_frees_the_engine() -> anyhow::Result<()> {
    let test_model = TestModel::new(1)?;
    let provider = test_model.provider();
    let mut question = Question::new("Talk for ever.").at_temperature(2.0);
    question.tools.clear();
    question.options.max_tokens = Some(3_000);
    let mut stream = question.stream(&provider).await?;
    assert!(stream.next().await.is_some());
    drop(stream);
    let dropped = Instant::now();
    let mut next = Question::new("Be short.");
    next.options.max_tokens = Some(40);
    next.reply(&provider).await?;
    // The bound is far above the time of forty tokens, and far below that of three thousand.
    assert!(dropped.elapsed() < Duration::from_secs(60));
    Ok(())
}

#[tokio::test]
async fn a_slow_reader_gets_the_whole_answer() -> anyhow::Result<()> {
    let test_model = TestModel::new(1)?;
    let mut question = Question::new("Talk for ever.").at_temperature(2.0);
    question.tools.clear();
    question.options.max_tokens = Some(400);
    let wanted = question.reply(&test_model.provider()).await?;
    assert!(wanted.usage.output > 200, "more than wait to be read: {:?}", wanted.usage);
    let mut stream = question.stream(&test_model.provider()).await?;
    let mut collector = Collector::new();
    while let Some(event) = stream.next().await {
        collector.push(event?);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(collector.finish()?.message.text(), wanted.message.text());
    Ok(())
}

#[tokio::test]
async fn a_message_that_never_fits_is_refused_and_a_long_conversation_can_be_shortened() -> anyhow::Result<()>
{
    let test_model = TestModel::new(2)?;
    let provider = test_model.provider();
    let long = "word ".repeat(tiny_model::CONTEXT);
    let error = Question::new(&long).ask(&provider).await.expect_err("it does not fit");
    assert!(
        matches!(&error, ProviderError::Refused { message, .. } if message.contains("context of this")),
        "{error}"
    );

    let mut question = Question::new("Look.");
    for _ in 0..80 {
        question
            .messages
            .push(Arc::new(Message::assistant("I looked at this and that and found nothing much.")));
        question
            .messages
            .push(Arc::new(Message::user("Look again, but look at something else this time, please.")));
    }
    let error = question.ask(&provider).await.expect_err("it does not fit");
    assert!(matches!(error, ProviderError::ContextLength { .. }), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_model_that_repeats_a_call_can_only_answer() -> anyhow::Result<()> {
    for seed in 1..4 {
        let test_model = TestModel::new(seed)?;
        let question = Question::new("Go.").at_temperature(1.0).that_only_ends();
        let events = question.ask(&test_model.provider()).await?;
        assert!(events.iter().all(|event| call(event).is_none()), "{events:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_focused_prompt_keeps_the_state_of_the_conversation() -> anyhow::Result<()> {
    let test_model = TestModel::new(2)?;
    let provider = test_model.provider();
    let question = Question::new("What is here?").at_temperature(0.0).that_only_ends();
    let first = question.reply(&provider).await?;
    let again = question.reply(&provider).await?;
    assert!(first.message.content.iter().any(|part| part.as_text().is_some_and(|text| !text.is_empty())));
    assert_eq!(first.message.content, again.message.content);
    let usage = again.usage;
    assert!(usage.cached_input + 1 >= usage.input, "{usage:?}");
    Ok(())
}

#[tokio::test]
async fn an_invalid_file_is_an_error_at_the_first_request() -> anyhow::Result<()> {
    let test_model = TestModel::new(1)?;
    std::fs::write(test_model.path("tiny.gguf"), "no model")?;
    let provider = test_model.provider();
    assert_eq!(provider.name(), "local");
    assert_eq!(provider.model().prompt_style, goose_providers::PromptStyle::Brief);
    let error = Question::new("Hi").ask(&provider).await.expect_err("there is no model");
    assert!(matches!(&error, ProviderError::Refused { message, .. } if message.contains("GGUF")), "{error}");
    Ok(())
}

#[tokio::test]
async fn answers_keep_their_form_in_every_chat_format() -> anyhow::Result<()> {
    let templates = ["[INST] <<SYS>>", "[INST] {{ message }} [/INST]", "<|user|>"].map(Some);
    for template in templates.into_iter().chain([None]) {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("pieces.gguf");
        tiny_model::write_pieces(&path, template)?;
        let provider = LocalProvider::new(
            "pieces",
            LoadOptions { file: path, threads: Some(1), context: 12_288, cache: None },
        );
        let messages = [Arc::new(Message::user("the cat"))];
        let tools = [Tool::new("developer__shell", "Run", JsonObject::new())];
        let options = RequestOptions::default();
        let request = Request { system: "", messages: &messages, tools: &tools, options: &options };
        let reply = Reply::collect(provider.stream(request).await?).await?;
        assert!(!reply.message.content.is_empty(), "{template:?}");
    }
    Ok(())
}
