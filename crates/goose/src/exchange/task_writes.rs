//! [`TaskWrites`]: the files that the running tasks of one request have changed.
//!
//! Tasks run in parallel in the same folder. A file that one of them has changed belongs to it until it is
//! over, because another task would overwrite changes that it has not seen. A folder that was moved or
//! removed belongs to the task with its contents. Files that a program changes without being named in a call
//! are not tracked.

use std::{
    collections::BTreeMap,
    ops::Bound,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

/// Maximum number of files that the tasks of a request may change at the same time.
const MAX_FILES: usize = 10_000;

/// Files that running tasks have changed, each with its task.
#[derive(Debug, Default)]
pub(crate) struct TaskWrites {
    owners: Mutex<BTreeMap<PathBuf, Owner>>,
}

/// Task that a file belongs to.
#[derive(Debug)]
struct Owner {
    task: Arc<str>,
    /// Number of its calls that have changed the file or are about to.
    claims: usize,
}

impl TaskWrites {
    /// Releases the files of a task that is over.
    pub(crate) fn release(&self, task: &str) {
        self.owners.lock().retain(|_, owner| &*owner.task != task);
    }
}

/// Task that writes files. Clones are the same task.
#[derive(Debug, Clone)]
pub(crate) struct TaskWriter {
    writes: Arc<TaskWrites>,
    task: Arc<str>,
}

/// Files that a call is about to write.
#[derive(Debug, Default)]
pub(crate) struct WriteClaim(Vec<PathBuf>);

impl TaskWriter {
    pub(crate) fn new(writes: &Arc<TaskWrites>, task: &str) -> Self {
        Self { writes: Arc::clone(writes), task: task.into() }
    }

    /// Returns the id of the task.
    pub(crate) fn task(&self) -> Arc<str> {
        Arc::clone(&self.task)
    }

    /// Claims the files that a call writes, all or none.
    ///
    /// # Errors
    ///
    /// Returns the reason for the model if another running task has changed one of them.
    pub(crate) fn claim(&self, files: &[PathBuf]) -> Result<WriteClaim, String> {
        let mut owners = self.writes.owners.lock();
        for file in files {
            if let Some((changed, Owner { task: owner, .. })) =
                overlapping(&owners, file).find(|(_, owner)| owner.task != self.task)
            {
                return Err(format!(
                    "task {owner}, which is still running, has changed `{}`. Do the rest of your task without it; if \
                     nothing else is left, say what should be changed there, and why. When task {owner} is over, read \
                     the file again before you change it.",
                    changed.display()
                ));
            }
        }
        if owners.len() + files.len() > MAX_FILES {
            return Err(format!("the tasks of this request have changed more than {MAX_FILES} files"));
        }
        for file in files {
            let free = || Owner { task: Arc::clone(&self.task), claims: 0 };
            owners.entry(file.clone()).or_insert_with(free).claims += 1;
        }
        Ok(WriteClaim(files.to_vec()))
    }

    /// Withdraws a claim of a call that changed nothing. Files that another call of the task has claimed stay
    /// with the task.
    pub(crate) fn withdraw(&self, claim: WriteClaim) {
        let mut owners = self.writes.owners.lock();
        for file in claim.0 {
            if let Some(owner) = owners.get_mut(&file).filter(|owner| owner.task == self.task) {
                owner.claims = owner.claims.saturating_sub(1);
            }
        }
        owners.retain(|_, owner| owner.claims > 0);
    }
}

/// Returns the entries of a file, of everything below it, and of the folders that contain it.
fn overlapping<'a>(
    owners: &'a BTreeMap<PathBuf, Owner>,
    file: &'a Path,
) -> impl Iterator<Item = (&'a Path, &'a Owner)> {
    let above = file.ancestors().skip(1).filter_map(move |folder| Some((folder, owners.get(folder)?)));
    // Paths are ordered by their components, so everything below a folder follows it.
    let below = owners
        .range::<Path, _>((Bound::Included(file), Bound::Unbounded))
        .take_while(move |(other, _)| other.starts_with(file));
    below.map(|(other, owner)| (other.as_path(), owner)).chain(above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_belongs_to_its_task_until_that_is_over() {
        let writes = Arc::new(TaskWrites::default());
        let (one, two) = (TaskWriter::new(&writes, "1"), TaskWriter::new(&writes, "2"));
        let files = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        one.claim(&files(&["/a"])).unwrap();
        one.claim(&files(&["/a"])).unwrap();
        let refused = two.claim(&files(&["/b", "/a"])).unwrap_err();
        assert!(refused.contains("task 1") && refused.contains("`/a`"), "{refused}");
        one.claim(&files(&["/b"])).expect("a refused claim holds nothing");
        writes.release("1");
        let claim = two.claim(&files(&["/a"])).unwrap();
        two.withdraw(claim);
        one.claim(&files(&["/a"])).expect("a withdrawn claim holds nothing");
    }

    #[test]
    fn a_folder_is_claimed_with_what_is_below() {
        let writes = Arc::new(TaskWrites::default());
        let (one, two) = (TaskWriter::new(&writes, "1"), TaskWriter::new(&writes, "2"));
        let claim = |writer: &TaskWriter, file: &str| writer.claim(&[file.into()]).is_ok();
        assert!(claim(&two, "/a-b") && claim(&one, "/a/b/c") && claim(&two, "/a/d"));
        assert!(!claim(&two, "/a/b"), "another task has changed a file in it");
        assert!(!claim(&one, "/a"));
        assert!(claim(&one, "/a/b") && !claim(&two, "/a/b/e"), "the folder is gone");
        assert!(claim(&two, "/a/bc"));
    }

    #[test]
    fn a_failed_call_does_not_free_what_another_call_has_changed() {
        let writes = Arc::new(TaskWrites::default());
        let (one, two) = (TaskWriter::new(&writes, "1"), TaskWriter::new(&writes, "2"));
        let file = [PathBuf::from("/a")];
        let (failed, _changed) = (one.claim(&file).unwrap(), one.claim(&file).unwrap());
        one.withdraw(failed);
        two.claim(&file).unwrap_err();
        writes.release("1");
        two.claim(&file).unwrap();
    }
}
