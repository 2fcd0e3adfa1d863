//! What `goose info` tells.

use std::path::{Path, PathBuf};

use goose::{
    config::{ConfiguredExtension, ExtensionConfig, Paths, Settings, Trust},
    session::SessionStore,
};
use goose_providers::Choice;
use serde::{Serialize, Serializer};

use super::bytes;
use crate::settings::{ConfigArgs, Here};

/// The keys that say which model works, and how.
const MODEL_KEYS: [&str; 5] =
    ["GOOSE_PROVIDER", "GOOSE_MODEL", "GOOSE_PROFILE", "GOOSE_MODE", "GOOSE_ACCELERATOR"];

/// The document of `--json`.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) version: String,
    pub(super) model: Option<String>,
    /// Why goose would use that model, where nobody has chosen one.
    pub(super) choice: Option<String>,
    pub(super) folders: Folders,
    pub(super) files: Vec<File>,
    pub(super) settings: Vec<Row>,
    pub(super) extensions: Vec<Extension>,
    pub(super) sessions: Sessions,
    pub(super) problems: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Folders {
    config: PathBuf,
    data: PathBuf,
    state: PathBuf,
    cache: PathBuf,
}

impl Folders {
    pub(super) fn named(&self) -> [(&'static str, &Path); 4] {
        [("config", &self.config), ("data", &self.data), ("state", &self.state), ("cache", &self.cache)]
    }
}

#[derive(Serialize)]
pub(super) struct File {
    pub(super) what: &'static str,
    pub(super) path: PathBuf,
    pub(super) exists: bool,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "word")]
    pub(super) trust: Option<Trust>,
}

fn word<S: Serializer>(trust: &Option<Trust>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match trust {
        Some(Trust::Trusted) => "trusted",
        Some(Trust::Changed) => "changed",
        Some(Trust::Unknown) | None => "unknown",
    })
}

/// A key that is set.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) from: String,
}

impl Row {
    pub(super) fn is_about_model(&self) -> bool {
        MODEL_KEYS.contains(&self.key.as_str())
    }
}

#[derive(Serialize)]
pub(super) struct Extension {
    key: String,
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    enabled: bool,
    error: Option<String>,
}

impl Extension {
    fn of(entry: &ConfiguredExtension) -> Self {
        Self {
            key: entry.key.clone(),
            kind: entry.config.as_ref().ok().map(ExtensionConfig::type_name),
            enabled: entry.enabled,
            error: entry.checked().err().map(|error| error.to_string()),
        }
    }

    pub(super) fn shown(&self) -> String {
        match (&self.error, self.enabled) {
            (Some(_), true) => format!("{} (faulty)", self.key),
            (_, false) => format!("{} (off)", self.key),
            (None, true) => self.key.clone(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Sessions {
    pub(super) path: PathBuf,
    pub(super) bytes: Option<u64>,
}

impl Report {
    pub(super) fn new(paths: &Paths, here: &Here, config: &ConfigArgs, choice: Option<&Choice>) -> Self {
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
            settings.into_iter().flat_map(Settings::extensions).map(Extension::of).collect();
        problems.extend(extensions.iter().filter(|it| it.enabled).filter_map(|it| it.error.clone()));
        let sessions = SessionStore::file(paths);
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: model.or_else(|| choice.map(|choice| choice.model.to_string())),
            choice: choice.map(|choice| choice.reason.to_string()),
            folders: Folders {
                config: paths.config.clone(),
                data: paths.data.clone(),
                state: paths.state.clone(),
                cache: paths.cache.clone(),
            },
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

/// A size as people say it.
#[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    let (mut size, mut unit) = (bytes as f64 / 1000.0, "kB");
    for larger in UNITS.iter().skip(1) {
        if size < 1000.0 {
            break;
        }
        (size, unit) = (size / 1000.0, larger);
    }
    format!("{size:.1} {unit}")
}
