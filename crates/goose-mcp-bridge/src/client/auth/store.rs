//! Stores for logins: in memory, and in files that only their owner can read.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use goose_extension::{ToolError, ToolResult};
use goose_fs::{AtomicFile, FileLock, create_private_dir, open_lock_file};
use parking_lot::Mutex;
use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::Url;

/// A token that ends sooner than this is renewed before it is used.
const LEEWAY_SECS: u64 = 30;

/// A login at a server: tokens, and the client that they were given to. It is for that server only.
#[derive(Clone, Serialize, Deserialize)]
pub struct StoredLogin {
    pub(super) credentials: StoredCredentials,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
}

impl std::fmt::Debug for StoredLogin {
    /// Shows nothing that is secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredLogin")
            .field("client_id", &self.credentials.client_id)
            .field("issuer", &self.credentials.issuer)
            .field("scopes", &self.credentials.granted_scopes)
            .finish_non_exhaustive()
    }
}

/// The part of a token response that we read.
#[derive(Deserialize)]
pub(super) struct Token {
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    expires_in: Option<u64>,
}

impl StoredLogin {
    pub(super) fn token(&self) -> Option<Token> {
        let response = serde_json::to_value(self.credentials.token_response.as_ref()?).ok()?;
        serde_json::from_value(response).ok()
    }

    /// Returns whether the token can be used for a while.
    pub(super) fn is_fresh(&self, token: &Token) -> bool {
        let (Some(lasts), Some(since)) = (token.expires_in, self.credentials.token_received_at) else {
            return true;
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        since.saturating_add(lasts) > now.saturating_add(LEEWAY_SECS)
    }

    /// Returns whether all of some scopes were granted.
    pub(super) fn grants(&self, scope: &str) -> bool {
        scope.split_whitespace().all(|one| self.credentials.granted_scopes.iter().any(|it| it == one))
    }
}

/// Keeps logins by the URL of their server.
///
/// # Errors
///
/// All methods fail where the store cannot be read or written, and say what to do about it.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// The login at a server, as it is now.
    async fn load(&self, server: &Url) -> ToolResult<Option<StoredLogin>>;

    /// Keeps a login in place of the one before.
    async fn save(&self, server: &Url, login: &StoredLogin) -> ToolResult<()>;

    /// Forgets the login at a server.
    async fn clear(&self, server: &Url) -> ToolResult<()>;

    /// Keeps others who share the store from renewing the same login at the same time, as long as the result lives.
    async fn lock(&self, server: &Url) -> ToolResult<Option<Box<dyn Send>>> {
        let _ = server;
        Ok(None)
    }
}

/// Keeps logins until it is dropped.
#[derive(Default)]
pub struct MemoryTokenStore {
    logins: Mutex<HashMap<Url, StoredLogin>>,
}

#[async_trait]
impl TokenStore for MemoryTokenStore {
    async fn load(&self, server: &Url) -> ToolResult<Option<StoredLogin>> {
        Ok(self.logins.lock().get(server).cloned())
    }

    async fn save(&self, server: &Url, login: &StoredLogin) -> ToolResult<()> {
        let mut logins = self.logins.lock();
        logins.insert(server.clone(), login.clone());
        Ok(())
    }

    async fn clear(&self, server: &Url) -> ToolResult<()> {
        self.logins.lock().remove(server);
        Ok(())
    }
}

/// The URL that a server's login is kept under.
pub(super) fn key(server: &Url) -> Url {
    let mut key = server.clone();
    key.set_fragment(None);
    // Only URLs without a host refuse these, and they have neither.
    let _ = key.set_username("");
    let _ = key.set_password(None);
    key
}

/// Attempts to get the lock of another process that renews the same login, and the pause between them.
const LOCK_TRIES: u32 = 300;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Keeps each login in a file of its own.
///
/// The folder has mode 0700 and the files 0600. A file is replaced as a whole, so it is never half written, and read
/// again each time it is used, so that processes can share the folder.
pub struct FileTokenStore {
    folder: PathBuf,
}

