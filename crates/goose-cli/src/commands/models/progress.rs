//! How a download is shown: a bar on a terminal, a line now and then elsewhere.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use goose_local::{
    DownloadProgress,
    model_store::{Event, Pulled},
};

use crate::{aside, choice::Voice, commands::info::size, output::FAINT, terminal::status::seconds, visible};

/// How often the bar is drawn anew.
const REDRAW: Duration = Duration::from_millis(100);

/// How wide the bar is.
const BAR: u64 = 16;

/// After how many percent there is another line, where there is no terminal.
const STEP_PERCENT: u64 = 10;

/// From when on the speed is worth telling.
const TELL_SPEED: Duration = Duration::from_secs(1);

/// Who shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Bar,
    Lines,
    Nothing,
}

/// A download that is shown. Dropped before its end, it says that the partial download is kept.
pub(super) struct Progress {
    view: View,
    state: Mutex<State>,
}

struct State {
    /// When this source was asked first, and how much was here then.
    since: Instant,
    from: u64,
    /// How much is here, and stays.
    bytes: u64,
    drawn: Option<Instant>,
    /// The last step that had a line.
    step: Option<u64>,
    is_over: bool,
}

impl Progress {
    pub(super) fn new(voice: Voice) -> Self {
        let view = match (voice, aside::is_seen()) {
            (Voice::Quiet, _) => View::Nothing,
            (Voice::Aloud, true) => View::Bar,
            (Voice::Aloud, false) => View::Lines,
        };
        let now = Instant::now();
        let state = State { since: now, from: 0, bytes: 0, drawn: None, step: None, is_over: false };
        Self { view, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, text: &str) {
        if self.view != View::Nothing {
            aside::line(format_args!("{FAINT}{}{FAINT:#}", visible::line(text)));
        }
    }

    fn show(&self, bytes: u64, total: u64) {
        let mut state = self.state();
        let spent = state.since.elapsed();
        let came = bytes.saturating_sub(state.from);
        let shown = || shown(bytes, total, speed(came, spent));
        match self.view {
            View::Bar if state.is_due() => aside::status(&shown()),
            View::Lines if state.is_next_step(bytes, total) => aside::line(shown()),
            _ => {}
        }
    }

    fn checked(&self, bytes: u64, total: u64) {
        if self.view == View::Bar && self.state().is_due() {
            aside::status(&format!("Verifying the checksum: {} %", percent(bytes, total)));
        }
    }
}

impl DownloadProgress for Progress {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Waiting => self.line("Another goose process is downloading it; waiting."),
            Event::Asking { source, from } => {
                let mut state = self.state();
                (state.since, state.from, state.bytes) = (Instant::now(), *from, *from);
                state.step = None;
                drop(state);
                match from {
                    0 => self.line(&format!("Downloading from {source}.")),
                    from => self.line(&format!("Resuming at {} from {source}.", size(*from))),
                }
            }
            Event::Bytes { bytes, total } => {
                self.state().bytes = *bytes;
                self.show(*bytes, *total);
            }
            Event::Coming { bytes, total } => self.show(*bytes, *total),
            Event::Checked { bytes, total } => self.checked(*bytes, *total),
            Event::Again { reason } => self.line(&format!("Retrying: {reason}")),
            Event::Failed { source, reason } => self.line(&format!("{source} failed: {reason}")),
            _ => {}
        }
    }

    fn end(self: Box<Self>, pulled: Option<&Pulled>) {
        self.state().is_over = true;
        let is_shown = self.view != View::Nothing;
        drop(self);
        if let Some(pulled) = pulled.filter(|pulled| is_shown && !pulled.was_here) {
            let path = pulled.path.display().to_string();
            aside::line(format_args!("{FAINT}Downloaded and verified: {}{FAINT:#}", visible::line(&path)));
        }
    }
}

impl State {
    /// Whether the bar was not drawn for a while.
    fn is_due(&mut self) -> bool {
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW);
        if is_due {
            self.drawn = Some(Instant::now());
        }
        is_due
    }

    /// Whether a step was made that had no line yet. Where it begins is no step.
    fn is_next_step(&mut self, bytes: u64, total: u64) -> bool {
        let step = percent(bytes, total) / STEP_PERCENT;
        let before = self.step.replace(step).unwrap_or_else(|| percent(self.from, total) / STEP_PERCENT);
        self.step = Some(step.max(before));
        step > before
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.view == View::Bar {
            aside::end_status();
        }
        let state = self.state();
        let (is_over, bytes) = (state.is_over, state.bytes);
        drop(state);
        if !is_over && bytes > 0 {
            self.line(&format!("Stopped. {} are kept; `goose models pull` resumes from there.", size(bytes)));
        }
    }
}

fn percent(bytes: u64, total: u64) -> u64 {
    bytes.saturating_mul(100).checked_div(total).unwrap_or(100)
}

/// Bytes in a second, once that can be said.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a speed is about"
)]
fn speed(bytes: u64, spent: Duration) -> Option<u64> {
    let speed = || (bytes as f64 / spent.as_secs_f64()) as u64;
    (spent >= TELL_SPEED).then(speed).filter(|speed| *speed > 0)
}

/// `██████░░░░░░░░░░ 43 % · 480.1 MB of 1.1 GB · 12.3 MB/s · 52 s left`
fn shown(bytes: u64, total: u64, speed: Option<u64>) -> String {
    let full = (BAR * bytes).checked_div(total).unwrap_or(BAR).min(BAR);
    let bar: String = (0..BAR).map(|at| if at < full { '█' } else { '░' }).collect();
    let mut text = format!("{bar} {} % · {} of {}", percent(bytes, total), size(bytes), size(total));
    if let Some(speed) = speed {
        let left = Duration::from_secs(total.saturating_sub(bytes) / speed);
        text = format!("{text} · {}/s · {} left", size(speed), seconds(left));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_how_much_how_fast_and_how_long() {
        assert_eq!(
            shown(480_100_000, 1_117_320_768, Some(12_300_000)),
            "██████░░░░░░░░░░ 42 % · 480.1 MB of 1.1 GB · 12.3 MB/s · 51 s left"
        );
        assert_eq!(shown(0, 2_000, None), "░░░░░░░░░░░░░░░░ 0 % · 0.0 kB of 2.0 kB");
        assert_eq!(
            shown(2_000, 2_000, Some(1)),
            "████████████████ 100 % · 2.0 kB of 2.0 kB · 0.0 kB/s · 0 s left"
        );
        assert_eq!(speed(5, Duration::from_millis(10)), None);
        assert_eq!(speed(5_000, Duration::from_secs(2)), Some(2_500));
    }

    /// What another program has not ended is lost where it is stopped.
    #[test]
    fn only_what_stays_counts_as_kept() {
        let progress = Progress::new(Voice::Quiet);
        progress.event(&Event::Bytes { bytes: 10, total: 100 });
        progress.event(&Event::Coming { bytes: 60, total: 100 });
        assert_eq!(progress.state().bytes, 10);
    }

    #[test]
    fn each_step_has_one_line() {
        let now = Instant::now();
        let mut state = State { since: now, from: 25, bytes: 25, drawn: None, step: None, is_over: false };
        let steps: Vec<u64> = (26..=100).filter(|bytes| state.is_next_step(*bytes, 100)).collect();
        assert_eq!(steps, [30, 40, 50, 60, 70, 80, 90, 100]);
    }
}
