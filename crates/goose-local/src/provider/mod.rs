//! [`LocalProvider`]: the model on this machine, behind the same door as every other, and played to its size.
//!
//! A small model does well with a short prompt, one literal example for each tool, and one step at a time; it does badly
//! with schemas, long results and freedom. So everything that the loop sends is made small here:
//!
//! ```text
//! local.rs     the provider: from a request to a stream of events
//! answer.rs    one question and its answer, on a thread that may block
//! engine.rs    the one model, loaded when first needed, behind one lock
//! offer.rs     at most eight tools, with short names
//! known.rs     the developer's tools, with examples made by hand
//! example.rs   a literal call of any other tool, made from its schema
//! form.rs      what an answer must fit: one of the calls, or the final answer
//! quoting.rs   changes of what was seen, and of nothing else
//! prompt.rs    what the model is told about its tools
//! history.rs   the conversation as turns; calls as the literal JSON, results shortened
//! page.rs      a part of a file;  found.rs  what a search found;  shorten.rs  long texts, with their beginning and end
//! removal.rs   what is only taken away is not replaced
//! renamed.rs   where a name still is that was changed elsewhere
//! steps.rs     the calls that were made, and what came of them
//! progress.rs  how far it is: what it may do next
//! seen.rs      what was seen of the files;  blind.rs  what is not changed unseen
//! wanted.rs    a file that is asked for comes before other changes
//! named.rs     the files that a task names are looked at
//! claims.rs    whether an answer may be believed;  numbers.rs  which numbers it may say
//! rewrite.rs   a small file, written anew
//! plain.rs     a question and what was found, and nothing else;  table.rs  what a table adds up to
//! reading.rs   the bytes of an answer: text, or a call;  voice.rs  what of it is handed out
//! wording.rs   the words of a text
//! ```

mod answer;
mod blind;
mod claims;
mod engine;
mod example;
#[cfg(test)]
mod examples;
mod form;
mod found;
mod history;
mod known;
mod local;
mod named;
mod numbers;
mod offer;
mod page;
mod plain;
mod progress;
mod prompt;
mod quoting;
mod reading;
mod removal;
mod renamed;
mod rewrite;
mod seen;
mod shorten;
mod steps;
mod table;
mod voice;
mod wanted;
mod wording;

pub use goose_engine::forget;
pub use local::{LocalOptions, LocalProvider, PROVIDER_NAME};
