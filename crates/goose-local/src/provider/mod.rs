//! [`LocalProvider`]: a small model behind the same interface as every other.
//!
//! A small model does well with a short prompt, one literal example of each tool, one step at a time, and
//! a fixed form. It does badly with schemas, long results and freedom. Each request becomes one such
//! step:
//!
//! ```text
//! local.rs          the provider: from a request to a stream of events
//! answer.rs         one request and its answer
//! events.rs         the channel between the answer and its reader
//! tools.rs          the few offered tools, with examples
//! prompt.rs         the prompt before the conversation
//! history.rs        the conversation as turns
//! request_state.rs  the request, the steps since then, and the known files
//! form.rs           the allowed calls: edits quote what was read
//! plan.rs           the goal of the request and its files, as stated by the model
//! stream_parser.rs  the text of a step while it is written
//! focus.rs          focused prompts: answer from results, write a command, write or rewrite a file
//! templated.rs      requests to larger models, through their own template
//! served.rs         small models on servers
//! ```

mod answer;
#[cfg(test)]
mod conversation_tests;
mod events;
mod focus;
mod form;
mod history;
mod local;
mod plan;
mod prompt;
mod request_state;
mod served;
mod stream_parser;
mod templated;
mod tools;

pub(crate) use form::Form;
pub use goose_engine::{LoadOptions, forget};
pub(crate) use local::bounded_context;
pub use local::{LocalProvider, PROVIDER_NAME};
pub use served::ServedProvider;
