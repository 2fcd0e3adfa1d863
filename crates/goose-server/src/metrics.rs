//! [`Metrics`]: counters in the text format of Prometheus, at `/metrics`.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
};

use http::StatusCode;

/// Counters of a server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    answers: [AtomicU64; 5],
    pub(crate) connections: Gauge,
    pub(crate) streams: Gauge,
    pub(crate) runs: Gauge,
    pub(crate) runs_started: AtomicU64,
    pub(crate) events: AtomicU64,
    pub(crate) refusals: AtomicU64,
}

/// Number of things that exist now.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicU64);

impl Gauge {
    pub(crate) fn enter(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Metrics {
    pub(crate) fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(count) = self.answers.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns all counters as text.
    pub(crate) fn text(&self, sessions: usize) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, values: &[(String, u64)]| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let plain = |value: u64| vec![(String::new(), value)];
        let count = |counter: &AtomicU64| plain(counter.load(Ordering::Relaxed));
        let classes = self.answers.iter().zip(1..);
        let classes =
            classes.map(|(count, class)| (format!("{{class=\"{class}xx\"}}"), count.load(Ordering::Relaxed)));
        let classes: Vec<_> = classes.collect();
        family("goose_http_answers_total", "counter", "Answers by class of status.", &classes);
        family("goose_http_connections", "gauge", "Open connections.", &plain(self.connections.get()));
        family("goose_streams", "gauge", "Open streams of events.", &plain(self.streams.get()));
        family("goose_runs", "gauge", "Runs that have not ended.", &plain(self.runs.get()));
        family("goose_runs_started_total", "counter", "Runs that were started.", &count(&self.runs_started));
        family("goose_events_total", "counter", "Events of runs.", &count(&self.events));
        family(
            "goose_refused_logins_total",
            "counter",
            "Requests without a valid token.",
            &count(&self.refusals),
        );
        family("goose_sessions_open", "gauge", "Open sessions.", &plain(sessions as u64));
        text
    }
}
