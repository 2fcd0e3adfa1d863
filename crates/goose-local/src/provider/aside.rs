//! What the model is asked in a conversation of its own, with nothing else in mind: it does better so where it has to choose
//! among lines, or to change a file. Its main conversation stays as it is.

use std::sync::Arc;

use super::{engine::Loaded, history::Turn};
use crate::{
    Sequence,
    generate::{GenerateError, Generated, Limits, Sampler, Sampling, Writing},
};

/// Whether it can be asked, with so much room for the answer.
pub(super) fn fits(loaded: &Loaded, turns: &[Turn], room: usize) -> bool {
    loaded.tokens(turns).len() + room <= loaded.capacity
}

/// What is asked aside.
pub(super) struct Aside<'a> {
    pub(super) turns: &'a [Turn],
    /// How long the answer may get, in tokens.
    pub(super) room: usize,
    pub(super) sampling: Sampling,
}

/// Asks, and hands out the answer as it comes, until it is over.
pub(super) fn ask(
    loaded: &Loaded,
    Aside { turns, room, sampling }: Aside<'_>,
    is_over: &dyn Fn() -> bool,
    hand_out: &mut dyn FnMut(&[u8]),
) -> Result<Generated, GenerateError> {
    let tokens = loaded.tokens(turns);
    let capacity = (tokens.len() + room).min(loaded.capacity);
    let mut sequence = Sequence::new(Arc::clone(&loaded.model), capacity)?;
    let writing = Writing {
        model: &loaded.model,
        sequence: &mut sequence,
        grammar: None,
        sampler: Sampler::new(sampling),
        limits: Limits { tokens: room },
    };
    writing.write(&tokens, is_over, hand_out)
}
