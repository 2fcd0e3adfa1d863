//! How wide the terminal is.

use std::io;

use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthChar as _;

/// Where the terminal does not say.
const USUAL_WIDTH: usize = 80;

/// Narrower than this nothing can be laid out.
const LEAST_WIDTH: usize = 20;

/// Text is not set wider than this; longer lines are hard to read.
const MOST_TEXT_WIDTH: usize = 100;

/// How many columns the terminal has.
pub(crate) fn columns() -> usize {
    let sizes = [tcgetwinsize(io::stderr()), tcgetwinsize(io::stdout())];
    let width = sizes.into_iter().flatten().map(|size| usize::from(size.ws_col)).find(|width| *width > 0);
    width.unwrap_or(USUAL_WIDTH).max(LEAST_WIDTH)
}

/// How wide text is set.
pub(crate) fn text_width() -> usize {
    (columns() - 1).min(MOST_TEXT_WIDTH)
}

/// The begin of a line that fits into a width, with a mark where something was cut off.
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
