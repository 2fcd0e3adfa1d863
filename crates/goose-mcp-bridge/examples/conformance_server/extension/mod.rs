//! The extension that the official MCP conformance suite looks for, at this crate's own server and behind
//! `goose serve`.
//!
//! The suite calls tools, prompts and resources by name and looks at what comes back, so names, texts and
//! shapes here are the suite's. Everything is written as an author of an extension would write it; what the
//! protocol asks for beyond that (two eras, rounds, sessions, schemas) is what the suite tests.
//!
//! - here: the tools;
//! - `forms`: what is asked of the person; `media`: the smallest picture and sound;
//! - `schemas`: arguments beyond Rust types; `prompts`, `resources`: the rest of what is offered.

mod forms;
mod media;
mod prompts;
mod resources;
mod schemas;

use std::time::Duration;

use forms::{Color, Confirmation, Name};
use goose_extension::{
    Audio, Change, ChangeFeed, CompleteRequestParams, CompletionInfo, ContentBlock, GetPromptResult,
    JsonObject, LogEntry, Prompt, QuestionKind, Resource, ResourceContents, ResourceTemplate, Sampling,
    prelude::*,
};
use schemas::Contact;
use tokio::time::sleep;

/// Pause between two reports of the tools that report while they work.
const PAUSE: Duration = Duration::from_millis(50);

/// Tools, prompts and resources of the suite.
#[derive(Default)]
pub(crate) struct Conformance {
    changes: ChangeFeed,
}

#[extension(name = "conformance", description = "What the MCP conformance suite looks for")]
impl Extension for Conformance {
    /// Returns a text
    #[tool]
    fn test_simple_text(&self) -> &str {
        "This is a simple text response for testing."
    }

    /// Returns a picture
    #[tool]
    fn test_image_content(&self) -> Image {
        Image::png(media::PIXEL_PNG)
    }

    /// Returns a sound
    #[tool]
    fn test_audio_content(&self) -> Audio {
        Audio::new(media::SILENCE_WAV, "audio/wav")
    }

    /// Returns a resource with its content
    #[tool]
    fn test_embedded_resource(&self) -> ContentBlock {
        let text = "This is an embedded resource content.";
        resources::embedded("test://embedded-resource", "text/plain", text)
    }

    /// Returns a text, a picture and a resource together
    #[tool]
    fn test_multiple_content_types(&self) -> Vec<ContentBlock> {
        let data = r#"{"test":"data","value":123}"#;
        vec![
            ContentBlock::text("Multiple content types test:"),
            Image::png(media::PIXEL_PNG).into(),
            resources::embedded("test://mixed-content-resource", "application/json", data),
        ]
    }

    /// Fails
    #[tool]
    fn test_error_handling(&self) -> ToolResult<()> {
        Err("This tool intentionally returns an error for testing".into())
    }

    /// Takes arguments that only JSON Schema 2020-12 can describe
    #[tool]
    fn json_schema_2020_12_tool(&self, Arguments(contact): Arguments<Contact>) -> String {
        format!("Reached {}.", contact.name.as_deref().unwrap_or("somebody"))
    }

    /// Takes an argument that HTTP clients repeat in a header
    #[tool]
    fn test_custom_header(
        &self,
        /// Where the request is to be routed
        #[schemars(extend("x-mcp-header" = "Region"))]
        region: String,
    ) -> String {
        format!("Routed to {region}.")
    }

    /// Reports its progress
    #[tool]
    async fn test_tool_with_progress(&self, context: &CallContext) -> &str {
        context.progress(0.0, Some(100.0), "Begun");
        sleep(PAUSE).await;
        context.progress(50.0, Some(100.0), "Half done");
        sleep(PAUSE).await;
        context.progress(100.0, Some(100.0), "Done");
        "The work is done."
    }

    /// Writes to the client's log while it works
    #[tool]
    async fn test_tool_with_logging(&self, context: &CallContext) -> &str {
        context.log_entry(LogEntry::info("Tool execution started"));
        sleep(PAUSE).await;
        context.log_entry(LogEntry::info("Tool processing data"));
        sleep(PAUSE).await;
        context.log_entry(LogEntry::info("Tool execution completed"));
        "The work is done and logged."
    }

    /// Writes to the client's log, which a client may not want
    #[tool]
    fn test_logging_tool(&self, context: &CallContext) -> &str {
        context.log_entry(LogEntry::info("The logging tool was called"));
        "The call is logged for whoever asked for a log."
    }

    /// Asks the client's model
    #[tool]
    async fn test_sampling(
        &self,
        /// What to ask
        prompt: String,
        context: &CallContext,
    ) -> ToolResult<String> {
        let answer = context.sample("answer", Sampling::new(prompt, 100)).await?;
        Ok(format!("LLM response: {}", answer.text()))
    }

    /// Asks the person who they are
    #[tool]
    async fn test_elicitation(
        &self,
        /// What to say to the person
        message: String,
        context: &CallContext,
    ) -> ToolResult<String> {
        let answer = context.elicit("person", forms::person(message)?).await?;
        Ok(format!("User response: {}", forms::told(&answer)))
    }

    /// Asks with a form that is filled in already
    #[tool]
    async fn test_elicitation_sep1034_defaults(&self, context: &CallContext) -> ToolResult<String> {
        let answer = context.elicit("profile", forms::defaults()?).await?;
        Ok(format!("Elicitation completed: {}", forms::told(&answer)))
    }

    /// Asks with a form of choices
    #[tool]
    async fn test_elicitation_sep1330_enums(&self, context: &CallContext) -> ToolResult<String> {
        let answer = context.elicit("choices", forms::choices()?).await?;
        Ok(format!("Elicitation completed: {}", forms::told(&answer)))
    }

