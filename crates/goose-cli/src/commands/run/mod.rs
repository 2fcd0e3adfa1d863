//! `goose run`: one task, from begin to end.

pub(crate) mod args;
mod instructions;
