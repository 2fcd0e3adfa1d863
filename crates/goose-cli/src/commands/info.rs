//! `goose info`: version, effective configuration and folders. Nothing is started. Local servers are contacted only if
//! no model is configured, to show which one goose would use.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use goose::{
    config::{ConfiguredExtension, ExtensionConfig, Paths, Settings, Trust},
    session::SessionStore,
};
use goose_providers::Choice;
use serde::Serialize;

use crate::{
    args::JsonArgs,
    choice, escape,
    output::{self, BAD, FAINT, NAME, Output, WARNING, byte_size},
    runtime::new_runtime,
    settings::{self, ConfigArgs, Here},
    wrap::wrapped,
};

const EXAMPLES: &str = "\
Examples:
  goose info
  goose info -v           show every key that is set, and its origin
  goose info --json

With --json: {version, model, choice, folders: {config, data, state, cache}, files,
settings: [{key, value, from}], extensions: [{key, type, enabled, error}],
sessions: {path, bytes}, problems}; 'choice' is the reason why goose would use
that model, if none is configured.";

/// Width of the column of names.
const COLUMN: usize = 12;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InfoArgs {
    /// Show every key that is set, and its origin
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    form: JsonArgs,
}

/// Runs `goose info`.
pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let here = settings::look(&paths, &args.config);
    let choice = match &here.settings {
        Ok(settings) => new_runtime()?.block_on(choice::choose_if_unset(settings)),
        Err(_) => None,
    };
    let report = Report::new(&paths, &here, &args.config, choice.as_ref());
    output::print(&args.form, || &report, |out| print(out, &report, args))
}

fn print(out: &mut Output, report: &Report, args: &InfoArgs) -> io::Result<()> {
    row(out, "version", &report.version)?;
    let model = report.model.as_deref().unwrap_or("none; run `goose configure`");
    match &report.choice {
        Some(reason) => row(out, "model", &format!("{model} ({reason})"))?,
        None => row(out, "model", model)?,
    }
    for row in report.settings.iter().filter(|row| args.verbose || Row::is_about_model(row)) {
        let line = format!("{:COLUMN$}  {} = {}", "", row.key, escape::line(&row.value));
        out.line(format_args!("{line}  {}", out.paint(FAINT, format!("({})", escape::line(&row.from)))))?;
    }
    let Paths { config, data, state, cache } = &report.folders;
    for (name, folder) in [("config", config), ("data", data), ("state", state), ("cache", cache)] {
        row(out, name, &folder.display().to_string())?;
    }
    for file in &report.files {
        let state = match (file.exists, file.trust) {
            (false, _) => " (missing)",
            (true, Some(Trust::Unknown)) => " (not used: not trusted; run `goose configure trust`)",
            (true, Some(Trust::Changed)) => " (not used: changed since it was trusted)",
            (true, _) => "",
        };
        row(out, file.what, &format!("{}{state}", file.path.display()))?;
    }
    let names: Vec<String> = report.extensions.iter().map(Extension::shown).collect();
    row(
        out,
        "extensions",
        if names.is_empty() { "none configured".to_owned() } else { names.join(", ") }.as_str(),
    )?;
    let sessions = &report.sessions;
    let size = sessions.bytes.map_or("not created yet".to_owned(), byte_size);
    row(out, "sessions", &format!("{} ({size})", sessions.path.display()))?;
    for problem in &report.problems {
        out.line(format_args!("{} {}", out.paint(BAD, "problem:"), escape::text(problem)))?;
    }
    if !report.problems.is_empty() {
        out.line(out.paint(WARNING, "Run `goose doctor` for fixes."))?;
    }
    Ok(())
}

fn row(out: &mut Output, name: &str, value: &str) -> io::Result<()> {
    let name = out.paint(NAME, format!("{name:COLUMN$}"));
    let value = escape::line(value);
    let lines = wrapped(&value, out.width().saturating_sub(COLUMN + 2));
    out.line(format_args!("{name}  {}", lines.join(&format!("\n{:COLUMN$}  ", ""))))
}

