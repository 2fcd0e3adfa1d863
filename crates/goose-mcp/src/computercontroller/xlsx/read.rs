//! The operations that read. Each goes through the sheet once, and once through the shared texts.

use std::{collections::HashMap, fmt::Write as _, ops::ControlFlow};

use super::{
    super::{archive::Archive, xml::Result},
    cells::{self, Cell, Stored},
    reference::{Area, Position, letters},
    workbook::{Sheet, Workbook},
};

/// Maximum number of cells in an answer, and its length.
const MAX_CELLS: usize = 5_000;
const MAX_SHOWN_BYTES: usize = 48 * 1024;

/// Maximum number of places of a text.
const MAX_FOUND: usize = 200;

/// Part of a cell that is shown.
const MAX_CELL_CHARS: usize = 2_000;

/// Lists the sheets with the cells that they use.
pub(super) fn list(archive: &mut Archive<'_>, workbook: &Workbook) -> Result<String> {
    let mut shown = String::new();
    for sheet in &workbook.sheets {
        let (mut used, mut count) = (None::<Area>, 0_usize);
        cells::for_each(archive, workbook, &sheet.part, |cell| {
            used = Some(grown(used, cell.at));
            count += 1;
            ControlFlow::Continue(())
        })?;
        let hidden = if sheet.is_hidden { ", hidden" } else { "" };
        let cells = used.map_or_else(|| "empty".to_owned(), |area| format!("{area}, {count} cells"));
        // Writing to a string cannot fail.
        let _ = writeln!(shown, "{} ({cells}{hidden})", sheet.name);
    }
    Ok(shown)
}

fn grown(area: Option<Area>, at: Position) -> Area {
    let Some(Area { first, last }) = area else { return Area { first: at, last: at } };
    Area {
        first: Position { row: first.row.min(at.row), col: first.col.min(at.col) },
        last: Position { row: last.row.max(at.row), col: last.col.max(at.col) },
    }
}

/// Shows the first row with content, which usually names the columns.
pub(super) fn columns(archive: &mut Archive<'_>, workbook: &Workbook, sheet: &Sheet) -> Result<String> {
    let mut found: Vec<Cell> = Vec::new();
    cells::for_each(archive, workbook, &sheet.part, |cell| {
        if found.first().is_some_and(|first| first.at.row != cell.at.row) || found.len() == MAX_CELLS {
            return ControlFlow::Break(());
        }
        found.push(cell);
        ControlFlow::Continue(())
    })?;
    let texts = cells::texts(archive, workbook, &found)?;
    let Some(first) = found.first() else { return Ok(format!("The sheet `{}` is empty.", sheet.name)) };
    let mut shown = format!("Row {} of `{}`:\n", first.at.row, sheet.name);
    for cell in &found {
        let _ = writeln!(shown, "{}: {}", letters(cell.at.col), value(cell, &texts));
    }
    Ok(shown)
}

/// Shows a cell with its formula.
pub(super) fn cell(
    archive: &mut Archive<'_>,
    workbook: &Workbook,
    sheet: &Sheet,
    at: Position,
) -> Result<String> {
    let found = collect(archive, workbook, sheet, Some(Area { first: at, last: at }))?.0;
    let Some(cell) = found.first() else { return Ok(format!("{at} is empty.")) };
    let texts = cells::texts(archive, workbook, &found)?;
    Ok(with_formula(cell, &texts))
}

/// Shows the cells of a range, row by row.
pub(super) fn range(
    archive: &mut Archive<'_>,
    workbook: &Workbook,
    sheet: &Sheet,
    area: Option<Area>,
) -> Result<String> {
    let (found, more) = collect(archive, workbook, sheet, area)?;
    if found.is_empty() {
        return Ok(format!(
            "There is nothing in {} of `{}`.",
            area.map_or("all".to_owned(), |it| it.to_string()),
            sheet.name
        ));
    }
    let texts = cells::texts(archive, workbook, &found)?;
    let mut shown = String::new();
    let mut row = 0;
    for cell in &found {
        let line = with_formula(cell, &texts);
        if shown.len() + line.len() > MAX_SHOWN_BYTES {
            let _ = write!(shown, "\n[cut at {}; ask for a smaller range from there]", cell.at);
            return Ok(shown);
        }
        if cell.at.row != row {
            row = cell.at.row;
            shown.push_str(if shown.is_empty() { "" } else { "\n" });
        } else {
            shown.push_str(" | ");
        }
        shown.push_str(&line);
    }
    if let Some(next) = more {
        let _ = write!(shown, "\n[more from {next}; ask for a range from there]");
    }
    Ok(shown)
}

