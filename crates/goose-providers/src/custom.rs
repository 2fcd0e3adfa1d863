//! [`CustomProvider`]: services that users describe themselves, in `custom_providers/*.json`. A bad file is reported;
//! the others work.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::File,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use thiserror::Error;

/// A service as its file describes it. Fields that are not known are let be.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CustomProvider {
    /// The name to use in `GOOSE_PROVIDER`.
    pub name: String,
    /// The protocol that it speaks.
    pub(crate) engine: Engine,
    /// The name that people see.
    pub(crate) display_name: Option<String>,
    /// A description.
    pub(crate) description: Option<String>,
    /// The variable that holds its key; none or empty where it wants none.
    pub(crate) api_key_env: Option<String>,
    /// Its address: a host, a base URL or the whole URL. May contain `${VARIABLE}`.
    pub base_url: String,
    /// The path, if it is not the usual one.
    pub(crate) base_path: Option<String>,
    /// Its models.
    #[serde(default)]
    pub(crate) models: Vec<CustomModel>,
    /// The model to begin with; otherwise the first one.
    pub(crate) default_model: Option<String>,
    /// Headers that go with every request. May hold `${VARIABLE}`.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) headers: BTreeMap<String, String>,
    /// The idle timeout.
    pub(crate) timeout_seconds: Option<u64>,
    /// False if it works without a key.
    pub(crate) requires_auth: Option<bool>,
    /// OpenAI's older or newer wire, for that engine.
    pub(crate) wire_api: Option<WireApi>,
    /// The variables in the URL and the headers.
    #[serde(default, alias = "config_keys", deserialize_with = "or_default")]
    pub(crate) env_vars: Vec<CustomVariable>,
    /// Its documentation.
    pub(crate) model_doc_link: Option<String>,
}

/// The protocol that a service speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Engine {
    /// OpenAI.
    #[serde(alias = "openai_compatible")]
    Openai,
    /// Anthropic.
    #[serde(alias = "anthropic_compatible")]
    Anthropic,
    /// Ollama.
    #[serde(alias = "ollama_compatible")]
    Ollama,
}

/// OpenAI's two wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireApi {
    /// The older one.
    #[serde(alias = "chat")]
    ChatCompletions,
    /// The newer one.
    Responses,
}

/// A model of such a service.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct CustomModel {
    /// Its name.
    pub(crate) name: String,
    /// The size of its context, in tokens.
    #[serde(default, alias = "context_window")]
    pub(crate) context_limit: Option<u64>,
    /// Most tokens of an answer.
    #[serde(default, alias = "max_output_tokens")]
    pub(crate) max_tokens: Option<u64>,
    /// True if it accepts images.
    pub(crate) supports_vision: Option<bool>,
    /// US dollars for one token read.
    pub(crate) input_token_cost: Option<f64>,
    /// US dollars for one token written.
    pub(crate) output_token_cost: Option<f64>,
}

/// A variable that the URL or a header is made with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct CustomVariable {
    /// Its name.
    pub(crate) name: String,
    /// True if there is no default.
    pub(crate) required: Option<bool>,
    /// The default.
    pub(crate) default: Option<String>,
    /// Its purpose.
    pub(crate) description: Option<String>,
}

impl CustomProvider {
    /// The variable that holds its key, where there is one.
    pub(crate) fn key_variable(&self) -> Option<&str> {
        self.api_key_env.as_deref().map(str::trim).filter(|name| !name.is_empty())
    }

    /// The name that people see.
    pub(crate) fn shown_name(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.name)
    }
}

/// `null` stands for nothing in these files.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Largest file.
pub const MAX_PROVIDER_FILE_BYTES: u64 = 256 * 1024;

/// Most files that are read.
const MAX_PROVIDER_FILES: usize = 256;

/// Longest name of a provider.
const MAX_NAME_BYTES: usize = 64;

/// The providers of a folder.
#[derive(Debug, Default)]
pub struct CustomProviders {
    /// The providers, by file name.
    pub providers: Vec<CustomProvider>,
    /// The files that could not be read.
    pub problems: Vec<CustomProviderError>,
}

/// A file that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {reason}", path.display())]
pub struct CustomProviderError {
    /// The file, or the folder.
    pub path: PathBuf,
    /// The problem.
    pub reason: String,
}

impl CustomProviders {
    /// Reads all `*.json` of a folder. A folder that is not there is empty.
    pub fn load(folder: &Path) -> Self {
        let mut loaded = Self::default();
        let files = match json_files(folder) {
            Ok(files) => files,
            Err(reason) => {
                loaded.problem(folder, reason);
                return loaded;
            }
        };
        if files.len() > MAX_PROVIDER_FILES {
            loaded.problem(folder, format!("more than {MAX_PROVIDER_FILES} files; the rest are ignored"));
        }
        for path in files.iter().take(MAX_PROVIDER_FILES) {
            match read(path) {
                Ok(provider) if loaded.has(&provider.name) => {
                    loaded.problem(path, format!("another file describes `{}` already", provider.name));
                }
                Ok(provider) => loaded.providers.push(provider),
                Err(reason) => loaded.problem(path, reason),
            }
        }
        loaded
    }

    fn has(&self, name: &str) -> bool {
        self.providers.iter().any(|provider| provider.name == name)
    }

    fn problem(&mut self, path: &Path, reason: String) {
        self.problems.push(CustomProviderError { path: path.to_owned(), reason });
    }
}

/// Sorted, so that it is always the same file that comes first.
fn json_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension() == Some(OsStr::new("json")))
        .take(MAX_PROVIDER_FILES.saturating_mul(4))
        .collect();
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<CustomProvider, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    // Opening a pipe would wait for a writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err("not a regular file".to_owned());
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_PROVIDER_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_PROVIDER_FILE_BYTES {
        return Err(format!("is larger than {MAX_PROVIDER_FILE_BYTES} bytes"));
    }
    let provider: CustomProvider =
        serde_json::from_slice(&bytes).map_err(|error| format!("does not describe a provider: {error}"))?;
    check(&provider)?;
    Ok(provider)
}

fn check(provider: &CustomProvider) -> Result<(), String> {
    let name = &provider.name;
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(fits) {
        return Err(format!(
            "`name` may have up to {MAX_NAME_BYTES} letters, digits, `_`, `-` and `.`, because it is written in GOOSE_PROVIDER"
        ));
    }
    if provider.base_url.trim().is_empty() {
        return Err("`base_url` is empty; set it to the address of the service".to_owned());
    }
    Ok(())
}
