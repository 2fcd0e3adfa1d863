//! [`LoginError`]: why a login failed.

use thiserror::Error;

use super::device::CLIENT_ID;
use crate::{error::ProviderError, registry::SetupError};

/// Why a login failed. No key was received.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoginError {
    /// A setting that cannot be used.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The id of the app is missing that GitHub wants to know.
    #[error("a login at GitHub needs the client id of a GitHub App, but {CLIENT_ID} is not set")]
    MissingClientId,
    /// The service was not reached, or is in trouble.
    #[error(transparent)]
    Service(#[from] ProviderError),
    /// The service refused.
    #[error("{service} refused the login: {message}")]
    Refused {
        /// The service, as it is shown.
        service: &'static str,
        /// The service's words.
        message: String,
        /// The way to fix it, if it is known.
        hint: Option<String>,
    },
    /// The user said no on the service's page.
    #[error("the login was declined on the page of {0}")]
    Declined(&'static str),
    /// The user did not enter the code in time.
    #[error("the code expired before it was entered on the page of {0}")]
    Expired(&'static str),
    /// An answer that is not one of the protocol.
    #[error("the answer of {service} cannot be used: {message}")]
    Protocol {
        /// The service, as it is shown.
        service: &'static str,
        /// The problem.
        message: String,
    },
    /// The system provides no random numbers.
    #[error("no random numbers are available: {0}")]
    Random(String),
}

impl LoginError {
    /// Returns the way to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Setup(error) => error.hint(),
            Self::Service(error) => error.hint(),
            Self::MissingClientId => Some(format!(
                "goose has no app of its own at GitHub. Either register one with the account permission \"Models: read\" and \
                 the device flow, and set {CLIENT_ID} to its client id; or make a fine-grained personal access token with \
                 that permission at https://github.com/settings/personal-access-tokens/new, and store it with \
                 `goose configure --provider github_models --key-stdin`"
            )),
            Self::Refused { hint, .. } => hint.clone(),
            Self::Expired(_) => Some("log in again, and enter the new code".to_owned()),
            Self::Declined(_) | Self::Protocol { .. } | Self::Random(_) => None,
        }
    }
}
