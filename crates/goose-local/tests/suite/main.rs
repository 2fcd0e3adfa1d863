//! Local models through the public interface, on models that the tests write themselves.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]

mod model_store;
mod provider;
