//! [`Change`]: the difference between two texts, for the person as a whole and for the model in short.

use std::time::Duration;

use goose_extension::{CallContext, RichRenderable};
use similar::{Algorithm, ChangeTag, TextDiff};

use super::matching::plain;

/// Bytes of a difference that the person is shown afterwards, and before they allow it.
const MAX_SHOWN_BYTES: usize = 64 * 1024;
const MAX_PREVIEW_BYTES: usize = 2 * 1024 * 1024;

/// Bytes of a difference that the model is shown.
const MAX_BRIEF_BYTES: usize = 2 * 1024;

/// Unchanged lines shown around a change.
const SHOWN_AROUND: usize = 3;
const BRIEF_AROUND: usize = 1;

/// Time limit of the search for the smallest difference; after that, a larger one is good enough.
const PATIENCE: Duration = Duration::from_millis(200);

/// A change of a file.
pub(super) struct Change {
    /// For the person.
    unified: String,
    /// For the model.
    brief: String,
    added: usize,
    removed: usize,
}

impl Change {
    /// The difference of two texts of the file at `path`.
    pub(super) fn new(path: &str, before: &str, after: &str) -> Self {
        let (before, after) = (plain(before), plain(after));
        let diff = TextDiff::configure()
            .algorithm(Algorithm::Myers)
            .timeout(PATIENCE)
            .diff_lines(before.as_ref(), after.as_ref());
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        let (from, to) = (if before.is_empty() { "/dev/null" } else { path }, path);
        let unified = diff.unified_diff().context_radius(SHOWN_AROUND).header(from, to).to_string();
        let brief = diff.unified_diff().context_radius(BRIEF_AROUND).to_string();
        Self {
            unified,
            brief: capped(brief, MAX_BRIEF_BYTES),
            added: count(ChangeTag::Insert),
            removed: count(ChangeTag::Delete),
        }
    }

    /// Shows the person what was changed, or would be.
    pub(super) fn show(&self, path: &str, context: &CallContext) {
        if !self.unified.is_empty() {
            let is_done = context.backend().is_none_or(|backend| backend.keeps_changes());
            let limit = if is_done { MAX_SHOWN_BYTES } else { MAX_PREVIEW_BYTES };
            let unified = capped(self.unified.clone(), limit);
            context.log(RichRenderable::Diff { path: path.to_owned(), unified });
        }
    }

    /// The change in short, and how large it is.
    pub(super) fn brief(&self) -> &str {
        self.brief.trim_end()
    }

    /// Returns the numbers of added and removed lines.
    pub(super) fn counts(&self) -> String {
        format!("+{} −{}", self.added, self.removed)
    }
}

/// A difference up to a whole line, and how many are left out.
fn capped(text: String, limit: usize) -> String {
    let remark = |rest: &str| format!("… {} more lines of the difference\n", rest.lines().count());
    goose_fs::truncate_lines(text, limit, remark)
}
