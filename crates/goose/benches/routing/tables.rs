//! The confusion table.

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
