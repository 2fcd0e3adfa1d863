//! Local models through the public interface, on models that the tests write themselves.

mod model_store;
mod provider;
