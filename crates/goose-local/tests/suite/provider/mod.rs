//! Provider, on a model that the tests write: answers keep their form whatever the weights are, end when
//! the stream is dropped, are not computed twice, and are refused if they do not fit.

mod answers;
mod memory;

use std::{path::Path, sync::Arc};

use futures::StreamExt as _;
use goose_extension::{JsonObject, Message, MessageContent, Role, Tool, ToolOutput};
use goose_local::provider::{LoadOptions, LocalProvider};
use goose_providers::{
    Provider as _, ProviderResult, Reply, ReplyEvent, ReplyStream, Request, RequestOptions,
};
use goose_test_support::tiny_model;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Model in a temporary folder.
pub(crate) struct TestModel {
    folder: TempDir,
}

impl TestModel {
    pub(crate) fn new(seed: u64) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        tiny_model::write(&folder.path().join("tiny.gguf"), seed)?;
        Ok(Self { folder })
    }

    /// Starts a new run: nothing is in memory.
    pub(crate) fn provider(&self) -> LocalProvider {
        LocalProvider::new("tiny", self.options())
    }

    pub(crate) fn options(&self) -> LoadOptions {
        LoadOptions {
            file: self.path("tiny.gguf"),
            threads: Some(1),
            context: 8_192,
            cache: Some(self.path("cache")),
        }
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn cache(&self) -> Vec<std::path::PathBuf> {
        files(&self.path("cache"))
    }
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Conversation, and the options of its answer.
pub(crate) struct Question {
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) options: RequestOptions,
}

impl Question {
    pub(crate) fn new(text: &str) -> Self {
        let options = RequestOptions { conversation: Some("talk".to_owned()), ..RequestOptions::default() };
        Self { messages: vec![Arc::new(Message::user(text))], tools: tools(), options }
    }

    pub(crate) fn at_temperature(mut self, temperature: f32) -> Self {
        self.options.temperature = Some(temperature);
        self
    }

    /// Adds the same call three times, after which only the final answer is allowed.
    pub(crate) fn that_only_ends(mut self) -> Self {
        for id in ["1", "2", "3"] {
            let (id, name) = (id.to_owned(), "developer__shell".to_owned());
            let arguments = json!({"command": "ls"});
            let call = MessageContent::ToolCall { id: id.clone(), name, arguments, opaque: None };
            self.messages.push(Arc::new(Message::new(Role::Assistant, [call])));
            let result = MessageContent::tool_result(id, ToolOutput::text("a.txt"));
            self.messages.push(Arc::new(Message::new(Role::User, [result])));
        }
        self
    }

    pub(crate) async fn stream(&self, provider: &LocalProvider) -> ProviderResult<ReplyStream> {
        let request = Request {
            system: "Folder: /x",
            messages: &self.messages,
            tools: &self.tools,
            options: &self.options,
        };
        provider.stream(request).await
    }

    pub(crate) async fn ask(&self, provider: &LocalProvider) -> ProviderResult<Vec<ReplyEvent>> {
        let events: Vec<ProviderResult<ReplyEvent>> = self.stream(provider).await?.collect().await;
        events.into_iter().collect()
    }

    pub(crate) async fn reply(&self, provider: &LocalProvider) -> ProviderResult<Reply> {
        Reply::collect(self.stream(provider).await?).await
    }
}

fn tools() -> Vec<Tool> {
    let forecast = json!({
        "type": "object",
        "properties": {
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
            "where": {"enum": ["here", "there"]}
        },
        "required": ["days", "where"]
    });
    vec![
        Tool::new("developer__shell", "Run", JsonObject::new()),
        Tool::new("developer__edit", "Edit", JsonObject::new()),
        Tool::new("weather__forecast", "The weather", object(forecast)),
    ]
}

fn object(value: Value) -> JsonObject {
    value.as_object().cloned().unwrap_or_default()
}
