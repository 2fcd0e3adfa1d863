//! `goose models`: manages the files of local models. `args` has the arguments, `list` the listing, `needs` memory and
//! speed.

pub(crate) mod args;
mod list;
mod needs;

use std::{fs, path::Path, process::ExitCode, sync::Arc};

use anyhow::{Context as _, bail};
use goose::config::{ConfigEditor, Origin, Paths, Settings};
use goose_local::{
    download,
    model_store::{
        DEFAULT_MODEL, Event, Item, ModelStore, ModelStoreError, Place, State, Verdict, check_model,
    },
};

use self::args::ModelsCommand;
use super::hinted;
use crate::{
    args::Consent,
    choice::Verbosity,
    escape,
    local::{self, Fetching, PROVIDER},
    output::{byte_size, say},
    runtime::run_to_end,
    settings::{self, ConfigArgs},
    signals::Signals,
    stderr,
    terminal::input::Input,
};

/// Runs a command of `goose models`.
pub(crate) fn run(command: ModelsCommand, config: &ConfigArgs) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let store = local::store(&paths).map_err(explained)?;
    let settings = settings::look(&paths, config).settings?;
    run_to_end(async {
        let mut signals = Signals::listen()?;
        let done =
            signals.unless_signalled(dispatch(command, &store, &settings, &config.file(&paths))).await?;
        done.unwrap_or_else(|asked| Ok(asked.code()))
    })
}

async fn dispatch(
    command: ModelsCommand,
    store: &ModelStore,
    settings: &Settings,
    config: &Path,
) -> anyhow::Result<ExitCode> {
    match command {
        ModelsCommand::List(args) => list::run(store, settings, &args).await,
        ModelsCommand::Pull { name, yes } => pull(store, settings, name.as_deref(), &fetching(yes)).await,
        ModelsCommand::Verify { name } => verify(store, name.as_deref()).await,
        ModelsCommand::Remove { name, yes } => {
            // GOOSE_YES only confirms downloads.
            remove(store, &name, if yes { Consent::Given } else { Consent::Ask }).await
        }
        ModelsCommand::Use { file } => use_model(store, settings, config, &file).await,
    }
}

fn fetching(yes: bool) -> Fetching {
    let consent = Consent::new(yes, local::YES);
    Fetching { consent, verbosity: Verbosity::Normal, input: Arc::new(Input::new(None)) }
}

fn explained(error: ModelStoreError) -> anyhow::Error {
    let hint = error.hint();
    hinted(error, hint)
}

async fn pull(
    store: &ModelStore,
    settings: &Settings,
    name: Option<&str>,
    fetching: &Fetching,
) -> anyhow::Result<ExitCode> {
    let name = name.unwrap_or(DEFAULT_MODEL);
    let item = store.item(name).map_err(explained)?;
    let path = item.path.display().to_string();
    match (item.state, item.entry) {
        (State::Here { .. }, _) => say(&format!("{name} is already downloaded: {path}")),
        (_, Some(entry)) => {
            let pulled = match download(store, &entry, settings, fetching).await {
                Err(ModelStoreError::Declined(reason)) if stderr::can_ask() => {
                    stderr::line(reason);
                    return Ok(ExitCode::FAILURE);
                }
                pulled => pulled.map_err(explained)?,
            };
            say(&pulled.path.display().to_string())
        }
        (_, None) => Err(explained(ModelStoreError::Absent { name: name.to_owned() })),
    }
}