    /// Needs a client with a model
    #[tool]
    async fn test_missing_capability(&self, context: &CallContext) -> ToolResult<String> {
        let answer = context.sample("answer", Sampling::new("Are you there?", 10)).await?;
        Ok(format!("The client's model says: {}", answer.text()))
    }

    /// Asks the person while the answer is streamed
    #[tool]
    async fn test_streaming_elicitation(&self, context: &CallContext) -> ToolResult<String> {
        let confirmed = context.elicit_form::<Confirmation>("confirm", "Shall I go on?").await?;
        Ok(format!("Going on: {}", confirmed.is_some_and(|answer| answer.ok)))
    }

    /// Says that the list of tools has changed
    #[tool]
    fn test_trigger_tool_change(&self) -> &str {
        self.changes.publish(Change::Tools);
        "Whoever listens has been told to list the tools again."
    }

    /// Says that the list of prompts has changed
    #[tool]
    fn test_trigger_prompt_change(&self) -> &str {
        self.changes.publish(Change::Prompts);
        "Whoever listens has been told to list the prompts again."
    }

    /// Asks the person for a name
    #[tool]
    async fn test_input_required_result_elicitation(&self, context: &CallContext) -> ToolResult<String> {
        let answer = context.elicit_form::<Name>("user_name", "What is your name?").await?;
        Ok(format!("Hello, {}!", forms::name_of(answer)))
    }

    /// Asks the client's model for the capital of France
    #[tool]
    async fn test_input_required_result_sampling(&self, context: &CallContext) -> ToolResult<String> {
        let question = Sampling::new("What is the capital of France?", 100);
        let answer = context.sample("capital_question", question).await?;
        Ok(format!("The model says: {}", answer.text()))
    }

    /// Asks which folders to work in
    #[tool]
    async fn test_input_required_result_list_roots(&self, context: &CallContext) -> ToolResult<String> {
        let roots = context.roots("client_roots").await?;
        Ok(format!("The client's roots: {}", forms::roots(&roots)))
    }

    /// Asks for a confirmation and goes on where it stopped
    #[tool]
    async fn test_input_required_result_request_state(&self, context: &CallContext) -> ToolResult<String> {
        let confirmed = context.elicit_form::<Confirmation>("confirm", "Please confirm").await?;
        Ok(format!("state-ok, confirmed: {}", confirmed.is_some_and(|answer| answer.ok)))
    }

    /// Asks for a confirmation; a state that was tampered with is refused before the tool is entered
    #[tool]
    async fn test_input_required_result_tampered_state(&self, context: &CallContext) -> ToolResult<String> {
        let confirmed = context.elicit_form::<Confirmation>("confirm", "Please confirm").await?;
        Ok(format!("Confirmed: {}", confirmed.is_some_and(|answer| answer.ok)))
    }

    /// Asks the person, the model and for folders, all in one round
    #[tool]
    async fn test_input_required_result_multiple_inputs(&self, context: &CallContext) -> ToolResult<String> {
        let (name, greeting, roots) = tokio::join!(
            context.elicit_form::<Name>("user_name", "What is your name?"),
            context.sample("greeting", Sampling::new("Generate a greeting", 50)),
            context.roots("client_roots"),
        );
        let (name, greeting, roots) = (forms::name_of(name?), greeting?.text(), roots?);
        Ok(format!("{greeting} {name}, you work in {}.", forms::roots(&roots)))
    }

    /// Asks one thing after the other, in two rounds
    #[tool]
    async fn test_input_required_result_multi_round(&self, context: &CallContext) -> ToolResult<String> {
        let name = context.elicit_form::<Name>("step1", "Step 1: What is your name?").await?;
        let color = context.elicit_form::<Color>("step2", "Step 2: What is your favorite color?").await?;
        let color = color.map_or_else(|| "no color".to_owned(), |answer| answer.color);
        Ok(format!("{} likes {color}.", forms::name_of(name)))
    }

    /// Asks only what the client can answer
    #[tool]
    async fn test_input_required_result_capabilities(&self, context: &CallContext) -> ToolResult<String> {
        let person = async {
            let question = "What is your name?";
            match context.can_ask(QuestionKind::ElicitForm) {
                true => context.elicit_form::<Name>("user_name", question).await.map(forms::name_of),
                false => Ok("nobody".to_owned()),
            }
        };
        let model = async {
            let question = Sampling::new("Generate a greeting", 50);
            match context.can_ask(QuestionKind::Sample) {
                true => context.sample("greeting", question).await.map(|answer| answer.text()),
                false => Ok("Hello".to_owned()),
            }
        };
        let (person, model) = tokio::join!(person, model);
        Ok(format!("{} {}", model?, person?))
    }

    fn changes(&self) -> Option<&ChangeFeed> {
        Some(&self.changes)
    }

    async fn list_resources(&self) -> ToolResult<Vec<Resource>> {
        Ok(resources::list())
    }

    async fn list_resource_templates(&self) -> ToolResult<Vec<ResourceTemplate>> {
        Ok(vec![resources::template()])
    }

    async fn read_resource(&self, uri: &str, _context: &CallContext) -> ToolResult<Vec<ResourceContents>> {
        resources::read(uri).map(|contents| vec![contents])
    }

    async fn subscribe(&self, uri: &str) -> ToolResult<()> {
        resources::read(uri).map(drop)
    }

    async fn list_prompts(&self) -> ToolResult<Vec<Prompt>> {
        Ok(prompts::list())
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<GetPromptResult> {
        prompts::get(name, &arguments, context).await
    }

    async fn complete(&self, request: CompleteRequestParams) -> ToolResult<CompletionInfo> {
        prompts::complete(&request)
    }
}
