//! The choice of a model if none is configured, and what is said about it.

use anyhow::anyhow;
use goose::config::Settings;
use goose_providers::{Choice, ModelRef};

use crate::{aside, output::FAINT, visible};

/// Says whether a person is told what goose does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    /// In a line on standard error.
    Aloud,
    /// Programs read along, or the person wants the answer only.
    Quiet,
}

/// Chooses a model. Only for who has chosen none: servers on this machine are asked.
pub(crate) async fn choose(settings: &Settings) -> Option<Choice> {
    let is_set = |name: &str| settings.variable(name).is_some() || settings.has_stored_secret(name);
    settings.registry().choose(is_set, settings).await
}

/// The same, if none is configured.
pub(crate) async fn where_none_is_chosen(settings: &Settings) -> Option<Choice> {
    // A profile that cannot be read is said elsewhere.
    let has_none = settings.profile(None).is_ok_and(|profile| profile.processor.is_none());
    if has_none { choose(settings).await } else { None }
}

/// Chooses a model, and says which and why.
///
/// # Errors
///
/// Fails if there is none; the error names all ways to get one.
pub(crate) async fn chosen(settings: &Settings, voice: Voice) -> anyhow::Result<ModelRef> {
    let choice = choose(settings).await.ok_or_else(nothing)?;
    if voice == Voice::Aloud {
        aside::line(format_args!("{FAINT}Using {}.{FAINT:#}", visible::line(&choice.to_string())));
    }
    Ok(choice.model)
}

/// The ways to get a model.
pub(crate) const WAYS: &str = "run `goose configure`, set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or \
     start a server on this machine (Ollama, LM Studio or llama-server)";

fn nothing() -> anyhow::Error {
    anyhow!(
        "no model is chosen, there is no key in the environment, no server answers on this machine, and this goose was \
         built without a model of its own.\nTo get one, {WAYS}."
    )
}
