//! Writes GGUF files, honest and otherwise.

pub(crate) use goose_test_support::GgufWriter as Writer;
