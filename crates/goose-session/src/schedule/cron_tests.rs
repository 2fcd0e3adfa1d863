use jiff::{SignedDuration, ToSpan as _, civil::date};
use proptest::prelude::*;

use super::*;

/// Rules of time zones, which need no database.
const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
const NEW_YORK: &str = "EST5EDT,M3.2.0,M11.1.0";
const LORD_HOWE: &str = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";
/// The clocks change at midnight.
const SANTIAGO: &str = "<-04>4<-03>,M9.1.6/24,M4.1.6/24";
const KOLKATA: &str = "IST-5:30";

fn zone(rule: &str) -> TimeZone {
    TimeZone::posix(rule).unwrap()
}

/// The wall-clock times of the matches from a day on, for some days.
fn times(cron: &str, zone: &TimeZone, from: Date, days: i64) -> Vec<String> {
    let cron: Cron = cron.parse().unwrap();
    let start = from.to_zoned(zone.clone()).unwrap().timestamp();
    let end = from.checked_add(days.days()).unwrap().to_zoned(zone.clone()).unwrap().timestamp();
    let mut at = start - SignedDuration::from_secs(1);
    let mut found = Vec::new();
    while let Some(next) = cron.next_after(at, zone).filter(|next| *next < end) {
        found.push(next.to_zoned(zone.clone()).strftime("%d %H:%M%:z").to_string());
        at = next;
    }
    found
}

