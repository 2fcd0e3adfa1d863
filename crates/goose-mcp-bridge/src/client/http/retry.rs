//! When a message may be sent again, and after which pause.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};

/// Attempts to send a message.
pub(super) const TRIES: u32 = 3;

/// The pause before the second try; it doubles for each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest that a server can make us wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A server that could not do it now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Busy {
    pub(super) status: StatusCode,
    /// The pause that the server asks for, where it does.
    retry_after: Option<Duration>,
}

impl Busy {
    /// Returns whether an answer says so.
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

    /// Returns whether the server says that it did nothing with the message.
    fn was_refused(self) -> bool {
        match self.status {
            StatusCode::TOO_MANY_REQUESTS => true,
            StatusCode::SERVICE_UNAVAILABLE => self.retry_after.is_some(),
            _ => false,
        }
    }

    /// Returns whether a message may be sent again.
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

/// The effect that a message may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Doing it twice is doing it once.
    None,
    /// It may have been done even though the answer did not arrive.
    Possible,
}

impl Effect {
    pub(super) fn from_message(message: &ClientJsonRpcMessage) -> Self {
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

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        assert_eq!([1, 2, 3].map(pause), [FIRST_PAUSE, FIRST_PAUSE * 2, FIRST_PAUSE * 4]);
        assert_eq!(pause(u32::MAX), LONGEST_PAUSE);
    }

    #[test]
    fn a_server_can_ask_for_a_pause_up_to_the_longest() {
        for (value, expected) in [
            ("1", Some(Duration::from_secs(1))),
            ("3600", Some(LONGEST_PAUSE)),
            ("99999999999999999999999", Some(LONGEST_PAUSE)),
            ("Wed, 21 Oct 2099 07:28:00 GMT", Some(LONGEST_PAUSE)),
            ("", None),
            ("-1", None),
            ("soon", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(value))]);
            let busy = Busy::read(StatusCode::SERVICE_UNAVAILABLE, &headers);
            assert_eq!(busy.map(|busy| busy.pause(1)), expected.or(Some(FIRST_PAUSE)), "{value}");
            assert_eq!(busy.map(|busy| busy.allows(Effect::Possible)), Some(expected.is_some()), "{value}");
        }
    }
}