/// Returns the cells of an area, and the first one that is too many.
fn collect(
    archive: &mut Archive<'_>,
    workbook: &Workbook,
    sheet: &Sheet,
    area: Option<Area>,
) -> Result<(Vec<Cell>, Option<Position>)> {
    let (mut found, mut more) = (Vec::new(), None);
    cells::for_each(archive, workbook, &sheet.part, |cell| {
        if area.is_some_and(|area| cell.at.row > area.last.row) {
            return ControlFlow::Break(());
        }
        if area.is_none_or(|area| area.contains(cell.at)) {
            if found.len() == MAX_CELLS {
                more = Some(cell.at);
                return ControlFlow::Break(());
            }
            found.push(cell);
        }
        ControlFlow::Continue(())
    })?;
    Ok((found, more))
}

/// Finds a text in all sheets, or in one.
pub(super) fn find(
    archive: &mut Archive<'_>,
    workbook: &Workbook,
    name: Option<&str>,
    wanted: &str,
    case_sensitive: bool,
) -> Result<String> {
    let folded = |text: &str| if case_sensitive { text.to_owned() } else { text.to_lowercase() };
    let wanted_folded = folded(wanted);
    let matches = |text: &str| folded(text).contains(&wanted_folded);
    // One bit for each shared text.
    let mut shared: Vec<u64> = Vec::new();
    cells::for_each_text(archive, workbook, |index, text| {
        if matches(text) {
            shared.resize(shared.len().max(index / 64 + 1), 0);
            shared[index / 64] |= 1 << (index % 64);
        }
        ControlFlow::Continue(())
    })?;
    let is_shared = |index: usize| shared.get(index / 64).is_some_and(|bits| bits >> (index % 64) & 1 == 1);
    let named = name.map(|name| workbook.sheet(Some(name))).transpose()?;
    let sheets: Vec<&Sheet> = named.map_or_else(|| workbook.sheets.iter().collect(), |sheet| vec![sheet]);
    let mut found: Vec<(&str, Cell)> = Vec::new();
    for sheet in sheets {
        cells::for_each(archive, workbook, &sheet.part, |cell| {
            let is_match = match &cell.value {
                Stored::Shared(index) => is_shared(*index),
                Stored::Plain(text) => matches(text),
            };
            if is_match {
                found.push((&sheet.name, cell));
            }
            if found.len() > MAX_FOUND { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    if found.is_empty() {
        return Ok(format!("`{wanted}` is in no cell."));
    }
    let only: Vec<Cell> = found.iter().map(|(_, cell)| cell.clone()).collect();
    let texts = cells::texts(archive, workbook, &only)?;
    let lines = found.iter().take(MAX_FOUND);
    let mut shown: Vec<String> =
        lines.map(|(sheet, cell)| format!("{sheet}!{}", with_formula(cell, &texts))).collect();
    if found.len() > MAX_FOUND {
        shown.push(format!("[only the first {MAX_FOUND} are shown]"));
    }
    Ok(shown.join("\n"))
}

fn value(cell: &Cell, texts: &HashMap<usize, String>) -> String {
    let text = match &cell.value {
        Stored::Plain(text) => text,
        Stored::Shared(index) => texts.get(index).map_or("", String::as_str),
    };
    goose_fs::truncate_chars(text, MAX_CELL_CHARS).into_owned()
}

fn with_formula(cell: &Cell, texts: &HashMap<usize, String>) -> String {
    let value = value(cell, texts);
    match &cell.formula {
        Some(formula) => {
            format!("{}: {value} (={})", cell.at, goose_fs::truncate_chars(formula, MAX_CELL_CHARS))
        }
        None => format!("{}: {value}", cell.at),
    }
}
