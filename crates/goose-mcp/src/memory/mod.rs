//! `memory`: what is worth knowing in the next conversation too.
//!
//! Memories are text files that people can read and edit, one for each category, in two folders: the person's
//! own (`memory/` in the config folder) and the project's (`.goose/memory/` in the working folder of the call).
//! Nothing of them is in the prompt except the names of the categories; the model looks for what it needs.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `tools.rs` | the tools, as the model sees them |
//! | `store.rs` | what they do |
//! | `entry.rs`, `category.rs` | a memory and its text format, and the names of categories |
//! | `folder.rs` | reading a folder |
//! | `locked.rs` | changing it, safe for several processes, and in turn within one |
//! | `search.rs`, `page.rs` | finding, ranking, and showing only so much |
//! | `overview.rs` | the sentences of messages about a folder's content |
//!
//! Everything below the tools blocks: the files are small, but a change may wait for another process. So each
//! call runs as one blocking task (`tokio::task::spawn_blocking`). A call that is cancelled lets its task finish;
//! a change is made in whole or not at all.

mod category;
mod entry;
mod folder;
mod locked;
mod overview;
mod page;
mod search;
mod store;
mod tools;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use self::folder::Folder;

/// The `memory` extension.
#[derive(Debug, Clone)]
pub struct Memory {
    global: PathBuf,
    project: Option<PathBuf>,
}

impl Memory {
    /// Memories of the person in `global_dir`, and of each project in the working folder of the call.
    pub fn new(global_dir: PathBuf) -> Self {
        Self { global: global_dir, project: None }
    }

    /// Names a project whose categories are listed in the prompt and the status, which have no call to take a
    /// working folder from. Calls are not affected.
    pub fn with_project(mut self, working_dir: PathBuf) -> Self {
        self.project = Some(working_dir);
        self
    }

    fn folder(&self, is_global: bool, working_dir: &Path) -> Folder {
        if is_global { Folder::global(&self.global) } else { Folder::project(working_dir) }
    }

    /// The folders that can be named without a call.
    fn known_folders(&self) -> Vec<Folder> {
        let project = self.project.as_deref().map(Folder::project);
        [Folder::global(&self.global)].into_iter().chain(project).collect()
    }
}
