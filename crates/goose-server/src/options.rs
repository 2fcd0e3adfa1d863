//! [`ServerOptions`]: settings of a server.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    time::Duration,
};

use goose::config::{Paths, Secret};
use jiff::tz::TimeZone;

/// Port that a server listens on by default.
pub const DEFAULT_PORT: u16 = 3284;

/// Variable with a token that the environment gives.
pub const SECRET_KEY: &str = "GOOSE_SERVER__SECRET_KEY";

/// Time that runs and streams get to end after the server was asked to stop.
const DRAIN_TIME: Duration = Duration::from_millis(1_200);

/// Certificate and private key in PEM files.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// Certificate, followed by those of its issuers.
    pub certificate: PathBuf,
    /// Private key.
    pub key: PathBuf,
}

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Address to listen on.
    pub host: IpAddr,
    /// Port to listen on; 0 means any free port.
    pub port: u16,
    /// Unix socket to listen on as well. Clients of the same user need no token there.
    pub socket: Option<PathBuf>,
    /// Certificate and key; without them the server speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Additional values of `Host`: a name, or `name:port`.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may use the server: `scheme://host:port`.
    pub allowed_origins: Vec<String>,
    /// Folders below which sessions may work. The first one is the default.
    pub roots: Vec<PathBuf>,
    /// True to accept requests without a token.
    pub is_unauthenticated: bool,
    /// File with the hashes of tokens.
    pub token_file: PathBuf,
    /// Token that the environment gives, with all rights.
    pub secret_key: Option<Secret>,
    /// Time that runs and streams get to end after the server was asked to stop.
    pub drain: Duration,
    /// Time zone of scheduled jobs.
    pub time_zone: TimeZone,
    /// Collector of traces.
    #[cfg(feature = "otel")]
    pub traces: Option<crate::TraceSettings>,
}

impl ServerOptions {
    /// Creates options for the loopback interface and one folder.
    pub fn new(paths: &Paths, root: impl Into<PathBuf>) -> Self {
        Self {
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: DEFAULT_PORT,
            socket: None,
            tls: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            roots: vec![root.into()],
            is_unauthenticated: false,
            token_file: Self::token_file(paths),
            secret_key: None,
            drain: DRAIN_TIME,
            time_zone: TimeZone::system(),
            #[cfg(feature = "otel")]
            traces: None,
        }
    }

    /// Returns the path of the file with the hashes of tokens.
    pub fn token_file(paths: &Paths) -> PathBuf {
        paths.data.join("server").join("tokens.json")
    }

    /// Returns the path of the Unix socket that local clients use.
    pub fn socket_file(paths: &Paths) -> PathBuf {
        paths.data.join("server").join("goosed.sock")
    }

    /// Returns the folder for the audit log, which is beside the file with the tokens.
    pub(crate) fn audit_file(&self) -> PathBuf {
        self.token_file.parent().unwrap_or(Path::new(".")).join("audit.jsonl")
    }
}
