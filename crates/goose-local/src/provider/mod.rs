//! [`LocalProvider`]: a small model behind the same interface as every other.
//!
//! A small model does well with a short prompt, one literal example of each tool, one step at a time, and a fixed form; it does badly
//! with schemas, long results and freedom. Each request becomes one such step:
//!
//! ```text
//! local.rs             the provider: from a request to a stream of events
//! answer.rs            the loop of one answer
//! events.rs            the channel between the answer and its reader
//! tools.rs             the few tools that are offered, with examples
//! prompt.rs            the prompt before the conversation
//! history.rs           the conversation as turns
//! request_state.rs     the request, the steps since, and what was read of files
//! form.rs              what may be written next: a call, with changes quoted from what was read, or the final answer
//! plan.rs              what the request asks for and which files it writes, which the model says first
//! stream_parser.rs     the text of an answer as it comes
//! focus.rs             prompts for one thing: answering from what was found, writing a command, a new file, or a small one again
//! templated.rs         a larger model that was made to call tools, asked as its own template says
//! text_calls.rs        calls that were written as text
//! served.rs            the same for a small model at a server
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
mod text_calls;
mod tools;

pub(crate) use form::Form;
pub use goose_engine::{LoadOptions, forget};
pub use local::{LocalProvider, PROVIDER_NAME};
pub use served::ServedProvider;
