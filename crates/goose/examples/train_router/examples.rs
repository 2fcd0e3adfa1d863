//! Examples to learn from.
//!
//! - `training.tsv`: requests for one mode: its agent and slug, a tab, the text.
//! - `splitting.tsv`: requests that are several tasks or look so. The slugs of the tasks in the order of the text, each with the numbers
//!   of the tasks that it needs (`backend qa:1 pm:1,2`), or `-` for a request that is one task; a tab; the text with `‖` where a task
//!   begins and `\n` for the end of a line. What a need is, is written in `needs.rs`.

use anyhow::{Context as _, ensure};

use crate::router::{classifier::LABELS, pieces::Request, splitter::Part};

/// The mark where a task begins.
const MARK: char = '‖';

/// A request whose tasks are known.
pub(crate) struct Tasks {
    pub(crate) text: String,
    pub(crate) request: Request,
    /// The places of the pieces before which it is cut.
    pub(crate) cuts: Vec<usize>,
    /// The modes of the tasks; none for a single task whose mode is not known.
    pub(crate) labels: Vec<usize>,
    pub(crate) needs: Vec<Vec<usize>>,
}

impl Tasks {
    /// A request for one mode.
    pub(crate) fn single(text: &str, label: usize) -> Self {
        let (request, text) = (Request::new(text), text.to_owned());
        Self { text, request, cuts: Vec::new(), labels: vec![label], needs: vec![Vec::new()] }
    }

    /// The tasks as the splitter finds them.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let starts = std::iter::once(0).chain(self.cuts.iter().copied());
        let ends = self.cuts.iter().copied().chain([self.request.pieces.len()]);
        let parts = starts.zip(ends).zip(&self.labels);
        parts.map(|((start, end), label)| Part { start, end, label: *label }).collect()
    }
}

/// Reads the lines of `training.tsv`.
pub(crate) fn singles(text: &str) -> anyhow::Result<Vec<Tasks>> {
    let single = |line: &str| {
        let (name, text) = line.split_once('\t').context("no tab")?;
        let (_, slug) = name.split_once('/').context("no agent")?;
        ensure!(!text.trim().is_empty(), "no text");
        Ok(Tasks::single(text, label(slug)?))
    };
    text.lines().map(|line| single(line).with_context(|| format!("cannot read '{line}'"))).collect()
}

/// Reads the lines of `splitting.tsv`.
pub(crate) fn splits(text: &str) -> anyhow::Result<Vec<Tasks>> {
    text.lines().map(|line| split(line).with_context(|| format!("cannot read '{line}'"))).collect()
}

fn split(line: &str) -> anyhow::Result<Tasks> {
    let (tasks, marked) = line.split_once('\t').context("no tab")?;
    let (mut labels, mut needs) = (Vec::new(), Vec::new());
    for task in tasks.split(' ').filter(|task| *task != "-") {
        let (slug, needed) = task.split_once(':').unwrap_or((task, ""));
        labels.push(label(slug)?);
        let numbers = needed.split(',').filter(|number| !number.is_empty());
        let places = numbers.map(|number| number.parse::<usize>()?.checked_sub(1).context("a need of 0"));
        needs.push(places.collect::<anyhow::Result<Vec<usize>>>()?);
    }
    let mut text = String::new();
    let mut marks = Vec::new();
    for (at, part) in marked.split(MARK).enumerate() {
        if at > 0 {
            marks.push(text.len());
        }
        text.push_str(&part.replace("\\n", "\n"));
    }
    let request = Request::new(&text);
    let cut = |mark: &usize| request.pieces.iter().position(|piece| piece.text.end > *mark);
    let cuts: Vec<usize> = marks.iter().filter_map(cut).collect();
    ensure!(cuts.len() + 1 == labels.len().max(1), "not a mark for each task after the first one");
    ensure!(cuts.first() != Some(&0) && cuts.is_sorted_by(|one, two| one < two), "a mark within a piece");
    Ok(Tasks { text, request, cuts, labels, needs })
}

fn label(slug: &str) -> anyhow::Result<usize> {
    let label = LABELS.iter().position(|(_, mode)| *mode == slug);
    label.with_context(|| format!("there is no mode '{slug}'"))
}

/// Random numbers that are the same in each run (xorshift).
pub(crate) struct Random(u64);

impl Default for Random {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Random {
    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    pub(crate) fn shuffle(&mut self, order: &mut [usize]) {
        for at in (1..order.len()).rev() {
            order.swap(at, self.below(at + 1));
        }
    }
}
