//! The models that goose works with. It knows nothing of agents.
//!
//! - [`Registry`]: from a [`ModelRef`] to a [`Provider`]; [`Lookup`]: the user's settings; [`SetupError`]:
//!   why not, and what to do; [`Choice`]: the model if the user chooses none; [`CustomProviders`]: services that users describe themselves;
//!   [`ProviderFactory`]: models that a program brings itself;
//! - [`model_info`]: what is known of models; [`ModelOverrides`]: what the user knows better;
//! - [`Provider`]: one model that answers requests, as a stream of [`ReplyEvent`]s; [`Request`]: what it is asked;
//! - [`ProviderError`]: why it did not, by what can be done about it; [`Usage`]: what it cost;
//! - [`OpenAiChat`], [`OpenAiResponses`], [`Anthropic`], [`Ollama`], [`Gemini`], [`Bedrock`]: the wires;
//! - [`Collector`]: the events of an answer as one [`Reply`]; [`RetryPolicy`]: whether to ask again, and when;
//! - [`Endpoint`]: where a service is asked, and with what; [`ApiKey`]: a key that cannot be printed.

#![forbid(unsafe_code)]

mod api_key;
mod catalogue;
mod collector;
mod custom;
mod endpoint;
mod error;
mod factory;
mod failure;
mod http;
mod http_failure;
mod lookup;
mod model_ref;
mod provider;
mod registry;
mod reply;
mod request;
mod retry;
mod usage;
mod wires;

pub use api_key::ApiKey;
pub use catalogue::{ModelOverride, ModelOverrides, model_info};
pub use collector::Collector;
pub use custom::{CustomProvider, CustomProviderError, CustomProviders, MAX_PROVIDER_FILE_BYTES};
pub use endpoint::{Dialect, Endpoint, KeyHeader};
pub use error::{ProviderError, ProviderResult};
pub use factory::ProviderFactory;
pub use lookup::{LookedUp, Lookup, LookupError};
pub use model_ref::{BadModelRef, ModelRef};
pub use provider::{ModelInfo, Prices, PromptStyle, Provider};
pub use registry::{
    AnsweringServer, Choice, ChoiceReason, KEY_ORDER, LOCAL_SERVERS, ProviderInfo, Registry, SettingInfo,
    SetupError,
};
pub use reply::{Arguments, Reply, ReplyEvent, ReplyStream, StopReason, ToolCall};
pub use request::{Effort, Request, RequestOptions};
pub use retry::RetryPolicy;
pub use usage::Usage;
pub use wires::{Anthropic, Bedrock, Gemini, Ollama, OpenAiChat, OpenAiResponses};
