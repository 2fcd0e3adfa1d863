//! The models that goose works with. It knows nothing of agents.
//!
//! - [`Provider`]: one model that answers requests, as a stream of [`ReplyEvent`]s; [`Request`]: what it is asked;
//! - [`ProviderError`]: why it did not, by what can be done about it; [`Usage`]: what it cost.

mod error;
mod provider;
mod reply;
mod request;
mod usage;

pub use error::{ProviderError, ProviderResult};
pub use provider::{ModelInfo, Prices, Provider};
pub use reply::{Arguments, Reply, ReplyEvent, ReplyStream, StopReason, ToolCall};
pub use request::{Effort, Request, RequestOptions};
pub use usage::Usage;
