//! References to cells: `B2`, `$A$1:C3`.

use std::fmt;

use super::super::xml::{Result, error};

const MAX_ROW: u32 = 1_048_576;
const MAX_COL: u32 = 16_384;

/// A cell, by its numbers from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Position {
    pub(super) row: u32,
    pub(super) col: u32,
}

/// Cells from one corner to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) first: Position,
    pub(super) last: Position,
}

impl Position {
    pub(super) const FIRST: Self = Self { row: 1, col: 1 };

    /// Parses `B2`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let letters: usize = text.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (letters, digits) = text.split_at(letters);
        if letters.is_empty() || letters.len() > 3 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let col =
            letters.bytes().fold(0, |col, byte| col * 26 + u32::from(byte.to_ascii_uppercase() - b'A' + 1));
        let row = digits.parse().ok()?;
        ((1..=MAX_ROW).contains(&row) && (1..=MAX_COL).contains(&col)).then_some(Self { row, col })
    }
}

/// Returns the letters of a column.
pub(super) fn letters(mut col: u32) -> String {
    let mut letters = String::new();
    while col > 0 {
        let letter = ((col - 1) % 26) as u8;
        letters.insert(0, char::from(b'A' + letter));
        col = (col - 1) / 26;
    }
    letters
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", letters(self.col), self.row)
    }
}

impl Area {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let plain = text.replace('$', "");
        let (first, last) = plain.split_once(':').unwrap_or((&plain, &plain));
        match (Position::parse(first.trim()), Position::parse(last.trim())) {
            (Some(a), Some(b)) => Ok(Self {
                first: Position { row: a.row.min(b.row), col: a.col.min(b.col) },
                last: Position { row: a.row.max(b.row), col: a.col.max(b.col) },
            }),
            _ => error(format!("`{text}` is not a range; write `A1:C10`")),
        }
    }

    pub(super) fn contains(&self, position: Position) -> bool {
        (self.first.row..=self.last.row).contains(&position.row)
            && (self.first.col..=self.last.col).contains(&position.col)
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.first, self.last)
    }
}
