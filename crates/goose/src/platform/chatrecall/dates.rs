//! Time limits of a search, as a model writes them.

use goose_extension::{ToolError, ToolResult, visible_line};
use goose_fs::truncate_chars;
use jiff::{
    Timestamp, ToSpan as _,
    civil::{Date, DateTime},
    tz::TimeZone,
};

/// Maximum number of characters of an invalid date that are quoted.
const MAX_QUOTE_CHARS: usize = 40;

/// Returns the start of the span and its exclusive end. A day is included as a whole.
///
/// # Errors
///
/// Fails if a date cannot be parsed, or if the span is empty.
pub(super) fn span(
    after: Option<String>,
    before: Option<String>,
) -> ToolResult<(Option<Timestamp>, Option<Timestamp>)> {
    let after = after.map(|text| moment("after_date", &text, false)).transpose()?;
    let before = before.map(|text| moment("before_date", &text, true)).transpose()?;
    if let (Some(after), Some(before)) = (after, before)
        && after >= before
    {
        return Err(ToolError::execution(
            "`after_date` is not before `before_date`, so nothing lies between them. Swap or change them.",
        ));
    }
    Ok((after, before))
}

fn moment(name: &str, text: &str, is_end: bool) -> ToolResult<Timestamp> {
    let text = text.trim();
    let in_utc = |at: DateTime| at.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp());
    // A date also parses as a moment at midnight, so dates are tried first, by their length.
    let day = || text.parse::<Date>().ok().filter(|_| text.len() <= "2026-11-15".len());
    let moment = match day() {
        Some(day) if is_end => day.checked_add(1.day()).ok().and_then(|next| in_utc(next.at(0, 0, 0, 0))),
        Some(day) => in_utc(day.at(0, 0, 0, 0)),
        None => text.parse().ok().or_else(|| text.parse().ok().and_then(in_utc)),
    };
    moment.ok_or_else(|| {
        let shown = truncate_chars(text, MAX_QUOTE_CHARS);
        ToolError::execution(format!(
            "`{name}` cannot be read: \"{}\". Write a day as 2026-11-15, or a moment as 2026-11-15T09:30:00Z.",
            visible_line(&shown)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span_of(after: &str, before: &str) -> ToolResult<(String, String)> {
        let (after, before) = span(Some(after.to_owned()), Some(before.to_owned()))?;
        let shown = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
        Ok((shown(after), shown(before)))
    }

    #[test]
    fn a_day_is_included_as_a_whole() -> ToolResult<()> {
        let day = ("2026-11-15T00:00:00Z".to_owned(), "2026-11-16T00:00:00Z".to_owned());
        assert_eq!(span_of("2026-11-15", "2026-11-15")?, day);
        assert_eq!(span_of(" 2026-11-15T00:00:00Z ", "2026-11-16T01:00:00+01:00")?, day);
        assert_eq!(span_of("2026-11-15T00:00", "2026-11-16T00:00:00")?, day);
        Ok(())
    }

    #[test]
    fn other_dates_are_refused_with_what_to_write() {
        for (after, before) in [
            ("yesterday", "2026-11-15"),
            ("2026-11-15", "2026-13-01"),
            ("2026-11-16", "2026-11-15"),
            ("2026-11-15", "9999-12-31\u{202e}"),
            ("", "x"),
        ] {
            let error = span_of(after, before).expect_err(after).to_string();
            assert!(error.contains("2026-11-15") || error.contains("Swap"), "{error}");
            assert!(!error.contains('\u{202e}'));
        }
    }
}
