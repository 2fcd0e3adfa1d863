//! From what a model computes to text: choosing tokens, within a grammar, with an end.
//!
//! ```text
//! vocabulary.rs   the tokens as the grammar's library wants them, built once per model
//! grammar.rs      what may be written next
//! sample.rs       which of the likely tokens it is
//! repetition.rs   notices a text that goes round in circles
//! run.rs          the loop: feed, choose, hand out, until the end
//! error.rs        why no text came
//! ```
//!
//! Nothing here is asynchronous; whoever calls has a thread to spare.

mod error;
mod grammar;
mod repetition;
mod run;
mod sample;
mod vocabulary;

pub(crate) use error::GenerateError;
pub(crate) use grammar::Grammar;
pub(crate) use run::{Ended, Generated, Limits, Writing};
pub(crate) use sample::{Sampler, Sampling};
pub(crate) use vocabulary::Vocabulary;
