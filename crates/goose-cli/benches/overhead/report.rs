//! Figures and bars, on standard output.

use std::io::Write as _;

use anyhow::ensure;

/// The unit of a figure.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Milliseconds,
    Megabytes,
    Kilobytes,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Megabytes => "MB",
            Self::Kilobytes => "KB",
        }
    }
}

/// Counts the bars that were missed.
#[derive(Default)]
pub(crate) struct Report {
    missed: Vec<String>,
}

impl Report {
    /// A program's figures.
    pub(crate) fn row(&mut self, name: &str, figures: &[(&str, f64, Unit)]) {
        let shown: Vec<String> = figures
            .iter()
            .map(|(what, figure, unit)| format!("{what} {figure:.2} {}", unit.name()))
            .collect();
        note(&format!("{name:<14} {}", shown.join("   ")));
    }

    pub(crate) fn at_most(&mut self, what: &str, figure: f64, bar: f64) {
        self.bar(what, figure, &format!("at most {bar}"), figure <= bar);
    }

    pub(crate) fn at_least(&mut self, what: &str, figure: f64, bar: f64) {
        self.bar(what, figure, &format!("at least {bar}"), figure >= bar);
    }

    fn bar(&mut self, what: &str, figure: f64, bar: &str, met: bool) {
        let verdict = if met { "met" } else { "MISSED" };
        note(&format!("  {what}: {figure:.2} ({bar}: {verdict})"));
        if !met {
            self.missed.push(what.to_owned());
        }
    }

    /// Fails where a bar was missed.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        ensure!(self.missed.is_empty(), "missed: {}", self.missed.join("; "));
        Ok(())
    }
}

/// A line of the report.
pub(crate) fn note(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
