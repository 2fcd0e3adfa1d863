//! Ids of the Agent Communication Protocol, which are UUIDs, for sessions and runs of goose.
//!
//! A session that a client began has the client's UUID as its id; any other gets the first bytes of a hash. A run's id
//! begins with a hash of its session's id, by which it is found again after a restart, and ends with random bytes or
//! a hash of the id that the client gave its message.

use std::{fmt, str::FromStr};

use goose::session::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::ApiError;

/// Bytes of a run's id that tell its session.
const SESSION_BYTES: usize = 7;

/// Universally unique id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Uuid([u8; 16]);

impl Uuid {
    /// Creates a random id.
    pub(crate) fn random() -> Result<Self, ApiError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| ApiError::internal(format!("The system has no random bytes: {error}.")))?;
        Ok(Self::marked(bytes, 0x40))
    }

    /// Returns the id of a session.
    pub(crate) fn of_session(session: &SessionId) -> Self {
        session.as_str().parse().unwrap_or_else(|_| {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(&Sha256::digest(session.as_str())[..16]);
            Self::marked(bytes, 0x80)
        })
    }

    /// Returns the id of a run whose message has an id of the client's.
    pub(crate) fn of_message(session: &SessionId, message: &str) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&Sha256::digest(message)[..16]);
        Self::marked(bytes, 0x80).within(session)
    }

    /// Makes it the id of a run in a session.
    pub(crate) fn within(mut self, session: &SessionId) -> Self {
        let session = Self::of_session(session);
        self.0[..4].copy_from_slice(&session.0[..4]);
        // The bytes 6 and 8 have the version and the variant.
        self.0[4..6].copy_from_slice(&session.0[4..6]);
        self.0[7] = session.0[7];
        self
    }

    /// Returns true if this can be a run of a session.
    pub(crate) fn is_within(&self, session: &SessionId) -> bool {
        self.within(session) == *self
    }

    fn marked(mut bytes: [u8; 16], version: u8) -> Self {
        bytes[6] = (bytes[6] & 0x0f) | version;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Self(bytes)
    }
}

const _: () = assert!(SESSION_BYTES == 7, "`within` copies the bytes 0 to 5 and 7");

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Uuid {
    type Err = NotAUuid;

    fn from_str(text: &str) -> Result<Self, NotAUuid> {
        let has_dashes = text.len() == 36 && [8, 13, 18, 23].iter().all(|&at| text.as_bytes()[at] == b'-');
        let digits: String = text.chars().filter(|&c| c != '-').collect();
        if !has_dashes || digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NotAUuid);
        }
        let mut bytes = [0; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).map_err(|_| NotAUuid)?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Uuid {
    type Error = NotAUuid;

    fn try_from(text: String) -> Result<Self, NotAUuid> {
        text.parse()
    }
}

impl From<Uuid> for String {
    fn from(id: Uuid) -> Self {
        id.to_string()
    }
}

impl JsonSchema for Uuid {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Uuid".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "uuid"})
    }
}

/// Error for a text that is not a UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an id is a UUID, such as 3f2b1c4e-8a51-4d0e-9a35-5f0d6c9b7e21")]
pub(crate) struct NotAUuid;

impl From<NotAUuid> for ApiError {
    fn from(error: NotAUuid) -> Self {
        Self::bad_request(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_as_they_were_read() {
        let text = "3f2b1c4e-8a51-4d0e-9a35-5f0d6c9b7e21";
        assert_eq!(text.parse::<Uuid>().unwrap().to_string(), text);
        for bad in
            ["", "3f2b1c4e8a514d0e9a355f0d6c9b7e21", "3f2b1c4e-8a51-4d0e-9a35-5f0d6c9b7eéé", &"x".repeat(36)]
        {
            assert!(bad.parse::<Uuid>().is_err(), "{bad}");
        }
    }

    #[test]
    fn runs_are_found_by_their_session() {
        let sessions: Vec<SessionId> =
            (1..50).map(|number| format!("20261115_{number}").parse().unwrap()).collect();
        for session in &sessions {
            let run = Uuid::of_message(session, "the same message");
            let found: Vec<_> = sessions.iter().filter(|it| run.is_within(it)).collect();
            assert_eq!(found, [session]);
            assert_eq!(run, Uuid::of_message(session, "the same message"));
            assert_ne!(run, Uuid::of_message(session, "another message"));
        }
    }
}
