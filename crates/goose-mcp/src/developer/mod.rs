//! `developer`: what it takes to work on code. Eight tools, each in a place of its own, over one [`Developer`].
//!
//! | file | tool | what it is about |
//! | --- | --- | --- |
//! | `plan.rs` | `plan` | the plan of a session, shown as it changes |
//! | `shell/` | `shell` | commands: streamed, bounded, ended with their whole tree |
//! | `files/` | `read`, `write`, `edit` | files, with their encoding, line ends and permissions kept |
//! | `find/` | `tree`, `search` | what is in a folder, and where something is |
//! | `analyze/` | `analyze` | a map of code |
//! | `place.rs` | | what a path in an argument means |
//! | `slim.rs` | | descriptions that cost the model little |
//!
//! Each tool is a `#[tool]` method of [`Developer`] in its own file and is registered in [`TOOLS`]. What blocks runs
//! as one blocking task ([`blocking`]).

mod analyze;
mod files;
mod find;
mod place;
mod plan;
mod shell;
mod slim;

use std::{
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex},
};

use goose_extension::{JsonObject, prelude::*};

use self::{plan::Plans, shell::Shell, slim::slim};
use crate::Settings;

const INSTRUCTIONS: &str = "\
For work of several steps, keep a plan. Look before you change: search with `rg` in the shell, read what you will \
edit. Afterwards check the result: run the tests, read the diff.";

/// All tools, in the order in which the model sees them.
static TOOLS: LazyLock<ToolRegistry> = LazyLock::new(|| {
    ToolRegistry::new()
        .with(slim(Developer::plan_tool()))
        .with(slim(Developer::shell_tool()))
        .with(slim(Developer::read_tool()))
        .with(slim(Developer::write_tool()))
        .with(slim(Developer::edit_tool()))
        .with(slim(Developer::tree_tool()))
        .with(slim(Developer::search_tool()))
        .with(slim(Developer::analyze_tool()))
});

/// The `developer` extension. Folder, session and caller come with each call; what is kept between calls is the
/// sessions' plans and the files with long outputs.
pub struct Developer {
    plans: Plans,
    shell: Shell,
    /// Whose turn it is to change a file.
    changes: Arc<Mutex<()>>,
    /// What `~` means.
    home: Option<PathBuf>,
}

impl Developer {
    /// As the program's settings say.
    pub fn new(settings: &Settings) -> Self {
        let home = settings.environment.get(std::ffi::OsStr::new("HOME"));
        Self {
            plans: Plans::default(),
            shell: Shell::new(settings),
            changes: Arc::default(),
            home: home.filter(|home| !home.is_empty()).map(PathBuf::from),
        }
    }
}

#[async_trait]
impl Extension for Developer {
    fn name(&self) -> &str {
        "developer"
    }

    fn description(&self) -> &str {
        "Works on code: runs commands, reads, searches and changes files, keeps a plan"
    }

    fn instructions(&self) -> &str {
        INSTRUCTIONS
    }

    fn tools(&self) -> &[Tool] {
        TOOLS.tools()
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok(HashMap::new())
    }

    async fn call_tool(&self, tool_name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
        TOOLS.call_tool(self, tool_name, parameters).await
    }

    async fn call(
        &self,
        tool_name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        TOOLS.call(self, tool_name, arguments, context).await
    }
}

/// Runs work on files away from the threads that serve other calls. A call that is cancelled lets it finish: a file
/// is changed in whole or not at all.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> ToolResult<T> + Send + 'static) -> ToolResult<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(ToolError::ExecutionError(format!(
            "The tool failed because of a bug in it ({error}). Try another way, for example with the shell."
        )))
    })
}
