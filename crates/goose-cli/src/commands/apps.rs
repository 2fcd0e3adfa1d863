//! `goose apps`: small HTML apps that the model writes.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, anyhow};
use clap::{Args, Parser, Subcommand};
use goose::{
    config::Paths,
    platform::apps::{self, AppInfo, AppStore},
};
use goose_mcp_bridge::SystemBrowser;
use serde_json::json;
use url::Url;

use super::run::{self, args::RunArgs};
use crate::{
    args::{JsonArgs, ModelArgs},
    escape,
    output::{FAINT, NAME, print, say},
    runtime::run_to_end,
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose apps new 'A timer for tea, with presets for green and black'
  goose apps change tea-timer 'Add a sound at the end'
  goose apps open tea-timer
  goose apps export tea-timer timer.html

Apps are single HTML documents without network access, kept in the data folder.
Earlier versions are kept.";

/// Arguments of `goose apps`.
#[derive(Debug, Args)]
pub(crate) struct AppsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AppsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AppsCommand {
    /// Create an app
    New {
        /// Description of the app: its purpose, content and behaviour
        #[arg(value_name = "TEXT")]
        text: String,
        #[command(flatten)]
        model: Box<ModelArgs>,
    },
    /// Change an app
    Change {
        /// Name of the app
        name: String,
        /// Changes to make
        #[arg(value_name = "TEXT")]
        text: String,
        #[command(flatten)]
        model: Box<ModelArgs>,
    },
    /// List the apps
    List(JsonArgs),
    /// Open an app in the browser
    Open {
        /// Name of the app
        name: String,
    },
    /// Print an app's HTML
    Show {
        /// Name of the app
        name: String,
        /// Number of an earlier version
        #[arg(long, value_name = "N")]
        version: Option<u32>,
    },
    /// Write an app to a file
    Export {
        /// Name of the app
        name: String,
        /// Output file
        file: PathBuf,
    },
    /// Delete an app with all its versions
    Delete {
        /// Name of the app
        name: String,
    },
}

/// The arguments of `goose run`, for a task that another command gives.
#[derive(Debug, Parser)]
struct Task {
    #[command(flatten)]
    args: RunArgs,
}

/// Runs a subcommand.
pub(crate) fn run(command: AppsCommand) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let store = AppStore::new(apps::folder(&paths));
    match command {
        AppsCommand::New { text, model } => task("app_maker", &text, *model),
        AppsCommand::Change { name, text, model } => {
            store.show(&name)?;
            task("app_iterator", &format!("Change the app `{name}`: {text}"), *model)
        }
        AppsCommand::List(form) => list(&store.list()?, &form),
        AppsCommand::Open { name } => open(&store, &name, &paths),
        AppsCommand::Show { name, version } => {
            let app = match version {
                Some(number) => store.show_version(&name, number)?,
                None => store.show(&name)?,
            };
            say(app.html.trim_end())
        }
        AppsCommand::Export { name, file } => {
            store.export(&name, &file)?;
            say(&format!("Wrote {}.", file.display()))
        }
        AppsCommand::Delete { name } => {
            store.delete(&name)?;
            say(&format!("Deleted {name}."))
        }
    }
}

/// Gives a task to a mode that has the tools for apps and no others. The command itself is the consent to use them.
fn task(mode: &str, text: &str, model: ModelArgs) -> anyhow::Result<ExitCode> {
    let agent = format!("goose-agent/{mode}");
    let Task { mut args } = Task::try_parse_from(["goose run", "--agent", &agent, "--text", text])?;
    args.model = model;
    args.model.mode.get_or_insert_with(|| "auto".to_owned());
    run::run(args)
}

fn list(apps: &[AppInfo], form: &JsonArgs) -> anyhow::Result<ExitCode> {
    let row = |app: &AppInfo| {
        json!({
            "name": app.name,
            "title": app.title,
            "description": app.description,
            "bytes": app.bytes,
            "changed_at": app.changed_at.to_string(),
            "uri": app.uri(),
        })
    };
    let document = || json!({"apps": apps.iter().map(row).collect::<Vec<_>>()});
    print(form, document, |out| {
        if apps.is_empty() {
            out.line("No apps yet. Create one with `goose apps new 'TEXT'`.")?;
        }
        for app in apps {
            let name = out.paint(NAME, escape::line(&app.name));
            let about = if app.description.is_empty() { &app.title } else { &app.description };
            let about = out.paint(FAINT, escape::line(about));
            out.line(format_args!("{name}  {about}"))?;
        }
        Ok(())
    })
}

/// Opens a copy of the app that has the policy against network access.
fn open(store: &AppStore, name: &str, paths: &Paths) -> anyhow::Result<ExitCode> {
    let folder = paths.cache.join("apps");
    goose_fs::create_private_dir(&folder)
        .with_context(|| format!("{} cannot be created", folder.display()))?;
    let file = folder.join(format!("{name}.html"));
    store.export(name, &file)?;
    let url = Url::from_file_path(&file).map_err(|()| anyhow!("{} is not a path", file.display()))?;
    run_to_end(async {
        SystemBrowser.show(&url).await.map_err(|reason| {
            anyhow!("the browser could not be opened: {reason}. Open this file in one: {}", file.display())
        })?;
        say(&format!("Opened {}.", file.display()))
    })
}
