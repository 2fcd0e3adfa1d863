//! Width of the terminal.

use std::io;

use rustix::termios::{Winsize, tcgetwinsize};
use unicode_width::UnicodeWidthChar as _;

/// Width if the terminal does not report one.
const USUAL_WIDTH: usize = 80;

/// Minimum width.
const LEAST_WIDTH: usize = 20;

/// Maximum width of text; longer lines are hard to read.
const MOST_TEXT_WIDTH: usize = 100;

/// Height if the terminal does not report one.
const USUAL_HEIGHT: usize = 24;

/// Returns the number of columns of the terminal.
pub(crate) fn columns() -> usize {
    reported(|size| size.ws_col).unwrap_or(USUAL_WIDTH).max(LEAST_WIDTH)
}

/// Returns the number of rows of the terminal.
pub(crate) fn rows() -> usize {
    reported(|size| size.ws_row).unwrap_or(USUAL_HEIGHT)
}

fn reported(part: impl Fn(Winsize) -> u16) -> Option<usize> {
    let sizes = [tcgetwinsize(io::stderr()), tcgetwinsize(io::stdout())];
    sizes.into_iter().flatten().map(|size| usize::from(part(size))).find(|part| *part > 0)
}

/// Returns the width of text.
pub(crate) fn text_width() -> usize {
    (columns() - 1).min(MOST_TEXT_WIDTH)
}

/// Truncates a line to a width, with an ellipsis if something was cut off.
pub(crate) fn fitted(line: &str, width: usize) -> String {
    let (mut used, mut end) = (0, 0);
    for (at, c) in line.char_indices() {
        used += c.width().unwrap_or_default();
        if used > width {
            return format!("{}…", &line[..end]);
        }
        // The mark needs a column.
        if used < width {
            end = at + c.len_utf8();
        }
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_off() {
        assert_eq!(fitted("short", 5), "short");
        assert_eq!(fitted("longer", 5), "long…");
        assert_eq!(fitted("漢字漢字", 5), "漢字…");
        assert_eq!(fitted("ümläut", 4), "üml…");
    }
}
