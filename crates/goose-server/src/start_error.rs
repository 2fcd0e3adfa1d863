//! [`StartError`]: reasons why a server does not start.

use std::{io, path::PathBuf};

use thiserror::Error;

use crate::tokens::TokenError;

/// Error that keeps a server from starting.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address cannot be used.
    #[error("{address} cannot be listened on: {source}")]
    Bind {
        /// Address.
        address: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A certificate or a key cannot be used.
    #[error("{} cannot be used for TLS: {reason}", path.display())]
    Tls {
        /// Path of the file.
        path: PathBuf,
        /// Problem.
        reason: String,
    },
    /// A root is not a folder.
    #[error("the root {} cannot be used: {reason}", path.display())]
    Root {
        /// Path of the folder.
        path: PathBuf,
        /// Problem.
        reason: String,
    },
    /// Other machines could use the server without a token.
    #[error(
        "--dangerously-unauthenticated works only with an address of this machine, such as 127.0.0.1; {0} is none"
    )]
    Unauthenticated(std::net::IpAddr),
    /// A name or an origin is malformed.
    #[error("{0}")]
    Name(String),
    /// The tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The MCP endpoint cannot be made.
    #[error("the MCP endpoint cannot be served: {0}")]
    Mcp(String),
    /// Traces cannot be sent.
    #[cfg(feature = "otel")]
    #[error("traces cannot be sent: {0}")]
    Traces(String),
}
