//! The models that goose works with. It knows nothing of agents.
//!
//! - [`Registry`]: from a [`ModelRef`] to a [`Provider`]; [`Lookup`]: the user's settings; [`SetupError`]: a problem
//!   with them, and the fix; [`Choice`]: the model if the user chooses none; [`CustomProviders`]: the user's own
//!   services; [`ProviderFactory`]: models that a program brings itself;
//! - [`model_info`]: facts about models; [`ModelOverrides`]: the user's corrections;
//! - [`Provider`]: one model that answers a [`Request`] with a stream of [`ReplyEvent`]s;
//! - [`ProviderError`]: a failure, by what can be done about it; [`Usage`]: the tokens of an answer;
//! - [`OpenAiChat`], [`OpenAiResponses`], [`Anthropic`], [`Ollama`], [`Gemini`], [`Bedrock`]: the wires;
//! - [`Collector`]: the events of an answer as one [`Reply`]; [`RetryPolicy`]: the pauses between retries;
//! - [`parse_text_calls`]: calls that a model wrote as text;
//! - [`BrowserLogin`], [`DeviceLogin`]: logins that get a key from a service;
//! - [`Endpoint`]: the address of a service, its key and its options; [`ApiKey`]: a key that cannot be printed.

#![forbid(unsafe_code)]

mod catalogue;
mod custom;
mod endpoint;
mod error;
mod failure;
mod http;
mod login;
mod lookup;
mod model_ref;
mod provider;
mod provider_model;
mod registry;
mod reply;
mod text_calls;
mod wires;

pub use catalogue::{ModelOverride, ModelOverrides, model_info};
pub use custom::{CustomProvider, CustomProviderError, CustomProviders, MAX_PROVIDER_FILE_BYTES};
pub use endpoint::{ApiKey, Dialect, Endpoint, KeyHeader};
pub use error::{ProviderError, ProviderResult, RetryPolicy};
pub use login::{BrowserLogin, DeviceLogin, DeviceToken, LoginError, LoginMethod};
pub use lookup::{LookedUp, Lookup, LookupError};
pub use model_ref::{BadModelRef, ModelRef};
pub use provider::{
    Effort, ModelInfo, Prices, PromptStyle, Provider, ProviderFactory, Request, RequestOptions,
};
pub use provider_model::ProviderModel;
pub use registry::{
    Choice, ChoiceReason, KEY_ORDER, LOCAL_SERVERS, ProviderInfo, Registry, SMALL_MODEL_PARAMETERS,
    SettingInfo, SetupError, is_here,
};
pub use reply::{Arguments, Collector, Reply, ReplyEvent, ReplyStream, StopReason, ToolCall, Usage};
pub use text_calls::{TEXT_CALL_MARK, TextCall, parse_text_calls, plain_text_len};
pub use wires::{Anthropic, Bedrock, Gemini, Ollama, OpenAiChat, OpenAiResponses, chat_request};
