//! [`TokenStore`]: tokens of clients. Only hashes are stored, in a file that only its owner can read.
//!
//! The file is shared with `goose serve token`: a running server reads it again when it has changed, so a revoked
//! token ends its open streams within [`RELOAD_INTERVAL`].

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use goose_fs::{AtomicFile, create_private_dir, read_regular};
use jiff::Timestamp;
use parking_lot::RwLock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// Interval at which a running server looks for changes of the file.
pub(crate) const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum size of the file.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Maximum number of tokens.
const MAX_TOKENS: usize = 1_000;
/// Maximum length of a name.
const MAX_NAME_CHARS: usize = 100;
/// Maximum length of a token that is hashed.
const MAX_TOKEN_BYTES: usize = 1_024;
/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;
/// Random bytes of an id.
const ID_BYTES: usize = 6;
/// Prefix of tokens, by which scanners for leaked secrets find them.
const PREFIX: &str = "goose_";

/// Id of the token that the environment gives.
const ENVIRONMENT: &str = "environment";

/// Rights of a token. Each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Reads sessions, events and agents.
    Read,
    /// Runs agents and answers their questions.
    Run,
    /// Changes what other runs depend on: rules, imports, removal of sessions.
    Admin,
}

impl Scope {
    /// All scopes, from the weakest.
    pub const ALL: [Self; 3] = [Self::Read, Self::Run, Self::Admin];

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| TokenError::Scope(text.to_owned()))
    }
}

/// Error of the file with tokens.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("the tokens in {} cannot be used: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is not a list of tokens. It is not changed.
    #[error("the tokens in {} cannot be read: {reason}. Fix or remove the file", path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// Problem.
        reason: String,
    },
    /// The word is not a scope.
    #[error("`{0}` is not a scope; use read, run or admin")]
    Scope(String),
    /// The name cannot be used.
    #[error("a token's name has 1 to {MAX_NAME_CHARS} characters and is unique; `{0}` cannot be used")]
    Name(String),
    /// There are too many tokens.
    #[error("there are {MAX_TOKENS} tokens already; revoke some first")]
    TooMany,
    /// The system has no random bytes.
    #[error("the system has no random bytes for a token: {0}")]
    Random(String),
}

/// Token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenInfo {
    /// Id, by which the audit log names the token.
    pub id: String,
    /// Name.
    pub name: String,
    /// Rights.
    pub scope: Scope,
    /// Time of creation.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
}

/// New token. The secret is shown once and not stored.
#[derive(Clone)]
pub struct NewToken {
    /// The token without its secret.
    pub info: TokenInfo,
    /// The secret.
    pub secret: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredToken {
    #[serde(flatten)]
    info: TokenInfo,
    /// SHA-256 of the token in hexadecimal. A token has 256 random bits, so no slow hash is needed.
    hash: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TokenFile {
    tokens: Vec<StoredToken>,
}

/// File with the hashes of tokens.
#[derive(Debug, Clone)]
pub struct TokenStore {
    path: PathBuf,
}

impl TokenStore {
    /// Returns the store in this file, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns all tokens without their secrets.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn list(&self) -> Result<Vec<TokenInfo>, TokenError> {
        Ok(self.read()?.tokens.into_iter().map(|token| token.info).collect())
    }

    /// Creates a token.
    ///
    /// # Errors
    ///
    /// Fails if the name is empty, too long or taken, and if the file cannot be written.
    pub fn create(&self, name: &str, scope: Scope) -> Result<NewToken, TokenError> {
        let mut file = self.read()?;
        let is_taken = file.tokens.iter().any(|token| token.info.name == name);
        let is_unusable = name.is_empty() || name.chars().count() > MAX_NAME_CHARS;
        if is_taken || is_unusable || name.chars().any(char::is_control) {
            return Err(TokenError::Name(name.to_owned()));
        }
        if file.tokens.len() >= MAX_TOKENS {
            return Err(TokenError::TooMany);
        }
        let secret = format!("{PREFIX}{}", random(TOKEN_BYTES)?);
        let info = TokenInfo {
            id: random(ID_BYTES)?,
            name: name.to_owned(),
            scope,
            created_at: Timestamp::now().round(jiff::Unit::Second).unwrap_or_else(|_| Timestamp::now()),
        };
        let hash = hex(&Sha256::digest(secret.as_bytes()).into());
        file.tokens.push(StoredToken { info: info.clone(), hash });
        self.write(&file)?;
        Ok(NewToken { info, secret })
    }

    /// Revokes the token with this name or id. Returns false if there is none.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or written.
    pub fn revoke(&self, name_or_id: &str) -> Result<bool, TokenError> {
        let mut file = self.read()?;
        let before = file.tokens.len();
        file.tokens.retain(|token| token.info.name != name_or_id && token.info.id != name_or_id);
        let is_found = file.tokens.len() < before;
        if is_found {
            self.write(&file)?;
        }
        Ok(is_found)
    }

    fn read(&self) -> Result<TokenFile, TokenError> {
        let bytes = match read_regular(&self.path, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TokenFile::default()),
            Err(error) => return Err(self.failed(error)),
        };
        serde_json::from_slice(&bytes)
            .map_err(|error| TokenError::Malformed { path: self.path.clone(), reason: error.to_string() })
    }

