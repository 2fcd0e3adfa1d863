//! [`Change`]: a change as the model sees it, and the lines that changed.
//!
//! Each line has its number, so that the model does not have to count, and so that no text of the change can look like
//! the lines around it. What is too long or must not be sent is left out with a reason.

use std::{collections::BTreeSet, fmt::Write as _};

use goose::permission::{Permissions, Verdict};
use goose_fs::truncate_chars;
use serde::Serialize;

use super::git::{ChangeKind, Comparison, ListedFile, Repository};
use crate::escape;

/// Maximum number of files that are reviewed at once.
const MAX_FILES: usize = 200;

/// Largest change that is reviewed at once.
const MAX_BYTES: usize = 200 * 1024;

/// Largest change of one file.
const MAX_FILE_BYTES: usize = 40 * 1024;

/// Maximum length of a line.
const MAX_LINE_CHARS: usize = 1_000;

/// A change that can be reviewed.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) files: Vec<ChangedFile>,
    /// Files that are not reviewed, or not completely.
    pub(super) left_out: Vec<LeftOut>,
}

/// The change of a file.
#[derive(Debug, Default)]
pub(super) struct ChangedFile {
    /// The path as it is shown, escaped: names of files are untrusted.
    pub(super) path: String,
    /// The numbered lines.
    text: String,
    /// Numbers of lines that were added or are next to removed ones; of a removed file, its old lines.
    pub(super) lines: BTreeSet<u64>,
}

/// A file, or a part of it, that is not reviewed.
#[derive(Debug, Serialize)]
pub(super) struct LeftOut {
    pub(super) file: String,
    pub(super) reason: String,
}

impl Change {
    /// Reads the change of each file.
    pub(super) async fn read(
        repository: &Repository,
        comparison: &Comparison,
        files: &[ListedFile],
        permissions: &Permissions,
    ) -> Self {
        let mut change = Self::default();
        for file in files {
            let path = escape::line(&file.path()).into_owned();
            let read = match change.obstacle(repository, file, permissions) {
                Some(reason) => Err(reason),
                None => match repository.patch(comparison, file).await {
                    Ok(patch) => ChangedFile::from_patch(&path, file, &patch, change.room()),
                    Err(error) => Err(format!("{error:#}")),
                },
            };
            match read {
                Ok((read, cut)) => {
                    change.left_out.extend(cut.map(|reason| LeftOut { file: path, reason }));
                    change.files.push(read);
                }
                Err(reason) => change.left_out.push(LeftOut { file: path, reason }),
            }
        }
        change
    }

    /// Returns the reason why a file is not sent to the model, if there is one.
    fn obstacle(
        &self,
        repository: &Repository,
        file: &ListedFile,
        permissions: &Permissions,
    ) -> Option<String> {
        if file.kind == ChangeKind::Submodule {
            return Some("another repository".to_owned());
        }
        if self.files.len() >= MAX_FILES {
            return Some(format!("more than {MAX_FILES} files"));
        }
        if self.room() == 0 {
            return Some(format!("the change is longer than {} KB", MAX_BYTES / 1024));
        }
        let paths = [Some(file.path()), file.old_path()];
        paths.into_iter().flatten().find_map(|path| {
            match permissions.attached_file(&path, &repository.root).verdict {
                Verdict::Allow => None,
                Verdict::Deny { reason } => Some(reason),
                Verdict::Ask { reasons, .. } => Some(format!("protected: {}", reasons.join(" "))),
            }
        })
    }

    /// Returns true if nothing changed.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.left_out.is_empty()
    }

    /// Names what is left out.
    pub(super) fn reasons(&self) -> String {
        let named = |LeftOut { file, reason }: &LeftOut| format!("{file} ({reason})");
        self.left_out.iter().map(named).collect::<Vec<_>>().join(", ")
    }

    fn room(&self) -> usize {
        MAX_BYTES.saturating_sub(self.files.iter().map(|file| file.text.len()).sum())
    }

    /// Returns the change as text for the model.
    pub(super) fn text(&self) -> String {
        let mut text = "<change>\n".to_owned();
        for file in &self.files {
            text.push_str(&file.text);
        }
        text.push_str("</change>");
        for LeftOut { file, reason } in &self.left_out {
            // Writing to a string does not fail.
            let _ = write!(text, "\nNot shown: {file} ({})", escape::line(reason));
        }
        text
    }
}

