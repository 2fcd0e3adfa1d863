//! Downloads of local models: the question for consent, and the progress, as a bar on a terminal and as lines
//! elsewhere.

use std::time::{Duration, Instant};

use goose_extension::prelude::async_trait;
use goose_local::{
    DownloadProgress, Downloads,
    model_store::{CatalogueEntry, Event, ModelStore, PulledModel, State},
};
use parking_lot::Mutex;

use super::{Fetching, GOOD_FOR};
use crate::{
    args::Consent,
    choice::Verbosity,
    escape,
    output::{FAINT, NAME, byte_size},
    stderr,
    terminal::status::seconds,
};

/// Minimum time between two drawings of the bar.
const REDRAW: Duration = Duration::from_millis(100);

/// Width of the bar.
const BAR: u64 = 16;

/// Percentage between two lines, if there is no terminal.
const STEP_PERCENT: u64 = 10;

/// Minimum time before a speed is shown.
const TELL_SPEED: Duration = Duration::from_secs(1);

#[async_trait]
impl Downloads for Fetching {
    async fn confirm(&self, store: &ModelStore, entry: &CatalogueEntry) -> Result<(), String> {
        let CatalogueEntry { name, title, licence, bytes, .. } = entry;
        if self.consent == Consent::Given {
            return Ok(());
        }
        if !stderr::can_ask() {
            return Err(format!(
                "The model {name} isn't downloaded yet ({}, {licence}), and there is no terminal to ask for \
                 confirmation.\nDownload it with `goose models pull {name} --yes`, or set GOOSE_YES=1 to confirm \
                 automatically.",
                byte_size(*bytes)
            ));
        }
        let turn = self.input.turn().await;
        stderr::line(format_args!("{NAME}{name}{NAME:#} isn't downloaded yet: {}.", escape::line(title)));
        stderr::line(format_args!("  size     {}{}", byte_size(*bytes), had(store, name)));
        stderr::line(format_args!("  licence  {}", escape::line(licence)));
        let sources: Vec<String> = entry.sources.iter().map(ToString::to_string).collect();
        stderr::line(format_args!("  from     {}", escape::line(&sources.join(", else "))));
        stderr::line(format_args!("  to       {}", escape::path(store.folder())));
        match turn.is_agreed("Download it now? (y/n) ").await {
            true => Ok(()),
            false => Err("Nothing was downloaded.".to_owned()),
        }
    }

    fn begin(&self) -> Box<dyn DownloadProgress> {
        Box::new(Progress::new(self.verbosity))
    }

    fn ready(&self, model: &str) {
        if self.verbosity == Verbosity::Normal && stderr::is_seen() {
            stderr::line(format_args!("{FAINT}{}: {GOOD_FOR}{FAINT:#}", escape::line(model)));
        }
    }
}

/// Describes an earlier, partial download.
fn had(store: &ModelStore, name: &str) -> String {
    match store.item(name).map(|item| item.state) {
        Ok(State::Part { bytes }) => format!(", of which {} are downloaded", byte_size(bytes)),
        _ => String::new(),
    }
}

/// Form of the progress display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Bar,
    Lines,
    Nothing,
}

/// Progress display of a download. If it is dropped early, it says how much is kept.
struct Progress {
    view: View,
    state: Mutex<ProgressState>,
}

struct ProgressState {
    /// Time of the first request to this source, and bytes present at that time.
    since: Instant,
    from: u64,
    /// Bytes on disk that a later download can use.
    bytes: u64,
    drawn: Option<Instant>,
    /// Last step that was shown.
    step: Option<u64>,
    is_over: bool,
}

impl Progress {
    fn new(verbosity: Verbosity) -> Self {
        let view = match (verbosity, stderr::is_seen()) {
            (Verbosity::Quiet, _) => View::Nothing,
            (Verbosity::Normal, true) => View::Bar,
            (Verbosity::Normal, false) => View::Lines,
        };
        let now = Instant::now();
        let state = ProgressState { since: now, from: 0, bytes: 0, drawn: None, step: None, is_over: false };
        Self { view, state: Mutex::new(state) }
    }

    fn line(&self, text: &str) {
        if self.view != View::Nothing {
            stderr::line(format_args!("{FAINT}{}{FAINT:#}", escape::line(text)));
        }
    }

    fn show(&self, bytes: u64, total: u64) {
        let mut state = self.state.lock();
        let spent = state.since.elapsed();
        let came = bytes.saturating_sub(state.from);
        let shown = || shown(bytes, total, speed(came, spent));
        match self.view {
            View::Bar if state.is_due() => stderr::status(&shown()),
            View::Lines if state.is_next_step(bytes, total) => stderr::line(shown()),
            _ => {}
        }
    }

