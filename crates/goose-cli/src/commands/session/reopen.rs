//! `/new` and `/resume`: another session in the same process, with the same settings and services.

use std::sync::Arc;

use goose::{config::Paths, session::SessionId};
use tokio::time::timeout;

use super::{
    chat::{After, Chat, ChatSetup, Next, Stop},
    commands::{failed, told},
    explained, picker,
    recap::Extent,
};
use crate::{
    args::ConversationArgs,
    commands::conversation_setup::{END_TIME, Keep, assemble},
    output::FAINT,
    stderr,
    terminal::screen::Screen,
};

impl Chat {
    /// Starts a new session in the permission mode of this one.
    pub(super) async fn start_new(&mut self, name: Option<String>) -> Next {
        let mode = self.assembled.permissions.mode();
        let earlier = self.assembled.exchange.session_id().clone();
        let is_begun = !self.assembled.exchange.messages().is_empty();
        let conversation = ConversationArgs { name, ..self.without_session() };
        let setup = ChatSetup { conversation, ..self.setup.clone() };
        self.open_another(setup).await?;
        self.assembled.exchange.set_mode(mode);
        self.greet(Extent::Short)?;
        if is_begun && self.setup.keep == Keep::Saved {
            stderr::line(format_args!("{FAINT}To go back: /resume {earlier}{FAINT:#}"));
        }
        Ok(After::Line)
    }

    /// Resumes another session: the named one, or one that the user chooses.
    pub(super) async fn resume(&mut self, name: Option<&str>) -> Next {
        let current = self.assembled.exchange.session_id().clone();
        let store = self.assembled.store().clone();
        let session: SessionId = match name {
            Some(name) => store.find(name).await.map_err(|error| told(explained(error)))?.id,
            None if !stderr::can_ask() => return Ok(failed("Usage: /resume ID, without a terminal.")),
            None => {
                let (input, folder) =
                    (Arc::clone(&self.input), self.assembled.exchange.working_dir().to_owned());
                let picked = picker::pick(&store, &folder, &input, Some(&current));
                match self.working("choosing a session", picked).await??.map_err(told)? {
                    Some(session) => session,
                    None => return Ok(After::Line),
                }
            }
        };
        if session == current {
            stderr::line("This is the current session.");
            return Ok(After::Line);
        }
        #[cfg(feature = "server")]
        if super::attach::is_owned(&Paths::from_env()?, &session).await {
            return Ok(failed(&format!(
                "A goose server has this session open. To use it there: `goose session --session-id {session}`"
            )));
        }
        let setup = ChatSetup {
            conversation: ConversationArgs {
                session_id: Some(session.to_string()),
                // The session goes on with its own agent.
                agent: None,
                ..self.without_session()
            },
            keep: Keep::Saved,
            ..self.setup.clone()
        };
        self.open_another(setup).await?;
        self.greet(Extent::Short)?;
        Ok(After::Line)
    }

    /// Returns the arguments of this session, without those that name one.
    fn without_session(&self) -> ConversationArgs {
        let conversation = self.setup.conversation.clone();
        ConversationArgs {
            name: None,
            session_id: None,
            path: None,
            resume: false,
            fork: false,
            ..conversation
        }
    }

    /// Opens another session with the model of this one, and closes this one. If that fails, this one goes on, and the
    /// error is the next step.
    async fn open_another(&mut self, setup: ChatSetup) -> Result<(), Stop> {
        let (paths, input) = (Paths::from_env()?, Arc::clone(&self.input));
        let agents = self.assembled.manager().clone();
        let folder = self.assembled.exchange.working_dir().to_owned();
        let model = self.assembled.exchange.model();
        let opened = async {
            let opened = assemble(Some(agents), &folder, &setup.options(), &paths, &input).await?;
            if opened.exchange.model() != model {
                opened.exchange.set_model(&model.to_string()).await.map_err(explained)?;
            }
            anyhow::Ok(opened)
        };
        let opened = self.working("opening the session", opened).await??.map_err(told)?;
        let earlier = std::mem::replace(&mut self.assembled, opened);
        // After the next one was opened, so that services that both use keep running.
        let closed = timeout(END_TIME, async move { earlier.exchange.close().await });
        if let Err(asked) = self.working("closing the session", closed).await?
            && let Some(code) = asked.leaves()
        {
            return Err(Stop::Told(After::Leave(code)));
        }
        self.screen = Screen::new(self.screen.detail()).explaining(setup.conversation.verbose);
        self.is_planning = false;
        self.commands.clear();
        self.note = None;
        self.setup = setup;
        self.offer_values();
        Ok(())
    }
}
