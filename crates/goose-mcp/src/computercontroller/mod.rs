//! `computercontroller`: web pages, scripts, the screen, and office documents.
//!
//! | file | tool | what it is about |
//! | --- | --- | --- |
//! | `web/` | `web_scrape` | one page, from hosts that the permissions allow |
//! | `automation_script.rs` | `automation_script` | a script in a language, run by the shell of `developer` |
//! | `screen/` | `computer_control` | the screen, the mouse and the keyboard of an X11 session |
//! | `xlsx/`, `docx/` | `xlsx_tool`, `docx_tool` | spreadsheets and texts, over `archive.rs` and `xml.rs` |
//! | `pdf/` | `pdf_tool` | text and images of a PDF |
//! | `cache.rs` | `cache` | files that the other tools have saved |
//! | `document.rs` | | opening and replacing a document by its judged path |
//!
//! Nothing is started or connected before a tool is called. What blocks runs as one blocking task.

mod archive;
mod automation_script;
mod cache;
mod document;
mod docx;
mod pdf;
mod png;
mod screen;
mod web;
mod xlsx;
mod xml;

use std::{
    path::PathBuf,
    sync::{Arc, LazyLock},
};

use goose_extension::{Backend, ByOperation, CheckedArguments, ToolAction, ToolDef, prelude::*};
use parking_lot::Mutex;

use self::cache::Cache;
pub(crate) use self::web::{Lookup, SystemLookup};
use crate::{BuiltinOptions, LocalBackend, developer::Shell};

/// All tools, in the order in which the model sees them.
static TOOLS: LazyLock<ToolRegistry> = LazyLock::new(|| {
    let documents = |writing| by_operation("operation", writing, &["path"], &[]);
    ToolRegistry::new()
        .with(declare(ComputerController::web_scrape_tool(), ToolAction::fetches("url")))
        .with(declare(
            ComputerController::automation_script_tool(),
            ToolAction::Script { language: "language".into(), script: "script".into() },
        ))
        .with(ComputerController::computer_control_tool())
        .with(declare(ComputerController::xlsx_tool_tool(), documents(xlsx::WRITING)))
        .with(declare(
            ComputerController::docx_tool_tool(),
            by_operation("operation", docx::WRITING, &["path"], &["image_path"]),
        ))
        .with(declare(ComputerController::pdf_tool_tool(), ToolAction::reads("path")))
        .with(declare(ComputerController::cache_tool(), by_operation("command", cache::WRITING, &[], &[])))
});

fn by_operation(
    argument: &'static str,
    writing: &'static [&'static str],
    paths: &'static [&'static str],
    sources: &'static [&'static str],
) -> ToolAction {
    ToolAction::ByOperation(ByOperation { argument, writing, paths, sources })
}

/// Returns a tool with what the permissions judge it by.
fn declare(tool: ToolDef<ComputerController>, action: ToolAction) -> ToolDef<ComputerController> {
    tool.map_tool(|tool| tool.with_action(action))
}

/// The `computercontroller` extension.
pub struct ComputerController {
    shell: Shell,
    cache: Option<Cache>,
    lookup: Arc<dyn Lookup>,
    /// Held while a document is changed, so that changes do not overlap.
    changes: Arc<Mutex<()>>,
    /// Folder that `~` stands for.
    home: Option<PathBuf>,
    /// Name of the X11 display, and the file with its secrets.
    display: screen::Display,
    /// Files and programs of calls that bring no others.
    local: Arc<dyn Backend>,
}

impl ComputerController {
    /// Creates the extension.
    pub fn new(options: &BuiltinOptions) -> Self {
        let home = options.environment.get(std::ffi::OsStr::new("HOME"));
        Self {
            shell: Shell::new(options),
            cache: options.scratch_dir.as_ref().map(|folder| Cache::new(folder.join("computercontroller"))),
            lookup: Arc::new(SystemLookup),
            changes: Arc::default(),
            home: home.filter(|home| !home.is_empty()).map(PathBuf::from),
            display: screen::Display::new(&options.environment),
            local: Arc::new(LocalBackend),
        }
    }

    /// Returns the files and programs that a call uses.
    fn backend(&self, context: &CallContext) -> Arc<dyn Backend> {
        Arc::clone(context.backend().unwrap_or(&self.local))
    }
}

#[async_trait]
impl Extension for ComputerController {
    fn name(&self) -> &str {
        "computercontroller"
    }

    fn description(&self) -> &str {
        "Fetches web pages, runs scripts, operates the screen, reads and writes spreadsheets, texts and PDF files"
    }

    /// Empty: the description of each tool has its own, since a mode may leave some of them out.
    fn instructions(&self) -> &str {
        ""
    }

    fn tools(&self) -> &[Tool] {
        TOOLS.tools()
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok(hashmap! {
            "cache" => json!(self.cache.as_ref().map(Cache::folder)),
            "display" => json!(self.display.name()),
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
}

/// Runs work that blocks away from the threads that serve other calls. A call that is cancelled lets it finish: a
/// file is changed in whole or not at all.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> ToolResult<T> + Send + 'static) -> ToolResult<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(failed(format!("The tool failed because of a bug in it ({error}). Try another way.")))
    })
}

/// Creates the error of a tool that could not do its work.
fn failed(text: impl Into<String>) -> ToolError {
    ToolError::ExecutionError(text.into())
}
