//! A task: the request, and the checks of its result.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Deserialize;

const TASKS: &str = include_str!("tasks.yaml");

/// One task.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Set if it is kept apart while the prompt is made.
    #[serde(default)]
    pub(crate) held: bool,
    /// The folder as it is found.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) ask: String,
    /// The texts that the answer must have; `a|b` means one of them.
    #[serde(default)]
    pub(crate) answer: Vec<String>,
    /// Texts that the answer must not have.
    #[serde(default)]
    pub(crate) answer_lacks: Vec<String>,
    /// The files as they must be afterwards.
    #[serde(default)]
    pub(crate) after: BTreeMap<String, After>,
    /// The output that commands must have afterwards.
    #[serde(default)]
    pub(crate) prints: Vec<Prints>,
    /// The folder must be as it was, and there must be an answer.
    #[serde(default)]
    pub(crate) unchanged: bool,
    /// A regular expression that a fact must match which goose itself reports, such as `exit code 1`.
    pub(crate) facts: Option<String>,
}

/// The wanted state of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct After {
    /// All of it; a line's end more or less at the end does not count.
    pub(crate) is: Option<String>,
    pub(crate) has: Vec<String>,
    pub(crate) lacks: Vec<String>,
    /// It must not be there.
    pub(crate) gone: bool,
}

/// A command, and what it must print.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prints {
    pub(crate) run: String,
    pub(crate) is: String,
}

impl Task {
    /// Reads the tasks of a file, or goose's own.
    pub(crate) fn all(file: Option<&Path>) -> anyhow::Result<Vec<Self>> {
        let text = match file {
            Some(file) => fs::read_to_string(place(file)).with_context(|| file.display().to_string())?,
            None => TASKS.to_owned(),
        };
        Ok(serde_saphyr::from_str(&text)?)
    }

    /// Returns true for a promise that goose has to keep in every run, not a skill of the model.
    pub(crate) fn is_promise(&self) -> bool {
        self.unchanged || self.facts.is_some()
    }
}

/// Cargo starts benchmarks in the package's folder; paths may also be given from the root of the workspace.
fn place(file: &Path) -> PathBuf {
    let from_root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    if file.exists() { file.to_owned() } else { from_root }
}
