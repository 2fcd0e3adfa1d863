//! The choice of a model if none is configured, and the message about it.

use std::{path::Path, time::Duration};

use anyhow::anyhow;
use goose::config::Settings;
use goose_fs::{AtomicFile, create_private_dir, read_regular};
use goose_providers::{Choice, ModelRef};

use crate::{escape, output::FAINT, stderr};

/// Time after which the same choice is reported again.
const REPORT_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// File in the cache folder with the choice that was reported last.
const REPORTED_FILE: &str = "reported-model";

/// Maximum size of that file, in bytes.
const MAX_REPORTED_BYTES: u64 = 4_096;

/// Verbosity of messages about automatic choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// A line on standard error.
    Normal,
    /// No messages: output is for programs, or only the answer is wanted.
    Quiet,
}

/// Chooses a model from keys in the environment, local servers (which are contacted) and the built-in one.
pub(crate) async fn choose(settings: &Settings) -> Option<Choice> {
    let is_set = |name: &str| settings.variable(name).is_some() || settings.has_stored_secret(name);
    settings.registry().choose(is_set, settings).await
}

/// Chooses a model if none is configured.
pub(crate) async fn choose_if_unset(settings: &Settings) -> Option<Choice> {
    // An unreadable profile is reported elsewhere.
    let has_none = settings.profile(None).is_ok_and(|profile| profile.processor.is_none());
    if has_none { choose(settings).await } else { None }
}

/// Chooses a model, and reports which one and why, once a day for the same choice.
///
/// # Errors
///
/// Fails if there is none; the error lists the ways to get one.
pub(crate) async fn chosen(settings: &Settings, verbosity: Verbosity) -> anyhow::Result<ModelRef> {
    let choice = choose(settings).await.ok_or_else(no_model)?;
    let text = choice.to_string();
    if verbosity == Verbosity::Normal && is_news(&settings.paths().cache, &text) {
        stderr::line(format_args!("{FAINT}Using {}.{FAINT:#}", escape::line(&text)));
    }
    Ok(choice.model)
}

/// Records that a choice is reported. Returns false if that was done within the interval.
fn is_news(cache: &Path, choice: &str) -> bool {
    let file = cache.join(REPORTED_FILE);
    let age = || file.metadata()?.modified()?.elapsed().map_err(std::io::Error::other);
    let is_same = read_regular(&file, MAX_REPORTED_BYTES).is_ok_and(|text| text == choice.as_bytes());
    if is_same && age().is_ok_and(|age| age < REPORT_INTERVAL) {
        return false;
    }
    // Without a cache, it is reported each time.
    let _ = create_private_dir(cache).and_then(|()| AtomicFile::new(&file).write(choice.as_bytes()));
    true
}

/// Ways to get a model, for messages.
pub(crate) const WAYS: &str = "run `goose configure`, set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or \
     start a server on this machine (Ollama, LM Studio or llama-server)";

fn no_model() -> anyhow::Error {
    anyhow!(
        "no model is configured, no API key was found in the environment, no local server is running, and this goose was \
         built without local models.\nTo get a model, {WAYS}."
    )
}
