//! Going back to an earlier message of the user: the conversation before it is what the model sees from then on.

use std::sync::Arc;

use goose_extension::Message;
use jiff::Timestamp;

use super::{event::Failure, handle::Exchange, replay::is_prompt};
use crate::{
    checkpoints::Checkpoints,
    session::{Conversation, Step, StoreError, StoredStep},
};

/// Message of the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Number of its step.
    pub step: u64,
    /// Time at which it was stored.
    pub at: Timestamp,
    /// Text.
    pub text: String,
    /// False if the user has gone back to an earlier message since.
    pub is_current: bool,
}

impl Exchange {
    /// Returns the copies of the files that the session has changed, if they are kept.
    pub fn checkpoints(&self) -> Option<&Arc<Checkpoints>> {
        self.context.folder.checkpoints.as_ref()
    }

    /// Returns the messages of the user, oldest first. Compaction and `clear` keep them.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn prompts(&self) -> Result<Vec<Prompt>, StoreError> {
        let steps = self.context.session.steps().await?;
        Ok(prompts(&steps))
    }

    /// Goes back to before a message of the user. The steps since then stay in the store.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub async fn rewind(&self, step: u64) -> Result<(), Failure> {
        let mut work = self.command().await?;
        let steps = self.context.session.steps().await.map_err(|error| unreadable(&error))?;
        let before = steps.into_iter().take_while(|stored| stored.seq < step).map(|stored| stored.step);
        let conversation = Conversation::from_steps(before);
        let messages: Vec<Arc<Message>> = conversation.messages().to_vec();
        work.replace_messages(&messages, Some(step)).await?;
        self.responder.forget_tasks();
        Ok(())
    }
}

fn unreadable(error: &StoreError) -> Failure {
    Failure { message: format!("The session cannot be read: {error}"), hint: None }
}

fn prompts(steps: &[StoredStep]) -> Vec<Prompt> {
    let prompts = steps.iter().filter_map(|stored| match &stored.step {
        Step::Message { message } if is_prompt(message) => {
            Some(Prompt { step: stored.seq, at: stored.at, text: message.own_text(), is_current: true })
        }
        _ => None,
    });
    let mut prompts: Vec<Prompt> = prompts.collect();
    for stored in steps {
        let Step::Compacted { rewound_to: Some(to), .. } = &stored.step else { continue };
        let gone = prompts.iter_mut().filter(|prompt| (*to..stored.seq).contains(&prompt.step));
        gone.for_each(|prompt| prompt.is_current = false);
    }
    prompts
}
