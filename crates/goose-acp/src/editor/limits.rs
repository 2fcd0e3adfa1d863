//! [`Limits`]: restrictions of a client that reaches goose over a network.

use std::path::{Path, PathBuf};

use goose::permission::Mode;

use crate::rpc::{RpcError, invalid};

/// Restrictions of a client that reaches goose over a network. Its files, terminals and tools are not used.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Folders below which sessions work.
    pub roots: Vec<PathBuf>,
    /// Maximum number of sessions that are open in the process.
    pub max_sessions: usize,
    /// True if the client may remove sessions, store rules and name MCP servers.
    pub may_administer: bool,
}

impl Limits {
    /// Returns a folder with its links resolved. It must be below a root.
    pub(super) fn folder(&self, folder: &Path) -> Result<PathBuf, RpcError> {
        let resolved = goose_fs::resolve(folder).ok();
        let allowed = resolved.filter(|folder| self.roots.iter().any(|root| folder.starts_with(root)));
        allowed.ok_or_else(|| invalid("this folder is not below a root of the server; --root adds one"))
    }

    /// Fails for what needs more rights than the client has.
    pub(super) fn check_administration(&self, what: &str) -> Result<(), RpcError> {
        match self.may_administer {
            true => Ok(()),
            false => Err(invalid(format!("{what} needs a token with the scope `admin`"))),
        }
    }

    /// Fails for a permission mode that is more permissive than the present one.
    pub(super) fn check_mode(present: Mode, wanted: Mode) -> Result<(), RpcError> {
        match wanted < present {
            true => Err(invalid(format!(
                "the permission mode is `{present}`, and a client can only choose a stricter one"
            ))),
            false => Ok(()),
        }
    }
}
