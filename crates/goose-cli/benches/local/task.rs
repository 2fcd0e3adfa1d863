//! What is asked, and how one sees that it was done.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::Context as _;
use serde::Deserialize;

const TASKS: &str = include_str!("tasks.yaml");

/// One task.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Whether nobody looks at it while the prompt is made.
    #[serde(default)]
    pub(crate) held: bool,
    /// The folder as it is found.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) ask: String,
    /// What the answer must have; `a|b` means one of them.
    #[serde(default)]
    pub(crate) answer: Vec<String>,
    /// The files as they must be afterwards.
    #[serde(default)]
    pub(crate) after: BTreeMap<String, After>,
    /// What commands must print afterwards.
    #[serde(default)]
    pub(crate) prints: Vec<Prints>,
}

/// How a file must be.
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
    /// All tasks of a file, or goose's own.
    pub(crate) fn all(file: Option<&Path>) -> anyhow::Result<Vec<Self>> {
        let text = match file {
            Some(file) => fs::read_to_string(file).with_context(|| file.display().to_string())?,
            None => TASKS.to_owned(),
        };
        Ok(serde_saphyr::from_str(&text)?)
    }
}
