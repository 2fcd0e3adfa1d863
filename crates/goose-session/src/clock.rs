//! The current time, from a system clock that may be set to anything. A public module, so that callers write
//! `clock::now`.

use std::time::SystemTime;

use jiff::Timestamp;

/// Returns the current time. A clock outside of the years -9999 to 9999 is clamped to the first or last
/// timestamp that can be written; jiff's `now` panics there.
pub fn now() -> Timestamp {
    clamped(SystemTime::now())
}

fn clamped(time: SystemTime) -> Timestamp {
    let limit = if time > SystemTime::UNIX_EPOCH { Timestamp::MAX } else { Timestamp::MIN };
    Timestamp::try_from(time).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::tz::{TimeZone, offset};

    use super::*;

    #[test]
    fn clock_outside_of_the_calendar_is_clamped() {
        let far = Duration::from_secs(300_000_000_000);
        let (after, before) =
            (clamped(SystemTime::UNIX_EPOCH + far), clamped(SystemTime::UNIX_EPOCH - far * 2));
        assert_eq!((after, before), (Timestamp::MAX, Timestamp::MIN));
        for zone in [TimeZone::fixed(offset(14)), TimeZone::fixed(offset(-12)), TimeZone::UTC] {
            assert_eq!(after.to_zoned(zone).strftime("%Y").to_string(), "9999");
        }
        let today = Duration::from_secs(1_800_000_000);
        assert_eq!(clamped(SystemTime::UNIX_EPOCH + today).as_second(), 1_800_000_000);
    }
}
