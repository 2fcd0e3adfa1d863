//! The small model inside goose, through its public door.

mod provider;
mod shelf;
