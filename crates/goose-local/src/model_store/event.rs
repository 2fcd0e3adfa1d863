//! [`Event`]: what is told while a model is fetched or checked.

use super::catalogue::Source;

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Another goose fetches it; it is waited for.
    Waiting,
    /// A source is asked for what comes after so many bytes.
    Asking {
        /// The source.
        source: &'a Source,
        /// How much is here already.
        from: u64,
    },
    /// So much is here.
    Bytes {
        /// How much is here.
        bytes: u64,
        /// How much it will be.
        total: u64,
    },
    /// So much is here with what another program fetches now. What that has not ended is lost where it is stopped.
    Coming {
        /// How much is here, or comes.
        bytes: u64,
        /// How much it will be.
        total: u64,
    },
    /// The source is asked again after a fault.
    Again {
        /// What happened.
        reason: &'a str,
    },
    /// A source does not have it; the next one is asked, where there is one.
    Failed {
        /// The source.
        source: &'a Source,
        /// Why.
        reason: &'a str,
    },
    /// So much was checked.
    Checked {
        /// How much was checked.
        bytes: u64,
        /// How much there is.
        total: u64,
    },
}

/// Who is told. It is called often, and should be quick.
pub type Events<'a> = &'a (dyn Fn(Event<'_>) + Send + Sync);
