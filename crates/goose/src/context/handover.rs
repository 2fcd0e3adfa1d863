//! [`Handover`]: the message that a session begins with which works for another one, in parts that can be shortened.

use super::tokens;

/// The fewest tokens of a part, however small the context is.
const MIN_PART_TOKENS: u64 = 125;

/// The message that a delegate begins with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Handover {
    pub(crate) parts: Vec<Part>,
}

/// A text under a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    heading: String,
    pub(crate) text: String,
    /// The most bytes, also where more would fit.
    max_bytes: usize,
}

impl Handover {
    /// A message with a task in plain words.
    pub(crate) fn new(task: impl Into<String>) -> Self {
        // The first words are never an `@agent`, which would choose another agent.
        Self::default().with("Your task:\n\n", task, usize::MAX)
    }

    /// Adds a text under a heading, of which at most so many bytes are handed over.
    pub(crate) fn with(
        mut self,
        heading: impl Into<String>,
        text: impl Into<String>,
        max_bytes: usize,
    ) -> Self {
        self.parts.push(Part { heading: heading.into(), text: text.into(), max_bytes });
        self
    }

    /// The message where everything fits.
    pub(crate) fn text(&self) -> String {
        self.parts.iter().map(Part::whole).collect()
    }

    /// The most tokens of each part, so that all of them together have about so many: what short parts leave goes to the others.
    pub(crate) fn share(&self, tokens: u64) -> u64 {
        let mut sizes: Vec<u64> = self.parts.iter().map(Part::tokens).collect();
        sizes.sort_unstable();
        let (mut left, mut count) = (tokens, sizes.len() as u64);
        for size in sizes {
            if size > left / count {
                return (left / count).max(MIN_PART_TOKENS);
            }
            left -= size;
            count -= 1;
        }
        u64::MAX
    }
}

impl Part {
    /// The part with another text.
    pub(crate) fn with_text(&self, text: &str) -> String {
        format!("{}{text}\n", self.heading)
    }

    /// The part as it is.
    pub(crate) fn whole(&self) -> String {
        self.with_text(&cut(&self.text, self.max_bytes))
    }

    /// Estimated tokens of its text.
    pub(crate) fn tokens(&self) -> u64 {
        tokens::of_text(&cut(&self.text, self.max_bytes))
    }
}

/// The beginning of a text, with about so many tokens.
pub(crate) fn cut_to(text: &str, tokens: u64) -> String {
    let bytes = (text.len() as u64).saturating_mul(tokens) / tokens::of_text(text).max(1);
    cut(text, usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// The beginning of a text, and a remark about the rest.
pub(crate) fn cut(text: &str, max_bytes: usize) -> String {
    goose_fs::truncate_lines(text.to_owned(), max_bytes, |rest| {
        format!("(Cut here; {} more bytes.)", rest.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_parts_leave_their_share_to_the_long_ones() {
        let part = |tokens: usize| "abcd".repeat(tokens);
        let handover = Handover::new(part(100)).with("", part(5_000), usize::MAX).with("", part(900), 2_000);
        assert_eq!(handover.share(10_000), u64::MAX, "everything fits");
        assert_eq!(handover.share(3_000), 3_000 - 100 - tokens::of_text(&cut(&part(900), 2_000)));
        assert_eq!(handover.share(0), MIN_PART_TOKENS);
        assert!(tokens::of_text(&cut_to(&part(5_000), 700)).abs_diff(700) < 20);
    }
}