/// Contents of a file. The server's name is for people, and guards against a mix-up.
#[derive(Serialize, Deserialize)]
struct Page {
    server: Url,
    login: StoredLogin,
}

impl FileTokenStore {
    /// Keeps logins in a folder, which is made when it is needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, server: &Url, ending: &str) -> PathBuf {
        let hash = format!("{:x}", Sha256::digest(server.as_str()));
        self.folder.join(format!("{}.{ending}", hash.get(..32).unwrap_or(&hash)))
    }
}

#[async_trait]
impl TokenStore for FileTokenStore {
    async fn load(&self, server: &Url) -> ToolResult<Option<StoredLogin>> {
        let (path, server) = (self.path(server, "json"), server.clone());
        blocking(move || read(&path, &server)).await
    }

    async fn save(&self, server: &Url, login: &StoredLogin) -> ToolResult<()> {
        let (path, folder) = (self.path(server, "json"), self.folder.clone());
        let page = serde_json::to_vec_pretty(&Page { server: server.clone(), login: login.clone() })?;
        blocking(move || write(&folder, &path, &page).map_err(|error| failed("write", &path, &error))).await
    }

    async fn clear(&self, server: &Url) -> ToolResult<()> {
        let path = self.path(server, "json");
        blocking(move || match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", &path, &error)),
            _ => Ok(()),
        })
        .await
    }

    async fn lock(&self, server: &Url) -> ToolResult<Option<Box<dyn Send>>> {
        let path = self.path(server, "lock");
        let mut file = open_lock(&self.folder, &path).map_err(|error| failed("lock", &path, &error))?;
        for _ in 0..LOCK_TRIES {
            match FileLock::try_new(file).map_err(|error| failed("lock", &path, &error))? {
                Ok(lock) => return Ok(Some(Box::new(lock))),
                Err(busy) => file = busy,
            }
            tokio::time::sleep(LOCK_PAUSE).await;
        }
        let error = io::Error::new(io::ErrorKind::TimedOut, "another process holds it");
        Err(failed("lock", &path, &error))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> ToolResult<T> + Send + 'static) -> ToolResult<T> {
    tokio::task::spawn_blocking(work).await.map_err(ToolError::execution)?
}

fn read(path: &Path, server: &Url) -> ToolResult<Option<StoredLogin>> {
    let text = match fs::metadata(path).and_then(|file| within_cap(file.len())).and_then(|()| fs::read(path))
    {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path, &error)),
    };
    // What serde says could repeat what is in the file.
    let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "it is not a login");
    let page: Page = serde_json::from_slice(&text).map_err(|_| failed("read", path, &unreadable()))?;
    if page.server != *server {
        let other = io::Error::new(io::ErrorKind::InvalidData, "it is for another server");
        return Err(failed("read", path, &other));
    }
    Ok(Some(page.login))
}

fn within_cap(length: u64) -> io::Result<()> {
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, "it is too large");
    (length <= MAX_FILE_BYTES).then_some(()).ok_or_else(too_large)
}

fn write(folder: &Path, path: &Path, page: &[u8]) -> io::Result<()> {
    make(folder)?;
    AtomicFile::new(path).synced().write(page)
}

fn open_lock(folder: &Path, path: &Path) -> io::Result<File> {
    make(folder)?;
    let file = open_lock_file(path)?;
    set_mode(path, 0o600)?;
    Ok(file)
}

fn make(folder: &Path) -> io::Result<()> {
    create_private_dir(folder)?;
    set_mode(folder, 0o700)
}

/// Corrects the mode of a file or folder that was there before.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    if fs::metadata(path)?.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn failed(what: &str, path: &Path, error: &io::Error) -> ToolError {
    ToolError::ExecutionError(format!(
        "Could not {what} the login in `{}`: {error}. Repair or remove that file, then log in again.",
        path.display()
    ))
}
