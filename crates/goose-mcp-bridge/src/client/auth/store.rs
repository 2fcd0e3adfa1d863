//! Stores of logins: in memory, and in files that only their owner can read.

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

/// Remaining lifetime below which a token is renewed before use.
const LEEWAY_SECS: u64 = 30;

/// A login at one server: its tokens, and the client that they were issued to.
#[derive(Clone, Serialize, Deserialize)]
pub struct StoredLogin {
    pub(super) credentials: StoredCredentials,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
}

impl std::fmt::Debug for StoredLogin {
    /// Omits secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredLogin")
            .field("client_id", &self.credentials.client_id)
            .field("issuer", &self.credentials.issuer)
            .field("scopes", &self.credentials.granted_scopes)
            .finish_non_exhaustive()
    }
}

/// The members of a token response that we use.
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

    /// Returns whether the token does not expire soon.
    pub(super) fn is_fresh(&self, token: &Token) -> bool {
        let (Some(lasts), Some(since)) = (token.expires_in, self.credentials.token_received_at) else {
            return true;
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        since.saturating_add(lasts) > now.saturating_add(LEEWAY_SECS)
    }

    /// Returns whether all of the scopes were granted.
    pub(super) fn grants(&self, scope: &str) -> bool {
        scope.split_whitespace().all(|one| self.credentials.granted_scopes.iter().any(|it| it == one))
    }
}

/// Store of logins by server URL.
///
/// # Errors
///
/// All methods fail if the store cannot be read or written, and say what to do about it.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// Loads the current login at a server.
    async fn load(&self, server: &Url) -> ToolResult<Option<StoredLogin>>;

    /// Saves a login, and replaces an earlier one.
    async fn save(&self, server: &Url, login: &StoredLogin) -> ToolResult<()>;

    /// Removes the login at a server.
    async fn clear(&self, server: &Url) -> ToolResult<()>;

    /// Locks a login until the result is dropped, so that processes that share the store do not renew it at
    /// once.
    async fn lock(&self, server: &Url) -> ToolResult<Option<Box<dyn Send>>> {
        let _ = server;
        Ok(None)
    }
}

/// Store that lasts as long as the process.
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

/// Returns the URL under which a server's login is stored.
pub(super) fn key(server: &Url) -> Url {
    let mut key = server.clone();
    key.set_fragment(None);
    // Fails only for URLs without a host, which have neither.
    let _ = key.set_username("");
    let _ = key.set_password(None);
    key
}

/// Attempts to lock a login that another process renews, and the pause between them.
const LOCK_TRIES: u32 = 300;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// Maximum size of a file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Store with one file per login.
///
/// The folder has mode 0700, the files 0600. Files are replaced atomically and read again for each use, so
/// processes can share the folder.
pub struct FileTokenStore {
    folder: PathBuf,
}

/// Contents of a file. The file name is a hash, so the server is repeated for people and as a check.
#[derive(Serialize, Deserialize)]
struct LoginFile {
    server: Url,
    login: StoredLogin,
}

impl FileTokenStore {
    /// Creates a store in a folder, which is created when needed.
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
        let page = serde_json::to_vec_pretty(&LoginFile { server: server.clone(), login: login.clone() })?;
        blocking(move || write(&folder, &path, &page).map_err(|error| store_error("write", &path, &error)))
            .await
    }

    async fn clear(&self, server: &Url) -> ToolResult<()> {
        let path = self.path(server, "json");
        blocking(move || match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(store_error("remove", &path, &error))
            }
            _ => Ok(()),
        })
        .await
    }

    async fn lock(&self, server: &Url) -> ToolResult<Option<Box<dyn Send>>> {
        let path = self.path(server, "lock");
        let mut file = open_lock(&self.folder, &path).map_err(|error| store_error("lock", &path, &error))?;
        for _ in 0..LOCK_TRIES {
            match FileLock::try_new(file).map_err(|error| store_error("lock", &path, &error))? {
                Ok(lock) => return Ok(Some(Box::new(lock))),
                Err(busy) => file = busy,
            }
            tokio::time::sleep(LOCK_PAUSE).await;
        }
        let error = io::Error::new(io::ErrorKind::TimedOut, "another process holds it");
        Err(store_error("lock", &path, &error))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> ToolResult<T> + Send + 'static) -> ToolResult<T> {
    tokio::task::spawn_blocking(work).await.map_err(ToolError::execution)?
}

fn read(path: &Path, server: &Url) -> ToolResult<Option<StoredLogin>> {
    let read = goose_fs::read_regular(path, MAX_FILE_BYTES);
    let text = match read.and_then(|text| within_cap(text.len() as u64).map(|()| text)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(store_error("read", path, &error)),
    };
    // serde's message could quote the secrets in the file.
    let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "it is not a login");
    let page: LoginFile =
        serde_json::from_slice(&text).map_err(|_| store_error("read", path, &unreadable()))?;
    if page.server != *server {
        let other = io::Error::new(io::ErrorKind::InvalidData, "it is for another server");
        return Err(store_error("read", path, &other));
    }
    Ok(Some(page.login))
}

fn within_cap(length: u64) -> io::Result<()> {
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, "it is too large");
    (length <= MAX_FILE_BYTES).then_some(()).ok_or_else(too_large)
}

fn write(folder: &Path, path: &Path, page: &[u8]) -> io::Result<()> {
    create_folder(folder)?;
    AtomicFile::new(path).synced().write(page)
}

fn open_lock(folder: &Path, path: &Path) -> io::Result<File> {
    create_folder(folder)?;
    let file = open_lock_file(path)?;
    set_mode(path, 0o600)?;
    Ok(file)
}

fn create_folder(folder: &Path) -> io::Result<()> {
    create_private_dir(folder)?;
    set_mode(folder, 0o700)
}

/// Corrects the mode of an existing file or folder.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    if fs::metadata(path)?.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn store_error(what: &str, path: &Path, error: &io::Error) -> ToolError {
    ToolError::ExecutionError(format!(
        "Could not {what} the login in `{}`: {error}. Repair or remove that file, then log in again.",
        path.display()
    ))
}
