//! Tables, collected until they end because the widest cell sets the width of a column.

use anstyle::Style;

use super::{
    layout::{self, Layout, Margin},
    spans::{Span, spans},
};
use crate::output::{FAINT, NAME};

/// Maximum size of a table; a larger one is shown in parts.
pub(super) const MAX_BYTES: usize = 64 * 1024;

/// Maximum number of columns; the last one contains the rest.
const MAX_COLUMNS: usize = 32;

/// Minimum width of a column.
const LEAST_WIDTH: usize = 6;

const BETWEEN: &str = " │ ";

/// Rows received so far.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<String>,
    bytes: usize,
}

impl Table {
    /// Adds a row, and returns true if there is room for another.
    pub(super) fn push(&mut self, row: &str) -> bool {
        self.bytes += row.len();
        self.rows.push(row.to_owned());
        self.bytes < MAX_BYTES
    }

    /// Writes the table. Without a divider after the first row, the rows are written as text.
    pub(super) fn write(self, out: &mut Layout, margin: &Margin, width: usize) {
        if self.rows.get(1).is_none_or(|row| !is_divider(row)) {
            for row in &self.rows {
                out.begin(margin, margin.clone());
                out.spans(&spans(row.trim_end(), Style::new()));
                out.end();
            }
            return;
        }
        let texts: Vec<Vec<String>> = self.rows.iter().map(|row| cells(row)).collect();
        let columns = texts.iter().map(Vec::len).max().unwrap_or_default();
        let read = |(number, row): (usize, &Vec<String>)| read_row(row, columns, number == 0);
        let rows: Vec<Vec<Vec<Span>>> =
            texts.iter().enumerate().filter(|(number, _)| *number != 1).map(read).collect();
        let widths = widths(&rows, columns, width.saturating_sub(margin.width()));
        let aligned = self.rows.get(1).map(|row| alignments(row)).unwrap_or_default();
        for (number, row) in rows.iter().enumerate() {
            write_row(out, margin, row, &widths, &aligned);
            if number == 0 {
                write_divider(out, margin, &widths);
            }
        }
    }
}

fn read_row(row: &[String], columns: usize, is_head: bool) -> Vec<Vec<Span>> {
    let base = if is_head { NAME } else { Style::new() };
    let cell = |at: usize| row.get(at).map(|cell| spans(cell, base)).unwrap_or_default();
    (0..columns).map(cell).collect()
}

/// Computes the widths of columns, reduced if they do not fit.
fn widths(rows: &[Vec<Vec<Span>>], columns: usize, width: usize) -> Vec<usize> {
    let natural = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widths = cells.flat_map(|cell| layout::lines(cell, usize::MAX)).map(|(_, width)| width);
        widths.max().unwrap_or_default()
    };
    let natural: Vec<usize> = (0..columns).map(natural).collect();
    let room = width.saturating_sub(3 * columns.saturating_sub(1));
    let capped = |cap: usize| natural.iter().map(|width| (*width).min(cap)).collect::<Vec<_>>();
    let fits = |cap: &usize| capped(*cap).iter().sum::<usize>() <= room;
    let cap = (LEAST_WIDTH..=room.max(LEAST_WIDTH)).rev().find(fits).unwrap_or(LEAST_WIDTH);
    capped(cap)
}

/// Place of a text in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Align {
    #[default]
    Left,
    Centre,
    Right,
}

impl Align {
    /// Splits the free columns into those before and after the text.
    fn split(self, free: usize) -> (usize, usize) {
        match self {
            Self::Left => (0, free),
            Self::Centre => (free / 2, free - free / 2),
            Self::Right => (free, 0),
        }
    }
}

/// Returns the alignments that a divider gives: `:--`, `:-:`, `--:`.
fn alignments(divider: &str) -> Vec<Align> {
    let align = |cell: &String| match (cell.starts_with(':'), cell.ends_with(':')) {
        (true, true) => Align::Centre,
        (false, true) => Align::Right,
        _ => Align::Left,
    };
    cells(divider).iter().map(align).collect()
}

fn write_row(out: &mut Layout, margin: &Margin, row: &[Vec<Span>], widths: &[usize], aligned: &[Align]) {
    let cells: Vec<Vec<(String, usize)>> =
        row.iter().zip(widths).map(|(cell, width)| layout::lines(cell, *width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    for line in 0..height {
        out.begin(margin, Margin::default());
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if column > 0 {
                out.put(FAINT, BETWEEN);
            }
            let (text, used) = cell.get(line).map_or(("", 0), |(text, used)| (text.as_str(), *used));
            let is_last = column + 1 == cells.len();
            let align = aligned.get(column).copied().unwrap_or_default();
            let (before, after) = align.split(width.saturating_sub(used));
            out.put(Style::new(), &" ".repeat(before));
            out.put(Style::new(), text);
            out.put(Style::new(), &" ".repeat(if is_last { 0 } else { after }));
        }
        out.end();
    }
}

fn write_divider(out: &mut Layout, margin: &Margin, widths: &[usize]) {
    out.begin(margin, Margin::default());
    let bars: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    out.put(FAINT, &bars.join("─┼─"));
    out.end();
}

/// `|---|:-:|`
fn is_divider(row: &str) -> bool {
    row.contains('-') && row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
}

/// Splits a row into cells. Bars in code and escaped bars are text.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let (mut cells, mut cell) = (Vec::new(), String::new());
    let (mut is_code, mut is_escaped) = (false, false);
    for c in row.chars() {
        let ends = c == '|' && !is_code && !is_escaped && cells.len() + 1 < MAX_COLUMNS;
        if ends {
            cells.push(std::mem::take(&mut cell).trim().to_owned());
        } else {
            if c == '|' && is_escaped {
                cell.pop();
            }
            cell.push(c);
        }
        is_code ^= c == '`';
        is_escaped = c == '\\' && !is_escaped;
    }
    if !cell.trim().is_empty() {
        cells.push(cell.trim().to_owned());
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[&str], width: usize) -> String {
        let (mut table, mut out) = (Table::default(), Layout::new(width));
        for row in rows {
            table.push(row);
        }
        table.write(&mut out, &Margin::default(), width);
        anstream::adapter::strip_str(&out.take()).to_string()
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let rows = ["| a | b |", "|---|---|", "| long one | 漢字 |", "| `x|y` | a\\|b |"];
        assert_eq!(shown(&rows, 40), "a        │ b\n─────────┼─────\nlong one │ 漢字\nx|y      │ a|b\n");
    }

    #[test]
    fn columns_are_aligned_as_the_divider_says() {
        let rows = ["| a | b | c |", "|:--|:-:|--:|", "| one | two | three |", "| 1 | 2 | 3 |"];
        assert_eq!(
            shown(&rows, 40),
            "a   │  b  │     c\n────┼─────┼──────\none │ two │ three\n1   │  2  │     3\n"
        );
    }

    #[test]
    fn wide_tables_are_broken_within_cells() {
        let rows = ["| a | b |", "|---|---|", "| some words in a row | short |"];
        assert_eq!(
            shown(&rows, 18),
            "a          │ b\n───────────┼──────\nsome words │ short\nin a row   │ \n"
        );
    }

    #[test]
    fn rows_without_a_divider_are_text() {
        assert_eq!(shown(&["| a | b |", "| c |"], 40), "| a | b |\n| c |\n");
    }
}
