//! `memory`: what is worth knowing in the next conversation too.
//!
//! Memories are text files that people can read and edit, one for each category, in two folders: the person's
//! own (`memory/` in the config folder) and the project's (`.goose/memory/` in the working folder of the call).
//! Nothing of them is in the prompt except the names of the categories; the model looks for what it needs.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `store.rs` | the work of the tools |
//! | `entry.rs` | a memory and its text format, and the names of categories |
//! | `folder.rs` | reading a folder; changing it, safe for several processes, and in turn within one |
//! | `search.rs`, `page.rs` | finding, ranking, and showing only so much; the sentences about a folder's content |
//!
//! Everything below the tools blocks: the files are small, but a change may wait for another process. So each
//! call runs as one blocking task (`tokio::task::spawn_blocking`). A call that is cancelled lets its task finish;
//! a change is made in whole or not at all.

mod entry;
mod folder;
mod page;
mod search;
mod store;

use std::path::{Path, PathBuf};

use goose_extension::prelude::*;

use self::{
    entry::{Category, Entry, MAX_TAGS, Selection},
    folder::Folder,
    page::Page,
    search::{MAX_QUERY_CHARS, Query},
};

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

/// Default and maximum number of entries of a retrieval.
const DEFAULT_RETRIEVED: usize = 100;
const MAX_RETRIEVED: usize = 500;

/// Default and maximum number of entries of a search.
const DEFAULT_HITS: usize = 10;
const MAX_HITS: usize = 100;

const INSTRUCTIONS: &str = "\
Memories outlast this conversation, sorted into categories. The global memory is about the person, in every project; \
the project memory is about the working folder.

- Before work that earlier conversations may bear on (preferences, conventions, decisions), use \
search_memories.
- Remember what will matter again: a preference, a decision and its reason, a fact that was hard to find; never \
passwords or keys. One fact per memory, understandable on its own. Offer it when the person did not ask.
- When a memory is no longer true, remove that one and remember the new fact.
";

#[extension(
    name = "memory",
    description = "Remembers facts and preferences across conversations, for the person and for each project",
    instructions = INSTRUCTIONS
)]
impl Extension for Memory {
    fn prompt(&self) -> String {
        let folders: Vec<String> = self.known_folders().iter().map(page::sentence).collect();
        format!("{INSTRUCTIONS}\n{}", folders.join("\n"))
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        let folders = self.known_folders();
        let status = move || {
            let describe = |folder: &Folder| {
                let state = json!({ "folder": folder.path, "state": page::sentence(folder) });
                (folder.scope.name().to_owned(), state)
            };
            Ok(folders.iter().map(describe).collect())
        };
        Ok(blocking(status).await?)
    }

    /// Remember a fact under a category, for later conversations. Returns where it is kept. Fails if the category is full
    /// or badly named.
    #[tool(title = "Remember", group = "edit", destructive = false, idempotent, open_world = false)]
    async fn remember_memory(
        &self,
        /// A plain name, such as `preferences`
        category: String,
        /// The fact
        data: String,
        /// Words to find it by, default none
        #[arg(default, max_items = MAX_TAGS)]
        tags: Vec<String>,
        /// About the person, not the project
        is_global: bool,
        context: &CallContext,
    ) -> ToolResult<String> {
        let folder = self.folder(is_global, context.working_dir());
        blocking(move || {
            let category = Category::parse(&category)?;
            store::remember(&folder, &category, &Entry::new(&data, &tags)?)
        })
        .await
    }

    /// Show the memories of a category. Returns them oldest first. Fails if they cannot be read.
    #[tool(title = "Retrieve memories", group = "read", read_only, open_world = false, output = Page)]
    async fn retrieve_memories(
        &self,
        /// Category, or `*` for all
        category: String,
        /// The person's, not the project's
        is_global: bool,
        /// Entries at most, default 100
        #[arg(default = DEFAULT_RETRIEVED, min = 1, max = MAX_RETRIEVED)]
        limit: usize,
        /// Entries to skip, default 0
        #[arg(default)]
        offset: usize,
        context: &CallContext,
    ) -> ToolResult<Page> {
        let folder = self.folder(is_global, context.working_dir());
        blocking(move || store::retrieve(&folder, &Selection::parse(&category)?, offset, limit)).await
    }

    /// Find memories by words and tags. Returns the best first. Fails if there are no words and no tags.
    #[tool(title = "Search memories", group = "read", read_only, open_world = false, output = Page)]
    async fn search_memories(
        &self,
        /// Any of these words; may be empty with tags
        #[arg(max_length = MAX_QUERY_CHARS)]
        query: String,
        /// Only this category, default all
        category: Option<String>,
        /// At least one of these tags, default any
        #[arg(default, max_items = MAX_TAGS)]
        tags: Vec<String>,
        /// Only the person's, or only the project's, default both
        is_global: Option<bool>,
        /// Entries at most, default 10
        #[arg(default = DEFAULT_HITS, min = 1, max = MAX_HITS)]
        limit: usize,
        context: &CallContext,
    ) -> ToolResult<Page> {
        let scopes = is_global.map_or_else(|| vec![true, false], |one| vec![one]);
        let folders: Vec<_> =
            scopes.into_iter().map(|is_global| self.folder(is_global, context.working_dir())).collect();
        blocking(move || {
            let selection = category.as_deref().map_or(Ok(Selection::All), Selection::parse)?;
            store::search(&folders, &selection, &Query::new(&query, &tags)?, limit)
        })
        .await
    }

    /// Remove a category with all its memories. Returns what is gone. Fails if there is none.
    #[tool(title = "Remove a category", group = "edit", destructive, open_world = false)]
    async fn remove_memory_category(
        &self,
        /// Category, or `*` for all
        category: String,
        /// The person's, not the project's
        is_global: bool,
        context: &CallContext,
    ) -> ToolResult<String> {
        let folder = self.folder(is_global, context.working_dir());
        blocking(move || store::remove_categories(&folder, &Selection::parse(&category)?)).await
    }

    /// Remove one memory. Returns how many are left. Fails if none has exactly this text.
    #[tool(title = "Remove a memory", group = "edit", destructive, open_world = false)]
    async fn remove_specific_memory(
        &self,
        /// Its category
        category: String,
        /// Its whole text, as shown in `data`
        memory_content: String,
        /// The person's, not the project's
        is_global: bool,
        context: &CallContext,
    ) -> ToolResult<String> {
        let folder = self.folder(is_global, context.working_dir());
        let other = self.folder(!is_global, context.working_dir());
        blocking(move || store::remove_entry(&folder, &other, &Category::parse(&category)?, &memory_content))
            .await
    }
}

/// Runs work that may wait for files away from the threads that serve other calls.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> ToolResult<T> + Send + 'static) -> ToolResult<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(ToolError::ExecutionError(format!(
            "The memory could not be used because of a bug in it ({error}). Go on without it and tell the person."
        )))
    })
}

#[cfg(test)]
mod tests;
