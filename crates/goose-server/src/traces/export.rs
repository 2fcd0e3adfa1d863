//! [`Exporter`]: sends spans to a collector in batches. Spans that come faster than the collector takes them are
//! dropped.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc::{self, Receiver, Sender, error::TrySendError},
    task::JoinHandle,
    time::timeout,
};

use super::{TraceSettings, text};

/// Maximum number of spans that wait to be sent.
const MAX_WAITING: usize = 4_096;
/// Maximum number of spans of a request.
const MAX_BATCH: usize = 512;
/// Time in which spans are collected for a request.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time for the last spans when the server ends.
const END_TIME: Duration = Duration::from_millis(300);

/// Sends spans to a collector.
pub(crate) struct Exporter {
    spans: Mutex<Option<Sender<Value>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    dropped: AtomicU64,
}

impl Exporter {
    /// Starts to export.
    pub(crate) fn start(settings: TraceSettings) -> Result<Self, String> {
        let client = client(&settings)?;
        let (spans, received) = mpsc::channel(MAX_WAITING);
        let task = tokio::spawn(send_all(client, settings, received));
        Ok(Self { spans: Mutex::new(Some(spans)), task: Mutex::new(Some(task)), dropped: AtomicU64::new(0) })
    }

    /// Takes a span.
    pub(super) fn take(&self, span: Value) {
        let sent = self.spans.lock().as_ref().map_or(Ok(()), |spans| spans.try_send(span));
        if matches!(sent, Err(TrySendError::Full(_))) && self.dropped.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!("the collector of traces is too slow; spans are dropped");
        }
    }

    /// Sends what is left, within a short time.
    pub(crate) async fn end(&self) {
        drop(self.spans.lock().take());
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = timeout(END_TIME, task).await;
        }
    }
}

fn client(settings: &TraceSettings) -> Result<reqwest::Client, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &settings.headers {
        let name = HeaderName::try_from(name.as_str()).map_err(|error| error.to_string())?;
        let mut value = HeaderValue::try_from(value.expose()).map_err(|error| error.to_string())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(settings.timeout)
        .default_headers(headers);
    if settings.url.scheme() == "http" {
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| error.to_string())
}

/// Sends spans until no more come.
async fn send_all(client: reqwest::Client, settings: TraceSettings, mut received: Receiver<Value>) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    let mut is_failing = false;
    while received.recv_many(&mut batch, MAX_BATCH).await > 0 {
        let more = async {
            while batch.len() < MAX_BATCH
                && let Some(span) = received.recv().await
            {
                batch.push(span);
            }
        };
        let _ = timeout(INTERVAL, more).await;
        let sent = send(&client, &settings, std::mem::take(&mut batch)).await;
        // A collector that is away is reported once.
        if let Err(error) = &sent
            && !is_failing
        {
            tracing::warn!(error, "traces could not be sent");
        }
        is_failing = sent.is_err();
    }
}

async fn send(client: &reqwest::Client, settings: &TraceSettings, spans: Vec<Value>) -> Result<(), String> {
    let resource: Vec<Value> = settings.resource.iter().map(|(key, value)| text(key, value)).collect();
    let scope = json!({"name": "goose-server", "version": env!("CARGO_PKG_VERSION")});
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": scope, "spans": spans}],
    }]});
    let request = client.post(settings.url.clone()).header("content-type", "application/json");
    // Without the address, which may have a key in it.
    let response =
        request.body(body.to_string()).send().await.map_err(|error| error.without_url().to_string())?;
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("the collector answers with status {status}")),
    }
}
