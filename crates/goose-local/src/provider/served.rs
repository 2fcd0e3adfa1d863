//! [`ServedProvider`]: a small model on a server such as Ollama, LM Studio or llama.cpp. It gets the same
//! steps as the model inside goose; the server restricts its answers to a JSON Schema.

use std::sync::Arc;

use async_trait::async_trait;
use goose_providers::{ModelInfo, PromptStyle, Provider, ProviderResult, ReplyStream, Request};

use crate::backend::Server;

use super::{answer::Question, events::reply_stream, local::MAX_TOOL_TOKENS};

/// Small model on a server.
pub struct ServedProvider {
    server: Arc<dyn Provider>,
    info: ModelInfo,
}

impl ServedProvider {
    /// Wraps the provider of a server.
    pub fn new(server: Arc<dyn Provider>) -> Self {
        let mut info = server.model().clone();
        info.prompt_style = PromptStyle::Brief;
        info.max_tool_tokens = Some(MAX_TOOL_TOKENS);
        Self { server, info }
    }
}

#[async_trait]
impl Provider for ServedProvider {
    fn name(&self) -> &str {
        self.server.name()
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }

    fn prepare(&self) {
        self.server.prepare();
    }

    async fn stream(&self, request: Request<'_>) -> ProviderResult<ReplyStream> {
        let question = Question::new(request);
        let mut server = Server(Arc::clone(&self.server));
        Ok(reply_stream(|events| async move { question.answer(&mut server, &events).await }))
    }
}
