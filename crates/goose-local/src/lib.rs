//! Local models: a small language model inside goose, for machines with no key and no server.
//!
//! - [`model_store`]: the model files on disk, and their downloads;
//! - [`provider`]: the model as a provider, with prompts made for its size.
//!
//! The model itself runs in `goose-engine`.

#![forbid(unsafe_code)]

pub mod model_store;
pub mod provider;
