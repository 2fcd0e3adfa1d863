//! [`LocalProvider`]: the model on this machine, behind the same door as every other, and played to its size.
//!
//! A small model does well with a short prompt, one literal example for each tool, and one step at a time; it does badly
//! with schemas, long results and freedom. So everything that the loop sends is made small here:
//!
//! ```text
//! local.rs     the provider: from a request to a stream of events
//! answer.rs    one question and its answer, on a thread that may block
//! engine.rs    the one model and its conversation, loaded when first needed, behind one lock
//! offer.rs     at most eight tools, with short names
//! known.rs     the developer's tools, with examples made by hand
//! example.rs   a literal call of any other tool, made from its schema
//! form.rs      the JSON Schema that an answer must fit: one of the calls, or the final answer
//! prompt.rs    what the model is told about its tools
//! history.rs   the conversation as turns; calls as the literal JSON, results shortened
//! shorten.rs   long texts, with their beginning and end
//! progress.rs  how far it is: what it may do next
//! unseen.rs    files are not written over unread
//! chat.rs      turns as tokens, as the model was trained to see them
//! reading.rs   the answer as it comes: text to stream, or a call
//! saved.rs     conversations kept between runs, in the cache folder
//! ```

mod answer;
mod chat;
mod engine;
mod example;
mod form;
mod history;
mod known;
mod local;
mod offer;
mod progress;
mod prompt;
mod reading;
mod saved;
mod shorten;
mod unseen;

pub use local::{LocalOptions, LocalProvider, PROVIDER_NAME};
pub use saved::forget;
