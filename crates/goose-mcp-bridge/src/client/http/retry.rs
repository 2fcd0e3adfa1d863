//! Rules for sending a message again, and the pauses in between.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};

/// Maximum attempts to send a message.
pub(super) const TRIES: u32 = 3;

/// Pause before the second attempt; it doubles for each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Longest pause, even if the server asks for more.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A response that asks to try again later.
#[derive(Debug, Clone, Copy)]
pub(super) struct Busy {
    pub(super) status: StatusCode,
    /// Pause that the server asks for.
    retry_after: Option<Duration>,
}

impl Busy {
    /// Returns `Some` if the response asks to try again later.
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

    /// Returns whether the server certainly did not process the message.
    fn was_refused(self) -> bool {
        match self.status {
            StatusCode::TOO_MANY_REQUESTS => true,
            StatusCode::SERVICE_UNAVAILABLE => self.retry_after.is_some(),
            _ => false,
        }
    }

    /// Returns whether a message with this effect may be sent again.
    pub(super) fn allows(self, effect: Effect) -> bool {
        effect == Effect::None || self.was_refused()
    }

    pub(super) fn pause(self, tries: u32) -> Duration {
        self.retry_after.unwrap_or_else(|| pause(tries)).min(LONGEST_PAUSE)
    }
}

/// Returns the pause after a number of attempts.
pub(super) fn pause(tries: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << tries.saturating_sub(1).min(8)).min(LONGEST_PAUSE)
}

/// Parses `Retry-After`. A date is not parsed and means the longest pause, because it is rarely further
/// ahead.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if value.bytes().all(|byte| byte.is_ascii_digit()) && !value.is_empty() {
        return Some(value.parse().map_or(LONGEST_PAUSE, Duration::from_secs));
    }
    value.ends_with("GMT").then_some(LONGEST_PAUSE)
}

/// Effect of a message that was possibly processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Processing it twice has the same effect as once.
    None,
    /// It may have an effect even if the response was lost.
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
