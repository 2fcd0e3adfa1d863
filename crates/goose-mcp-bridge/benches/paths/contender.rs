//! One way to make a call, and how long it took each time.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use goose_mcp_bridge::Lifecycle;

/// A path that both sides have, on an era of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Duplex(Lifecycle),
    Stdio(Lifecycle),
    Http(Lifecycle),
}

impl Wire {
    pub(crate) const ALL: [Self; 6] = [
        Self::Duplex(Lifecycle::Discover),
        Self::Duplex(Lifecycle::Initialize),
        Self::Stdio(Lifecycle::Discover),
        Self::Stdio(Lifecycle::Initialize),
        Self::Http(Lifecycle::Discover),
        Self::Http(Lifecycle::Initialize),
    ];

    pub(crate) fn name(self) -> String {
        let (path, lifecycle) = match self {
            Self::Duplex(lifecycle) => ("duplex", lifecycle),
            Self::Stdio(lifecycle) => ("stdio", lifecycle),
            Self::Http(lifecycle) => ("http", lifecycle),
        };
        let era = if lifecycle == Lifecycle::Initialize { "2025-11-25" } else { "2026-07-28" };
        format!("{path} {era}")
    }
}

type Call = Box<dyn Fn() -> BoxFuture<'static, anyhow::Result<()>>>;

/// Something that can make the call.
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) wire: Option<Wire>,
    pub(crate) is_ours: bool,
    calls_per_round: u32,
    call: Call,
    /// The time of one call, for every round.
    pub(crate) rounds: Vec<Duration>,
    /// The time of every single call.
    pub(crate) calls: Vec<Duration>,
}

impl Contender {
    pub(crate) fn new<F>(
        name: impl Into<String>,
        wire: Option<Wire>,
        is_ours: bool,
        calls_per_round: u32,
        call: impl Fn() -> F + 'static,
    ) -> Self
    where
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        Self {
            name: name.into(),
            wire,
            is_ours,
            calls_per_round,
            call: Box::new(move || Box::pin(call())),
            rounds: Vec::new(),
            calls: Vec::new(),
        }
    }

    pub(crate) async fn warm_up(&self) -> anyhow::Result<()> {
        for _ in 0..self.calls_per_round {
            (self.call)().await?;
        }
        Ok(())
    }

    pub(crate) async fn round(&mut self) -> anyhow::Result<()> {
        let begin = Instant::now();
        let mut last = begin;
        for _ in 0..self.calls_per_round {
            (self.call)().await?;
            let now = Instant::now();
            self.calls.push(now - last);
            last = now;
        }
        self.rounds.push((last - begin) / self.calls_per_round);
        Ok(())
    }

    /// The time within which `share` of the calls ended.
    pub(crate) fn percentile(&self, share: f64) -> Duration {
        let mut calls = self.calls.clone();
        calls.sort_unstable();
        let index = ((calls.len() - 1) as f64 * share) as usize;
        calls.get(index).copied().unwrap_or_default()
    }
}
