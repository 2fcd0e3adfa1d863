//! Writer of GGUF files, valid or not.

pub(crate) use goose_test_support::GgufWriter as Writer;
