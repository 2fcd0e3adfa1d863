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

/// The facts about a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The name that the service knows it by.
    pub name: String,
    /// Tokens that fit into a request and its answer together.
    pub context_limit: u64,
    /// Most tokens of an answer, if known.
    pub max_output: Option<u64>,
    /// True if it accepts images.
    pub sees_images: bool,
    /// Its prices, if known.
    pub prices: Option<Prices>,
    /// The length of its prompt.
    pub prompt_style: PromptStyle,
    /// Most tokens of the tools, if the provider shows the model only some of them.
    pub max_tool_tokens: Option<u64>,
}

/// The length of the prompt before a conversation.
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
    /// Input.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input that the service has cached.
    pub cached_input: Option<f64>,
    /// Input that is written to the cache.
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
