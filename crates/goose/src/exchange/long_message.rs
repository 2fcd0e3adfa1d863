//! Messages of the user that are too long for the model: saved as a file that the model reads in parts, or
//! withdrawn from the conversation.

use std::{io, path::PathBuf, sync::Arc};

use goose_extension::{Message, MessageContent, ToolAction};
use goose_fs::{AtomicFile, create_private_dir, head_tail_chars};
use goose_session::clock;

use super::{
    agent_loop::{AgentLoop, StepResult, Unanswered},
    event::Event,
};
use crate::{context::Budget, session::Step};

/// Minimum length of a text that is saved as a file, in bytes.
const MIN_SAVED_BYTES: usize = 8 * 1024;

/// Characters of a saved text that stay in the message, from its beginning and its end.
const HEAD_CHARS: usize = 2_000;
const TAIL_CHARS: usize = 1_000;

impl AgentLoop {
    /// Returns true if the unanswered message alone is over the budget, so that compaction cannot help.
    pub(super) fn is_message_over(&self, budget: &Budget) -> bool {
        let meter = self.state.context_usage.meter();
        let unanswered = self.progress.unanswered.as_ref();
        unanswered.is_some_and(|unanswered| budget.is_over(meter.would_use([&unanswered.message])))
    }

    /// Saves the text of a long message as a file, and names the file in its place. Returns false if the
    /// message is not the larger part of the conversation, or the model cannot read files.
    pub(super) async fn save_long_message(&mut self) -> StepResult<bool> {
        let usage = &self.state.context_usage;
        let is_larger_part = |it: &Unanswered| usage.meter().weight(&it.message) > usage.used() / 2;
        let Some(unanswered) = self.progress.unanswered.as_ref().filter(|it| is_larger_part(it)) else {
            return Ok(false);
        };
        let mut message = unanswered.message.clone();
        let text = longest_text(&mut message).filter(|text| text.len() >= MIN_SAVED_BYTES);
        let Some(text) = text.filter(|_| self.can_read_files()) else { return Ok(false) };
        let path = match self.save(text).await {
            Ok(path) => path,
            Err(error) => {
                self.emit(Event::Notice(format!("The message could not be saved as a file: {error}")));
                return Ok(false);
            }
        };
        *text = pointer(text, &path);
        self.emit(Event::Notice(format!(
            "The message is too long for the model. It was saved as {}. The model gets its beginning and its end, and \
             can read the rest there.",
            path.display()
        )));
        let earlier = self.withdraw().await?.unwrap_or_default();
        self.record(Step::Message { message: message.clone() }).await?;
        self.progress.unanswered = Some(Unanswered { message, earlier });
        self.count_messages();
        Ok(true)
    }

    /// Removes the unanswered message from the conversation. Returns the conversation before it, if there is
    /// such a message.
    pub(super) async fn withdraw(&mut self) -> StepResult<Option<Vec<Arc<Message>>>> {
        let Some(Unanswered { earlier, .. }) = self.progress.unanswered.take() else { return Ok(None) };
        self.replace_messages(&earlier, None).await?;
        Ok(Some(earlier))
    }

    fn can_read_files(&self) -> bool {
        let reads = |action: &ToolAction| matches!(action, ToolAction::Reads(_) | ToolAction::Command(_));
        self.state.offer.tools.iter().any(|tool| tool.action().is_some_and(reads))
    }

    async fn save(&self, text: &str) -> io::Result<PathBuf> {
        let folder = self.context.folder.long_messages.clone();
        let name = format!("{}-{}.txt", self.context.session.id(), clock::now().as_millisecond());
        let text = text.to_owned();
        let write = move || {
            create_private_dir(&folder)?;
            let path = folder.join(name);
            AtomicFile::new(&path).write(text.as_bytes())?;
            Ok(path)
        };
        tokio::task::spawn_blocking(write).await.map_err(io::Error::other)?
    }
}

fn longest_text(message: &mut Message) -> Option<&mut String> {
    let texts = message.content.iter_mut().filter_map(|part| match part {
        MessageContent::Block(goose_extension::ContentBlock::Text(text)) => Some(&mut text.text),
        _ => None,
    });
    texts.max_by_key(|text| text.len())
}

/// Returns the text that stands for a saved one.
fn pointer(text: &str, path: &std::path::Path) -> String {
    let (head, tail) =
        head_tail_chars(text, HEAD_CHARS, TAIL_CHARS).map_or((text, ""), |parts| (parts.head, parts.tail));
    format!(
        "{head}\n[This message is too long for one request: {} lines, {} bytes. All of it is in {}. Read or search it \
         there in parts. Its end:]\n{tail}",
        text.lines().count(),
        text.len(),
        path.display()
    )
}
