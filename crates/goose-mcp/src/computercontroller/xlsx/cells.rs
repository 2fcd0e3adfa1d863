//! The cells of a sheet as a stream, and the texts that they share.

use std::{collections::HashMap, ops::ControlFlow};

use quick_xml::events::{BytesStart, Event};

use super::{
    super::{
        archive::Archive,
        xml::{Result, XmlReader, attribute, name, text_of},
    },
    reference::Position,
    workbook::Workbook,
};

/// Value of a cell as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stored {
    /// Text, number, truth value or error, as it is shown.
    Plain(String),
    /// Number of a shared text.
    Shared(usize),
}

/// A cell with content.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) at: Position,
    pub(super) value: Stored,
    pub(super) formula: Option<String>,
}

/// State of a cell that is being read.
struct Open {
    at: Position,
    kind: String,
    style: usize,
    value: String,
    formula: String,
}

/// Position of rows and cells, which may be written out or left to be counted.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counter {
    row: u32,
    col: u32,
}

impl Counter {
    pub(super) fn row(&mut self, element: &BytesStart<'_>) -> u32 {
        let named = attribute(element, "r").and_then(|row| row.parse().ok());
        self.row = named.unwrap_or(self.row.saturating_add(1));
        self.col = 0;
        self.row
    }

    pub(super) fn cell(&mut self, element: &BytesStart<'_>) -> Position {
        let named = attribute(element, "r").and_then(|reference| Position::parse(&reference));
        let at = named.unwrap_or(Position { row: self.row, col: self.col.saturating_add(1) });
        self.col = at.col;
        at
    }
}

/// Calls a function with each cell that has content, row by row, until it breaks.
pub(super) fn for_each(
    archive: &mut Archive<'_>,
    workbook: &Workbook,
    part: &str,
    mut visit: impl FnMut(Cell) -> ControlFlow<()>,
) -> Result<()> {
    let mut reader = XmlReader::new(archive.part(part)?);
    let (mut counter, mut open, mut field) = (Counter::default(), None::<Open>, None);
    loop {
        let event = reader.next()?;
        match &event {
            Event::Eof => return Ok(()),
            Event::Start(element) | Event::Empty(element) => match name(element) {
                "row" => drop(counter.row(element)),
                "c" => {
                    let at = counter.cell(element);
                    let style = attribute(element, "s").and_then(|style| style.parse().ok()).unwrap_or(0);
                    let kind = attribute(element, "t").unwrap_or_default();
                    open = matches!(event, Event::Start(_)).then(|| Open {
                        at,
                        kind,
                        style,
                        value: String::new(),
                        formula: String::new(),
                    });
                }
                "v" | "t" => field = Some(false),
                "f" => field = Some(true),
                // Pronunciation is no part of the text.
                "rPh" => field = None,
                _ => {}
            },
            Event::End(element) => match element.local_name().as_ref() {
                "c" => {
                    if let Some(cell) = open.take().and_then(|cell| cell.close(workbook))
                        && visit(cell).is_break()
                    {
                        return Ok(());
                    }
                }
                "v" | "t" | "f" => field = None,
                _ => {}
            },
            event => {
                if let (Some(cell), Some(is_formula), Some(text)) = (&mut open, field, text_of(event)) {
                    if is_formula { &mut cell.formula } else { &mut cell.value }.push_str(&text);
                }
            }
        }
    }
}

impl Open {
    fn close(self, workbook: &Workbook) -> Option<Cell> {
        let Self { at, kind, style, value, formula } = self;
        if value.is_empty() && formula.is_empty() {
            return None;
        }
        let value = match kind.as_str() {
            "s" => Stored::Shared(value.trim().parse().ok()?),
            "b" => Stored::Plain(if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned()),
            "" | "n" if workbook.is_date(style) => Stored::Plain(
                value.trim().parse().ok().and_then(|days| date(days, workbook.is_1904)).unwrap_or(value),
            ),
            _ => Stored::Plain(value),
        };
        let formula = (!formula.is_empty()).then_some(formula);
        Some(Cell { at, value, formula })
    }
}

/// Calls a function with the number and the text of each shared text, until it breaks.
pub(super) fn for_each_text(
    archive: &mut Archive<'_>,
    workbook: &Workbook,
    mut visit: impl FnMut(usize, &str) -> ControlFlow<()>,
) -> Result<()> {
    let Some(part) = &workbook.shared_texts else { return Ok(()) };
    let mut reader = XmlReader::new(archive.part(part)?);
    let (mut index, mut text, mut is_text, mut is_spoken) = (0, String::new(), false, false);
    loop {
        let event = reader.next()?;
        match &event {
            Event::Eof => return Ok(()),
            Event::Start(element) => match name(element) {
                "si" => text.clear(),
                "t" => is_text = !is_spoken,
                "rPh" => is_spoken = true,
                _ => {}
            },
            Event::Empty(element) if name(element) == "si" => {
                if visit(index, "").is_break() {
                    return Ok(());
                }
                index += 1;
            }
            Event::End(element) => match element.local_name().as_ref() {
                "t" => is_text = false,
                "rPh" => is_spoken = false,
                "si" => {
                    if visit(index, &text).is_break() {
                        return Ok(());
                    }
                    index += 1;
                }
                _ => {}
            },
            event if is_text => text.push_str(&text_of(event).unwrap_or_default()),
            _ => {}
        }
    }
}

/// Returns the shared texts of some cells.
pub(super) fn texts(
    archive: &mut Archive<'_>,
    workbook: &Workbook,
    cells: &[Cell],
) -> Result<HashMap<usize, String>> {
    let mut wanted: HashMap<usize, String> = HashMap::new();
    for cell in cells {
        if let Stored::Shared(index) = cell.value {
            wanted.insert(index, String::new());
        }
    }
    let mut left = wanted.len();
    if left == 0 {
        return Ok(wanted);
    }
    for_each_text(archive, workbook, |index, text| {
        if let Some(found) = wanted.get_mut(&index) {
            text.clone_into(found);
            left -= 1;
        }
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(wanted)
}

/// Returns a date as spreadsheets count it: days since the end of 1899, with a day that never was in 1900.
fn date(days: f64, is_1904: bool) -> Option<String> {
    /// Last day of the year 9999.
    const MAX_DAYS: f64 = 2_958_466.0;
    if !(0.0..MAX_DAYS).contains(&days) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it was checked that the number is small")]
    let (whole, seconds) = (days.floor() as i64, (days.fract() * 86_400.0).round() as i64);
    let (whole, seconds) = if seconds == 86_400 { (whole + 1, 0) } else { (whole, seconds) };
    let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if whole == 0 && !is_1904 {
        return Some(time);
    }
    // Days from 1970 to the beginning of the count.
    let start = if is_1904 {
        -24_107
    } else if whole < 60 {
        -25_568
    } else {
        -25_569
    };
    let (year, month, day) = civil(whole + start);
    let date = format!("{year:04}-{month:02}-{day:02}");
    Some(if seconds == 0 { date } else { format!("{date} {time}") })
}

/// Returns year, month and day of a day counted from 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dates() {
        for (days, is_1904, expected) in [
            (1.0, false, "1900-01-01"),
            (59.0, false, "1900-02-28"),
            (61.0, false, "1900-03-01"),
            (45_000.5, false, "2023-03-15 12:00:00"),
            (0.25, false, "06:00:00"),
            (0.0, true, "1904-01-01"),
        ] {
            assert_eq!(date(days, is_1904).as_deref(), Some(expected), "{days}");
        }
        assert_eq!(date(f64::NAN, false), None);
    }
}
