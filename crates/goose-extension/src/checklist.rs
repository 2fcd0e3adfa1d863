//! Progress of a Markdown checklist, as plans and task lists are written.

/// Counts the steps of a Markdown checklist: those that are done, and all.
pub fn checklist_progress(list: &str) -> (usize, usize) {
    let step = |line: &str| {
        let line = line.trim_start();
        let marked = ["- [", "* [", "+ ["].iter().find_map(|bullet| line.strip_prefix(bullet));
        let numbered = || line.trim_start_matches(|it: char| it.is_ascii_digit()).strip_prefix(". [");
        let mark = marked.or_else(numbered)?.chars().next()?;
        Some(mark == 'x' || mark == 'X')
    };
    let steps: Vec<bool> = list.lines().filter_map(step).collect();
    (steps.iter().filter(|done| **done).count(), steps.len())
}
