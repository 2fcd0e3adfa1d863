//! [`Reasoning`]: the model's reasoning during a reply, for the live lines and for a look afterwards.

use super::tool_call::TAIL_LINES;
use crate::wrap::wrapped_text;

/// Maximum size of the reasoning that is kept; the oldest part is dropped.
const MAX_BYTES: usize = 256 * 1024;

/// Reasoning of one reply.
#[derive(Debug, Default)]
pub(crate) struct Reasoning {
    text: String,
    /// Start of the part that is arriving.
    live: usize,
}

impl Reasoning {
    /// Starts with a new reply.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Ends a part. The next one is a new paragraph.
    pub(crate) fn pause(&mut self) {
        if self.live < self.text.len() {
            self.text.push_str("\n\n");
        }
        self.live = self.text.len();
    }

    /// Adds text.
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() > MAX_BYTES {
            let surplus = self.text.ceil_char_boundary(self.text.len() - MAX_BYTES / 2);
            self.text.drain(..surplus);
            self.live = self.live.saturating_sub(surplus);
        }
    }

    /// Returns all of it.
    pub(crate) fn text(&self) -> &str {
        self.text.trim()
    }

    /// Returns the last lines of the part that is arriving, at a width.
    pub(crate) fn newest_lines(&self, width: usize) -> Vec<String> {
        let part = self.text.get(self.live..).unwrap_or_default();
        // Twice the visible amount, so that the cut is above the first line.
        let begin = part.ceil_char_boundary(part.len().saturating_sub(2 * TAIL_LINES * width));
        let lines = wrapped_text(&part[begin..], width);
        let lines: Vec<&str> = lines.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].iter().map(|line| (*line).to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_words_are_shown_and_all_are_kept() {
        let mut reasoning = Reasoning::default();
        reasoning.push("one two three four five six seven eight nine ten");
        assert_eq!(reasoning.newest_lines(10), ["five six", "seven", "eight nine", "ten"][1..]);
        reasoning.pause();
        assert_eq!(reasoning.newest_lines(10), Vec::<String>::new());
        reasoning.push("again");
        assert!(reasoning.text().ends_with("ten\n\nagain"), "{}", reasoning.text());
        reasoning.push(&"x".repeat(MAX_BYTES));
        assert!(reasoning.text().len() <= MAX_BYTES);
    }
}
