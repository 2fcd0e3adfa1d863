//! [`Lookup`]: where the registry finds what the user has set. The core reads no environment of its own.

use std::{cell::RefCell, collections::BTreeMap};

use crate::{endpoint::ApiKey, registry::SetupError};

/// Why it cannot be said whether something is set. The texts say where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// It is set, to something that cannot be read. To go on without it would be to do something else than was said.
    #[error("{0}")]
    Unreadable(String),
    /// A place that could have it does not answer. What can be done without it is done.
    #[error("{0}")]
    NoAnswer(String),
}

/// The result of a lookup: `None` if it is not set.
pub type LookedUp<T> = Result<Option<T>, LookupError>;

/// The user's settings, by name. Programs pass their configuration; a plain map works too.
pub trait Lookup: Send + Sync {
    /// A setting, such as `OPENAI_HOST`.
    fn value(&self, name: &str) -> LookedUp<String>;

    /// A secret, such as `OPENAI_API_KEY`.
    fn secret(&self, name: &str) -> LookedUp<ApiKey>;
}

impl Lookup for BTreeMap<String, String> {
    fn value(&self, name: &str) -> LookedUp<String> {
        Ok(self.get(name).cloned())
    }

    fn secret(&self, name: &str) -> LookedUp<ApiKey> {
        Ok(self.get(name).map(ApiKey::new))
    }
}

/// A [`Lookup`] that is asked many things before its first problem is looked at. Nothing may be sent before
/// [`judge`](Self::judge) has said that there was none.
pub(crate) struct TrackedLookup<'a> {
    lookup: &'a dyn Lookup,
    unreadable: RefCell<Option<String>>,
    no_answer: RefCell<Option<String>>,
}

impl<'a> TrackedLookup<'a> {
    pub(crate) fn new(lookup: &'a dyn Lookup) -> Self {
        Self { lookup, unreadable: RefCell::default(), no_answer: RefCell::default() }
    }

    pub(crate) fn value(&self, name: &str) -> Option<String> {
        self.noted(self.lookup.value(name))
    }

    pub(crate) fn secret(&self, name: &str) -> Option<ApiKey> {
        self.noted(self.lookup.secret(name))
    }

    fn noted<T>(&self, found: LookedUp<T>) -> Option<T> {
        let (place, reason) = match found {
            Ok(found) => return found,
            Err(LookupError::Unreadable(reason)) => (&self.unreadable, reason),
            Err(LookupError::NoAnswer(reason)) => (&self.no_answer, reason),
        };
        place.borrow_mut().get_or_insert(reason);
        None
    }

    /// Returns the result or the first problem: an unreadable setting takes precedence over what it led to.
    pub(crate) fn judge<T>(self, made: Result<T, SetupError>) -> Result<T, SetupError> {
        if let Some(reason) = self.unreadable.into_inner() {
            return Err(SetupError::Unreadable { reason });
        }
        made.map_err(|error| match (error, self.no_answer.into_inner()) {
            (missing @ (SetupError::MissingKey { .. } | SetupError::MissingSetting { .. }), Some(reason)) => {
                SetupError::NoAnswer { missing: Box::new(missing), reason }
            }
            (error, _) => error,
        })
    }
}
