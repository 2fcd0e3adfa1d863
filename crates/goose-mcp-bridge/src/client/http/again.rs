//! When a message may be sent once more, and after how long.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};

/// How often a message is sent at most.
pub(super) const TRIES: u32 = 3;

/// The pause before the second try; it doubles for each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest that a server can make us wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A server that could not do it now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Busy {
    pub(super) status: StatusCode,
    /// When the server says that it can do it, where it does.
    retry_after: Option<Duration>,
}

impl Busy {
    /// Whether an answer says so.
    pub(super) fn read(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        let is_busy = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        is_busy.then(|| Self { status, retry_after: retry_after(headers) })
    }

    /// Whether the server says that it did nothing with the message.
    fn was_refused(self) -> bool {
        match self.status {
            StatusCode::TOO_MANY_REQUESTS => true,
            StatusCode::SERVICE_UNAVAILABLE => self.retry_after.is_some(),
            _ => false,
        }
    }

    /// Whether a message may be sent again.
    pub(super) fn allows(self, effect: Effect) -> bool {
        effect == Effect::None || self.was_refused()
    }

    pub(super) fn pause(self, tries: u32) -> Duration {
        self.retry_after.unwrap_or_else(|| pause(tries)).min(LONGEST_PAUSE)
    }
}

/// The pause after so many tries.
pub(super) fn pause(tries: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << tries.saturating_sub(1).min(8)).min(LONGEST_PAUSE)
}

/// The seconds that a server names. A date counts as "later": it is some seconds ahead in good servers, and we wait as
/// long as we do at most.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if value.bytes().all(|byte| byte.is_ascii_digit()) && !value.is_empty() {
        return Some(value.parse().map_or(LONGEST_PAUSE, Duration::from_secs));
    }
    value.ends_with("GMT").then_some(LONGEST_PAUSE)
}

/// Whether a message may change something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Doing it twice is doing it once.
    None,
    /// It may have been done even though the answer did not arrive.
    Possible,
}

impl Effect {
    pub(super) fn of(message: &ClientJsonRpcMessage) -> Self {
        match message {
            ClientJsonRpcMessage::Request(request) => match &request.request {
                ClientRequest::CallToolRequest(_) | ClientRequest::CustomRequest(_) => Self::Possible,
                _ => Self::None,
            },
            ClientJsonRpcMessage::Notification(_) => Self::None,
            _ => Self::Possible,
        }
    }
}
