//! Logging in to servers that want it: OAuth 2.1 with a browser, tokens that are kept, renewed and widened.
//!
//! - [`OAuth`]: how to log in, for all servers; `account`: the login at one of them; `login`: the way through the browser;
//! - `challenge`: what a server wants; `callback`: where the browser comes back to; `browser`: who shows the page;
//! - `gate`: one login at a time, shared by all who wait for it; `addresses`: where secrets may travel;
//! - `store`, `file_store`: where logins are kept; `clock`: time that a person takes does not count.

mod account;
mod addresses;
mod browser;
mod callback;
mod challenge;
mod clock;
mod file_store;
mod gate;
mod login;
mod store;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use url::Url;

use self::gate::Gate;
pub(super) use self::{
    account::Account,
    addresses::is_private_way,
    challenge::Challenge,
    clock::{LoginClock, within},
};
pub use self::{
    browser::{Browser, SystemBrowser},
    file_store::FileTokenStore,
    store::{MemoryTokenStore, StoredLogin, TokenStore},
};

/// How long a person may take to log in.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);

/// How we log in to servers that want it.
///
/// Logins are kept in a [`TokenStore`] and used again. Where a new one is needed, a [`Browser`] shows the server's page
/// to a person; without a browser only what the store has is used. Clones share everything.
#[derive(Clone)]
pub struct OAuth {
    settings: Arc<Settings>,
    /// One login at a time for each server.
    gates: Arc<Mutex<HashMap<String, Arc<Gate>>>>,
    clock: Arc<LoginClock>,
    is_connected: Arc<AtomicBool>,
}

#[derive(Clone)]
struct Settings {
    store: Arc<dyn TokenStore>,
    browser: Option<Arc<dyn Browser>>,
    client_metadata_url: Option<String>,
    client: Option<(String, Option<String>)>,
    issuer: Option<String>,
    private_addresses: bool,
    redirect_port: u16,
    scopes: Vec<String>,
    timeout: Duration,
}

impl OAuth {
    /// Keeps logins in a store. Nobody is asked to log in until there is a browser.
    pub fn new(store: Arc<dyn TokenStore>) -> Self {
        let settings = Settings {
            store,
            browser: None,
            client_metadata_url: None,
            client: None,
            issuer: None,
            private_addresses: false,
            redirect_port: 0,
            scopes: Vec::new(),
            timeout: LOGIN_TIMEOUT,
        };
        Self {
            settings: Arc::new(settings),
            gates: Arc::default(),
            clock: Arc::default(),
            is_connected: Arc::default(),
        }
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Says who shows the login page.
    pub fn with_browser(self, browser: Arc<dyn Browser>) -> Self {
        self.set(|it| it.browser = Some(browser))
    }

    /// Names the document that describes this program, for login servers that read such documents.
    pub fn with_client_metadata_url(self, url: impl Into<String>) -> Self {
        self.set(|it| it.client_metadata_url = Some(url.into()))
    }

    /// Uses a client that was registered by hand, with its secret where it has one. It is shown to the login server of
    /// each server that this is used for; the secret only to the first one that each server names, or to the
    /// [`issuer`](Self::with_issuer).
    pub fn with_client(self, id: impl Into<String>, secret: Option<String>) -> Self {
        self.set(|it| it.client = Some((id.into(), secret)))
    }

    /// Logs in at this login server only, whatever else a server names.
    pub fn with_issuer(self, issuer: impl Into<String>) -> Self {
        self.set(|it| it.issuer = Some(issuer.into()))
    }

    /// Lets servers of the public network name login servers of a private one. Servers that are in a private network
    /// themselves may do so anyway.
    pub fn allowing_private_addresses(self) -> Self {
        self.set(|it| it.private_addresses = true)
    }

    /// Waits for the browser on this port of the loopback interface; by default on any free one.
    pub fn with_redirect_port(self, port: u16) -> Self {
        self.set(|it| it.redirect_port = port)
    }

    /// Asks for these scopes instead of those that the server names.
    pub fn with_scopes(self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.set(|it| it.scopes = scopes.into_iter().map(Into::into).collect())
    }

    /// Bounds the time that a person may take; five minutes by default.
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.set(|it| it.timeout = timeout)
    }

    /// The same for one connection, which has its own clock and has yet to be made.
    pub(super) fn for_connection(&self) -> Self {
        Self { clock: Arc::default(), is_connected: Arc::default(), ..self.clone() }
    }

    /// Connecting is over. From now on only requests with a caller show a login page.
    pub(super) fn connected(&self) {
        self.is_connected.store(true, Ordering::Release);
    }

    pub(super) fn clock(&self) -> &LoginClock {
        &self.clock
    }

    pub(super) fn account(&self, server: &Url) -> Account {
        let server = store::key(server);
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = gates.entry(server.to_string()).or_default();
        Account {
            settings: Arc::clone(&self.settings),
            gate: Arc::clone(gate),
            clock: Arc::clone(&self.clock),
            is_connected: Arc::clone(&self.is_connected),
            server,
        }
    }
}

impl std::fmt::Debug for OAuth {
    /// Shows nothing that is secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuth")
            .field("client_id", &self.settings.client.as_ref().map(|(id, _)| id))
            .field("issuer", &self.settings.issuer)
            .field("client_metadata_url", &self.settings.client_metadata_url)
            .field("scopes", &self.settings.scopes)
            .finish_non_exhaustive()
    }
}
