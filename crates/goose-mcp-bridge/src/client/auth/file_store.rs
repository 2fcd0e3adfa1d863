//! [`FileTokenStore`]: logins in files that only their owner can read.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use goose_extension::{ToolError, ToolResult};
use goose_fs::{AtomicFile, FileLock, create_private_dir, open_lock_file};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::store::{StoredLogin, TokenStore};

/// How long to wait for another process that renews the same login, and how often to look.
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

/// What a file holds. The server's name is for people, and guards against a mix-up.
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
        let hash: String = Sha256::digest(server.as_str()).iter().map(|byte| format!("{byte:02x}")).collect();
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
