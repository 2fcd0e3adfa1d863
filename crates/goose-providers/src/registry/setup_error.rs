//! [`SetupError`]: the reason why a model cannot be asked before anything was sent, and the way to fix it.

use thiserror::Error;

use crate::{custom::CustomProviderError, model_ref::BadModelRef};

/// Why a model cannot be asked. The message says what is wrong, [`hint`](Self::hint) what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetupError {
    /// A model without a provider.
    #[error("no provider given for model `{model}`")]
    NoProvider {
        /// The model.
        model: String,
    },
    /// The text names no model.
    #[error(transparent)]
    BadModel(#[from] BadModelRef),
    /// An unknown name.
    #[error("there is no provider `{name}`")]
    UnknownProvider {
        /// The name.
        name: String,
        /// Similar names.
        near: Vec<String>,
        /// The whole reference, where the name looks more like a model.
        perhaps_model: Option<String>,
    },
    /// The user describes the service in a file, and the file is wrong.
    #[error("the provider `{name}` cannot be used. {problem}")]
    Description {
        /// The service.
        name: String,
        /// The file, and what is wrong with it.
        problem: CustomProviderError,
    },
    /// The program brings the models itself, and this one cannot be used.
    #[error("{message}")]
    Embedded {
        /// The problem.
        message: String,
        /// The fix.
        hint: Option<String>,
    },
    /// A service that goose cannot talk to.
    #[error("goose cannot use {name}: {reason}")]
    Unsupported {
        /// The service.
        name: String,
        /// Why.
        reason: String,
        /// The alternative.
        instead: String,
    },
    /// No key.
    #[error("{service} needs an API key, but {variable} is not set")]
    MissingKey {
        /// The service, as it is shown.
        service: String,
        /// The variable that should hold it.
        variable: String,
        /// Additional advice.
        advice: Option<String>,
        /// The page where keys are made.
        docs: Option<String>,
    },
    /// Something that the service's address is made of is not set.
    #[error("{service} needs {variable}, which is not set")]
    MissingSetting {
        /// The service, as it is shown.
        service: String,
        /// The variable.
        variable: String,
        /// An example.
        example: Option<String>,
    },
    /// A setting makes no sense.
    #[error("{variable} is invalid: {reason}")]
    BadSetting {
        /// The variable, or the file's field.
        variable: String,
        /// The problem. The value itself is left out if it may be secret.
        reason: String,
    },
    /// A setting that cannot be read.
    #[error("{reason}")]
    Unreadable {
        /// The place, the problem and the fix.
        reason: String,
    },
    /// Something is not found, and a place that could have it does not answer.
    #[error("{missing}; {reason}")]
    NoAnswer {
        /// The missing setting.
        missing: Box<SetupError>,
        /// The store that does not answer, and what to do.
        reason: String,
    },
}

impl SetupError {
    /// Returns the way to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoProvider { model } => Some(format!(
                "set GOOSE_PROVIDER, write the model as provider:{model}, or run `goose configure`"
            )),
            Self::UnknownProvider { near, perhaps_model, .. } => {
                Some(unknown(near, perhaps_model.as_deref()))
            }
            Self::Unsupported { instead, .. } => Some(instead.clone()),
            Self::Embedded { hint, .. } => hint.clone(),
            Self::MissingKey { variable, advice, docs, .. } => {
                Some(missing_key(variable, advice.as_deref(), docs.as_deref()))
            }
            Self::MissingSetting { variable, example, .. } => {
                let example =
                    example.as_deref().map(|example| format!(", such as {example}")).unwrap_or_default();
                Some(format!("set {variable} in the environment or in config.yaml{example}"))
            }
            Self::NoAnswer { missing, .. } => missing.hint(),
            Self::BadModel(_)
            | Self::Description { .. }
            | Self::BadSetting { .. }
            | Self::Unreadable { .. } => None,
        }
    }
}

fn unknown(near: &[String], perhaps_model: Option<&str>) -> String {
    let question = match near {
        [] => String::new(),
        near => format!("did you mean {}? ", near.join(" or ")),
    };
    match perhaps_model {
        Some(model) => format!("{question}if `{model}` is a model, name its provider too: ollama:{model}"),
        None => format!("{question}`goose configure` lists all; add your own as a file in custom_providers"),
    }
}

fn missing_key(variable: &str, advice: Option<&str>, docs: Option<&str>) -> String {
    let mut text = format!(
        "set {variable} in the environment, in secrets.yaml or in the keyring, or run `goose configure`"
    );
    if let Some(advice) = advice {
        text = format!("{text}; {advice}");
    }
    if let Some(docs) = docs {
        text = format!("{text}; see {docs}");
    }
    text
}

/// Most suggestions.
const MAX_SUGGESTIONS: usize = 3;

/// Longer names are not compared: no service has such a name.
const MAX_NAME_BYTES: usize = 64;

/// The names that are close to the one given, closest first.
pub(super) fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    if given.len() > MAX_NAME_BYTES {
        return Vec::new();
    }
    let given = given.to_lowercase().replace('-', "_");
    let reach = (given.len() / 3).max(2);
    let mut close: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let within = given.len() >= 3 && (name.contains(&given) || given.contains(name));
            let steps = if within { 1 } else { strsim::levenshtein(&given, name) };
            (steps <= reach).then_some((steps, name))
        })
        .collect();
    close.sort();
    close.truncate(MAX_SUGGESTIONS);
    close.into_iter().map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_forgiven_and_nonsense_is_not() {
        let names = ["openai", "azure_openai", "anthropic", "google", "groq"];
        let near = |given: &str| nearest(given, names.into_iter());
        assert_eq!(near("opnai"), ["openai"]);
        assert_eq!(near("antropic"), ["anthropic"]);
        assert_eq!(near("azure-openai"), ["azure_openai", "openai"]);
        assert_eq!(near("zzzzzzzz"), [""; 0]);
        assert_eq!(near(&"o".repeat(10_000)), [""; 0]);
    }
}