/// Verifies the checksum of one model or of all downloaded ones.
async fn verify(store: &ModelStore, name: Option<&str>) -> anyhow::Result<ExitCode> {
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => present(store)?,
    };
    if names.is_empty() {
        say("No model is downloaded. Run `goose models pull` to get one.")?;
    }
    let mut is_right = true;
    for name in &names {
        let verdict = store.verify(name, &|event| show_progress(name, &event)).await;
        stderr::end_status();
        match verdict.map_err(explained)? {
            Verdict::Right => say(&format!("{name} is verified."))?,
            Verdict::Unknown { found } => say(&format!("{name} is your own file; its sha256 is {found}."))?,
            Verdict::Wrong { expected, found } => {
                is_right = false;
                say(&format!(
                    "{name} is damaged or a different file: its sha256 is {found}, expected {expected}. Run `goose models \
                     remove {name}` and then `goose models pull {name}`."
                ))?
            }
        };
    }
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Names of the downloaded models.
fn present(store: &ModelStore) -> anyhow::Result<Vec<String>> {
    let items = store.list().map_err(explained)?;
    let is_here = |state: State| matches!(state, State::Here { .. } | State::Damaged { .. });
    Ok(items.into_iter().filter(|item| is_here(item.state)).map(|item| item.name).collect())
}

fn show_progress(name: &str, event: &Event<'_>) {
    if let Event::Checked { bytes, total } = event
        && stderr::is_seen()
    {
        let percent = bytes.saturating_mul(100).checked_div(*total).unwrap_or(100);
        stderr::status(&format!("Verifying {name}: {percent} %"));
    }
}

/// Removes a model.
async fn remove(store: &ModelStore, name: &str, consent: Consent) -> anyhow::Result<ExitCode> {
    let item = match store.item(name) {
        Ok(item) if item.state != State::Absent => item,
        Ok(_) => bail!("The model {name} isn't downloaded, so there is nothing to remove."),
        Err(error) => return Err(explained(error)),
    };
    if item.entry.is_none() && !confirm_removal(&item, consent).await? {
        return Ok(ExitCode::FAILURE);
    }
    let freed = store.remove(name).map_err(explained)?;
    say(&format!("Removed {name}; freed {}.", byte_size(freed)))
}

/// Asks before a file of the user's own is removed: it cannot be downloaded again.
async fn confirm_removal(item: &Item, consent: Consent) -> anyhow::Result<bool> {
    if consent == Consent::Given {
        return Ok(true);
    }
    if !stderr::can_ask() {
        bail!(
            "{} is your own file, which goose cannot download again, and there is no terminal to ask for confirmation. \
             Use --yes to remove it.",
            item.name
        );
    }
    let question = format!("{} is your own file. Delete it permanently? (y/n) ", item.name);
    Ok(Arc::new(Input::new(None)).turn().await.is_agreed(&question).await)
}

/// Makes a model the default, by name or by file.
async fn use_model(
    store: &ModelStore,
    settings: &Settings,
    config: &Path,
    file: &str,
) -> anyhow::Result<ExitCode> {
    let model = resolve(store, file)?;
    ConfigEditor::new(config).set_model(PROVIDER, Some(&model))?;
    say(&format!("Using {PROVIDER}:{model} from now on (saved in {}).", config.display()))?;
    for key in ["GOOSE_PROVIDER", "GOOSE_MODEL"] {
        if let Some(origin @ (Origin::Environment(_) | Origin::Project(_))) = settings.origin(key) {
            let origin = origin.to_string();
            stderr::line(format_args!("{} overrides this here.", escape::line(&origin)));
        }
    }
    needs::show(&model, settings).await
}

/// Returns the name of a downloaded model, or the absolute path of a file, after checking that goose can run it.
fn resolve(store: &ModelStore, file: &str) -> anyhow::Result<String> {
    let is_file = Path::new(file).is_file();
    let named = if is_file && !file.contains('/') { format!("./{file}") } else { file.to_owned() };
    let place = store.locate(&named).map_err(explained)?;
    if let Place::File(path) = &place {
        check_model(path).map_err(explained)?;
    }
    match place {
        Place::File(_) if !named.contains('/') && !is_file => Ok(file.to_owned()),
        Place::File(path) => {
            let path =
                fs::canonicalize(&path).with_context(|| format!("{} cannot be found", path.display()))?;
            let text =
                path.to_str().with_context(|| format!("the path {} is not valid UTF-8", path.display()))?;
            Ok(text.to_owned())
        }
        Place::Elsewhere(entry) => Err(explained(ModelStoreError::Absent { name: entry.name })),
    }
}
