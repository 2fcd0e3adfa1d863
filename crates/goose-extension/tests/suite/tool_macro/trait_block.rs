//! `#[extension] impl Extension for Type { … }`.

use goose_extension::{
    CheckedArguments, CompleteRequestParams, CompletionInfo, Features, JsonObject, Prompt, Resource,
    prelude::*,
};

use super::call;

struct Guide;

/// Answers questions.
#[extension(instructions = "Ask away")]
#[async_trait]
impl Extension for Guide {
    fn name(&self) -> &str {
        "guide-book"
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok(hashmap! { "open" => json!(Self::open()) })
    }

    async fn list_resources(&self) -> ToolResult<Vec<Resource>> {
        Ok(vec![Resource::new("guide://map", "map")])
    }

    async fn subscribe(&self, uri: &str) -> ToolResult<()> {
        Err(ToolError::ResourceNotFound(uri.to_owned()))
    }

    const HOURS: u8 = 8;

    fn open() -> u8 {
        Self::HOURS
    }

    /// Answers.
    #[tool]
    async fn ask(&self, question: String) -> String {
        format!("{question}? {}", Self::open())
    }

    /// The trait's name, but a tool.
    #[tool]
    fn complete(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn methods_go_where_they_belong() {
    assert_eq!((Guide.name(), Guide.description()), ("guide-book", "Answers questions."));
    assert_eq!(Guide.instructions(), "Ask away");
    assert_eq!(Guide.status().await.unwrap(), hashmap! { "open" => json!(8) });
    assert_eq!(Guide.list_resources().await.unwrap().len(), 1);
    assert_eq!(call(&Guide, "ask", json!({ "question": "why" })).await, Ok(json!("why? 8")));
    assert_eq!(call(&Guide, "complete", json!({})).await, Ok(json!(true)));
    let expected = Features { resources: true, subscriptions: true, ..Features::default() };
    assert_eq!(Guide.features(), expected);
}

struct Prompter;

#[extension]
impl Extension for Prompter {
    async fn list_prompts(&self) -> ToolResult<Vec<Prompt>> {
        Ok(Vec::new())
    }

    async fn complete(&self, _request: CompleteRequestParams) -> ToolResult<CompletionInfo> {
        Ok(CompletionInfo::default())
    }
}

struct Stubborn;

#[extension]
impl Extension for Stubborn {
    fn features(&self) -> Features {
        Features::default()
    }

    async fn list_prompts(&self) -> ToolResult<Vec<Prompt>> {
        Ok(Vec::new())
    }
}

#[test]
fn features_follow_from_the_methods() {
    let expected = Features { prompts: true, completions: true, ..Features::default() };
    assert_eq!(Prompter.features(), expected);
    assert_eq!(Stubborn.features(), Features::default());
}

struct OwnCall;

#[extension]
impl Extension for OwnCall {
    async fn call_checked(
        &self,
        tool_name: &str,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let output = Self::tool_registry().call_checked(self, tool_name, arguments, context).await?;
        Ok(ToolOutput::text(format!("<{}>", output.as_text())))
    }

    #[tool]
    fn hi(&self) -> &'static str {
        "hi"
    }
}

struct OwnCallTool;

#[extension]
impl Extension for OwnCallTool {
    async fn call_tool(&self, tool_name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
        let value = Self::tool_registry().call_tool(self, tool_name, parameters).await?;
        Ok(json!([value]))
    }

    #[tool]
    fn hi(&self) -> &'static str {
        "hi"
    }
}

#[tokio::test]
async fn a_call_of_the_author_s_own_is_used_by_both_ways() {
    assert_eq!(call(&OwnCall, "hi", json!({})).await, Ok(json!("<hi>")));
    let output = OwnCallTool.call("hi", JsonObject::new(), &CallContext::new()).await;
    assert_eq!(output, Ok(ToolOutput::value(json!(["hi"]))));
}

#[test]
fn the_macro_knows_every_method_of_the_trait() {
    let source = include_str!("../../../src/extension.rs");
    let body =
        source.split("pub trait Extension").nth(1).and_then(|rest| rest.split("\n}\n").next()).unwrap();
    let declared: Vec<&str> = body
        .lines()
        .filter_map(|line| line.strip_prefix("    fn ").or_else(|| line.strip_prefix("    async fn ")))
        .filter_map(|line| line.split('(').next())
        .collect();

    let source = include_str!("../../../../goose-macros/src/trait_methods.rs");
    let list = source.split("TRAIT_METHODS").nth(1).and_then(|rest| rest.split("];").next()).unwrap();
    let known: Vec<&str> =
        list.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\",")).collect();
    assert_eq!(known, declared);
}

struct Expecting;

/// Every expected method is in one of the two blocks that are made of it.
#[extension]
#[expect(clippy::unnecessary_wraps, non_snake_case, reason = "shows that neither of them complains")]
impl Extension for Expecting {
    fn prompt(&self) -> String {
        let Prompt = Self::always();
        Prompt.unwrap_or_default()
    }

    fn always() -> Option<String> {
        Some("prompt".to_owned())
    }
}

struct Elsewhere;

/// `new` is not there, so neither is the way to build with it.
#[extension]
impl Extension for Elsewhere {
    #[cfg(any())]
    fn new(_notifier: Box<dyn Notifier>, _requires: Requirements) -> Self {
        Self
    }

    #[cfg_attr(all(), expect(clippy::unused_self, reason = "shows that other conditions are fine"))]
    fn helper(&self) -> &'static str {
        "elsewhere"
    }

    fn prompt(&self) -> String {
        self.helper().to_owned()
    }
}

#[test]
fn attributes_of_the_block_and_of_new_go_along() {
    assert_eq!((Expecting.prompt(), Elsewhere.prompt()), ("prompt".to_owned(), "elsewhere".to_owned()));
}
