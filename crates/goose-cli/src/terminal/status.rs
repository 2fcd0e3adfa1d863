//! The current activity, and the state and cost of the conversation.

use std::time::{Duration, Instant};

use goose::exchange::Cost;

use super::size::fitted;

/// The frames of the spinner.
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Time that each frame is shown.
pub(crate) const FRAME_TIME: Duration = Duration::from_millis(120);

/// Time from which on the duration is shown.
const TELL_TIME: Duration = Duration::from_secs(2);

/// Something that is going on.
#[derive(Debug)]
pub(crate) struct Activity {
    what: String,
    since: Instant,
}

impl Activity {
    /// Creates an activity that begins now.
    pub(crate) fn new(what: impl Into<String>, now: Instant) -> Self {
        Self { what: what.into(), since: now }
    }

    /// Changes its description; the time continues.
    pub(crate) fn rename(&mut self, what: String) {
        self.what = what;
    }

    /// The line that shows it now.
    pub(crate) fn line(&self, now: Instant, width: usize) -> String {
        let spent = now.saturating_duration_since(self.since);
        let frame = FRAMES[(spent.as_millis() / FRAME_TIME.as_millis()) as usize % FRAMES.len()];
        let line = if spent < TELL_TIME {
            format!("{frame} {}", self.what)
        } else {
            format!("{frame} {} ({})", self.what, seconds(spent))
        };
        fitted(&line, width)
    }
}

/// `8 s`, `1 min 20 s`
pub(crate) fn seconds(time: Duration) -> String {
    match (time.as_secs() / 60, time.as_secs() % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// The state of the conversation on one line: `gpt-5 · 12.3k of 128k tokens (10 %) · $0.02 · assistant · auto`.
/// `more` are the agent and the modes.
pub(crate) fn standing(model: &str, cost: Option<&Cost>, more: &[String]) -> String {
    let mut parts = vec![model.to_owned()];
    if let Some(cost) = cost {
        parts.push(context_use(cost.context_used, cost.context_limit));
        parts.extend(cost.dollars.map(dollars));
    }
    parts.extend_from_slice(more);
    parts.join(" · ")
}

/// Formats the use of the context: `12.3k of 128k tokens (9 %)`.
pub(crate) fn context_use(used: u64, limit: u64) -> String {
    match used.saturating_mul(100).checked_div(limit) {
        Some(share) => format!("{} of {} tokens ({share} %)", tokens(used), tokens(limit)),
        None => format!("{} tokens", tokens(used)),
    }
}

/// `950`, `12.3k`, `1.05M`
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..100_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        100_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{:02}M", count / 1_000_000, count % 1_000_000 / 10_000),
    }
}

/// Small sums with more digits.
pub(crate) fn dollars(sum: f64) -> String {
    if sum < 0.1 { format!("${sum:.4}") } else { format!("${sum:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standing_is_one_line() {
        let cost =
            Cost { context_used: 12_345, context_limit: 128_000, dollars: Some(0.0212), ..Cost::default() };
        assert_eq!(
            standing("gpt-5", Some(&cost), &["backend".to_owned(), "auto".to_owned()]),
            "gpt-5 · 12.3k of 128k tokens (9 %) · $0.0212 · backend · auto"
        );
        assert_eq!(standing("gpt-5", None, &["chat".to_owned()]), "gpt-5 · chat");
    }

    #[test]
    fn an_activity_moves_and_tells_its_time() {
        let begun = Instant::now();
        let activity = Activity::new("thinking", begun);
        assert_eq!(activity.line(begun, 40), "⠋ thinking");
        assert_eq!(activity.line(begun + FRAME_TIME, 40), "⠙ thinking");
        assert_eq!(activity.line(begun + Duration::from_secs(84), 40), "⠋ thinking (1 min 24 s)");
        assert_eq!(activity.line(begun, 6), "⠋ thi…");
    }
}
