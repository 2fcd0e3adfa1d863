//! The figures, printed as they come, and whether they meet their bars.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

/// The limit of a figure.
#[derive(Clone, Copy)]
pub(crate) enum Bar {
    Below(f64),
    AtLeast(f64),
}

#[derive(Default)]
pub(crate) struct Report {
    missed: usize,
}

impl Report {
    /// A figure that has a bar.
    pub(crate) fn judge(&mut self, what: &str, figure: f64, unit: &str, bar: Bar) {
        let (is_met, bar) = match bar {
            Bar::Below(bar) => (figure < bar, format!("below {bar}")),
            Bar::AtLeast(bar) => (figure >= bar, format!("at least {bar}")),
        };
        self.missed += usize::from(!is_met);
        let verdict = if is_met { "ok" } else { "MISS" };
        println!("{verdict:<4} {what:<60} {figure:>10.3} {unit:<8} ({bar})");
    }

    /// A figure to compare with.
    pub(crate) fn note(&self, what: &str, figure: f64, unit: &str) {
        println!("     {what:<60} {figure:>10.3} {unit}");
    }

    pub(crate) fn bars_are_met(&self) -> bool {
        self.missed == 0
    }
}

pub(crate) fn median(values: Vec<f64>) -> f64 {
    percentile(values, 0.5)
}

/// The value that `share` of all values do not exceed.
pub(crate) fn percentile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().saturating_sub(1) as f64;
    values.get((last * share).round() as usize).copied().unwrap_or(f64::NAN)
}
