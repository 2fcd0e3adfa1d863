//! The tools of `memory`, as the model sees them. What they do is in `store.rs`.

use goose_extension::prelude::*;

use super::{
    Memory,
    category::{Category, Selection},
    entry::{Entry, MAX_TAGS},
    overview,
    page::Page,
    search::{MAX_QUERY_CHARS, Query},
    store,
};

/// How many entries a retrieval shows unless told otherwise, and at most.
const DEFAULT_RETRIEVED: usize = 100;
const MAX_RETRIEVED: usize = 500;

/// How many entries a search shows unless told otherwise, and at most.
const DEFAULT_HITS: usize = 10;
const MAX_HITS: usize = 100;

const INSTRUCTIONS: &str = "\
Memories outlast this conversation. They are sorted into categories; each has a text and perhaps tags. The global \
memory is about the person and is there in every project; the project memory belongs to the working folder.

- Before work that earlier conversations may bear on (preferences, conventions, names, decisions), look with \
search_memories. Only the names of categories are shown to you, not what is in them.
- Remember what will matter again: a preference, a decision and its reason, a fact that was hard to find. Offer it \
when the person did not ask; do not store passwords or keys, nor what the files of the project already say.
- One fact per memory, understandable on its own, with a few tags to find it by. Use a category that is there where \
one fits. What is about the person is global; what is about this code is not.
- When a memory is no longer true, remove that one memory and remember the new fact.
";

#[extension(
    name = "memory",
    description = "Remembers facts and preferences across conversations, for the person and for each project",
    instructions = INSTRUCTIONS
)]
impl Extension for Memory {
    fn prompt(&self) -> String {
        let folders: Vec<String> = self.known_folders().iter().map(overview::sentence).collect();
        format!("{INSTRUCTIONS}\n{}", folders.join("\n"))
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        let folders = self.known_folders();
        let status = move || {
            let describe = |folder: &super::Folder| {
                let state = json!({ "folder": folder.path, "state": overview::sentence(folder) });
                (folder.scope.name().to_owned(), state)
            };
            Ok(folders.iter().map(describe).collect())
        };
        Ok(blocking(status).await?)
    }

    /// Remembers a text under a category, for later conversations. Existing memories stay as they are.
    #[tool(title = "Remember", group = "edit", destructive = false, idempotent, open_world = false)]
    async fn remember_memory(
        &self,
        /// The category: a plain name such as `preferences` or `release process`
        category: String,
        /// What to remember: one fact, understandable on its own
        data: String,
        /// A few words to find it by
        #[arg(default, max_items = MAX_TAGS)]
        tags: Vec<String>,
        /// true: about the person, for every project; false: about the project in the working folder
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

    /// Shows the memories of a category, oldest first. To find something, use search_memories instead: a
    /// retrieval is cut off after 32 KiB.
    #[tool(title = "Retrieve memories", group = "read", read_only, open_world = false, output = Page)]
    async fn retrieve_memories(
        &self,
        /// The category, or `*` for all of them
        category: String,
        /// true: the person's memories; false: those of the project in the working folder
        is_global: bool,
        /// How many to show at most
        #[arg(default = DEFAULT_RETRIEVED, min = 1, max = MAX_RETRIEVED)]
        limit: usize,
        /// How many to skip
        #[arg(default)]
        offset: usize,
        context: &CallContext,
    ) -> ToolResult<Page> {
        let folder = self.folder(is_global, context.working_dir());
        blocking(move || store::retrieve(&folder, &Selection::parse(&category)?, offset, limit)).await
    }

    /// Finds memories by words and tags, best first, in the person's memory and the project's.
    #[tool(title = "Search memories", group = "read", read_only, open_world = false, output = Page)]
    async fn search_memories(
        &self,
        /// Words to look for; an entry needs only some of them. May be empty where tags are given
        #[arg(max_length = MAX_QUERY_CHARS)]
        query: String,
        /// Look only in this category
        category: Option<String>,
        /// Only entries with at least one of these tags
        #[arg(default, max_items = MAX_TAGS)]
        tags: Vec<String>,
        /// true: only the person's memories; false: only the project's; absent: both
        is_global: Option<bool>,
        /// How many to show at most
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

    /// Removes a whole category with all its memories. There is no way back.
    #[tool(title = "Remove a category", group = "edit", destructive, open_world = false)]
    async fn remove_memory_category(
        &self,
        /// The category, or `*` for all of them
        category: String,
        /// true: the person's memories; false: those of the project in the working folder
        is_global: bool,
        context: &CallContext,
    ) -> ToolResult<String> {
        let folder = self.folder(is_global, context.working_dir());
        blocking(move || store::remove_categories(&folder, &Selection::parse(&category)?)).await
    }

    /// Removes a single memory. Where its text is not found exactly, nothing is removed and similar ones are
    /// shown.
    #[tool(title = "Remove a memory", group = "edit", destructive, open_world = false)]
    async fn remove_specific_memory(
        &self,
        /// The category that the memory is in
        category: String,
        /// The whole text of the memory, as it is shown in `data`
        memory_content: String,
        /// true: the person's memories; false: those of the project in the working folder
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
