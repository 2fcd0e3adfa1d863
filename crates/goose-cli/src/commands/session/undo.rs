//! `/undo`, `/rewind` and `/diff`: what goose changed in files, shown and taken back.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use goose::{
    checkpoints::{ChangedElsewhere, Checkpoints, Content, Difference, FileOutcome, RestorePlan, Restored},
    exchange::Prompt,
    session::synthetic,
};
use goose_extension::Message;
use similar::{Algorithm, TextDiff};

use super::{
    chat::{After, Chat, Next},
    commands::failed,
};
use crate::{
    commands::explained,
    escape,
    output::{FAINT, GOOD, NAME, WARNING, counted},
    stderr,
    terminal::{
        diff,
        input::InputEvent,
        menu::{Menu, MenuChoice, MenuEntry},
        size,
    },
};

/// Maximum number of files that commands changed and that are named.
const MAX_NAMED: usize = 10;

/// Lines of one file in a list of changes.
const MAX_DIFF_LINES: usize = 100;

/// Largest text that is compared line by line.
const MAX_COMPARED_BYTES: usize = 4 * 1024 * 1024;

/// Message for a conversation that has no checkpoints.
const NOT_KEPT: &str = "Changes of files are not recorded in this session.";

/// Part of a session that goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Conversation,
    Files,
    Both,
}

impl Chat {
    /// Takes back what goose changed in files for the last message that changed some.
    pub(super) async fn undo(&mut self) -> Next {
        let Some(checkpoints) = self.checkpoints() else { return Ok(failed(NOT_KEPT)) };
        let last = blocking(&checkpoints, Checkpoints::last_change).await??;
        let Some(last) = last else {
            stderr::line("There is nothing to undo: goose has changed no files, or they were restored.");
            return Ok(After::Line);
        };
        let prompts = self.assembled.exchange.prompts().await.map_err(explained)?;
        let prompt = prompts.iter().rev().find(|prompt| prompt.step <= last);
        if let Some(prompt) = prompt {
            let text = one_line(&prompt.text, size::columns().saturating_sub(26));
            stderr::line(format_args!("{FAINT}Changes for the message: {text}{FAINT:#}"));
        }
        self.restore_files(checkpoints, prompt.map_or(last, |prompt| prompt.step)).await?;
        Ok(After::Line)
    }

    /// Goes back to before a message that the user picks.
    pub(super) async fn rewind(&mut self, number: Option<&str>) -> Next {
        let prompts = self.assembled.exchange.prompts().await.map_err(explained)?;
        let prompts: Vec<Prompt> = prompts.into_iter().filter(|prompt| prompt.is_current).collect();
        if prompts.is_empty() {
            stderr::line("There is no message to go back to.");
            return Ok(After::Line);
        }
        let number = match number {
            Some(number) => number.parse::<usize>().ok(),
            None if stderr::can_ask() => match self.pick(&prompts).await? {
                Some(picked) => Some(picked + 1),
                None => return Ok(not_changed()),
            },
            None => None,
        };
        let chosen = number.and_then(|number| Some((number, prompts.get(number.checked_sub(1)?)?)));
        let Some((number, chosen)) = chosen else {
            return Ok(failed(&format!("Name a message from 1 to {}: /rewind N.", prompts.len())));
        };
        let Some(extent) = self.extent(chosen).await? else { return Ok(not_changed()) };
        if extent != Extent::Conversation
            && let Some(checkpoints) = self.checkpoints()
        {
            self.restore_files(checkpoints, chosen.step).await?;
        }
        if extent != Extent::Files {
            if let Err(failure) = self.assembled.exchange.rewind(chosen.step).await {
                return Ok(failed(&failure.message));
            }
            // The model has not seen the changes.
            self.note = self.note.take().filter(|_| extent == Extent::Conversation);
            stderr::line(format_args!("The conversation is as it was before message {number}:"));
            for line in escape::text(chosen.text.trim()).lines().take(MAX_NAMED) {
                stderr::line(format_args!("{FAINT}> {line}{FAINT:#}"));
            }
        }
        Ok(After::Line)
    }

    /// Lets the user pick a message from a menu; the newest one is selected.
    async fn pick(&self, prompts: &[Prompt]) -> anyhow::Result<Option<usize>> {
        let mut entries = Vec::with_capacity(prompts.len());
        for (index, prompt) in prompts.iter().enumerate() {
            let files = match self.changes_after(prompt, prompts.get(index + 1)).await? {
                0 => String::new(),
                count => format!(" · {}", counted(count as u64, "file")),
            };
            entries.push(MenuEntry::new(&prompt.text, &format!("message {}{files}", index + 1)));
        }
        let newest = entries.len().saturating_sub(1);
        let menu = Menu::new("Go back to before", entries).at(newest);
        Ok(match self.input.turn().await.choose(menu).await {
            Some(MenuChoice::Entry(entry)) => Some(entry),
            _ => None,
        })
    }

