//! The results, by kind.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    time::Duration,
};

use crate::{run::Done, task::Task};

/// Five of six.
const LEAST: (usize, usize) = (5, 6);

/// The most characters of a step that are shown.
const STEP_CHARS: usize = 400;

#[derive(Default)]
pub(crate) struct Report {
    kinds: BTreeMap<String, Count>,
    broken_promises: usize,
    took: Duration,
}

#[derive(Default, Clone, Copy)]
struct Count {
    done: usize,
    all: usize,
}

impl Report {
    pub(crate) fn add(&mut self, task: &Task, done: &Done, problems: &[String], shows_all: bool) {
        let count = self.kinds.entry(task.kind.clone()).or_default();
        count.all += 1;
        count.done += usize::from(problems.is_empty());
        self.broken_promises += usize::from(task.is_promise() && !problems.is_empty());
        self.took += done.took;
        let mark = if problems.is_empty() { "ok  " } else { "FAIL" };
        let held = if task.held { " (held)" } else { "" };
        say(&format!("{mark} {:7} {}{held} {:.1} s", task.kind, task.name, done.took.as_secs_f64()));
        if !problems.is_empty() || shows_all {
            let steps = done.steps.iter().map(|step| step.chars().take(STEP_CHARS).collect::<String>());
            steps.chain(problems.iter().cloned()).for_each(|line| say(&format!("       {line}")));
        }
    }

    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let all = self.kinds.values().fold(Count::default(), |sum, count| Count {
            done: sum.done + count.done,
            all: sum.all + count.all,
        });
        for (kind, count) in &self.kinds {
            say(&format!("{kind:7} {:2} of {:2}", count.done, count.all));
        }
        let each = self.took.as_secs_f64() / all.all.max(1) as f64;
        say(&format!("all     {:2} of {:2}, {each:.1} s each", all.done, all.all));
        if all.done * LEAST.1 < all.all * LEAST.0 {
            say(&format!("Fewer than {} of {} tasks are done.", LEAST.0, LEAST.1));
            std::process::exit(1);
        }
        if self.broken_promises > 0 {
            say("A task with `unchanged` or `facts` has to succeed in every run.");
            std::process::exit(1);
        }
        Ok(())
    }
}

fn say(line: &str) {
    // If this fails, the reader has left.
    let _ = writeln!(io::stdout(), "{line}");
}
