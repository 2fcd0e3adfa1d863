//! Messages that are written in the user's editor, with `/edit` and `goose session --edit`, or by goose, with `/init`.

use std::{env, fs, io::Write as _, sync::Arc};

use anyhow::{Context as _, bail, ensure};
use goose::exchange::Exchange;
use goose_extension::Message;
use goose_process::ProcessSpec;

use super::{
    chat::{After, Chat, Next},
    commands::failed,
};
use crate::{escape, output::FAINT, stderr, terminal::input::InputEvent};

/// Editor if the environment names none.
const DEFAULT_EDITOR: &str = "vi";

/// Maximum size of the edited text.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Request of `/init`.
const INIT: &str = "\
Look at this project and write the file AGENTS.md in its root, which tells coding agents what they need to know to work here.

- Read the README, the build files, the layout of the folders and the settings of tests and linters first.
- Give the commands to build, to test (all tests, and a single one) and to check the style. Run those that are cheap, so that \
they are right.
- Describe the structure: the parts, where to find what, and how they depend on each other.
- Name the conventions that the code follows and that a newcomer would miss.
- Write at most 80 lines. Leave out what is obvious or true of every project, and do not invent anything.
- If AGENTS.md, CLAUDE.md or .goosehints exists, keep what is right in it, and change only what is wrong or missing.";

/// Returns the request that has the agent describe the project.
pub(super) fn init(wish: Option<&str>) -> After {
    let wish = wish.map(|wish| format!("\n\n{wish}")).unwrap_or_default();
    After::Reply(format!("{INIT}{wish}").as_str().into())
}

impl Chat {
    /// Lets the user write a message in the editor, and sends it.
    pub(super) async fn edit(&self, text: &str) -> Next {
        if !stderr::can_ask() {
            return Ok(failed("A message cannot be edited without a terminal."));
        }
        let edited = self.input.turn().await.edit(text, ".md").await;
        let InputEvent::Text(edited) = edited else {
            return Ok(failed(
                "Nothing was sent: the editor failed, or neither VISUAL nor EDITOR names one.",
            ));
        };
        let edited = edited.trim();
        if edited.is_empty() {
            stderr::line("Nothing was sent: the message is empty.");
            return Ok(After::Line);
        }
        for line in escape::text(edited).lines() {
            stderr::line(format_args!("{FAINT}> {line}{FAINT:#}"));
        }
        Ok(After::Reply(edited.into()))
    }
}

/// Lets the user edit the messages that the model sees. The steps before stay in the store.
pub(super) async fn edit_messages(exchange: &Exchange) -> anyhow::Result<()> {
    ensure!(stderr::can_ask(), "The messages cannot be edited without a terminal (--edit).");
    let messages = exchange.messages();
    let Some(edited) = edited(&messages)? else {
        stderr::line("The messages are unchanged.");
        return Ok(());
    };
    let count = edited.len();
    if let Err(failure) = exchange.replace_messages(edited).await {
        bail!("The messages were not changed: {}", failure.message);
    }
    stderr::line(format_args!("The session now has {count} messages. The earlier ones stay in its log."));
    Ok(())
}

/// Returns the messages as the editor leaves them; `None` if they are the same.
fn edited(messages: &[Arc<Message>]) -> anyhow::Result<Option<Vec<Message>>> {
    let text = serde_json::to_string_pretty(messages)?;
    let set = |name: &&str| env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = ["VISUAL", "EDITOR"].iter().find_map(set).unwrap_or_else(|| DEFAULT_EDITOR.to_owned());
    let file = tempfile::Builder::new().prefix("goose-").suffix(".json").tempfile()?;
    file.as_file().write_all(text.as_bytes())?;
    let mut words = editor.split_whitespace();
    let mut spec = ProcessSpec::new(words.next().unwrap_or(DEFAULT_EDITOR));
    spec.args(words).arg(file.path());
    let status = goose_process::run_in_foreground(&spec, || true)
        .with_context(|| format!("the editor `{editor}` could not be started; set VISUAL or EDITOR"))?;
    ensure!(status.is_some_and(|status| status.success()), "The editor failed, so nothing was changed.");
    ensure!(file.path().metadata()?.len() <= MAX_BYTES, "The edited text is larger than {MAX_BYTES} bytes.");
    let changed = fs::read_to_string(file.path()).context("the edited text cannot be read")?;
    if changed == text {
        return Ok(None);
    }
    match serde_json::from_str(&changed) {
        Ok(messages) => Ok(Some(messages)),
        Err(error) => {
            let (_, kept) = file.keep().context("the edited text could not be kept")?;
            bail!(
                "The edited messages cannot be read, so nothing was changed: {error}. Your text is in {}.",
                kept.display()
            )
        }
    }
}