#[test]
fn expressions_are_read() {
    for text in [
        "0 9 * * 1",
        "0 0 9 * * *",
        "@daily",
        "@Hourly",
        "0 9 * * MON-FRI",
        "0 9 * jan,JUL *",
        "*/5 * * * *",
        "10/20 * * * *",
        "0 9 ? * 7",
        "0 9 L * *",
        "0 9 15W * *",
        "0 9 * * 5#2",
        "0 9 * * 5L",
    ] {
        assert_eq!(text.parse::<Cron>().unwrap().as_str(), text);
    }
    for (text, reason) in [
        ("", "0 fields"),
        ("x", "1 fields"),
        ("60 * * * *", "the minute '60' is not between 0 and 59"),
        ("* 24 * * *", "the hour '24' is not between 0 and 23"),
        ("0 22-2 * * *", "backwards"),
        ("*/0 * * * *", "'0' is not a step"),
        ("0 9 * * 5#6", "from 1 to 5"),
        ("0 9 0 * *", "day of the month"),
        ("0 9 * * *  2030 1", "7 fields"),
        ("@sometimes", "no such short form"),
        ("+5 * * * *", "'+5'"),
        ("0 9 * * -1", "''"),
    ] {
        let error = text.parse::<Cron>().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    assert!("* ".repeat(300).parse::<Cron>().is_err());
}

#[test]
fn days_match_as_people_expect() {
    let utc = TimeZone::UTC;
    let of = |cron: &str, days| times(cron, &utc, date(2026, 1, 1), days);
    assert_eq!(of("0 9 * * MON", 15), ["05 09:00+00:00", "12 09:00+00:00"]);
    assert_eq!(of("0 9 * * 0", 15), of("0 9 * * 7", 15));
    assert_eq!(
        of("0 9 13 * 5", 20),
        ["02 09:00+00:00", "09 09:00+00:00", "13 09:00+00:00", "16 09:00+00:00"]
    );
    assert_eq!(of("0 9 L * *", 59), ["31 09:00+00:00", "28 09:00+00:00"]);
    assert_eq!(of("0 9 * * 5#2", 59), ["09 09:00+00:00", "13 09:00+00:00"]);
    assert_eq!(of("0 9 * * 5L", 59), ["30 09:00+00:00", "27 09:00+00:00"]);
    // January 31, 2026 is a Saturday; February 1 is a Sunday.
    assert_eq!(of("0 9 31W * *", 59), ["30 09:00+00:00"]);
    assert_eq!(of("0 9 1W 2 *", 59), ["02 09:00+00:00"]);
    assert_eq!(of("30 0 9 5 1 *", 10), ["05 09:00+00:00"]);
    let leap: Cron = "0 0 29 2 *".parse().unwrap();
    let next = leap.next_after("2097-01-01T00:00:00Z".parse().unwrap(), &utc).unwrap();
    assert_eq!(next.to_string(), "2104-02-29T00:00:00Z");
    let never: Cron = "0 9 31 2 *".parse().unwrap();
    assert_eq!(never.next_after(Timestamp::UNIX_EPOCH, &utc), None);
    assert_eq!(leap.next_after(Timestamp::MAX, &utc), None);
}

#[test]
fn changes_of_the_clock_neither_lose_nor_double_a_run() {
    let berlin = zone(BERLIN);
    // On March 29, 2026, 02:00 to 03:00 does not exist; on October 25, it happens twice.
    assert_eq!(
        times("30 2 * * *", &berlin, date(2026, 3, 28), 3),
        ["28 02:30+01:00", "29 03:30+02:00", "30 02:30+02:00"]
    );
    assert_eq!(
        times("30 2 * * *", &berlin, date(2026, 10, 24), 3),
        ["24 02:30+02:00", "25 02:30+02:00", "26 02:30+01:00"]
    );
    assert_eq!(times("30 2,3 * * *", &berlin, date(2026, 3, 29), 1), ["29 03:30+02:00"]);
    assert_eq!(times("0 * * * *", &berlin, date(2026, 3, 29), 1).len(), 23);
    assert_eq!(times("0 * * * *", &berlin, date(2026, 10, 25), 1).len(), 25);
    assert_eq!(times("*/15 * * * *", &berlin, date(2026, 10, 25), 1).len(), 100);
    // Half an hour.
    let lord_howe = zone(LORD_HOWE);
    assert_eq!(times("*/30 * * * *", &lord_howe, date(2026, 4, 5), 1).len(), 49);
    // Midnight that does not exist on September 6.
    assert_eq!(
        times("@daily", &zone(SANTIAGO), date(2026, 9, 5), 3),
        ["05 00:00-04:00", "06 01:00-03:00", "07 00:00-03:00"]
    );
}

/// A fake clock over a year, in zones with all kinds of changes: a run at a fixed time happens once on each
/// day, and a run every ten minutes exactly every ten minutes.
#[test]
fn a_year_has_each_run_once() {
    for name in [BERLIN, NEW_YORK, LORD_HOWE, SANTIAGO, KOLKATA] {
        let zone = zone(name);
        for hour in [0, 1, 2, 3, 12, 23] {
            let found = times(&format!("15 {hour} * * *"), &zone, date(2026, 1, 1), 365);
            assert_eq!(found.len(), 365, "{name} {hour}");
        }
        let cron: Cron = "*/10 * * * *".parse().unwrap();
        let mut at: Timestamp = date(2026, 1, 1).to_zoned(zone.clone()).unwrap().timestamp();
        for _ in 0..(365 * 24 * 6) {
            let next = cron.next_after(at, &zone).unwrap();
            assert_eq!(next.as_second() - at.as_second(), 600, "{name} {at}");
            at = next;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The next match is the first minute that matches, as found by trying all of them.
    #[test]
    fn the_next_match_is_the_first(
        start in 1_700_000_000_i64..1_900_000_000,
        minute in 0..60_u8, hour in 0..24_u8, weekday in 0..8_u8, day in 1..29_u8,
        form in 0..6_usize,
    ) {
        let text = match form {
            0 => format!("{minute} {hour} * * *"),
            1 => format!("{minute} * * * {weekday}"),
            2 => format!("*/7 {hour} {day} * *"),
            3 => format!("{minute} {hour} {day} * {weekday}"),
            4 => format!("{minute} {hour}-23/3 * * 1-5"),
            _ => format!("{minute} {hour} {day}-31/2 */2 *"),
        };
        let cron: Cron = text.parse().unwrap();
        let start = Timestamp::from_second(start).unwrap();
        let next = cron.next_after(start, &TimeZone::UTC).unwrap();
        let minutes = |at: Timestamp| at.as_second().div_euclid(60);
        let is_match = |minute: i64| {
            let at = Timestamp::from_second(minute * 60).unwrap();
            let wall = TimeZone::UTC.to_datetime(at);
            let time = cron.next_time((wall.hour(), wall.minute(), 0));
            cron.has_day(wall.date()) && time == Some(wall.time())
        };
        prop_assert!(next > start && next.as_second() % 60 == 0);
        prop_assert!(is_match(minutes(next)));
        prop_assert!(!(minutes(start) + 1..minutes(next)).any(is_match), "{text}: an earlier minute matches");
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,30}", fields in prop::collection::vec("[*/?LW#0-9,-]{1,6}", 5..7)) {
        let _ = text.parse::<Cron>();
        if let Ok(cron) = fields.join(" ").parse::<Cron>() {
            let at = Timestamp::from_second(1_800_000_000).unwrap();
            prop_assert!(cron.next_after(at, &TimeZone::UTC).is_none_or(|next| next > at));
        }
    }
}
