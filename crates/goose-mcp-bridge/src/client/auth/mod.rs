//! Logging in to servers that want it: OAuth 2.1 with a browser, tokens that are kept, renewed and widened.
//!
//! - [`OAuth`]: how to log in, for all servers;
//! - `credentials`: the login at one server, one at a time and shared by all who wait for it;
//! - `login`: the way through the browser; `url_policy`: challenges of servers, and where secrets may travel;
//! - `store`: logins in memory and in files.

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

pub(super) use credentials::Credentials;
pub use login::{Browser, SystemBrowser};
pub use store::{FileTokenStore, MemoryTokenStore, StoredLogin, TokenStore};
pub(super) use url_policy::{Challenge, is_private_way};

/// Time that a person has to log in.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);

/// The way to log in to servers that want it.
///
/// Logins are kept in a [`TokenStore`] and used again. Where a new one is needed, a [`Browser`] shows the server's page
/// to a person; without a browser only what the store has is used. Clones share everything.
#[derive(Clone)]
pub struct OAuth {
    settings: Arc<OAuthSettings>,
    /// One login at a time for each server.
    login_locks: Arc<Mutex<HashMap<String, Arc<LoginLock>>>>,
    clock: Arc<LoginClock>,
    is_connected: Arc<AtomicBool>,
}

/// Settings of a login. See [`OAuth::with`].
#[derive(Clone)]
pub struct OAuthSettings {
    /// The store of logins.
    pub store: Arc<dyn TokenStore>,
    /// Shows the login page. Without one, only stored logins are used.
    pub browser: Option<Arc<dyn Browser>>,
    /// The URL of the document that describes this program, for login servers that read such documents.
    pub client_metadata_url: Option<String>,
    /// The id and the secret of a client that was registered by hand. The id is shown to the login server of each server
    /// that this is used for; the secret only to the first one that each server names, or to the `issuer`.
    pub client: Option<(String, Option<String>)>,
    /// The only login server that is used, whatever else a server names.
    pub issuer: Option<String>,
    /// The port of the loopback interface that waits for the browser; 0 is any free one.
    pub redirect_port: u16,
    /// The scopes to ask for; if empty, those that the server names.
    pub scopes: Vec<String>,
    /// Time that a person has to log in; five minutes by default.
    pub timeout: Duration,
}

impl OAuth {
    /// Keeps logins in a store. No person is asked to log in until there is a browser.
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
