//! The time of day, from a clock that may be set to anything.

use std::time::SystemTime;

use jiff::Timestamp;

/// The time now. A clock beyond the year 9999, or far before our era, counts as the last or first moment that can be
/// written: jiff's own `now` panics there.
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
    fn a_clock_beyond_the_calendar_is_clamped() {
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
