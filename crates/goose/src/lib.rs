//! The core of goose.