    fn write(&self, file: &TokenFile) -> Result<(), TokenError> {
        let text = serde_json::to_string_pretty(file).map_err(|error| self.failed(error.into()))?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let written = create_private_dir(folder)
            .and_then(|()| AtomicFile::new(&self.path).synced().write(text.as_bytes()));
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> TokenError {
        TokenError::File { path: self.path.clone(), source }
    }
}

/// A client that was let in. Clones share the revocation.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// Id of the token, for the audit log and the limits.
    pub(crate) id: Arc<str>,
    pub(crate) scope: Scope,
    /// Cancelled when the token is revoked.
    pub(crate) revoked: CancellationToken,
}

impl Client {
    /// Creates a client that has no token.
    pub(crate) fn without_token(id: &str) -> Self {
        Self { id: id.into(), scope: Scope::Admin, revoked: CancellationToken::new() }
    }
}

/// Tokens that a running server accepts.
#[derive(Debug)]
pub(crate) struct KnownTokens {
    store: TokenStore,
    accepted: RwLock<Accepted>,
    environment: Option<([u8; 32], Client)>,
}

#[derive(Debug, Default)]
struct Accepted {
    stamp: Option<(SystemTime, u64)>,
    tokens: Vec<([u8; 32], Client)>,
}

impl KnownTokens {
    /// Reads the file. `secret` is the token that the environment gives.
    pub(crate) fn load(store: TokenStore, secret: Option<&str>) -> Result<Self, TokenError> {
        let environment =
            secret.map(|secret| (Sha256::digest(secret).into(), Client::without_token(ENVIRONMENT)));
        let known = Self { store, accepted: RwLock::default(), environment };
        known.reload()?;
        Ok(known)
    }

    /// Reads the file again if it has changed. Ends the streams of tokens that are gone.
    pub(crate) fn reload(&self) -> Result<(), TokenError> {
        let stamp =
            fs::metadata(&self.store.path).ok().and_then(|found| Some((found.modified().ok()?, found.len())));
        if stamp.is_some() && self.accepted.read().stamp == stamp {
            return Ok(());
        }
        let stored = self.store.read()?.tokens;
        let mut accepted = self.accepted.write();
        let earlier = std::mem::take(&mut accepted.tokens);
        for token in &stored {
            let Some(hash) = unhex(&token.hash) else { continue };
            let same = |client: &&Client| *client.id == *token.info.id && client.scope == token.info.scope;
            let kept = earlier.iter().map(|(_, client)| client).find(same).cloned();
            let client = kept.unwrap_or_else(|| Client {
                id: token.info.id.as_str().into(),
                scope: token.info.scope,
                revoked: CancellationToken::new(),
            });
            accepted.tokens.push((hash, client));
        }
        accepted.stamp = stamp;
        for (_, client) in &earlier {
            let is_kept =
                accepted.tokens.iter().any(|(_, it)| it.id == client.id && it.scope == client.scope);
            if !is_kept {
                client.revoked.cancel();
            }
        }
        Ok(())
    }

    /// Returns the client of a token. All hashes are compared, each in constant time.
    pub(crate) fn client(&self, token: &[u8]) -> Option<Client> {
        if token.is_empty() || token.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let hash: [u8; 32] = Sha256::digest(token).into();
        let accepted = self.accepted.read();
        let mut found = None;
        for (known, client) in accepted.tokens.iter().chain(&self.environment) {
            if bool::from(known.ct_eq(&hash)) {
                found = Some(client);
            }
        }
        found.cloned()
    }

    /// Returns true if no token is accepted.
    pub(crate) fn is_empty(&self) -> bool {
        self.environment.is_none() && self.accepted.read().tokens.is_empty()
    }
}

fn random(bytes: usize) -> Result<String, TokenError> {
    let mut buffer = vec![0; bytes];
    getrandom::fill(&mut buffer).map_err(|error| TokenError::Random(error.to_string()))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(buffer))
}

fn hex(bytes: &[u8; 32]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let bytes: Option<Vec<u8>> =
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect();
    bytes?.try_into().ok()
}
