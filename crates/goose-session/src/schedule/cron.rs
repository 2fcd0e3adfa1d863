//! [`Cron`]: cron expressions, and the moments that they stand for in a time zone.
//!
//! A wall-clock time that a change of the clocks skips runs as much later as the clocks jump. A time that
//! occurs twice runs the first time, except in expressions for every hour, which run in both.

use std::{fmt, str::FromStr};

use jiff::{
    Timestamp,
    civil::{Date, DateTime, Time, Weekday},
    tz::{Offset, TimeZone},
};
use serde::{Deserialize, Serialize};

/// Maximum length of an expression.
const MAX_BYTES: usize = 200;

/// Number of days that are searched for the next match. February 29 comes after at most eight years.
const MAX_DAYS: usize = 366 * 9;

/// Maximum number of matches that are skipped because the clocks have jumped over them.
const MAX_SKIPPED: usize = 100_000;

/// Number of changes of the clock that are looked at for one match.
const MAX_CHANGES: usize = 16;

/// Short forms of expressions.
const NAMED: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Cron expression with five fields, or with six, of which the first are the seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cron {
    text: String,
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: Days,
    months: u64,
    weekdays: Weekdays,
}

/// Days of the month.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Days {
    set: u64,
    is_any: bool,
    has_last: bool,
    /// Days whose nearest weekday counts.
    nearest: u64,
}

/// Days of the week, from Sunday.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Weekdays {
    set: u64,
    is_any: bool,
    /// Weekday and its number in the month; 0 for the last one.
    numbered: Vec<(i8, i8)>,
}

/// Error in an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a cron expression: {reason}. `goose schedule cron-help` shows examples")]
pub struct CronError {
    text: String,
    reason: String,
}

/// Field of an expression.
struct Field {
    name: &'static str,
    first: u8,
    last: u8,
    names: &'static [&'static str],
}

const SECOND: Field = Field { name: "second", first: 0, last: 59, names: &[] };
const MINUTE: Field = Field { name: "minute", first: 0, last: 59, names: &[] };
const HOUR: Field = Field { name: "hour", first: 0, last: 23, names: &[] };
const DAY: Field = Field { name: "day of the month", first: 1, last: 31, names: &[] };
const MONTH: Field = Field { name: "month", first: 1, last: 12, names: &MONTHS };
const WEEKDAY: Field = Field { name: "day of the week", first: 0, last: 7, names: &WEEKDAYS };

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        let text = text.trim();
        let error = |reason: String| CronError { text: text.chars().take(MAX_BYTES).collect(), reason };
        if text.len() > MAX_BYTES {
            return Err(error(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let long = match text.strip_prefix('@') {
            Some(_) => {
                let named = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
                named.ok_or_else(|| error("there is no such short form".to_owned()))?.1
            }
            None => text,
        };
        let upper = long.to_ascii_uppercase();
        let mut fields: Vec<&str> = upper.split_whitespace().collect();
        match fields.len() {
            5 => fields.insert(0, "0"),
            6 => {}
            count => return Err(error(format!("it has {count} fields instead of 5, or 6 with seconds"))),
        }
        let cron = Self {
            text: text.to_owned(),
            seconds: SECOND.parse(fields[0]).map_err(error)?,
            minutes: MINUTE.parse(fields[1]).map_err(error)?,
            hours: HOUR.parse(fields[2]).map_err(error)?,
            days: Days::parse(fields[3]).map_err(error)?,
            months: MONTH.parse(fields[4]).map_err(error)?,
            weekdays: Weekdays::parse(fields[5]).map_err(error)?,
        };
        Ok(cron)
    }
}

impl Field {
    fn parse(&self, text: &str) -> Result<u64, String> {
        text.split(',').try_fold(0, |set, part| Ok(set | self.part(part)?))
    }

    /// Parses one part of a list: `*`, `a`, `a-b`, each with `/n`.
    fn part(&self, part: &str) -> Result<u64, String> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(self.step(step)?)),
            None => (part, None),
        };
        let (first, last) = match (range, range.split_once('-')) {
            ("*" | "?", _) => (self.first, self.last),
            (_, Some((first, last))) => (self.value(first)?, self.value(last)?),
            (one, None) => {
                let first = self.value(one)?;
                (first, if step.is_some() { self.last } else { first })
            }
        };
        if first > last {
            return Err(format!("the range '{range}' of the {} is backwards", self.name));
        }
        let values = (first..=last).step_by(usize::from(step.unwrap_or(1)));
        Ok(values.fold(0, |set, value| set | 1 << value))
    }

    fn step(&self, text: &str) -> Result<u8, String> {
        let step = text.parse::<u8>().ok().filter(|step| *step > 0);
        step.ok_or_else(|| format!("'{text}' is not a step of the {}", self.name))
    }

    fn value(&self, text: &str) -> Result<u8, String> {
        let named = self.names.iter().position(|name| *name == text);
        let named = named.and_then(|at| u8::try_from(at).ok()).map(|at| at + u8::from(self.first == 1));
        let number = || text.parse::<u8>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        let value = named.or_else(number).filter(|value| (self.first..=self.last).contains(value));
        value.ok_or_else(|| {
            format!("the {} '{text}' is not between {} and {}", self.name, self.first, self.last)
        })
    }
}

