//! [`Provider`]: one model at one service, ready to be asked; [`Request`]: a question to it; [`ProviderFactory`]:
//! models that a program brings itself.

use std::sync::Arc;

use async_trait::async_trait;
use goose_extension::{MAX_MEDIA_BYTES, Message, Tool};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::ProviderResult,
    lookup::Lookup,
    registry::{ProviderInfo, SetupError},
    reply::ReplyStream,
};

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

    /// Most tools that the service takes, if it has a limit. It refuses a request with more of them.
    fn max_tools(&self) -> Option<usize> {
        None
    }

    /// Largest image that the service takes, as base64. A larger one is replaced by a note.
    fn max_image_bytes(&self) -> usize {
        MAX_MEDIA_BYTES
    }

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
    /// Only what it needs, for models that lose their way in long prompts. It sees the names of the files in the
    /// working folder with each question, so that it does not guess them.
    Brief,
}

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
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

/// One question to a model: the whole conversation, and the tools it may ask for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The conversation, oldest first. Valid: each tool call has exactly one result, in the message after it.
    pub messages: &'a [Arc<Message>],
    /// The tools, under the names that the model uses.
    pub tools: &'a [Tool],
    /// The options.
    pub options: &'a RequestOptions,
}

/// Options for an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestOptions {
    /// The sampling temperature.
    pub temperature: Option<f32>,
    /// Most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// The reasoning effort.
    pub effort: Option<Effort>,
    /// A JSON Schema that the answer's text must fit. Only servers of local models take one.
    pub schema: Option<Value>,
    /// The conversation's id: services that cache by a key use it.
    pub conversation: Option<String>,
    /// True if the conversation is not saved: then nothing of it may be written to the disk.
    pub is_ephemeral: bool,
}

/// The reasoning effort of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Not at all, where that can be had.
    None,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Long.
    High,
}

impl Effort {
    /// As services say it; there is no common word for no thinking at all.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Low => Some("low"),
            Self::Medium => Some("medium"),
            Self::High => Some("high"),
        }
    }
}

/// Models that a program brings itself, such as one that runs inside it. Registered with
/// [`Registry::with_factory`](crate::Registry::with_factory), they are found by the ordinary lookup under their
/// [`name`](Self::name).
#[async_trait]
pub trait ProviderFactory: Send + Sync {
    /// The name that people write, such as `local`.
    fn name(&self) -> &str;

    /// The models that can be chosen, the default one first.
    fn info(&self) -> ProviderInfo;

    /// Gets what a model needs and this machine does not have yet, such as its file, with the consent of the person.
    /// Called before a conversation begins, never in the middle of one.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be had, such as a missing consent, and what to do.
    async fn fetch(&self, _model: &str, _lookup: &dyn Lookup) -> Result<(), SetupError> {
        Ok(())
    }

    /// Builds the provider for a model. Downloads nothing.
    ///
    /// # Errors
    ///
    /// The reason why the model cannot be used, and what to do.
    fn build(&self, model: &str, lookup: &dyn Lookup) -> Result<Arc<dyn Provider>, SetupError>;

    /// Returns a provider that asks the model of another one in a way that suits a small model.
    fn for_small_model(&self, _provider: Arc<dyn Provider>) -> Option<Arc<dyn Provider>> {
        None
    }
}
