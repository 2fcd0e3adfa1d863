//! `apps`: small apps with a user interface. Each is one HTML document that a model writes.
//!
//! ```text
//! create_app, iterate_app ──▶ AppWriter ── asks the model, checks, asks once more ──▶ AppStore ──▶ NAME.html
//! ui://apps/NAME ◀── with a policy that forbids network ──────────────────────────────────┘
//! ```
//!
//! [`AppStore`] and [`AppWriter`] are also for programs, such as `goose apps`.

mod document;
mod store;
mod writer;

use std::{path::PathBuf, sync::Arc};

use goose_extension::{ContentBlock, Model, Resource, ResourceContents, prelude::*};

use crate::config::Paths;

pub use document::{CONTENT_SECURITY_POLICY, Description, MAX_APP_BYTES};
pub use store::{App, AppError, AppInfo, AppStore, AppVersion};
pub use writer::AppWriter;

/// Prefix of an app's URI.
pub const URI_PREFIX: &str = "ui://apps/";

/// MIME type of an app as an MCP resource.
const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// Maximum number of characters of a description or of feedback.
const MAX_REQUEST_CHARS: usize = 60_000;

const INSTRUCTIONS: &str = "\
Apps are small HTML apps that the user opens in a window; they have no network. Before create_app, settle what the app \
shows and does, and describe it in full: another model writes it and sees only the description. Change an existing app with \
iterate_app rather than creating it anew.";

/// Returns the folder of the apps.
pub fn folder(paths: &Paths) -> PathBuf {
    paths.data.join("apps")
}

/// The `apps` extension.
#[derive(Clone)]
pub struct Apps {
    writer: AppWriter,
}

impl Apps {
    /// Stores apps in a folder (`apps` in the data folder); the model writes them.
    pub fn new(dir: PathBuf, model: Arc<dyn Model>) -> Self {
        Self { writer: AppWriter::new(AppStore::new(dir), model) }
    }
}

#[extension(
    name = "apps",
    description = "Creates and changes small apps with a user interface",
    instructions = INSTRUCTIONS
)]
impl Extension for Apps {
    async fn list_resources(&self) -> ToolResult<Vec<Resource>> {
        let apps = self.writer.store().with_blocking(AppStore::list).await?;
        Ok(apps.iter().map(resource).collect())
    }

    async fn read_resource(&self, uri: &str, _context: &CallContext) -> ToolResult<Vec<ResourceContents>> {
        let Some(name) = uri.strip_prefix(URI_PREFIX).map(str::to_owned) else {
            return Err(goose_extension::adapter::unknown_resource(uri));
        };
        let app = self.writer.store().with_blocking(move |store| store.show(&name)).await;
        let app = app.map_err(|error| ToolError::ResourceNotFound(error.to_string()))?;
        Ok(vec![ResourceContents::text(app.html, uri).with_mime_type(MIME_TYPE)])
    }

    /// List the apps. Returns a line for each, with name, purpose and size. Fails if their folder cannot be read.
    #[tool(title = "List apps", group = "read", read_only, open_world = false)]
    async fn list_apps(&self) -> ToolResult<String> {
        let apps = self.writer.store().with_blocking(AppStore::list).await?;
        if apps.is_empty() {
            return Ok("There are no apps yet. Use create_app to make one.".to_owned());
        }
        Ok(apps.iter().map(|app| line(app) + "\n").collect())
    }

    /// Create an app from a description of what it shows and does. Returns its name and how the user opens it. Fails if
    /// no usable page was written; describe it again then, simpler.
    #[tool(
        title = "Create an app",
        group = "edit",
        destructive = false,
        open_world = false,
        timeout = "900s"
    )]
    async fn create_app(
        &self,
        /// What the app is for, shows and does; layout, data and behaviour in full
        #[arg(max_length = MAX_REQUEST_CHARS)]
        prd: String,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        context.status("Writing the app …");
        let app = self.writer.create(&prd).await?;
        Ok(written("Created", &app))
    }

    /// Change an app as the feedback says. The version before is kept. Returns its name and how the user opens it.
    /// Fails if there is no such app, or no usable page was written.
    #[tool(
        title = "Change an app",
        group = "edit",
        destructive = false,
        open_world = false,
        timeout = "900s"
    )]
    async fn iterate_app(
        &self,
        /// The app's name
        name: String,
        /// What to change, in full
        #[arg(max_length = MAX_REQUEST_CHARS)]
        feedback: String,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        context.status("Changing the app …");
        let app = self.writer.change(&name, &feedback).await?;
        Ok(written("Changed", &app))
    }

    /// Delete an app and its versions, for good. Returns its name. Fails if there is no such app.
    #[tool(title = "Delete an app", group = "edit", destructive, open_world = false)]
    async fn delete_app(
        &self,
        /// The app's name
        name: String,
    ) -> ToolResult<String> {
        let deleted = name.clone();
        self.writer.store().with_blocking(move |store| store.delete(&name)).await?;
        Ok(format!("Deleted the app {deleted}."))
    }
}

fn resource(app: &AppInfo) -> Resource {
    Resource::new(app.uri(), app.name.as_str())
        .with_title(app.title.as_str())
        .with_description(app.description.as_str())
        .with_mime_type(MIME_TYPE)
        .with_size(app.bytes)
}

/// Returns one line about an app.
fn line(app: &AppInfo) -> String {
    let description = if app.description.is_empty() { &app.title } else { &app.description };
    format!("{}: {description} ({} bytes)", app.name, app.bytes)
}

fn written(what: &str, app: &AppInfo) -> ToolOutput {
    let text = format!(
        "{what} the app {}. The user opens it with `goose apps open {}`; MCP clients show {}.",
        line(app),
        app.name,
        app.uri()
    );
    ToolOutput::content([ContentBlock::text(text), ContentBlock::resource_link(resource(app))])
}

impl From<AppError> for ToolError {
    fn from(error: AppError) -> Self {
        let text = error.to_string();
        let mut letters = text.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        Self::ExecutionError(first.chain(letters).collect::<String>() + ".")
    }
}

impl AppStore {
    /// Runs file operations on a blocking thread.
    async fn with_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, AppError> + Send + 'static,
    ) -> ToolResult<T> {
        let store = self.clone();
        match tokio::task::spawn_blocking(move || work(&store)).await {
            Ok(result) => Ok(result?),
            Err(error) => {
                Err(ToolError::execution(format!("The apps could not be used ({error}). Tell the user.")))
            }
        }
    }
}

impl std::fmt::Debug for Apps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Apps").field("store", self.writer.store()).finish_non_exhaustive()
    }
}
