//! Keys of `config.yaml` that several files use.

/// Mapping of extensions.
pub(crate) const EXTENSIONS: &str = "extensions";

/// Model of the processor.
pub(crate) const MODEL: &str = "GOOSE_MODEL";

/// Provider of the processor.
pub(crate) const PROVIDER: &str = "GOOSE_PROVIDER";

/// Provider in files that goose 1.52 wrote. It takes precedence over `GOOSE_PROVIDER` there.
pub const ACTIVE_PROVIDER: &str = "active_provider";
