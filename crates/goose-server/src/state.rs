//! [`AppState`]: the state that all requests share.

use std::{ops::Deref, sync::Arc};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    audit::AuditLog,
    error::ApiError,
    gate::{AccessTable, Names},
    limits::Limits,
    mcp::McpEndpoints,
    metrics::Metrics,
    options::ServerOptions,
    runs::Runs,
    sessions::Sessions,
    start_error::StartError,
    tokens::KnownTokens,
};

/// State that all requests share.
#[derive(Clone)]
pub(crate) struct AppState(pub(crate) Arc<App>);

impl Deref for AppState {
    type Target = App;

    fn deref(&self) -> &App {
        &self.0
    }
}

pub(crate) struct App {
    pub(crate) options: ServerOptions,
    pub(crate) names: Names,
    pub(crate) access: AccessTable,
    pub(crate) tokens: KnownTokens,
    pub(crate) limits: Limits,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) audit: AuditLog,
    pub(crate) sessions: Sessions,
    pub(crate) runs: Arc<Runs>,
    pub(crate) mcp: McpEndpoints,
    pub(crate) document: Value,
    /// Cancelled when the server is asked to stop: nothing new begins.
    pub(crate) closing: CancellationToken,
    /// Cancelled when streams have to end.
    pub(crate) stop: CancellationToken,
}

impl App {
    pub(crate) fn new(
        options: ServerOptions,
        names: Names,
        access: AccessTable,
        tokens: KnownTokens,
        sessions: Sessions,
        document: Value,
    ) -> Result<Self, StartError> {
        let (metrics, stop) = (Arc::new(Metrics::default()), CancellationToken::new());
        let in_root = sessions.in_folder(sessions.root());
        let (manager, profile) = in_root.map_err(|error| StartError::Mcp(error.message))?;
        let mcp = McpEndpoints::new(&manager, profile, sessions.root(), &stop)
            .map_err(|error| StartError::Mcp(error.to_string()))?;
        let runs = Runs::new(Arc::clone(&metrics));
        #[cfg(feature = "otel")]
        let runs = match options.traces.clone() {
            Some(settings) => {
                let exporter = crate::traces::Exporter::start(settings).map_err(StartError::Traces)?;
                runs.with_traces(Arc::new(exporter))
            }
            None => runs,
        };
        Ok(Self {
            names,
            access,
            tokens,
            limits: Limits::default(),
            audit: AuditLog::open(&options.audit_file()),
            sessions,
            mcp,
            runs: Arc::new(runs),
            metrics,
            document,
            closing: CancellationToken::new(),
            stop,
            options,
        })
    }

    /// Fails if the server is stopping.
    pub(crate) fn check_open(&self) -> Result<(), ApiError> {
        match self.closing.is_cancelled() {
            false => Ok(()),
            true => Err(ApiError::unavailable("stopping", "The server is stopping.")),
        }
    }
}
