//! Local models: a small language model inside goose, for machines with no key and no server.
//!
//! - [`LocalModels`]: the factory that other crates register, with its [`Downloads`];
//! - [`model_store`]: the model files on disk, and their downloads;
//! - [`provider`]: the model as a provider, with prompts made for its size; `backend`: what writes for it.
//!
//! The model itself runs in `goose-engine`.

#![forbid(unsafe_code)]

mod backend;
mod factory;
pub mod model_store;
pub mod provider;

pub use factory::{DownloadProgress, Downloads, LocalModels, download};
