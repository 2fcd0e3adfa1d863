//! The confusion table and the calibration table.

use std::collections::{BTreeMap, BTreeSet};

use crate::share;

/// Requests by the label that they have and the one that was found.
#[derive(Default)]
pub(crate) struct Confusion {
    counts: BTreeMap<(String, String), usize>,
}

impl Confusion {
    pub(crate) fn add(&mut self, wanted: &str, found: &str) {
        *self.counts.entry((wanted.to_owned(), found.to_owned())).or_default() += 1;
    }

    /// The percentage of requests with the right label.
    pub(crate) fn right_share(&self) -> f64 {
        let right =
            self.counts.iter().filter(|((wanted, found), _)| wanted == found).map(|(_, count)| count).sum();
        share(right, self.counts.values().sum())
    }

    /// Prints a row for each label, a column for each label that was found.
    pub(crate) fn print(&self) {
        let labels: BTreeSet<&String> =
            self.counts.keys().flat_map(|(wanted, found)| [wanted, found]).collect();
        let short =
            |label: &str| label.rsplit('/').next().unwrap_or_default().chars().take(6).collect::<String>();
        print!("{:<28}", "wanted \\ found");
        labels.iter().for_each(|label| print!("{:>7}", short(label)));
        println!("{:>9}", "right");
        for wanted in &labels {
            print!("{wanted:<28}");
            let count = |found: &String| {
                self.counts.get(&((*wanted).clone(), found.clone())).copied().unwrap_or_default()
            };
            for found in &labels {
                match count(found) {
                    0 => print!("{:>7}", "·"),
                    count => print!("{count:>7}"),
                }
            }
            let all: usize = labels.iter().map(|found| count(found)).sum();
            println!("{:>7.0} %", share(count(wanted), all));
        }
    }
}

const BINS: usize = 10;

/// Requests by confidence, and how many of them were right.
#[derive(Default)]
pub(crate) struct Calibration {
    bins: [Bin; BINS],
}

#[derive(Default)]
struct Bin {
    count: usize,
    right: usize,
    confidence: f64,
}

impl Calibration {
    pub(crate) fn add(&mut self, confidence: f32, is_right: bool) {
        let at = ((confidence * BINS as f32) as usize).min(BINS - 1);
        let bin = &mut self.bins[at];
        bin.count += 1;
        bin.right += usize::from(is_right);
        bin.confidence += f64::from(confidence);
    }

    pub(crate) fn print(&self) {
        println!("\nconfidence      requests   mean confidence   right");
        for (at, bin) in self.bins.iter().enumerate().filter(|(_, bin)| bin.count > 0) {
            let (low, high) = (at * 100 / BINS, (at + 1) * 100 / BINS);
            let (mean, right) = (100.0 * bin.confidence / bin.count as f64, share(bin.right, bin.count));
            println!("{low:>3} to {high:>3} %   {:>9}   {mean:>13.1} %   {right:>4.1} %", bin.count);
        }
    }

    /// The mean distance between confidence and the share that was right.
    pub(crate) fn error(&self) -> f64 {
        let all: usize = self.bins.iter().map(|bin| bin.count).sum();
        let distance: f64 = self.bins.iter().map(|bin| (bin.confidence - bin.right as f64).abs()).sum();
        100.0 * distance / all.max(1) as f64
    }
}
