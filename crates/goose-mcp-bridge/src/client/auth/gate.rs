//! One login at a time for each server, shared by all who wait for it: also where it fails.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Mutex, MutexGuard};

use super::challenge::Challenge;
use crate::client::http::HttpError;

/// Passed by one at a time: by those who have a person log in, and by those who renew or replace a token.
#[derive(Default)]
pub(super) struct Gate {
    login: Mutex<LastFailure>,
    renewal: Mutex<()>,
    failures: AtomicU64,
}

/// The last login that failed, if any did.
#[derive(Default)]
pub(super) struct LastFailure(Option<Failure>);

struct Failure {
    /// How many had failed with it.
    nth: u64,
    scope: Option<String>,
    error: HttpError,
}

impl Gate {
    /// How many logins have failed so far.
    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Acquire)
    }

    /// Held while a person logs in, which may take long.
    pub(super) async fn login(&self) -> MutexGuard<'_, LastFailure> {
        self.login.lock().await
    }

    /// Held while a token is renewed or replaced; nobody waits for a person here.
    pub(super) async fn renewal(&self) -> MutexGuard<'_, ()> {
        self.renewal.lock().await
    }

    pub(super) fn note(&self, last: &mut LastFailure, challenge: &Challenge, error: &HttpError) {
        let nth = self.failures.fetch_add(1, Ordering::AcqRel) + 1;
        last.0 = Some(Failure { nth, scope: challenge.scope.clone(), error: error.clone() });
    }
}

impl LastFailure {
    /// Why the login that a challenge waited for failed.
    pub(super) fn of(&self, challenge: &Challenge) -> Option<HttpError> {
        let shared = |it: &&Failure| it.nth > challenge.failures && it.scope == challenge.scope;
        self.0.as_ref().filter(shared).map(|it| it.error.clone())
    }
}