    /// Returns the number of files that were changed for a message.
    async fn changes_after(&self, prompt: &Prompt, next: Option<&Prompt>) -> anyhow::Result<usize> {
        let Some(checkpoints) = self.checkpoints() else { return Ok(0) };
        let (from, to) = (prompt.step, next.map_or(u64::MAX, |next| next.step));
        Ok(blocking(&checkpoints, move |it| it.changed_between(from, to)).await??.len())
    }

    /// Asks what goes back; the conversation, if no files were changed.
    async fn extent(&self, prompt: &Prompt) -> anyhow::Result<Option<Extent>> {
        if self.changes_after(prompt, None).await? == 0 {
            return Ok(Some(Extent::Conversation));
        }
        loop {
            let Some(answer) = self.answer("(c)onversation, (f)iles or (b)oth? ").await else {
                return Ok(None);
            };
            match answer.to_ascii_lowercase().as_str() {
                "c" | "conversation" => return Ok(Some(Extent::Conversation)),
                "f" | "files" => return Ok(Some(Extent::Files)),
                "b" | "both" => return Ok(Some(Extent::Both)),
                _ => stderr::line("Answer c, f or b; Enter cancels."),
            }
        }
    }

    /// Restores the files that were changed at or after a step. Asks about those that others have changed.
    async fn restore_files(&mut self, checkpoints: Arc<Checkpoints>, step: u64) -> anyhow::Result<()> {
        let folder = self.assembled.exchange.working_dir().to_owned();
        let (plan, elsewhere) = blocking(&checkpoints, {
            let folder = folder.clone();
            move |it| Ok::<_, std::io::Error>((it.plan(step)?, it.changed_elsewhere(step, &folder)?))
        })
        .await??;
        let agreed = self.agreed(&plan, &folder).await;
        let restored =
            blocking(&checkpoints, move |it| it.restore(&plan, |file| agreed.contains(&file.path))).await??;
        for file in &restored {
            show_restored(file, &folder);
        }
        show_elsewhere(&elsewhere, &folder);
        self.note = note(&restored, &folder).or(self.note.take());
        Ok(())
    }

    /// Asks which files may be overwritten although others have changed them.
    async fn agreed(&self, plan: &RestorePlan, folder: &Path) -> HashSet<PathBuf> {
        let mut agreed = HashSet::new();
        let conflicts = plan.files.iter().filter_map(|file| Some((file, file.conflict?)));
        for (file, conflict) in conflicts {
            let path = shown(&file.path, folder);
            stderr::line(format_args!("{WARNING}!{WARNING:#} {NAME}{path}{NAME:#} {}.", conflict.describe()));
            if stderr::can_ask()
                && self.input.turn().await.is_agreed("Restore it all the same? (y)es or (n)o: ").await
            {
                agreed.insert(file.path.clone());
            }
        }
        agreed
    }

    /// Shows what goose changed since the session began.
    pub(super) async fn diff(&mut self, only: Option<&str>) -> Next {
        let Some(checkpoints) = self.checkpoints() else { return Ok(failed(NOT_KEPT)) };
        let folder = self.assembled.exchange.working_dir().to_owned();
        let (mut files, elsewhere) = blocking(&checkpoints, {
            let folder = folder.clone();
            move |it| Ok::<_, std::io::Error>((it.differences()?, it.changed_elsewhere(0, &folder)?))
        })
        .await??;
        if let Some(only) = only {
            let path = folder.join(only);
            let path = goose_fs::resolve(&path).unwrap_or(path);
            files.retain(|file| file.path == path);
        }
        if files.is_empty() {
            let of = only.map(|only| format!(" {}", escape::line(only))).unwrap_or_default();
            stderr::line(format_args!(
                "goose has not changed{}.",
                if of.is_empty() { " any files" } else { &of }
            ));
        }
        let limit = if only.is_some() { usize::MAX } else { MAX_DIFF_LINES };
        for file in &files {
            show_difference(file, &folder, limit);
        }
        if only.is_none() {
            show_elsewhere(&elsewhere, &folder);
        }
        Ok(After::Line)
    }

    fn checkpoints(&self) -> Option<Arc<Checkpoints>> {
        self.assembled.exchange.checkpoints().cloned()
    }

    /// Asks for a short answer; `None` if the user gives none.
    async fn answer(&self, question: &str) -> Option<String> {
        if !stderr::can_ask() {
            return None;
        }
        let InputEvent::Text(text) = self.input.turn().await.answer(question).await else { return None };
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Adds what the model has to know to the next message.
    pub(super) fn with_note(&mut self, mut message: Message) -> Message {
        message.content.extend(self.note.take().map(synthetic));
        message
    }
}

/// Runs work on files on a thread that may block.
async fn blocking<T: Send + 'static>(
    checkpoints: &Arc<Checkpoints>,
    work: impl FnOnce(&Checkpoints) -> T + Send + 'static,
) -> anyhow::Result<T> {
    let checkpoints = Arc::clone(checkpoints);
    tokio::task::spawn_blocking(move || work(&checkpoints)).await.context("the files could not be read")
}

