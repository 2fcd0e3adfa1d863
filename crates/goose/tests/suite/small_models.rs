//! The loop with a small model: a short prompt, and the names of files with each question.

use std::{fs, sync::Arc};

use goose::{agent_manager::OpenOptions, agents::orchestrator_agent::SplitSetting};
use goose_providers::{Endpoint, OpenAiChat, PromptStyle, Provider, model_info};
use goose_test_support::model_server::{ModelServer, Turn, Wire};

use crate::exchange_support::{Stage, done, outcome};

fn small(model: &ModelServer) -> anyhow::Result<Arc<dyn Provider>> {
    let url = format!("{}/v1/chat/completions", model.url()).parse()?;
    let mut info = model_info("gpt-4o");
    info.context_limit = 100_000;
    info.prompt_style = PromptStyle::Brief;
    Ok(Arc::new(OpenAiChat::new(Endpoint::new("scripted", url).with_key("key", "SCRIPTED_KEY"), info)))
}

/// A small model loses more by putting results together than it gains by doing one job at a time.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_one_request_for_a_small_model() -> anyhow::Result<()> {
    let model = ModelServer::scripted([Turn::text("Done.")])?;
    let provider = small(&model)?;
    let with = |builder: OpenOptions| builder.with_provider(provider).with_split(SplitSetting::Auto);
    let stage = Stage::with(Wire::Chat, model, with).await?;
    let list = "1. Review the login form for SQL injection\n2. Restyle the buttons of the checkout page";
    assert_eq!(outcome(&stage.say(list).await?)?, &done());
    assert_eq!(
        (stage.exchange.agent().id().as_str(), stage.model.asked().len()),
        ("goose-agent/assistant", 1)
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_that_changes_code_leaves_a_mode_that_only_reads() -> anyhow::Result<()> {
    let model = ModelServer::scripted(["One.", "Two.", "Three."].map(Turn::text))?;
    let provider = small(&model)?;
    let stage = Stage::with(Wire::Chat, model, |builder| builder.with_provider(provider)).await?;
    for (request, agent) in [
        ("Review this repository for SQL injection and hard-coded secrets", "coding-agent/security"),
        ("thanks", "coding-agent/security"),
        ("fix it", "goose-agent/assistant"),
    ] {
        assert_eq!(outcome(&stage.say(request).await?)?, &done());
        assert_eq!(stage.exchange.agent().id(), agent, "{request}");
    }
    Ok(())
}

#[tokio::test]
async fn a_small_model_is_told_little_and_sees_which_files_there_are() -> anyhow::Result<()> {
    let model = ModelServer::scripted([Turn::text("One."), Turn::text("Two.")])?;
    let provider = small(&model)?;
    let stage = Stage::with(Wire::Chat, model, |builder| builder.with_provider(provider)).await?;
    fs::write(stage.world.file("notes.txt"), "quack")?;
    assert_eq!(outcome(&stage.say("What is in the notes?").await?)?, &done());
    fs::write(stage.world.file("later.txt"), "quack")?;
    assert_eq!(outcome(&stage.say("And now?").await?)?, &done());
    let asked = stage.model.asked();
    let (first, second) = (asked[0].body["messages"].to_string(), asked[1].body["messages"].to_string());
    assert!(
        first.contains("Files here:")
            && first.contains("notes.txt")
            && first.contains("What is in the notes?")
    );
    assert!(!first.contains("Look before you change"), "{first}");
    assert!(!asked[0].tool_names().contains(&"delegate"), "it does the work itself");
    assert!(second.contains("later.txt"), "{second}");
    // What was said stays as it was, so that what was computed for it can be used again.
    let start = first.trim_end_matches(']');
    assert!(second.starts_with(start), "{first}\n{second}");
    Ok(())
}
