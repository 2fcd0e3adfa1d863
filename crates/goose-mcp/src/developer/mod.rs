//! `developer`: what it takes to work on code. Eight tools, each in a place of its own, over one [`Developer`].
//!
//! | file | tool | what it is about |
//! | --- | --- | --- |
//! | `plan.rs` | `plan` | the plan of a session, shown as it changes |
//! | `shell/` | `shell` | commands: streamed, bounded, ended with their whole tree |
//! | `files/` | `read`, `write`, `edit` | files, with their encoding, line ends and permissions kept |
//! | `find/` | `tree`, `search` | what is in a folder, and where something is |
//! | `analyze/` | `analyze` | a map of code |
//! | `resolve_path.rs` | | the meaning of a path in an argument |
//!
//! Each tool is a `#[tool]` method of [`Developer`] in its own file and is registered in [`TOOLS`]. What blocks runs
//! as one blocking task ([`blocking`]).

mod analyze;
mod files;
mod find;
mod plan;
mod resolve_path;
mod shell;

use std::{
    path::PathBuf,
    sync::{Arc, LazyLock},
};

use goose_extension::{Backend, CheckedArguments, RichRenderable, ToolAction, ToolDef, prelude::*};
use parking_lot::Mutex;

use self::{files::SeenFiles, plan::Plans};
pub(crate) use self::{
    files::{file_failed, missing_file},
    resolve_path::{ResolvedPath, resolve_path},
    shell::Shell,
};
use crate::{BuiltinOptions, LocalBackend};

/// All tools, in the order in which the model sees them.
static TOOLS: LazyLock<ToolRegistry> = LazyLock::new(|| {
    ToolRegistry::new()
        .with(declare(Developer::plan_tool(), ToolAction::KeepsPlan))
        .with(declare(Developer::shell_tool(), ToolAction::command("command")))
        .with(declare(Developer::read_tool(), ToolAction::reads("path")))
        .with(declare(Developer::write_tool(), ToolAction::writes("path")))
        .with(declare(Developer::edit_tool(), ToolAction::writes("path")))
        .with(declare(Developer::tree_tool(), ToolAction::reads("path")))
        .with(declare(Developer::search_tool(), ToolAction::reads("path")))
        .with(declare(Developer::analyze_tool(), ToolAction::reads("path")))
});

/// A tool with what the permissions judge it by.
fn declare(tool: ToolDef<Developer>, action: ToolAction) -> ToolDef<Developer> {
    tool.map_tool(|tool| tool.with_action(action))
}

/// The `developer` extension. Folder, session and caller come with each call; what is kept between calls is the
/// sessions' plans, the files that they have seen, and the files with long outputs.
pub struct Developer {
    plans: Plans,
    seen: Arc<SeenFiles>,
    shell: Shell,
    /// The tools, as they are described to the model.
    tools: Vec<Tool>,
    /// Held while a file is changed, so that edits do not overlap.
    changes: Arc<Mutex<()>>,
    /// The folder that `~` stands for.
    home: Option<PathBuf>,
    /// The project's folder, where the program has one.
    working_dir: Option<PathBuf>,
    /// The files and programs of calls that bring no others.
    local: Arc<dyn Backend>,
}

impl Developer {
    /// As the program's options say.
    pub fn new(options: &BuiltinOptions) -> Self {
        let home = options.environment.get(std::ffi::OsStr::new("HOME"));
        let shell = Shell::new(options);
        let described = |tool: &Tool| match tool.name() {
            "shell" => shell.describe(tool.clone()),
            _ => tool.clone(),
        };
        let tools = TOOLS.tools().iter().map(described).collect();
        Self {
            plans: Plans::default(),
            seen: Arc::default(),
            shell,
            tools,
            changes: Arc::default(),
            home: home.filter(|home| !home.is_empty()).map(PathBuf::from),
            working_dir: options.working_dir.clone(),
            local: Arc::new(LocalBackend),
        }
    }

    /// The files and programs that a call uses.
    fn backend(&self, context: &CallContext) -> Arc<dyn Backend> {
        Arc::clone(context.backend().unwrap_or(&self.local))
    }

    /// The same, for tools that walk through folders by themselves.
    ///
    /// # Errors
    ///
    /// Fails if the call's files are not files of this machine.
    fn local_files(&self, context: &CallContext) -> ToolResult<Arc<dyn Backend>> {
        let backend = self.backend(context);
        match backend.is_local() {
            true => Ok(backend),
            false => Err(
                "This tool needs the files on this machine, and this session works on others. Use `shell` \
                          (`grep`, `ls`) or `read` instead."
                    .into(),
            ),
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

    /// Empty: the description of each tool has its own, since a profile may leave some of them out.
    fn instructions(&self) -> &str {
        ""
    }

    fn tools(&self) -> &[Tool] {
        &self.tools
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        let folder = self.working_dir.clone().or_else(|| std::env::current_dir().ok());
        Ok(hashmap! {
            "working_folder" => json!(folder),
            "shell" => json!(self.shell.path()),
            "running_commands" => json!(self.shell.running()),
        })
    }

    async fn call_tool(&self, tool_name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
        TOOLS.call_tool(self, tool_name, parameters).await
    }

    async fn call_checked(
        &self,
        tool_name: &str,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        TOOLS.call_checked(self, tool_name, arguments, context).await
    }

    async fn preview(
        &self,
        tool_name: &str,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> Option<RichRenderable> {
        self.preview_change(tool_name, arguments, context).await
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
