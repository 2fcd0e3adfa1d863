//! [`ProviderModel`]: a provider's model as apps ask it, for programs that have no session.

use std::sync::Arc;

use async_trait::async_trait;
use goose_extension::{Message, MessageContent, Model, Sampled, Sampling, ToolError, ToolResult};

use crate::{Provider, ProviderResult, Reply, Request, RequestOptions, StopReason, Usage};

type OnUsage = Arc<dyn Fn(Usage) + Send + Sync>;

/// Asks a provider's model. The answer is streamed, so that a long one is not taken for a service that hangs; a future
/// that is dropped ends the request.
#[derive(Clone)]
pub struct ProviderModel {
    provider: Arc<dyn Provider>,
    on_usage: Option<OnUsage>,
}

impl ProviderModel {
    /// Asks this model.
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self { provider, on_usage: None }
    }

    /// Reports the tokens of each answer.
    #[must_use]
    pub fn on_usage(mut self, report: impl Fn(Usage) + Send + Sync + 'static) -> Self {
        self.on_usage = Some(Arc::new(report));
        self
    }
}

#[async_trait]
impl Model for ProviderModel {
    async fn sample(&self, request: Sampling) -> ToolResult<Sampled> {
        let messages =
            request.messages().map(|(role, text)| Message::new(role, [MessageContent::text(text)]));
        let messages: Vec<Arc<Message>> = messages.map(Arc::new).collect();
        let most = self.provider.model().max_output.unwrap_or(u64::MAX);
        let max_tokens = Some(u64::from(request.max_tokens()).min(most));
        let options = RequestOptions { max_tokens, ..RequestOptions::default() };
        let system = request.system_prompt().unwrap_or_default();
        let request = Request { system, messages: &messages, tools: &[], options: &options };
        let reply = async { Reply::collect(self.provider.stream(request).await?).await };
        let reply: ProviderResult<Reply> = reply.await;
        let reply = reply.map_err(|error| {
            ToolError::execution(format!("The model gave no answer: {error}. Try again, or tell the user."))
        })?;
        if let Some(report) = &self.on_usage {
            report(reply.usage);
        }
        if reply.stop == StopReason::MaxTokens {
            return Err(ToolError::execution(
                "The model's answer was too long and was cut off. Ask for a smaller app, or for fewer changes at once.",
            ));
        }
        Ok(Sampled::new(self.provider.model().name.as_str(), reply.message.text()))
    }
}
