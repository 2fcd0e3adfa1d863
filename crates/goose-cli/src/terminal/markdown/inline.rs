//! Finds the places where a line of text can be cut without splitting emphasis, code or a link.
//!
//! Text is held back from an opening mark until its closing mark; other words are released one by one. `spans` parses
//! the released text, so a wrong guess here affects the style, never the text.

use unicode_width::UnicodeWidthChar as _;

/// Maximum length of text held back for a mark that may never be closed.
const MAX_HELD: usize = 2_000;

/// Maximum number of open marks; more are ignored.
const MAX_OPEN: usize = 32;

/// Outcome of adding a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// The text is held back.
    Held,
    /// The held text can be released, see [`Inline::take`].
    Cut,
    /// The held text can be released, and a space follows.
    CutBeforeSpace,
}

/// The held text, and the marks that are open in it.
#[derive(Debug, Default)]
pub(super) struct Inline {
    held: String,
    /// Open emphasis: the mark, and its count.
    emphasis: Vec<(char, usize)>,
    /// Open code: the number of backticks.
    code: Option<usize>,
    brackets: usize,
    in_target: bool,
    run: Option<Run>,
    /// The character before; none at the beginning and after a space between words.
    previous: Option<char>,
    is_escaped: bool,
}

/// A run of the same mark.
#[derive(Debug, Clone, Copy)]
struct Run {
    mark: char,
    length: usize,
    before: char,
}

impl Inline {
    /// Returns the held text and resets the marks.
    pub(super) fn take(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        *self = Self { previous: self.previous, ..Self::default() };
        held
    }

    /// Returns true if a mark is open that the next line may close.
    pub(super) fn is_open_at_line_end(&mut self) -> bool {
        self.end_run('\n');
        !self.is_settled()
    }

    /// Adds a line break within an open mark.
    pub(super) fn push_line_break(&mut self) {
        self.held.push('\n');
        (self.previous, self.is_escaped) = (None, false);
    }

    /// Adds a character of the line.
    pub(super) fn push(&mut self, c: char) -> Flow {
        if let Some(run) = &mut self.run {
            if run.mark == c {
                run.length += 1;
                return self.keep(c);
            }
            self.end_run(c);
        }
        let is_space = matches!(c, ' ' | '\t');
        if is_space && self.is_settled() {
            (self.previous, self.is_escaped) = (None, false);
            return Flow::CutBeforeSpace;
        }
        self.look_at(c);
        self.keep(c)
    }

    fn keep(&mut self, c: char) -> Flow {
        self.held.push(c);
        self.previous = Some(c);
        let is_too_much = self.held.len() > MAX_HELD;
        // Writing without spaces can be cut after each of its characters.
        let is_wide = c.width() == Some(2) && self.run.is_none() && self.is_settled();
        if is_too_much || is_wide { Flow::Cut } else { Flow::Held }
    }

    fn is_settled(&self) -> bool {
        self.emphasis.is_empty() && self.code.is_none() && self.brackets == 0 && !self.in_target
    }

    fn look_at(&mut self, c: char) {
        if std::mem::take(&mut self.is_escaped) {
            return;
        }
        let begins_run = c == '`' || self.code.is_none() && matches!(c, '*' | '_' | '~');
        if begins_run {
            self.run = Some(Run { mark: c, length: 1, before: self.previous.unwrap_or(' ') });
        } else if self.code.is_none() {
            self.look_at_link(c);
        }
    }

    fn look_at_link(&mut self, c: char) {
        match c {
            '\\' => self.is_escaped = true,
            '(' if self.previous == Some(']') && self.brackets == 0 => self.in_target = true,
            ')' => self.in_target = false,
            '[' if !self.in_target => self.brackets = (self.brackets + 1).min(MAX_OPEN),
            ']' => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
    }

    /// Ends a run of marks, and opens or closes what they stand for.
    fn end_run(&mut self, next: char) {
        let Some(run) = self.run.take() else { return };
        match run.mark {
            '`' => self.code = toggled(self.code, run.length),
            '~' if run.length != 2 => {}
            _ => self.emphasize(run, next),
        }
    }

    fn emphasize(&mut self, run: Run, next: char) {
        let (opens, closes) = sides(run, next);
        let mut left = run.length;
        while left > 0 && closes {
            let Some(at) = self.emphasis.iter().rposition(|(mark, _)| *mark == run.mark) else { break };
            let matched = self.emphasis[at].1.min(left);
            left -= matched;
            self.emphasis[at].1 -= matched;
            self.emphasis.truncate(if self.emphasis[at].1 == 0 { at } else { at + 1 });
        }
        if left > 0 && opens && self.emphasis.len() < MAX_OPEN {
            self.emphasis.push((run.mark, left));
        }
    }
}

/// Opens or closes code. It is closed by the number of backticks that opened it.
fn toggled(code: Option<usize>, length: usize) -> Option<usize> {
    match code {
        None => Some(length),
        Some(opened) if opened == length => None,
        open => open,
    }
}

/// Determines from the surrounding characters if marks can open and if they can close.
fn sides(run: Run, next: char) -> (bool, bool) {
    let is_mark = |c: char| !c.is_alphanumeric() && !c.is_whitespace();
    let free = |c: char| c.is_whitespace() || is_mark(c);
    let left = !next.is_whitespace() && (!is_mark(next) || free(run.before));
    let right = !run.before.is_whitespace() && (!is_mark(run.before) || free(next));
    if run.mark == '_' {
        (left && (!right || is_mark(run.before)), right && (!left || is_mark(next)))
    } else {
        (left, right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pieces into which a line is cut.
    fn cuts(line: &str) -> Vec<String> {
        let (mut inline, mut cuts) = (Inline::default(), Vec::new());
        for c in line.chars() {
            if inline.push(c) != Flow::Held {
                cuts.push(inline.take());
            }
        }
        cuts.push(inline.take());
        cuts
    }

    #[test]
    fn words_go_alone_and_what_is_marked_goes_whole() {
        for (line, expected) in [
            ("one two", vec!["one", "two"]),
            ("a **b c** d", vec!["a", "**b c**", "d"]),
            ("a **b *c d* e** f", vec!["a", "**b *c d* e**", "f"]),
            ("2 * 3 * 4", vec!["2", "*", "3", "*", "4"]),
            ("snake_case_name is one", vec!["snake_case_name", "is", "one"]),
            ("`a b` c", vec!["`a b`", "c"]),
            ("``a ` b`` c", vec!["``a ` b``", "c"]),
            ("see [a b](c \"d e\") f", vec!["see", "[a b](c \"d e\")", "f"]),
            (r"\*no emphasis", vec![r"\*no", "emphasis"]),
            ("~5 or ~~6 7~~ 8", vec!["~5", "or", "~~6 7~~", "8"]),
            ("漢字x", vec!["漢", "字", "x"]),
        ] {
            assert_eq!(cuts(line), expected, "{line}");
        }
    }

    #[test]
    fn a_mark_that_is_never_closed_holds_only_so_much() {
        let cuts = cuts(&format!("*{}", "word ".repeat(1_000)));
        assert!(cuts[0].len() <= MAX_HELD + 1, "{}", cuts[0].len());
        assert!(cuts.len() > 500, "{}", cuts.len());
    }
}