impl Days {
    fn parse(text: &str) -> Result<Self, String> {
        let mut days = Self { is_any: matches!(text, "*" | "?"), ..Self::default() };
        for part in text.split(',') {
            match part.strip_suffix('W') {
                _ if part == "L" => days.has_last = true,
                Some(day) => days.nearest |= 1 << DAY.value(day)?,
                None => days.set |= DAY.part(part)?,
            }
        }
        Ok(days)
    }

    fn has(&self, date: Date) -> bool {
        let is_nearest = |day: i8| self.nearest >> day & 1 == 1 && nearest_weekday(date, day) == date.day();
        self.set >> date.day() & 1 == 1
            || (self.has_last && date.day() == date.days_in_month())
            || (self.nearest > 0 && (1..=date.days_in_month()).any(is_nearest))
    }
}

/// Returns the weekday nearest to a day of the same month.
fn nearest_weekday(month: Date, day: i8) -> i8 {
    let Ok(date) = month.with().day(day).build() else { return 0 };
    match date.weekday() {
        Weekday::Saturday if day == 1 => 3,
        Weekday::Saturday => day - 1,
        Weekday::Sunday if day == month.days_in_month() => day - 2,
        Weekday::Sunday => day + 1,
        _ => day,
    }
}

impl Weekdays {
    fn parse(text: &str) -> Result<Self, String> {
        let mut weekdays = Self { is_any: matches!(text, "*" | "?"), ..Self::default() };
        let number = |day: &str| Ok::<_, String>(i8::try_from(WEEKDAY.value(day)? % 7).unwrap_or_default());
        for part in text.split(',') {
            if let Some((day, nth)) = part.split_once('#') {
                let nth = nth.parse::<i8>().ok().filter(|nth| (1..=5).contains(nth));
                let nth = nth.ok_or_else(|| format!("'{part}' is not a number of a weekday from 1 to 5"))?;
                weekdays.numbered.push((number(day)?, nth));
            } else if let Some(day) = part.strip_suffix('L').filter(|day| !day.is_empty()) {
                weekdays.numbered.push((number(day)?, 0));
            } else if part == "L" {
                weekdays.set |= 1 << 6;
            } else {
                weekdays.set |= WEEKDAY.part(part)?;
            }
        }
        // 7 is Sunday as well.
        weekdays.set = (weekdays.set | weekdays.set >> 7) & 0x7f;
        Ok(weekdays)
    }

    fn has(&self, date: Date) -> bool {
        let weekday = date.weekday().to_sunday_zero_offset();
        let is_nth = |(day, nth): &(i8, i8)| {
            let is_last = date.day() + 7 > date.days_in_month();
            *day == weekday && if *nth == 0 { is_last } else { (date.day() - 1) / 7 + 1 == *nth }
        };
        self.set >> weekday & 1 == 1 || self.numbered.iter().any(is_nth)
    }
}