    fn checked(&self, bytes: u64, total: u64) {
        if self.view == View::Bar && self.state.lock().is_due() {
            stderr::status(&format!("Verifying the checksum: {} %", percent(bytes, total)));
        }
    }
}

impl DownloadProgress for Progress {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Waiting => self.line("Another goose process is downloading it; waiting."),
            Event::Asking { source, from } => {
                let mut state = self.state.lock();
                (state.since, state.from, state.bytes) = (Instant::now(), *from, *from);
                state.step = None;
                drop(state);
                match from {
                    0 => self.line(&format!("Downloading from {source}.")),
                    from => self.line(&format!("Resuming at {} from {source}.", byte_size(*from))),
                }
            }
            Event::Bytes { bytes, total } => {
                self.state.lock().bytes = *bytes;
                self.show(*bytes, *total);
            }
            Event::Coming { bytes, total } => self.show(*bytes, *total),
            Event::Checked { bytes, total } => self.checked(*bytes, *total),
            Event::Again { reason } => self.line(&format!("Retrying: {reason}")),
            Event::Failed { source, reason } => self.line(&format!("{source} failed: {reason}")),
        }
    }

    fn end(self: Box<Self>, pulled: Option<&PulledModel>) {
        self.state.lock().is_over = true;
        let is_shown = self.view != View::Nothing;
        drop(self);
        if let Some(pulled) = pulled.filter(|pulled| is_shown && !pulled.was_here) {
            let path = escape::path(&pulled.path);
            stderr::line(format_args!("{FAINT}Downloaded and verified: {path}{FAINT:#}"));
        }
    }
}

impl ProgressState {
    /// Returns true if the bar is due to be drawn.
    fn is_due(&mut self) -> bool {
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW);
        if is_due {
            self.drawn = Some(Instant::now());
        }
        is_due
    }

    /// Returns true for the first call in each step after the one where the download began.
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
            stderr::end_status();
        }
        let state = self.state.lock();
        let (is_over, bytes) = (state.is_over, state.bytes);
        drop(state);
        if !is_over && bytes > 0 {
            self.line(&format!(
                "Stopped. {} are kept; `goose models pull` resumes from there.",
                byte_size(bytes)
            ));
        }
    }
}

fn percent(bytes: u64, total: u64) -> u64 {
    bytes.saturating_mul(100).checked_div(total).unwrap_or(100)
}

/// Bytes per second, once it can be estimated.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a speed is approximate"
)]
fn speed(bytes: u64, spent: Duration) -> Option<u64> {
    let speed = || (bytes as f64 / spent.as_secs_f64()) as u64;
    (spent >= TELL_SPEED).then(speed).filter(|speed| *speed > 0)
}

/// `██████░░░░░░░░░░ 43 % · 480.1 MB of 1.1 GB · 12.3 MB/s · 52 s left`
fn shown(bytes: u64, total: u64, speed: Option<u64>) -> String {
    let full = (BAR * bytes).checked_div(total).unwrap_or(BAR).min(BAR);
    let bar: String = (0..BAR).map(|at| if at < full { '█' } else { '░' }).collect();
    let mut text =
        format!("{bar} {} % · {} of {}", percent(bytes, total), byte_size(bytes), byte_size(total));
    if let Some(speed) = speed {
        let left = Duration::from_secs(total.saturating_sub(bytes) / speed);
        text = format!("{text} · {}/s · {} left", byte_size(speed), seconds(left));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_shows_amount_speed_and_remaining_time() {
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

    /// An unfinished download of another program is lost if it is stopped.
    #[test]
    fn only_bytes_on_disk_count_as_kept() {
        let progress = Progress::new(Verbosity::Quiet);
        progress.event(&Event::Bytes { bytes: 10, total: 100 });
        progress.event(&Event::Coming { bytes: 60, total: 100 });
        assert_eq!(progress.state.lock().bytes, 10);
    }

    #[test]
    fn each_step_is_shown_once() {
        let now = Instant::now();
        let mut state =
            ProgressState { since: now, from: 25, bytes: 25, drawn: None, step: None, is_over: false };
        let steps: Vec<u64> = (26..=100).filter(|bytes| state.is_next_step(*bytes, 100)).collect();
        assert_eq!(steps, [30, 40, 50, 60, 70, 80, 90, 100]);
    }
}
