//! `goose session`: conversations.

pub(crate) mod args;
pub(crate) mod slash;
