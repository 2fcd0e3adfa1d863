//! [`Recipe`]: the fields of a recipe. Their order is the one in which they are written, which links depend on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extension::RecipeExtension;

/// Version of a recipe that names none.
const VERSION: &str = "1.0.0";

/// A recipe: a task, and what it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// Version of the format.
    #[serde(default = "version")]
    pub version: String,
    /// Short name for people.
    pub title: String,
    /// Purpose, in a sentence.
    pub description: String,
    /// Instructions for the whole session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// First message of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The only extensions of the session. `None` for the configured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<RecipeExtension>>,
    /// Model and limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<RecipeSettings>,
    /// Suggestions that a user interface shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activities: Option<Vec<String>>,
    /// Author of the recipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    /// Parameters of its templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<Parameter>>,
    /// Form of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Response>,
    /// Recipes that the session can delegate to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_recipes: Option<Vec<SubRecipe>>,
    /// Checks of the result, after which the task is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

fn version() -> String {
    VERSION.to_owned()
}

/// Model and limits of a recipe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecipeSettings {
    /// Provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goose_provider: Option<String>,
    /// Model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goose_model: Option<String>,
    /// Temperature of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Maximum number of model requests for a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
}

/// Author of a recipe.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// Name or address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
}

/// Parameter of a recipe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Name in the templates.
    pub key: String,
    /// Type of the value.
    pub input_type: InputType,
    /// Need for a value.
    pub requirement: Requirement,
    /// Description for people.
    #[serde(default)]
    pub description: String,
    /// Value if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Values of a `select`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
}

/// Type of a parameter. Templates get all values as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputType {
    /// Any text.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A date, such as `2026-01-31`.
    Date,
    /// A path; the template gets the text of the file.
    File,
    /// One of the options.
    Select,
}

impl InputType {
    /// Returns the written form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::File => "file",
            Self::Select => "select",
        }
    }
}

/// Need of a recipe for the value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// A value must be given.
    Required,
    /// There is a default.
    Optional,
    /// The user is asked for the value, if possible.
    UserPrompt,
}

impl Requirement {
    /// Returns the written form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Optional => "optional",
            Self::UserPrompt => "user_prompt",
        }
    }
}

/// Form of the answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// JSON Schema that the answer must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<Value>,
}

/// Recipe that the session can delegate to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubRecipe {
    /// Name for the model.
    pub name: String,
    /// Path, from the folder of the recipe.
    pub path: String,
    /// Values that the model cannot change.
    #[serde(default)]
    pub values: Option<BTreeMap<String, String>>,
    /// True if several runs may not be side by side.
    #[serde(default)]
    pub sequential_when_repeated: bool,
    /// Description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Checks of the result, after which the task is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Number of further tries.
    pub max_retries: u32,
    /// Checks, all of which must pass.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Command that is run before each further try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<String>,
    /// Time limit of a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// Time limit of `on_failure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure_timeout_seconds: Option<u64>,
}

/// Check of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Check {
    /// A command, which passes with exit code 0.
    #[serde(alias = "shell")]
    Shell {
        /// Command line.
        command: String,
    },
    /// Judgement of the answer by a model.
    #[serde(rename = "judge", alias = "Judge")]
    Judge {
        /// Criteria, one per line.
        criteria: String,
    },
}

impl Recipe {
    /// Returns the first message: the prompt, or without one the instructions.
    pub fn task(&self) -> Option<&str> {
        self.prompt.as_deref().or(self.instructions.as_deref())
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &[Parameter] {
        self.parameters.as_deref().unwrap_or_default()
    }

    /// Returns the recipe with the extensions that goose 1.52 adds when it reads one, as its links have them.
    #[must_use]
    pub fn written(&self) -> Self {
        let mut recipe = self.clone();
        let has = |recipe: &Self, kind, name| recipe.extensions.iter().flatten().any(|it| it.is(kind, name));
        let mut implied = Vec::new();
        implied.extend(has(self, "builtin", "developer").then_some("analyze"));
        implied.extend(self.sub_recipes.is_some().then_some("summon"));
        for name in implied {
            if !has(&recipe, "platform", name) {
                recipe.extensions.get_or_insert_default().push(RecipeExtension::platform(name));
            }
        }
        recipe
    }

    /// Returns the recipe as YAML.
    ///
    /// # Errors
    ///
    /// Fails if a text cannot be written.
    pub fn to_yaml(&self) -> Result<String, super::RecipeError> {
        let written = serde_saphyr::to_string(self);
        written.map_err(|error| super::RecipeError::text(&self.title, error.to_string()))
    }

    /// Returns the commands of the recipe, which are shown before it runs: those of its extensions, and those
    /// of its checks.
    pub fn commands(&self) -> Vec<String> {
        let extensions = self.extensions.iter().flatten();
        let programs = extensions.filter_map(|extension| extension.config().ok()?.shown_target());
        let retry = self.retry.iter();
        let checks = retry.flat_map(|retry| {
            let checks = retry.checks.iter().filter_map(|check| match check {
                Check::Shell { command } => Some(command.clone()),
                Check::Judge { .. } => None,
            });
            checks.chain(retry.on_failure.clone())
        });
        programs.chain(checks).collect()
    }

    /// Returns the values of settings that the recipe replaces.
    pub fn setting_values(&self) -> Vec<(&'static str, String)> {
        let settings = self.settings.clone().unwrap_or_default();
        let values = [
            ("GOOSE_PROVIDER", settings.goose_provider),
            ("GOOSE_MODEL", settings.goose_model),
            ("GOOSE_TEMPERATURE", settings.temperature.map(|temperature| temperature.to_string())),
            ("GOOSE_MAX_TURNS", settings.max_turns.map(|turns| turns.to_string())),
        ];
        values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}
