//! [`AskedByTool`]: the fast model, as tools may ask it.

use std::sync::Arc;

use async_trait::async_trait;
use goose_extension::{Message, MessageContent, Model, Sampled, Sampling, ToolError, ToolResult};
use goose_providers::{Provider, ProviderResult, Reply, Request, RequestOptions};

use super::spent::Spent;

/// A model that tools may ask. What they spend goes into the session's books.
pub(super) struct AskedByTool {
    pub(super) model: Arc<dyn Provider>,
    pub(super) spent: Arc<Spent>,
}

#[async_trait]
impl Model for AskedByTool {
    async fn sample(&self, request: Sampling) -> ToolResult<Sampled> {
        let messages =
            request.messages().map(|(role, text)| Message::new(role, [MessageContent::text(text)]));
        let messages: Vec<Arc<Message>> = messages.map(Arc::new).collect();
        let options =
            RequestOptions { max_tokens: Some(request.max_tokens().into()), ..RequestOptions::default() };
        let system = request.system_prompt().unwrap_or_default();
        let request = Request { system, messages: &messages, tools: &[], options: &options };
        let reply = async { Reply::collect(self.model.stream(request).await?).await };
        let reply: ProviderResult<Reply> = reply.await;
        let reply =
            reply.map_err(|error| ToolError::execution(format!("The model gave no answer: {error}")))?;
        self.spent.add(self.model.as_ref(), reply.usage);
        Ok(Sampled::new(self.model.model().name.as_str(), reply.message.text()))
    }
}
