//! An extension as an MCP server: [`ExtensionServer`] answers every MCP request from an
//! [`Extension`](goose_extension::Extension), on both eras of the protocol.
//!
//! - `handler`: what is done for each MCP method; `visit`: one request that may ask back, log and report progress;
//! - `caller`: the client, as the tool sees it; `outbox`: what is on its way to it;
//! - `rounds` and `answers`: questions on the 2026-07-28 wire;
//! - `paging`: lists in pages; `subscriptions`: who watches what; `changes`: news on their way to clients.

mod answers;
mod caller;
mod changes;
mod handler;
mod outbox;
mod paging;
mod rounds;
mod subscriptions;
mod visit;

use std::{
    collections::VecDeque,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
};

use goose_extension::{Change, Extension, LogLevel};
use rmcp::{
    RoleServer,
    model::{ErrorData, PaginatedRequestParams, RequestStateCodec, ServerCapabilities},
    service::RequestContext,
};
use subscriptions::{Subscriptions, Watching};
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};
use visit::{Request, Visit};

/// How a server treats its clients.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServeOptions {
    /// Items on one page of a list.
    pub page_size: usize,
    /// Whether a client may say in which folder and session it works. On for local clients (stdio, duplex).
    pub trust_surroundings: bool,
    /// The key that seals states on the 2026-07-28 wire, 32 bytes or more. Several servers behind one address
    /// share one; otherwise each process makes its own.
    pub state_key: Option<Vec<u8>>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { page_size: paging::PAGE_SIZE, trust_surroundings: true, state_key: None }
    }
}

/// What all connections of one server share.
struct Shared {
    extension: Arc<dyn Extension>,
    codec: RequestStateCodec,
    options: ServeOptions,
    subscriptions: Arc<Subscriptions>,
}

/// Serves one connection of an extension. [`another`](Self::another) gives the next one.
pub struct ExtensionServer {
    shared: Arc<Shared>,
    log_level: Mutex<LogLevel>,
    watching: Watching,
    forwards_changes: AtomicBool,
    /// Feeds opened when a listen was accepted, so that nothing is lost until it runs.
    listening: Mutex<VecDeque<broadcast::Receiver<Change>>>,
    session: CancellationToken,
    /// Whether a stream of news was opened.
    has_news: Arc<AtomicBool>,
    _ends_with_session: DropGuard,
}

impl ExtensionServer {
    /// A server for an extension.
    pub fn new(extension: Arc<dyn Extension>) -> Self {
        Self::with_options(extension, ServeOptions::default())
    }

    /// A server with options of its own. A key that is too short is replaced by a random one.
    pub fn with_options(extension: Arc<dyn Extension>, options: ServeOptions) -> Self {
        let codec = options.state_key.clone().map(RequestStateCodec::try_new);
        let codec = match codec {
            Some(Ok(codec)) => codec,
            None => random_codec(),
            Some(Err(error)) => {
                tracing::error!(%error, "the key for sealed states is not usable; a random one takes its place");
                random_codec()
            }
        };
        Self::for_session(Arc::new(Shared { extension, codec, options, subscriptions: Arc::default() }))
    }

    /// A server for another connection to the same extension.
    pub fn another(&self) -> Self {
        Self::for_session(Arc::clone(&self.shared))
    }

    /// The same server for clients that must not choose our folders and sessions.
    pub(super) fn distrusting(&self) -> Self {
        let Shared { extension, codec, options, subscriptions } = &*self.shared;
        Self::for_session(Arc::new(Shared {
            extension: Arc::clone(extension),
            codec: codec.clone(),
            options: ServeOptions { trust_surroundings: false, ..options.clone() },
            subscriptions: Arc::clone(subscriptions),
        }))
    }

    fn for_session(shared: Arc<Shared>) -> Self {
        let session = CancellationToken::new();
        let watching = Watching::new(Arc::clone(&shared.subscriptions), Arc::clone(&shared.extension));
        Self {
            shared,
            log_level: Mutex::new(LogLevel::Info),
            watching,
            forwards_changes: AtomicBool::new(false),
            listening: Mutex::default(),
            _ends_with_session: session.clone().drop_guard(),
            session,
            has_news: Arc::default(),
        }
    }

    /// Whether a stream of news was opened.
    pub(super) fn has_news(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_news)
    }

    /// Ends what goes on beside the requests of this connection.
    pub(super) fn session(&self) -> CancellationToken {
        self.session.clone()
    }

    /// The newest snapshot of the extension.
    fn extension(&self) -> Arc<dyn Extension> {
        let latest = self.shared.extension.changes().and_then(|feed| feed.latest());
        latest.unwrap_or_else(|| Arc::clone(&self.shared.extension))
    }

    fn feed(&self) -> Option<broadcast::Receiver<Change>> {
        self.shared.extension.changes().map(|feed| feed.subscribe())
    }

    fn visit<P: serde::Serialize>(
        &self,
        context: RequestContext<RoleServer>,
        request: Request<'_, P>,
    ) -> Result<Visit, ErrorData> {
        let Shared { codec, options, .. } = &*self.shared;
        Visit::open(context, request, codec, self.session_level(), options.trust_surroundings)
    }

    fn session_level(&self) -> LogLevel {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn page<T>(
        &self,
        items: Vec<T>,
        request: Option<&PaginatedRequestParams>,
        name: impl Fn(&T) -> &str,
    ) -> Result<(Vec<T>, Option<String>), ErrorData> {
        let cursor = request.and_then(|request| request.cursor.as_deref());
        paging::page(items, cursor, self.shared.options.page_size.max(1), name)
    }

    fn capabilities(&self) -> ServerCapabilities {
        let extension = &self.shared.extension;
        let (features, changing) = (extension.features(), extension.changes().is_some());
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        capabilities.logging = Some(Default::default());
        if let Some(tools) = &mut capabilities.tools {
            tools.list_changed = changing.then_some(true);
        }
        if features.resources {
            let resources = capabilities.resources.get_or_insert_default();
            resources.subscribe = features.subscriptions.then_some(true);
            resources.list_changed = changing.then_some(true);
        }
        if features.prompts {
            capabilities.prompts.get_or_insert_default().list_changed = changing.then_some(true);
        }
        if features.completions {
            capabilities.completions = Some(Default::default());
        }
        capabilities
    }
}

fn random_codec() -> RequestStateCodec {
    let mut key = [0u8; RequestStateCodec::MIN_KEY_LENGTH];
    if getrandom::fill(&mut key).is_err() {
        // The system gives no random bytes directly; the standard library's are its last word on the matter.
        for (index, chunk) in key.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&RandomState::new().hash_one(index).to_ne_bytes());
        }
    }
    RequestStateCodec::new_unchecked(key)
}
