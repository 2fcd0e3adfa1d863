//! [`TaskWrites`]: the files that the running tasks of one request have changed.
//!
//! Tasks run side by side in the same folder. A file that one of them has changed belongs to it until it is over: another
//! one would write over what it has not seen. Files that a program changes without being named in a call are not known here.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use parking_lot::Mutex;

/// The most files that the tasks of a request may change at the same time.
const MAX_FILES: usize = 10_000;

/// The files that running tasks have changed, each with its task.
#[derive(Debug, Default)]
pub(crate) struct TaskWrites {
    owners: Mutex<HashMap<PathBuf, Arc<str>>>,
}

impl TaskWrites {
    /// Gives the files of a task that is over free.
    pub(crate) fn release(&self, task: &str) {
        self.owners.lock().retain(|_, owner| &**owner != task);
    }
}

/// A task that writes. Clones are the same task.
#[derive(Debug, Clone)]
pub(crate) struct TaskWriter {
    writes: Arc<TaskWrites>,
    task: Arc<str>,
}

/// Files that a call is about to write.
#[derive(Debug, Default)]
pub(crate) struct WriteClaim {
    /// The files that were free before.
    new: Vec<PathBuf>,
}

impl TaskWriter {
    pub(crate) fn new(writes: &Arc<TaskWrites>, task: &str) -> Self {
        Self { writes: Arc::clone(writes), task: task.into() }
    }

    /// The id of the task.
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
            if let Some(owner) = owners.get(file).filter(|owner| **owner != self.task) {
                return Err(format!(
                    "task {owner}, which is still running, has changed `{}`. Do the rest of your task without it; if \
                     nothing else is left, say what should be changed there, and why. When task {owner} is over, read \
                     the file again before you change it.",
                    file.display()
                ));
            }
        }
        if owners.len() + files.len() > MAX_FILES {
            return Err(format!("the tasks of this request have changed more than {MAX_FILES} files"));
        }
        let new: Vec<PathBuf> = files.iter().filter(|file| !owners.contains_key(*file)).cloned().collect();
        owners.extend(new.iter().map(|file| (file.clone(), Arc::clone(&self.task))));
        Ok(WriteClaim { new })
    }

    /// Takes a claim back, because the call has changed nothing.
    pub(crate) fn withdraw(&self, claim: WriteClaim) {
        let mut owners = self.writes.owners.lock();
        for file in claim.new {
            owners.remove(&file);
        }
    }
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
}
