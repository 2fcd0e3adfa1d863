//! The table, the ratios and the bars.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::time::Duration;

use crate::{Contender, Wire};

/// Least factor by which a direct call is faster than the duplex.
const DIRECT_BAR: f64 = 50.0;

/// Largest factor by which a call may take longer than rmcp's own.
const WIRE_BAR: f64 = 1.05;

pub(crate) struct Report {
    contenders: Vec<Contender>,
}

impl Report {
    pub(crate) fn new(contenders: Vec<Contender>) -> Self {
        Self { contenders }
    }

    pub(crate) fn print(&self) {
        println!("{:<26} {:>12} {:>12} {:>12}", "", "calls/s", "p50", "p99");
        for contender in &self.contenders {
            let middle = median(contender.rounds.iter().map(Duration::as_secs_f64).collect());
            let (p50, p99) = (contender.percentile(0.5), contender.percentile(0.99));
            println!("{:<26} {:>12.0} {p50:>12.2?} {p99:>12.2?}", contender.name, 1.0 / middle);
        }
        println!();
        for (what, ratio, met) in self.ratios() {
            println!("{} {what}: {ratio:.2}", if met { "ok  " } else { "MISS" });
        }
    }

    pub(crate) fn bars_are_met(&self) -> bool {
        self.ratios().iter().all(|(_, _, met)| *met)
    }

    fn ratios(&self) -> Vec<(String, f64, bool)> {
        let mut ratios = Vec::new();
        for wire in Wire::ALL {
            let (Some(ours), Some(theirs)) = (self.find(Some(wire), true), self.find(Some(wire), false))
            else {
                continue;
            };
            if let (Wire::Duplex(_), Some(direct)) = (wire, self.find(None, true)) {
                let ratio = ratio(ours, direct);
                let what = format!("goose {} / direct, at least {DIRECT_BAR}", wire.name());
                ratios.push((what, ratio, ratio >= DIRECT_BAR));
            }
            let ratio = ratio(ours, theirs);
            let what = format!("goose {0} / rmcp {0}, at most {WIRE_BAR}", wire.name());
            ratios.push((what, ratio, ratio <= WIRE_BAR));
        }
        ratios
    }

    fn find(&self, wire: Option<Wire>, is_ours: bool) -> Option<&Contender> {
        self.contenders.iter().find(|contender| contender.wire == wire && contender.is_ours == is_ours)
    }
}

/// The median over all rounds of how long `a` took as a multiple of `b` in the same round.
fn ratio(a: &Contender, b: &Contender) -> f64 {
    let pairs = a.rounds.iter().zip(&b.rounds);
    median(pairs.map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
