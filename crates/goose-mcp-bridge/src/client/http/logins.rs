//! When a message may lead to a login, and how often.

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetExtensions as _};

use crate::{client::auth::Challenge, client::routes::Route};

/// How often one message may lead to a wider login.
const MAX_WIDENINGS: u32 = 2;

/// The logins that one message, or one greeting, has led to.
#[derive(Default)]
pub(super) struct Logins {
    /// Whether somebody waits for the answer, and can be asked to log in for it.
    pub(super) has_caller: bool,
    renewed: bool,
    logged_in: bool,
    widened: u32,
}

impl Logins {
    pub(super) fn of(message: &ClientJsonRpcMessage) -> Self {
        Self { has_caller: has_caller(message), ..Self::default() }
    }

    pub(super) fn may_renew(&mut self) -> bool {
        !std::mem::replace(&mut self.renewed, true)
    }

    /// Whether to ask a person: once for a login, a few times for a wider one.
    pub(super) fn allow(&mut self, challenge: &Challenge) -> bool {
        if challenge.scope.is_none() {
            return !std::mem::replace(&mut self.logged_in, true);
        }
        self.widened += 1;
        self.widened <= MAX_WIDENINGS
    }
}

/// Calls and what else a caller asks for. Lists are read again in the background, and all else that we send is our own
/// business.
fn has_caller(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    let is_asked_for = matches!(
        &request.request,
        ClientRequest::CompleteRequest(_)
            | ClientRequest::GetTaskRequest(_)
            | ClientRequest::UpdateTaskRequest(_)
    );
    is_asked_for || request.request.extensions().get::<Route>().is_some()
}
