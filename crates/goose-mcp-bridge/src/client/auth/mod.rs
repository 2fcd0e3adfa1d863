//! Logins at servers by URL: OAuth 2.1 with a browser; tokens are stored, renewed, and extended by scopes.
//!
//! - [`OAuth`]: settings for all servers;
//! - `credentials`: the login at one server, shared by all connections that wait for it;
//! - `login`: the login with a browser; `browser`, `callback`: its two ends on this machine, which logins at model
//!   services use as well; `url_policy`: challenges, and where secrets may be sent;
//! - `store`: logins in memory and in files.

mod browser;
mod callback;
mod credentials;
mod login;
mod store;
mod url_policy;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use url::Url;

use self::credentials::LoginLock;
use super::clock::LoginClock;

pub use browser::{Browser, SystemBrowser};
pub use callback::{AuthorizationCode, Callback, LoginRefused};
pub(super) use credentials::Credentials;
pub use store::{FileTokenStore, MemoryTokenStore, StoredLogin, TokenStore};
pub(super) use url_policy::{Challenge, is_confidential};

/// Default time limit of a login.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);

/// Login settings and state for servers by URL.
///
/// Logins are kept in a [`TokenStore`] and reused. For a new one, a [`Browser`] shows the login page; without
/// a browser, only stored logins are used. Clones share their state.
#[derive(Clone)]
pub struct OAuth {
    settings: Arc<OAuthSettings>,
    /// Locks by server, for one login at a time.
    login_locks: Arc<Mutex<HashMap<String, Arc<LoginLock>>>>,
    clock: Arc<LoginClock>,
    is_connected: Arc<AtomicBool>,
}

/// Settings of logins. See [`OAuth::with`].
#[derive(Clone)]
pub struct OAuthSettings {
    /// Store of logins.
    pub store: Arc<dyn TokenStore>,
    /// Browser for the login page. Without one, only stored logins are used.
    pub browser: Option<Arc<dyn Browser>>,
    /// URL of our client metadata document, for login servers that support such documents.
    pub client_metadata_url: Option<String>,
    /// Id and secret of a client that was registered by hand. Every login server sees the id; the secret is
    /// sent only to the first login server that a server names, or to `issuer`.
    pub client: Option<(String, Option<String>)>,
    /// The only login server that may be used.
    pub issuer: Option<String>,
    /// Loopback port of the callback; 0 means any free port.
    pub redirect_port: u16,
    /// Scopes to ask for; if empty, those that the server names.
    pub scopes: Vec<String>,
    /// Time limit of a login; five minutes by default.
    pub timeout: Duration,
}

impl OAuth {
    /// Creates settings with a store and no browser.
    pub fn new(store: Arc<dyn TokenStore>) -> Self {
        let settings = OAuthSettings {
            store,
            browser: None,
            client_metadata_url: None,
            client: None,
            issuer: None,
            redirect_port: 0,
            scopes: Vec::new(),
            timeout: LOGIN_TIMEOUT,
        };
        Self {
            settings: Arc::new(settings),
            login_locks: Arc::default(),
            clock: Arc::default(),
            is_connected: Arc::default(),
        }
    }

    /// Changes the settings.
    pub fn with(mut self, change: impl FnOnce(&mut OAuthSettings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Sets the browser that shows the login page.
    pub fn with_browser(self, browser: Arc<dyn Browser>) -> Self {
        self.with(|it| it.browser = Some(browser))
    }

    /// Returns a copy for one connection, with its own clock.
    pub(super) fn for_connection(&self) -> Self {
        Self { clock: Arc::default(), is_connected: Arc::default(), ..self.clone() }
    }

    /// Marks the connection as established: from now on, only requests of a caller may show a login page.
    pub(super) fn connected(&self) {
        self.is_connected.store(true, Ordering::Release);
    }

    pub(super) fn clock(&self) -> &LoginClock {
        &self.clock
    }

    pub(super) fn credentials(&self, server: &Url) -> Credentials {
        let server = store::key(server);
        let mut login_locks = self.login_locks.lock();
        let login_lock = login_locks.entry(server.to_string()).or_default();
        Credentials {
            settings: Arc::clone(&self.settings),
            login_lock: Arc::clone(login_lock),
            clock: Arc::clone(&self.clock),
            is_connected: Arc::clone(&self.is_connected),
            server,
        }
    }
}

impl std::fmt::Debug for OAuth {
    /// Omits secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuth")
            .field("client_id", &self.settings.client.as_ref().map(|(id, _)| id))
            .field("issuer", &self.settings.issuer)
            .field("client_metadata_url", &self.settings.client_metadata_url)
            .field("scopes", &self.settings.scopes)
            .finish_non_exhaustive()
    }
}
