//! [`Provider`]: one model at one service, ready to be asked.

use async_trait::async_trait;

use crate::{error::ProviderResult, reply::ReplyStream, request::Request};

/// One model at one service. Shared by reference; asking it does not change it.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The service, as users name it: `openai`.
    fn name(&self) -> &str;

    /// The model, and what is known of it.
    fn model(&self) -> &ModelInfo;

    /// Does what can be done before the first request, such as reading root certificates. It may block for some
    /// milliseconds, and need not be called.
    fn prepare(&self) {}

    /// Asks the model. Nothing is retried here; that is the loop's business. The
    /// stream borrows nothing from the request. Dropping the future or the stream ends the request.
    ///
    /// # Errors
    ///
    /// Why no answer began. What goes wrong later is the stream's last item.
    async fn stream(&self, request: Request<'_>) -> ProviderResult<ReplyStream>;
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The name that the service knows it by.
    pub name: String,
    /// How many tokens fit into one request with its answer.
    pub context_limit: u64,
    /// How many tokens an answer may have, where that is known.
    pub max_output: Option<u64>,
    /// Whether it can look at images.
    pub sees_images: bool,
    /// What it costs, where that is known.
    pub prices: Option<Prices>,
    /// How much it is told before a conversation.
    pub prompt_style: PromptStyle,
    /// How many tokens the tools take at most, where the provider shows the model only some of them.
    pub max_tool_tokens: Option<u64>,
}

/// How much a model is told before a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PromptStyle {
    /// Everything: who it is, how it works, and what extensions and projects say.
    #[default]
    Full,
    /// Only what it needs, for models that lose their way in long prompts. It sees the names of the files in the working
    /// folder with each question, so that it does not guess them.
    Brief,
}

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Prices {
    /// What the model reads.
    pub input: f64,
    /// What it writes.
    pub output: f64,
    /// What it reads from its cache.
    pub cached_input: Option<f64>,
    /// What is put into its cache.
    pub cache_write: Option<f64>,
}

impl ModelInfo {
    /// A model of which only the name and the size are known.
    pub fn new(name: impl Into<String>, context_limit: u64) -> Self {
        Self {
            name: name.into(),
            context_limit,
            max_output: None,
            sees_images: true,
            prices: None,
            prompt_style: PromptStyle::Full,
            max_tool_tokens: None,
        }
    }
}
