//! [`ServedProvider`]: a small model at a server, such as Ollama, LM Studio or llama.cpp's. It is asked step by step as the one inside
//! goose is; the server keeps its answers within a JSON Schema.

use std::sync::Arc;

use async_trait::async_trait;
use goose_providers::{ModelInfo, PromptStyle, Provider, ProviderResult, ReplyStream, Request};

use crate::backend::Server;

use super::{answer::Question, events::reply_stream, local::MAX_TOOL_TOKENS};

/// A small model at a server.
pub struct ServedProvider {
    server: Arc<dyn Provider>,
    info: ModelInfo,
}

impl ServedProvider {
    /// Asks the model of this provider.
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
