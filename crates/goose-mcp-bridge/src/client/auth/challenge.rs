//! What a server wants before it does what it was asked.

use rmcp::transport::auth::WWWAuthenticateParams;
use url::Url;

use super::addresses::is_private_way;
use crate::client::http::HttpError;

/// A request that was refused for want of a login (HTTP 401) or of a scope (403).
#[derive(Clone)]
pub(in crate::client) struct Challenge {
    /// What the server says about it.
    pub(in crate::client) header: Option<String>,
    /// The token that was not enough.
    pub(in crate::client) rejected: Option<String>,
    /// The scope that is wanted.
    pub(in crate::client) scope: Option<String>,
    /// How many logins had failed when the request was made. One that failed since is the answer to this, too.
    pub(super) failures: u64,
}

impl Challenge {
    pub(in crate::client) fn login(header: Option<String>, rejected: Option<String>) -> Self {
        Self { header, rejected, scope: None, failures: 0 }
    }

    /// A refusal that a wider login can help: only one that names the scope.
    pub(in crate::client) fn scope(
        header: Option<String>,
        rejected: Option<String>,
        server: &Url,
    ) -> Option<Self> {
        let params = WWWAuthenticateParams::parse(header.as_deref()?, server);
        let scope = params.scope.clone().filter(|_| params.is_insufficient_scope())?;
        Some(Self { header, rejected, scope: Some(scope), failures: 0 })
    }

    /// The same for a request that was made after so many failed logins.
    pub(in crate::client) fn after(self, failures: u64) -> Self {
        Self { failures, ..self }
    }

    /// The error where there is nothing to log in with.
    pub(in crate::client) fn unanswered(&self, server: &Url) -> HttpError {
        if !is_private_way(server) {
            return HttpError::LoginUnsafe;
        }
        match &self.scope {
            None => HttpError::LoginNeeded { hint: "OAuth is not set up here.".to_owned() },
            Some(scope) => {
                HttpError::Forbidden(format!(": the scope `{scope}` is needed, and OAuth is not set up here"))
            }
        }
    }

    /// The error where nobody waits who could log in.
    pub(in crate::client) fn unattended(&self) -> HttpError {
        let hint = "Nobody waits for this request, so no login page was shown; the next call shows it.";
        match &self.scope {
            None => HttpError::LoginNeeded { hint: hint.to_owned() },
            Some(scope) => HttpError::Forbidden(format!(": the scope `{scope}` is needed, and nobody waits")),
        }
    }

    /// The error where there is nobody to ask.
    pub(super) fn unseen(&self) -> HttpError {
        match &self.scope {
            None => HttpError::LoginNeeded { hint: "There is no browser here to log in with.".to_owned() },
            Some(scope) => HttpError::Forbidden(format!(
                ": the scope `{scope}` is needed, and there is no browser here to log in again with"
            )),
        }
    }

    /// The error where a login did not help.
    pub(in crate::client) fn in_vain(&self) -> HttpError {
        match &self.scope {
            None => {
                HttpError::LoginFailed("the server refuses the token that was just issued for it".to_owned())
            }
            Some(scope) => HttpError::Forbidden(format!(
                ": it wants the scope `{scope}` although the login has it or cannot get it. Ask the owner of the \
                 server for access"
            )),
        }
    }
}