/// Returns the size of a file.
fn bytes(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| file.len())
}

/// Keys that select the model and its behaviour.
const MODEL_KEYS: [&str; 5] =
    ["GOOSE_PROVIDER", "GOOSE_MODEL", "GOOSE_PROFILE", "GOOSE_MODE", "GOOSE_ACCELERATOR"];

/// The document of `--json`.
#[derive(Serialize)]
struct Report {
    version: String,
    model: Option<String>,
    /// The reason why goose would use that model, if none is configured.
    choice: Option<String>,
    folders: Paths,
    files: Vec<File>,
    settings: Vec<Row>,
    extensions: Vec<Extension>,
    sessions: Sessions,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct File {
    what: &'static str,
    path: PathBuf,
    exists: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
}

/// A key that is set, and its origin.
#[derive(Serialize)]
struct Row {
    key: String,
    value: String,
    from: String,
}

impl Row {
    fn is_about_model(&self) -> bool {
        MODEL_KEYS.contains(&self.key.as_str())
    }
}

#[derive(Serialize)]
struct Extension {
    key: String,
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    enabled: bool,
    error: Option<String>,
}

impl Extension {
    fn new(entry: &ConfiguredExtension) -> Self {
        Self {
            key: entry.key.clone(),
            kind: entry.config.as_ref().ok().map(ExtensionConfig::type_name),
            enabled: entry.enabled,
            error: entry.checked().err().map(|error| error.to_string()),
        }
    }

    fn shown(&self) -> String {
        match (&self.error, self.enabled) {
            (Some(_), true) => format!("{} (invalid)", self.key),
            (_, false) => format!("{} (off)", self.key),
            (None, true) => self.key.clone(),
        }
    }
}

#[derive(Serialize)]
struct Sessions {
    path: PathBuf,
    bytes: Option<u64>,
}

impl Report {
    fn new(paths: &Paths, here: &Here, config: &ConfigArgs, choice: Option<&Choice>) -> Self {
        let mut problems = Vec::new();
        problems.extend(here.settings.as_ref().err().map(ToString::to_string));
        problems.extend(here.project.as_ref().err().map(ToString::to_string));
        let settings = here.settings.as_ref().ok();
        let profile = settings.map(|settings| settings.profile(None));
        let model = profile.and_then(|profile| match profile {
            Ok(profile) => profile.processor.map(|model| model.to_string()),
            Err(error) => {
                problems.push(error.to_string());
                None
            }
        });
        let extensions: Vec<Extension> =
            settings.into_iter().flat_map(Settings::extensions).map(Extension::new).collect();
        problems.extend(extensions.iter().filter(|it| it.enabled).filter_map(|it| it.error.clone()));
        let sessions = SessionStore::file(paths);
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: model.or_else(|| choice.map(|choice| choice.model.to_string())),
            choice: choice.map(|choice| choice.reason.to_string()),
            folders: paths.clone(),
            files: files(paths, here, config),
            settings: settings.map(rows).unwrap_or_default(),
            extensions,
            sessions: Sessions { bytes: bytes(&sessions), path: sessions },
            problems,
        }
    }
}

fn files(paths: &Paths, here: &Here, config: &ConfigArgs) -> Vec<File> {
    let file = |what, path: PathBuf| File { what, exists: path.exists(), path, trust: None };
    let mut files = vec![file("settings", config.file(paths)), file("secrets", paths.secrets_file())];
    if let Ok(Some(project)) = &here.project {
        files.push(File { trust: Some(project.trust), ..file("project", project.path.clone()) });
    }
    files
}

fn rows(settings: &Settings) -> Vec<Row> {
    let row = |key: &str| {
        let from = settings.origin(key)?.to_string();
        let value = settings.shown(key).unwrap_or_else(|| "…".to_owned());
        Some(Row { key: key.to_owned(), value, from })
    };
    settings.keys().into_iter().filter_map(row).collect()
}
