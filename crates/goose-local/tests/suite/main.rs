//! The engine through its public door, on models that the tests write themselves.

mod hostile;
mod model;
mod reference;
mod saved;
mod tiny;
mod tokenizer;
mod writer;
