//! `goose apps`: small HTML apps that the model writes.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, anyhow, bail, ensure};
use clap::{Args, Parser, Subcommand};
use goose::{
    config::Paths,
    platform::apps::{self, AppInfo, AppStore},
    services::outputs_folder,
};
use goose_mcp_bridge::SystemBrowser;
use serde_json::json;
use url::Url;

use super::{
    run::{self, args::RunArgs},
    session::agreed,
};
use crate::{
    args::{JsonArgs, ModelArgs},
    escape,
    output::{FAINT, NAME, print, say},
    runtime::{new_runtime, run_to_end},
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
    #[command(after_help = "Examples:\n  goose apps new 'A timer for tea, with presets for green and black'")]
    New {
        /// Description of the app: its purpose, content and behaviour
        #[arg(value_name = "TEXT")]
        text: String,
        #[command(flatten)]
        model: Box<ModelArgs>,
    },
    /// Change an app
    #[command(after_help = "Examples:\n  goose apps change tea-timer 'Add a sound at the end'")]
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
    #[command(after_help = "Examples:\n  goose apps list\n  goose apps list --json")]
    List(JsonArgs),
    /// Open an app, or a page of the autovisualiser, in the browser
    #[command(
        after_help = "Examples:\n  goose apps open tea-timer\n  goose apps open ui://autovisualiser/chart-sales-1c8f03ab"
    )]
    Open {
        /// Name of the app or page, or the URI that a tool returned
        name: String,
    },
    /// Print an app's HTML
    // clap does not count a flag of this name.
    #[command(override_usage = "goose apps show [OPTIONS] <NAME>")]
    #[command(after_help = "Examples:\n  goose apps show tea-timer\n  goose apps show tea-timer --version 1")]
    Show {
        /// Name of the app
        name: String,
        /// Number of an earlier version
        #[arg(long = "version", value_name = "N")]
        number: Option<u32>,
    },
    /// Write an app to a file
    #[command(
        after_help = "Examples:\n  goose apps export tea-timer timer.html\n  goose apps export tea-timer timer.html --force"
    )]
    Export {
        /// Name of the app
        name: String,
        /// Output file
        file: PathBuf,
        /// Replace the file if it exists
        #[arg(long)]
        force: bool,
    },
    /// Delete an app with all its versions
    #[command(after_help = "Examples:\n  goose apps delete tea-timer\n  goose apps delete tea-timer --yes")]
    Delete {
        /// Name of the app
        name: String,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
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
        AppsCommand::New { text, model } => task("app_maker", &text, *model, &store),
        AppsCommand::Change { name, text, model } => {
            store.show(&name)?;
            task("app_iterator", &format!("Change the app `{name}`: {text}"), *model, &store)
        }
        AppsCommand::List(form) => list(&store.list()?, &form),
        AppsCommand::Open { name } => open(&store, &name, &paths),
        AppsCommand::Show { name, number } => {
            let app = match number {
                Some(number) => store.show_version(&name, number)?,
                None => store.show(&name)?,
            };
            say(app.html.trim_end())
        }
        AppsCommand::Export { name, file, force } => {
            ensure!(force || !file.exists(), "{} exists. Use --force to replace it.", file.display());
            store.export(&name, &file)?;
            say(&format!("Wrote {}.", file.display()))
        }
        AppsCommand::Delete { name, yes } => {
            store.show(&name)?;
            let question = format!("Permanently delete {name} with all its versions? (y/n) ");
            if !yes && !new_runtime()?.block_on(agreed(&question))? {
                return Ok(ExitCode::FAILURE);
            }
            store.delete(&name)?;
            say(&format!("Deleted {name}."))
        }
    }
}

/// Gives a task to a mode that has the tools for apps and no others. The command itself is the consent to use them. It
/// fails if no app was made or changed.
fn task(mode: &str, text: &str, model: ModelArgs, store: &AppStore) -> anyhow::Result<ExitCode> {
    let agent = format!("goose-agent/{mode}");
    let Task { mut args } = Task::try_parse_from(["goose run", "--agent", &agent, "--text", text])?;
    args.model = model;
    args.model.mode.get_or_insert_with(|| "auto".to_owned());
    let before = store.list()?;
    let code = run::run(args)?;
    if code == ExitCode::SUCCESS && store.list()? == before {
        bail!("No app was written. Describe it in more detail, or try another model with --model.");
    }
    Ok(code)
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

/// Opens a page as it is, and of an app a copy that has the policy against network access.
fn open(store: &AppStore, name: &str, paths: &Paths) -> anyhow::Result<ExitCode> {
    let name = name.strip_prefix(apps::URI_PREFIX).unwrap_or(name);
    let file = match goose_mcp::page_file(&outputs_folder(paths), name) {
        Some(page) => page,
        None => exported(store, name, paths)?,
    };
    let url = Url::from_file_path(&file).map_err(|()| anyhow!("{} is not a path", file.display()))?;
    run_to_end(async {
        SystemBrowser.show(&url).await.map_err(|reason| {
            anyhow!("the browser could not be opened: {reason}. Open this file in one: {}", file.display())
        })?;
        say(&format!("Opened {}.", file.display()))
    })
}

/// Returns a copy of an app for a browser.
fn exported(store: &AppStore, name: &str, paths: &Paths) -> anyhow::Result<PathBuf> {
    let folder = paths.cache.join("apps");
    goose_fs::create_private_dir(&folder)
        .with_context(|| format!("{} cannot be created", folder.display()))?;
    let file = folder.join(format!("{name}.html"));
    store.export(name, &file)?;
    Ok(file)
}
