//! A small language model inside goose, for machines with no key and no server.

pub mod shelf;
