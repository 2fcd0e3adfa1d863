//! [`SessionId`]: the id of a session, such as `20261115_3`.

use std::{fmt, str::FromStr};

use jiff::{Timestamp, tz::TimeZone};
use serde::{Deserialize, Serialize};

/// Maximum length of an id.
const MAX_BYTES: usize = 64;

/// Highest number that new ids continue from: an imported id may have any number.
const MAX_NUMBER: i64 = 1_000_000_000;

/// Id of a session: letters, digits, `_`, `-` and `.`. New ids consist of the day (UTC) and a number that
/// counts from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct SessionId(String);

/// Error for a text that cannot be a session id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a session id: ids have up to {MAX_BYTES} letters, digits, '_', '-' and '.', \
     such as 20261115_3"
)]
pub struct BadSessionId(String);

impl SessionId {
    pub(crate) fn numbered(day: &str, number: i64) -> Self {
        Self(format!("{day}_{number}"))
    }

    /// Returns the day and the number, if the id has them.
    pub(crate) fn day_and_number(&self) -> Option<(&str, i64)> {
        let (day, number) = self.0.split_once('_')?;
        let is_day = day.len() == 8 && day.bytes().all(|byte| byte.is_ascii_digit());
        Some((day, number.parse().ok().filter(|number| is_day && (1..=MAX_NUMBER).contains(number))?))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Formats the day of a moment for an id.
pub(crate) fn day(at: Timestamp) -> String {
    let date = at.to_zoned(TimeZone::UTC).date();
    format!("{:04}{:02}{:02}", date.year(), date.month(), date.day())
}

impl FromStr for SessionId {
    type Err = BadSessionId;

    fn from_str(text: &str) -> Result<Self, BadSessionId> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for SessionId {
    type Error = BadSessionId;

    fn try_from(text: String) -> Result<Self, BadSessionId> {
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if (1..=MAX_BYTES).contains(&text.len()) && text.bytes().all(is_fine) {
            return Ok(Self(text));
        }
        Err(BadSessionId(text.chars().take(MAX_BYTES).collect()))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_consist_of_day_and_number() {
        let id = SessionId::numbered(&day(Timestamp::UNIX_EPOCH), 3);
        assert_eq!(id.to_string(), "19700101_3");
        assert_eq!(id.day_and_number(), Some(("19700101", 3)));
    }

    #[test]
    fn ids_of_other_forms_are_valid_but_have_no_number() -> Result<(), BadSessionId> {
        for text in [
            "a",
            "20261115",
            "2026_1",
            "20261115_x",
            "20261115_-1",
            "20261115_0",
            "20261115_1000000001",
            "2026111a_1",
        ] {
            assert_eq!(text.parse::<SessionId>()?.day_and_number(), None, "{text}");
        }
        Ok(())
    }

    #[test]
    fn invalid_ids_are_refused() {
        for text in ["", "a b", "../x", "ä", &"x".repeat(65)] {
            assert!(text.parse::<SessionId>().is_err(), "{text}");
        }
    }
}