impl ChangedFile {
    /// Returns the change of a file, and the reason if it is cut.
    ///
    /// # Errors
    ///
    /// Fails with a reason if there is nothing to review in it.
    fn from_patch(
        path: &str,
        file: &ListedFile,
        patch: &str,
        room: usize,
    ) -> Result<(Self, Option<String>), String> {
        let what = match file.kind {
            ChangeKind::Added | ChangeKind::Untracked => "new file".to_owned(),
            ChangeKind::Removed => "removed file, with its old line numbers".to_owned(),
            ChangeKind::Renamed => {
                format!("renamed from {}", escape::line(&file.old_path().unwrap_or_default()))
            }
            ChangeKind::Modified | ChangeKind::Submodule => "changed file".to_owned(),
        };
        let mut numbered = Numbered {
            text: format!("\nFile: {path} ({what})\n"),
            is_removed: file.kind == ChangeKind::Removed,
            limit: MAX_FILE_BYTES.min(room),
            ..Numbered::default()
        };
        let header: Vec<&str> = patch.lines().take_while(|line| !line.starts_with("@@ ")).collect();
        if header.iter().any(|line| line.starts_with("Binary files ")) {
            return Err("binary".to_owned());
        }
        for line in
            header.iter().filter(|line| line.starts_with("old mode ") || line.starts_with("new mode "))
        {
            numbered.say(line);
        }
        let is_complete = patch.lines().skip(header.len()).all(|line| numbered.push(line));
        let Numbered { text, lines, last, limit, has_long_lines, .. } = numbered;
        let cut = match limit {
            _ if is_complete && has_long_lines => Some(format!("lines after {MAX_LINE_CHARS} characters")),
            _ if is_complete => None,
            MAX_FILE_BYTES => Some(format!("after line {last}: longer than {} KB", MAX_FILE_BYTES / 1024)),
            _ => Some(format!("after line {last}: the change is longer than {} KB", MAX_BYTES / 1024)),
        };
        Ok((Self { path: path.to_owned(), text, lines }, cut))
    }
}

/// The lines of a patch with their numbers.
#[derive(Debug, Default)]
struct Numbered {
    text: String,
    lines: BTreeSet<u64>,
    is_removed: bool,
    limit: usize,
    /// The number of the next line of each side, and how many are left in this part.
    old: u64,
    new: u64,
    old_left: u64,
    new_left: u64,
    /// The last line that is shown.
    last: u64,
    has_long_lines: bool,
}

impl Numbered {
    /// Adds a line of the patch. Returns false if there is no room for it.
    fn push(&mut self, line: &str) -> bool {
        if self.text.len() > self.limit {
            return false;
        }
        if self.old_left == 0 && self.new_left == 0 {
            self.begin(line);
            return true;
        }
        let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", line));
        match sign {
            "+" => {
                self.lines.insert(self.new);
                self.show(Some(self.new), sign, rest);
            }
            "-" if self.is_removed => {
                self.lines.insert(self.old);
                self.show(Some(self.old), sign, rest);
            }
            "-" => {
                self.lines.extend([self.new.saturating_sub(1).max(1), self.new]);
                self.show(None, sign, rest);
            }
            // "\ No newline at end of file"
            "\\" => {}
            _ => self.show(Some(self.new), sign, rest),
        }
        if matches!(sign, "-" | " ") {
            self.old += 1;
            self.old_left = self.old_left.saturating_sub(1);
        }
        if matches!(sign, "+" | " ") {
            self.new += 1;
            self.new_left = self.new_left.saturating_sub(1);
        }
        true
    }

    /// Begins a part: `@@ -OLD[,COUNT] +NEW[,COUNT] @@ HEADING`.
    fn begin(&mut self, line: &str) {
        let Some((sides, heading)) = line.strip_prefix("@@ -").and_then(|rest| rest.split_once(" @@")) else {
            return;
        };
        let Some((old, new)) = sides.split_once(" +") else { return };
        (self.old, self.old_left) = side(old);
        (self.new, self.new_left) = side(new);
        self.say(&format!("@@{heading}"));
    }

    fn show(&mut self, number: Option<u64>, sign: &str, rest: &str) {
        self.last = number.unwrap_or(self.last);
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        self.say(&format!("{number:>6} {sign} {rest}"));
    }

    fn say(&mut self, line: &str) {
        let line = line.trim_end_matches('\r');
        let shown = truncate_chars(line, MAX_LINE_CHARS);
        self.has_long_lines |= shown.len() != line.len();
        self.text.push_str(&escape::text(&shown));
        self.text.push('\n');
    }
}

/// Reads `LINE` or `LINE,COUNT`.
fn side(text: &str) -> (u64, u64) {
    let (line, count) = text.split_once(',').unwrap_or((text, "1"));
    (line.parse().unwrap_or_default(), count.parse().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(patch: &str, is_removed: bool) -> Numbered {
        let mut numbered = Numbered { is_removed, limit: usize::MAX, ..Numbered::default() };
        assert!(patch.lines().all(|line| numbered.push(line)));
        numbered
    }

    #[test]
    fn lines_have_the_numbers_of_the_new_file() {
        let patch = "@@ -3,4 +3,4 @@ fn f() {\n a\n-b\n+c\n\n d\n\\ No newline at end of file\n@@ -40 +40,2 @@\n x\n+@@ -1 +1 @@\n";
        let shown = numbered(patch, false);
        assert_eq!(
            shown.text,
            "@@ fn f() {\n     3   a\n       - b\n     4 + c\n     5   \n     6   d\n@@\n    40   x\n    41 + @@ -1 +1 @@\n"
        );
        assert_eq!(shown.lines, BTreeSet::from([3, 4, 41]));
    }

    #[test]
    fn a_removed_file_has_its_old_numbers() {
        let shown = numbered("@@ -1,2 +0,0 @@\n-a\n-b\n", true);
        assert_eq!(
            (shown.text.as_str(), shown.lines),
            ("@@\n     1 - a\n     2 - b\n", BTreeSet::from([1, 2]))
        );
    }
}
