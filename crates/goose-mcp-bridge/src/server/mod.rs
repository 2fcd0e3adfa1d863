//! An extension as an MCP server: [`ExtensionServer`] answers MCP requests from an
//! [`Extension`](goose_extension::Extension), on both wires.
//!
//! - `handler`: the MCP methods; `request_scope`: one request, with questions, log and progress;
//! - `input_required`: questions on the newer wire; `notifications`: messages to clients;
//! - `subscriptions`: watched resources.
//!
//! Lists have pages. A cursor contains its position and a fingerprint of the list: if the list has changed,
//! the client has to start again, and does not get a mixture.

mod handler;
mod input_required;
mod notifications;
mod request_scope;
mod subscriptions;

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use goose_extension::{Change, Extension, LogLevel, Subscriptions, ToolError, ToolResult};
use parking_lot::Mutex;
use rmcp::{
    RoleServer,
    model::{ErrorData, InputResponses, PaginatedRequestParams, RequestStateCodec, ServerCapabilities},
    service::RequestContext,
};
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{
    input_required::Round,
    request_scope::{RequestScope, is_new_wire},
    subscriptions::WatchList,
};

/// Limits and trust of a server towards its clients.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Items on one page of a list.
    pub page_size: usize,
    /// True if a client may choose the folder and the session of its calls. For local clients only (stdio,
    /// duplex).
    pub trust_surroundings: bool,
    /// Key of at least 32 bytes that seals states on the newer wire. Servers behind one address share it. By
    /// default each process creates one.
    pub state_key: Option<Vec<u8>>,
    /// Time limit for the extension to start or end a subscription.
    pub subscribe_timeout: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            page_size: PAGE_SIZE,
            trust_surroundings: true,
            state_key: None,
            subscribe_timeout: Duration::from_secs(30),
        }
    }
}

/// State that all connections of a server share.
struct Shared {
    extension: Arc<dyn Extension>,
    codec: RequestStateCodec,
    options: ServeOptions,
    subscriptions: Arc<Subscriptions>,
}

impl Shared {
    fn watch_list(&self) -> WatchList {
        let (subscriptions, extension) = (Arc::clone(&self.subscriptions), Arc::clone(&self.extension));
        WatchList::new(subscriptions, extension, self.options.subscribe_timeout)
    }
}

/// Server of one connection to an extension. [`new_session`](Self::new_session) creates the next one.
pub struct ExtensionServer {
    shared: Arc<Shared>,
    log_level: Mutex<LogLevel>,
    watch_list: WatchList,
    forwards_changes: AtomicBool,
    /// Feeds of accepted `listen` requests that do not run yet, so that no change is lost in between.
    listening: Mutex<VecDeque<broadcast::Receiver<Change>>>,
    session: CancellationToken,
    /// True once a subscription stream was opened.
    has_streams: Arc<AtomicBool>,
    _ends_with_session: DropGuard,
}

impl ExtensionServer {
    /// Creates a server for an extension.
    ///
    /// # Errors
    ///
    /// Fails if the state key is too short, or if none is given and the system has no random bytes.
    pub fn new(extension: Arc<dyn Extension>, options: ServeOptions) -> ToolResult<Self> {
        let codec = match options.state_key.clone() {
            Some(key) => RequestStateCodec::try_new(key).map_err(|error| {
                let least = RequestStateCodec::MIN_KEY_LENGTH;
                ToolError::invalid(format!(
                    "The state key cannot be used: {error}. Give one of at least {least} random bytes."
                ))
            })?,
            None => random_codec()?,
        };
        Ok(Self::for_session(Arc::new(Shared { extension, codec, options, subscriptions: Arc::default() })))
    }

    /// Creates a server for another connection to the same extension.
    pub fn new_session(&self) -> Self {
        Self::for_session(Arc::clone(&self.shared))
    }

