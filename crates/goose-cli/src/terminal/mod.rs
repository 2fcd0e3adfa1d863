//! What a person at a terminal sees of the work, and how they answer.

pub(crate) mod markdown;
