//! The models that goose works with. It knows nothing of agents.
//!
//! - [`Provider`]: one model that answers requests, as a stream of [`ReplyEvent`]s; [`Request`]: what it is asked;
//! - [`ProviderError`]: why it did not, by what can be done about it; [`Usage`]: what it cost;
//! - [`Endpoint`]: where a service is asked, and with what; [`ApiKey`]: a key that cannot be printed.

mod api_key;
mod catalogue;
mod custom;
mod endpoint;
mod error;
mod lookup;
mod model_ref;
mod provider;
mod reply;
mod request;
mod usage;

pub use api_key::ApiKey;
pub use catalogue::{DEFAULT_CONTEXT_LIMIT, ModelOverride, ModelOverrides, model_info};
pub use custom::{
    CustomModel, CustomProvider, CustomProviderError, CustomProviders, CustomVariable, Engine, MAX_PROVIDER_FILE_BYTES,
    MAX_PROVIDER_FILES, WireApi,
};
pub use endpoint::{Dialect, Endpoint, KeyHeader};
pub use error::{ProviderError, ProviderResult};
pub use lookup::Lookup;
pub use model_ref::{BadModelRef, MAX_MODEL_REF_BYTES, ModelRef};
pub use provider::{ModelInfo, Prices, Provider};
pub use reply::{Arguments, Reply, ReplyEvent, ReplyStream, StopReason, ToolCall};
pub use request::{Effort, Request, RequestOptions};
pub use usage::Usage;