    /// Returns the same server for clients that must not choose folders and sessions.
    pub(super) fn untrusted(&self) -> Self {
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
        let watch_list = shared.watch_list();
        Self {
            shared,
            log_level: Mutex::new(LogLevel::Info),
            watch_list,
            forwards_changes: AtomicBool::new(false),
            listening: Mutex::default(),
            _ends_with_session: session.clone().drop_guard(),
            session,
            has_streams: Arc::default(),
        }
    }

    /// Returns the flag that a subscription stream was opened.
    pub(super) fn has_streams(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_streams)
    }

    /// Returns the token that ends the background work of this connection.
    pub(super) fn session(&self) -> CancellationToken {
        self.session.clone()
    }

    /// Returns the newest snapshot of the extension.
    fn extension(&self) -> Arc<dyn Extension> {
        let latest = self.shared.extension.changes().and_then(|feed| feed.latest());
        latest.unwrap_or_else(|| Arc::clone(&self.shared.extension))
    }

    fn feed(&self) -> Option<broadcast::Receiver<Change>> {
        self.shared.extension.changes().map(|feed| feed.subscribe())
    }

    /// Opens a request. The others are its identity, and the state and the answers of its earlier rounds.
    fn scope(
        &self,
        context: RequestContext<RoleServer>,
        identity: &impl serde::Serialize,
        state: Option<&str>,
        responses: Option<InputResponses>,
    ) -> Result<RequestScope, ErrorData> {
        let Shared { codec, options, .. } = &*self.shared;
        let has_rounds = is_new_wire(&context);
        let round = has_rounds.then(|| Round::open(codec, identity, state, responses)).transpose()?;
        let session_level = (!has_rounds).then(|| *self.log_level.lock());
        Ok(RequestScope::open(context, round, session_level, options.trust_surroundings))
    }

    /// Returns the page that is asked for, and the cursor of the next page.
    fn page<T>(
        &self,
        items: Vec<T>,
        request: Option<&PaginatedRequestParams>,
        name: impl Fn(&T) -> &str,
    ) -> Result<(Vec<T>, Option<String>), ErrorData> {
        let size = self.shared.options.page_size.max(1);
        let cursor = request.and_then(|request| request.cursor.as_deref());
        if cursor.is_none() && items.len() <= size {
            return Ok((items, None));
        }
        let fingerprint = fingerprint(items.iter().map(name));
        let start = match cursor {
            None => 0,
            Some(cursor) => position(cursor, fingerprint)
                .filter(|&start| start < items.len())
                .ok_or_else(|| bad_cursor(cursor))?,
        };
        let more = items.len() > start + size;
        let next = more.then(|| format!("{}.{fingerprint:016x}", start + size));
        Ok((items.into_iter().skip(start).take(size).collect(), next))
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

fn random_codec() -> ToolResult<RequestStateCodec> {
    let mut key = [0u8; RequestStateCodec::MIN_KEY_LENGTH];
    // The key authenticates states that come back from clients: with a guessable one, better not to serve.
    getrandom::fill(&mut key).map_err(|error| {
        ToolError::ExecutionError(format!("The system has no random bytes for a state key: {error}."))
    })?;
    Ok(RequestStateCodec::new_unchecked(key))
}

/// Default number of items on one page.
const PAGE_SIZE: usize = 500;

fn position(cursor: &str, fingerprint: u64) -> Option<usize> {
    let (start, list) = cursor.split_once('.')?;
    (u64::from_str_radix(list, 16).ok()? == fingerprint).then_some(())?;
    start.parse().ok()
}

fn fingerprint<'a>(names: impl Iterator<Item = &'a str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    names.for_each(|name| name.hash(&mut hasher));
    hasher.finish()
}

fn bad_cursor(cursor: &str) -> ErrorData {
    let cursor: String = cursor.chars().take(64).collect();
    ErrorData::invalid_params(
        format!("The cursor `{cursor}` does not belong to the current list. List again without a cursor."),
        None,
    )
}
