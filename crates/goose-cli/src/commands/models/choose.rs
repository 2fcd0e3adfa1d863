//! `goose models use`: the model inside that works from now on.

use std::{fs, path::Path, process::ExitCode};

use anyhow::Context as _;
use goose::config::{ConfigEditor, Origin, Settings};
use goose_local::model_store::{ModelStore, ModelStoreError, Place, check_model};

use super::{explained, say};
use crate::{aside, local::PROVIDER, visible};

pub(super) fn run(
    store: &ModelStore,
    settings: &Settings,
    config: &Path,
    file: &str,
) -> anyhow::Result<ExitCode> {
    let model = meant(store, file)?;
    ConfigEditor::new(config).set_model(PROVIDER, Some(&model))?;
    say(&format!("Using {PROVIDER}:{model} from now on (saved in {}).", config.display()))?;
    for key in ["GOOSE_PROVIDER", "GOOSE_MODEL"] {
        if let Some(origin @ (Origin::Environment(_) | Origin::Project(_))) = settings.origin(key) {
            let origin = origin.to_string();
            aside::line(format_args!("{} overrides this here.", visible::line(&origin)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The name of one that is here, or the whole path of a file. It is one that runs.
fn meant(store: &ModelStore, file: &str) -> anyhow::Result<String> {
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
            let text = path.to_str().with_context(|| format!("the path {} is no text", path.display()))?;
            Ok(text.to_owned())
        }
        Place::Elsewhere(entry) => Err(explained(ModelStoreError::Absent { name: entry.name })),
    }
}
