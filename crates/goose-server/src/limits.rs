//! [`Limits`]: counts of requests, streams and runs per token. `docs/server.md` lists them with their status codes.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use parking_lot::Mutex;

use crate::{
    error::{ApiError, ApiResult},
    tokens::Client,
};

/// Requests per second that a token may make in the long run.
const REQUESTS_PER_SECOND: f64 = 200.0;
/// Requests that a token may make at once.
const REQUEST_BURST: f64 = 2_000.0;
/// Refused logins per second, of all clients together.
const REFUSALS_PER_SECOND: f64 = 20.0;
/// Refused logins at once.
const REFUSAL_BURST: f64 = 1_000.0;
/// Open streams of a token.
pub(crate) const MAX_STREAMS: usize = 1_024;
/// Runs of a token that have not ended.
pub(crate) const MAX_RUNS: usize = 1_024;
/// Tokens that are counted. The counts of others start again.
const MAX_CLIENTS: usize = 2_048;

/// Counts of all clients.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    clients: Mutex<HashMap<Arc<str>, Counts>>,
    refusals: Mutex<Option<Bucket>>,
}

#[derive(Debug, Clone, Default)]
struct Counts {
    requests: Option<Bucket>,
    streams: Arc<AtomicUsize>,
    runs: Arc<AtomicUsize>,
}

/// Token bucket.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    /// Takes one from the bucket. Returns false if it is empty.
    fn take(bucket: &mut Option<Self>, rate: f64, burst: f64) -> bool {
        let now = Instant::now();
        let earlier = bucket.unwrap_or(Self { left: burst, at: now });
        let left = (earlier.left + now.duration_since(earlier.at).as_secs_f64() * rate).min(burst);
        let is_granted = left >= 1.0;
        *bucket = Some(Self { left: if is_granted { left - 1.0 } else { left }, at: now });
        is_granted
    }
}

/// A place under a limit, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit(Arc<AtomicUsize>);

impl Permit {
    fn new(count: &Arc<AtomicUsize>, limit: usize) -> Option<Self> {
        let added = count
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| (count < limit).then_some(count + 1));
        added.is_ok().then(|| Self(Arc::clone(count)))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Limits {
    fn counts<T>(&self, client: &Client, of: impl FnOnce(&mut Counts) -> T) -> T {
        let mut clients = self.clients.lock();
        if clients.len() >= MAX_CLIENTS && !clients.contains_key(&client.id) {
            clients
                .retain(|_, counts| Arc::strong_count(&counts.streams) + Arc::strong_count(&counts.runs) > 2);
        }
        of(clients.entry(Arc::clone(&client.id)).or_default())
    }

    /// Counts a request.
    pub(crate) fn request(&self, client: &Client) -> ApiResult<()> {
        let take =
            |counts: &mut Counts| Bucket::take(&mut counts.requests, REQUESTS_PER_SECOND, REQUEST_BURST);
        match self.counts(client, take) {
            true => Ok(()),
            false => {
                Err(ApiError::too_many("too_many_requests", "There are too many requests with this token."))
            }
        }
    }

    /// Counts a refused login.
    pub(crate) fn refusal(&self) -> ApiResult<()> {
        match Bucket::take(&mut self.refusals.lock(), REFUSALS_PER_SECOND, REFUSAL_BURST) {
            true => Ok(()),
            false => Err(ApiError::too_many(
                "too_many_refusals",
                "There are too many requests without a valid token.",
            )),
        }
    }

    /// Counts a stream until the permit is dropped.
    pub(crate) fn stream(&self, client: &Client) -> ApiResult<Permit> {
        let count = self.counts(client, |counts| Arc::clone(&counts.streams));
        Permit::new(&count, MAX_STREAMS).ok_or_else(|| {
            ApiError::too_many(
                "too_many_streams",
                format!("This token has {MAX_STREAMS} open streams already."),
            )
        })
    }

    /// Counts a run until the permit is dropped.
    pub(crate) fn run(&self, client: &Client) -> ApiResult<Permit> {
        let count = self.counts(client, |counts| Arc::clone(&counts.runs));
        Permit::new(&count, MAX_RUNS).ok_or_else(|| {
            ApiError::too_many(
                "too_many_runs",
                format!("This token has {MAX_RUNS} runs already that have not ended."),
            )
        })
    }
}
