//! Local models: small language models inside goose, for machines without an API key or a model server.
//!
//! - [`LocalModels`]: provider factory that programs register, with its [`Downloads`];
//! - [`model_store`]: model files on disk, and their downloads;
//! - [`provider`]: the model as a provider, with prompts made for its size;
//! - [`Needs`]: the memory that a model takes, and its speed here;
//! - `backend`: the engine inside goose, or a server.
//!
//! The model itself runs in `goose-engine`.

#![forbid(unsafe_code)]

mod backend;
mod factory;
pub mod model_store;
mod needs;
pub mod provider;

pub use factory::{DownloadProgress, Downloads, LocalModels, download};
pub use needs::{Needs, Speed, free_memory};