impl Cron {
    /// Returns the expression as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the first moment after another one; `None` if there is none in the next years.
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        // If every hour matches, the time that passes counts more than the clock.
        match self.hours == ALL_HOURS {
            true => self.next_elapsed(after, zone),
            false => self.next_on_clock(after, zone),
        }
    }

    /// Finds the next match by the clock on the wall.
    fn next_on_clock(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        // A skipped time counts as a later one, so the search begins before any jump of the clocks.
        let before = after.checked_sub(jiff::SignedDuration::from_hours(25)).ok()?;
        let mut wall = zone.to_datetime(before);
        for _ in 0..MAX_SKIPPED {
            wall = self.next_wall(wall)?;
            let moment = zone.to_ambiguous_zoned(wall).compatible().ok()?.timestamp();
            if moment > after {
                return Some(moment);
            }
        }
        None
    }

    /// Finds the next match by the clock as it goes now, and begins again where the clocks change before.
    fn next_elapsed(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut from = after;
        for _ in 0..MAX_CHANGES {
            let offset = zone.to_offset(from);
            let moment = self.next_at_offset(from, offset)?;
            let change = zone.following(from).next().map(|change| change.timestamp());
            match change.filter(|change| *change <= moment) {
                // The moment of the change itself may match.
                Some(change) => {
                    let second_before = change.checked_sub(jiff::SignedDuration::from_secs(1)).ok()?;
                    let at_change = self.next_at_offset(second_before, zone.to_offset(change))?;
                    if at_change == change {
                        return Some(change);
                    }
                    from = change;
                }
                None => return Some(moment),
            }
        }
        None
    }

    fn next_at_offset(&self, after: Timestamp, offset: Offset) -> Option<Timestamp> {
        let wall = self.next_wall(offset.to_datetime(after))?;
        offset.to_timestamp(wall).ok()
    }

    /// Returns the first matching date and time after another one.
    fn next_wall(&self, after: DateTime) -> Option<DateTime> {
        let mut date = after.date();
        let mut from = (after.hour(), after.minute(), after.second() + 1);
        for _ in 0..MAX_DAYS {
            if self.has_day(date)
                && let Some(time) = self.next_time(from)
            {
                return Some(date.to_datetime(time));
            }
            from = (0, 0, 0);
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// Days of the month and of the week are alternatives if both are restricted.
    fn has_day(&self, date: Date) -> bool {
        self.months >> date.month() & 1 == 1
            && match (self.days.is_any, self.weekdays.is_any) {
                (true, true) => true,
                (true, false) => self.weekdays.has(date),
                (false, true) => self.days.has(date),
                (false, false) => self.days.has(date) || self.weekdays.has(date),
            }
    }

    /// Returns the first matching time of a day, from an hour, minute and second on. They may be one too high.
    fn next_time(&self, (hour, minute, second): (i8, i8, i8)) -> Option<Time> {
        let first = |set: u64| bit_from(set, 0).unwrap_or_default();
        let at = |hour, minute, second| Time::new(hour, minute, second, 0).ok();
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = bit_from(self.seconds, second)
            {
                return at(hour, minute, second);
            }
            if let Some(minute) = bit_from(self.minutes, minute + 1) {
                return at(hour, minute, first(self.seconds));
            }
        }
        at(bit_from(self.hours, hour + 1)?, first(self.minutes), first(self.seconds))
    }
}

/// All hours of a day.
const ALL_HOURS: u64 = (1 << 24) - 1;

fn has(set: u64, bit: i8) -> bool {
    set >> bit & 1 == 1
}

/// Returns the first bit of a set from another one on.
fn bit_from(set: u64, from: i8) -> Option<i8> {
    let rest = set.checked_shr(u32::try_from(from).ok()?)?;
    let more = i8::try_from(rest.trailing_zeros()).ok()?;
    (rest != 0).then(|| from + more)
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl TryFrom<String> for Cron {
    type Error = CronError;

    fn try_from(text: String) -> Result<Self, CronError> {
        text.parse()
    }
}

impl From<Cron> for String {
    fn from(cron: Cron) -> Self {
        cron.text
    }
}

#[cfg(test)]
#[path = "cron_tests.rs"]
mod tests;