fn not_changed() -> After {
    stderr::line("Nothing was changed.");
    After::Line
}

/// A path as the user would write it.
fn shown(path: &Path, folder: &Path) -> String {
    let path = path.strip_prefix(folder).unwrap_or(path);
    escape::path(path)
}

fn one_line(text: &str, width: usize) -> String {
    size::fitted(&escape::line(&text.split_whitespace().collect::<Vec<_>>().join(" ")), width)
}

fn show_restored(file: &Restored, folder: &Path) {
    let path = shown(&file.path, folder);
    match &file.outcome {
        FileOutcome::Restored => stderr::line(format_args!("  {GOOD}restored{GOOD:#}  {path}")),
        FileOutcome::Removed => stderr::line(format_args!("  {GOOD}removed{GOOD:#}   {path}")),
        FileOutcome::Unchanged => {
            stderr::line(format_args!(
                "  {FAINT}unchanged{FAINT:#} {path} {FAINT}(it was so already){FAINT:#}"
            ));
        }
        FileOutcome::Kept => stderr::line(format_args!("  {WARNING}kept{WARNING:#}      {path}")),
        FileOutcome::Impossible(reason) | FileOutcome::Failed(reason) => {
            stderr::error(&format!("{path} was not restored: {}.", reason.trim_end_matches('.')));
        }
    }
}

/// Names what cannot be taken back.
fn show_elsewhere(elsewhere: &ChangedElsewhere, folder: &Path) {
    let ChangedElsewhere { commands, files, is_complete } = elsewhere;
    if commands.is_empty() {
        return;
    }
    let what = if commands.len() == 1 { "A command" } else { "Commands" };
    if files.is_empty() {
        stderr::line(format_args!(
            "{FAINT}{what} ran meanwhile; files changed by commands cannot be restored. None were found.{FAINT:#}"
        ));
        return;
    }
    stderr::line(format_args!(
        "{WARNING}Changed by commands or other programs, and cannot be restored:{WARNING:#}"
    ));
    for path in files.iter().take(MAX_NAMED) {
        stderr::line(format_args!("  {}", shown(path, folder)));
    }
    if let Some(more @ 1..) = files.len().checked_sub(MAX_NAMED) {
        let least = if *is_complete { "" } else { "at least " };
        stderr::line(format_args!("  {FAINT}and {least}{more} more{FAINT:#}"));
    }
}

/// Text for the model about files that were taken back.
fn note(restored: &[Restored], folder: &Path) -> Option<String> {
    let is_changed = |file: &&Restored| matches!(file.outcome, FileOutcome::Restored | FileOutcome::Removed);
    let paths: Vec<String> =
        restored.iter().filter(is_changed).map(|file| shown(&file.path, folder)).collect();
    (!paths.is_empty()).then(|| {
        format!(
            "The user has taken back your changes of these files, which are as they were before: {}. Read them again before \
             you change them.",
            paths.join(", ")
        )
    })
}

fn show_difference(file: &Difference, folder: &Path, limit: usize) {
    let path = shown(&file.path, folder);
    let unknown = |content: &Content| match content {
        Content::Unknown(reason) => Some(reason.clone()),
        _ => None,
    };
    if let Some(reason) = unknown(&file.before).or_else(|| unknown(&file.after)) {
        return stderr::line(format_args!(
            "  {NAME}{path}{NAME:#} {FAINT}{}{FAINT:#}",
            escape::line(&reason)
        ));
    }
    match (text(&file.before), text(&file.after)) {
        (Some(before), Some(after)) if before == after => {
            stderr::line(format_args!("  {NAME}{path}{NAME:#} {FAINT}has other permissions{FAINT:#}"));
        }
        (Some(before), Some(after)) => {
            let difference = TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(before, after);
            let unified = difference.unified_diff().context_radius(3).to_string();
            diff::lines(&path, &unified, limit).into_iter().for_each(stderr::line);
        }
        _ => stderr::line(format_args!(
            "  {NAME}{path}{NAME:#} {FAINT}is not text, or too large to compare{FAINT:#}"
        )),
    }
}

/// Returns the text of a file that can be compared.
fn text(content: &Content) -> Option<&str> {
    match content {
        Content::Bytes(bytes) if bytes.len() <= MAX_COMPARED_BYTES => std::str::from_utf8(bytes).ok(),
        Content::Bytes(_) | Content::Unknown(_) => None,
        Content::Missing => Some(""),
    }
}
