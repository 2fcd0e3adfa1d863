//! The prompts: plain, with arguments, with a resource, with a picture, and one that asks the person first.

use goose_extension::{
    CompleteRequestParams, CompletionInfo, ContentBlock, GetPromptResult, JsonObject, Prompt, PromptArgument,
    PromptMessage, Reference, Role, prelude::*,
};

use super::{forms, media, resources};

const SIMPLE: &str = "test_simple_prompt";
const WITH_ARGUMENTS: &str = "test_prompt_with_arguments";
const WITH_RESOURCE: &str = "test_prompt_with_embedded_resource";
const WITH_IMAGE: &str = "test_prompt_with_image";
const WITH_QUESTION: &str = "test_input_required_result_prompt";

pub(crate) fn list() -> Vec<Prompt> {
    vec![
        prompt(SIMPLE, "A prompt that is always the same", &[]),
        prompt(
            WITH_ARGUMENTS,
            "A prompt made from two texts",
            &[("arg1", "The first text"), ("arg2", "The second text")],
        ),
        prompt(WITH_RESOURCE, "A prompt with a resource in it", &[("resourceUri", "The resource's address")]),
        prompt(WITH_IMAGE, "A prompt with a picture in it", &[]),
        prompt(WITH_QUESTION, "A prompt about something that the person says", &[]),
    ]
}

fn prompt(name: &str, description: &str, arguments: &[(&str, &str)]) -> Prompt {
    let arguments: Vec<_> = arguments
        .iter()
        .map(|(name, description)| {
            PromptArgument::new(*name).with_description(*description).with_required(true)
        })
        .collect();
    Prompt::new(name, Some(description), (!arguments.is_empty()).then_some(arguments))
}

pub(crate) async fn get(
    name: &str,
    arguments: &JsonObject,
    context: &CallContext,
) -> ToolResult<GetPromptResult> {
    let messages = match name {
        SIMPLE => vec![text("This is a simple prompt for testing.")],
        WITH_ARGUMENTS => {
            let (first, second) = (argument(arguments, "arg1")?, argument(arguments, "arg2")?);
            vec![text(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        WITH_RESOURCE => {
            let uri = argument(arguments, "resourceUri")?;
            let content = "Embedded resource content for testing.";
            vec![
                said(resources::embedded(uri, "text/plain", content)),
                text("Please process the embedded resource above."),
            ]
        }
        WITH_IMAGE => {
            vec![said(Image::png(media::PIXEL_PNG).into()), text("Please analyze the image above.")]
        }
        WITH_QUESTION => {
            let question = "What context should the prompt use?";
            let answer = context.elicit_form::<forms::Context>("user_context", question).await?;
            let about = answer.map_or_else(|| "none".to_owned(), |answer| answer.context);
            vec![text(format!("Use this context: {about}"))]
        }
        _ => return Err(ToolError::InvalidParameters(format!("There is no prompt `{name}` here."))),
    };
    Ok(GetPromptResult::new(messages))
}

/// Suggests values for `arg1`; nothing else has suggestions.
pub(crate) fn complete(request: &CompleteRequestParams) -> ToolResult<CompletionInfo> {
    let for_prompt = matches!(&request.r#ref, Reference::Prompt(prompt) if prompt.name == WITH_ARGUMENTS);
    let known: &[&str] =
        if for_prompt && request.argument.name == "arg1" { &["test", "testValue1", "testing"] } else { &[] };
    let fitting = known.iter().filter(|value| value.starts_with(&request.argument.value));
    CompletionInfo::with_all_values(fitting.map(|value| (*value).to_owned()).collect())
        .map_err(ToolError::from)
}

fn argument<'a>(arguments: &'a JsonObject, name: &str) -> ToolResult<&'a str> {
    arguments
        .get(name)
        .and_then(Value::as_str)
        .ok_or_else(|| ToolError::InvalidParameters(format!("The prompt needs `{name}`, a text.")))
}

fn text(text: impl Into<String>) -> PromptMessage {
    said(ContentBlock::text(text))
}

fn said(content: ContentBlock) -> PromptMessage {
    PromptMessage::new(Role::User, content)
}
