//! The conversation at the terminal: a line, a reply, a line.

use std::{
    env,
    pin::pin,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use goose::{
    config::Paths,
    exchange::{AttachmentRequest, Exchange, Outcome, Reply, TaskState},
    session::{ChosenBy, SessionStore},
};
use tokio::time::interval;

#[cfg(feature = "server")]
use super::attach;
use super::{
    args::ChatArgs,
    commands::{cancelled, told},
    edit::edit_messages,
    picker,
    recap::{self, Extent},
    slash::Slash,
};
use crate::{
    args::{ConversationArgs, ExtensionArgs, ModelArgs},
    choice::Verbosity,
    commands::attachments::attached,
    commands::conversation_setup::{
        self, Assembled, Checkpoints, END_TIME, Keep, LEAVE_TIME, SetupOptions, assemble,
    },
    escape,
    output::{FAINT, NAME, WARNING},
    runtime::run_to_end,
    settings::working_folder,
    signals::{ExitSignal, Signals},
    stderr,
    terminal::{
        follow::{Ending, Follower},
        input::{Input, InputEvent, TypedMessage},
        screen::{Detail, Screen},
        size,
        status::{Activity, FRAME_TIME, standing},
    },
};

const PROMPT: &str = "› ";

/// First character of a line that is a command for the shell.
const COMMAND: char = '!';

/// Arguments that all sessions of the process are opened with.
#[derive(Clone)]
pub(crate) struct ChatSetup {
    pub(crate) conversation: ConversationArgs,
    pub(crate) model: ModelArgs,
    pub(crate) which: ExtensionArgs,
    pub(crate) system: Option<String>,
    pub(crate) keep: Keep,
}

impl ChatSetup {
    /// Returns the options of the next session.
    pub(super) fn options(&self) -> SetupOptions<'_> {
        SetupOptions {
            model: &self.model,
            conversation: &self.conversation,
            which: &self.which,
            system: self.system.as_deref(),
            schema: None,
            keep: self.keep,
            scheduled_by: None,
            verbosity: Verbosity::Normal,
            request: None,
            recipe: None,
            checkpoints: Checkpoints::Kept,
        }
    }
}

/// A conversation that is under way.
pub(crate) struct Chat {
    pub(super) assembled: Assembled,
    pub(super) setup: ChatSetup,
    pub(super) input: Arc<Input>,
    pub(super) signals: Signals,
    pub(super) screen: Screen,
    /// Set while requests are planned, not carried out.
    pub(super) is_planning: bool,
    /// Commands of the user since the last message, with their output.
    pub(super) commands: Vec<String>,
    /// Files that the user has taken back. The model is told with the next message.
    pub(super) note: Option<String>,
    /// Time limit for everything to end.
    end_time: Duration,
}

/// The next step after a line.
pub(super) enum After {
    /// The next line.
    Line,
    /// A reply to this.
    Reply(goose_extension::Message),
    /// The end.
    Leave(ExitCode),
}

/// The step after a command.
pub(super) type Next = Result<After, Stop>;

/// Early end of a command.
pub(super) enum Stop {
    /// The user knows the reason.
    Told(After),
    /// goose ends with this error.
    Failed(anyhow::Error),
}

impl From<ExitSignal> for Stop {
    fn from(asked: ExitSignal) -> Self {
        Self::Told(cancelled(asked))
    }
}

impl<E: Into<anyhow::Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Begins or resumes a conversation.
pub(crate) fn run(args: ChatArgs) -> anyhow::Result<ExitCode> {
    run_to_end(async {
        let paths = Paths::from_env()?;
        let input = Arc::new(Input::new(Some(conversation_setup::history(&paths))));
        let mut signals = Signals::listen()?;
        let ChatArgs { mut conversation, model, which, system, edit, history } = args;
        if picker::is_wanted(&conversation) {
            let store = SessionStore::at(SessionStore::file(&paths));
            let folder = env::current_dir()?;
            let picked = picker::pick(&store, &folder, &input, None);
            match signals.unless_signalled(picked).await? {
                Ok(picked) => match picked? {
                    Some(session) => conversation.session_id = Some(session.to_string()),
                    None => return Ok(ExitCode::SUCCESS),
                },
                Err(asked) => return Ok(asked.code()),
            }
        }
        #[cfg(feature = "server")]
        if let Some(owned) = attach::owned(&paths, &conversation).await? {
            let extent = if history { Extent::Whole } else { Extent::Short };
            return attach::run(owned, extent, input, signals).await;
        }
        let setup = ChatSetup { conversation, model, which, system, keep: Keep::Saved };
        let (folder, options) = (working_folder()?, setup.options());
        let assembled = assemble(None, &folder, &options, &paths, &input);
        let assembled = match signals.unless_signalled(assembled).await? {
            Ok(assembled) => assembled?,
            Err(asked) => return Ok(asked.code()),
        };
        if edit {
            edit_messages(&assembled.exchange).await?;
        }
        let detail = if setup.conversation.debug { Detail::Full } else { Detail::Usual };
        let extent = if history { Extent::Whole } else { Extent::Short };
        let screen = Screen::new(detail).explaining(setup.conversation.verbose);
        let chat = Chat::new(assembled, setup, input, signals, screen);
        chat.greet(extent)?;
        chat.talk().await
    })
}

impl Chat {
    /// A conversation with what it needs.
    pub(crate) fn new(
        assembled: Assembled,
        setup: ChatSetup,
        input: Arc<Input>,
        signals: Signals,
        screen: Screen,
    ) -> Self {
        Self {
            assembled,
            setup,
            input,
            signals,
            screen,
            is_planning: false,
            commands: Vec::new(),
            note: None,
            end_time: END_TIME,
        }
    }

    /// Shows the model, the agent and the session, and what was said before.
    pub(super) fn greet(&self, extent: Extent) -> anyhow::Result<()> {
        if !stderr::is_seen() {
            return Ok(());
        }
        let Assembled { exchange, permissions, before, .. } = &self.assembled;
        let name = self.setup.conversation.name.as_deref();
        let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
        let mut parts = vec![model_name(exchange)];
        parts.extend(agent_name(exchange));
        parts.extend([permissions.mode().to_string(), format!("session {}{name}", exchange.session_id())]);
        stderr::line(format_args!(
            "{NAME}goose {}{NAME:#} {FAINT}· {} · /help{FAINT:#}",
            env!("CARGO_PKG_VERSION"),
            escape::line(&parts.join(" · "))
        ));
        for notice in exchange.take_notices() {
            stderr::line(format_args!("{WARNING}{}{WARNING:#}", escape::text(&notice)));
        }
        if let Some(before) = before {
            recap::show(before, extent)?;
        }
        let tasks = exchange.tasks();
        let open = tasks.iter().filter(|task| !matches!(task.state, TaskState::Over(_))).count();
        if open > 0 {
            let (over, all) = (tasks.len() - open, tasks.len());
            stderr::line(format_args!(
                "The last request was interrupted: {over} of {all} tasks finished. Type `continue` to run the rest."
            ));
        }
        Ok(())
    }

    /// Line and reply in turn, until the person leaves.
    ///
    /// # Errors
    ///
    /// Fails if the terminal is gone.
    pub(crate) async fn talk(mut self) -> anyhow::Result<ExitCode> {
        self.offer_values();
        self.input.hold();
        let ended = self.lines().await;
        let farewell = self.farewell();
        self.close().await;
        if let Some(line) = farewell {
            stderr::line(line);
        }
        ended
    }

    /// The line that says how to resume the session; none if there is nothing to resume.
    fn farewell(&self) -> Option<String> {
        let exchange = &self.assembled.exchange;
        let is_begun = stderr::is_seen() && !exchange.messages().is_empty();
        let id = exchange.session_id();
        is_begun.then(|| format!("{FAINT}To resume this session: `goose session --session-id {id}`{FAINT:#}"))
    }

    /// Ends everything.
    pub(crate) async fn close(mut self) {
        self.input.restore();
        // Asked again, goose does not wait for anything.
        let _ = self.signals.unless_signalled(self.assembled.close(self.end_time)).await;
    }

    async fn lines(&mut self) -> anyhow::Result<ExitCode> {
        let mut was_interrupted = false;
        loop {
            let typed = match self.typed(&mut was_interrupted).await? {
                Ok(typed) => typed,
                Err(asked) => return Ok(asked.code()),
            };
            let after = match typed {
                InputEvent::Text(message) => {
                    was_interrupted = false;
                    match self.line(&message).await {
                        Ok(after) | Err(Stop::Told(after)) => after,
                        Err(Stop::Failed(error)) => return Err(error),
                    }
                }
                InputEvent::Dropped => {
                    was_interrupted = false;
                    After::Line
                }
                InputEvent::Lost => After::Leave(ExitCode::FAILURE),
                InputEvent::Interrupted if !was_interrupted => {
                    was_interrupted = true;
                    stderr::line(format_args!("{FAINT}To exit, press Ctrl-C again.{FAINT:#}"));
                    After::Line
                }
                InputEvent::Interrupted | InputEvent::Ended => After::Leave(ExitCode::SUCCESS),
            };
            match after {
                After::Line => {}
                After::Leave(code) => return Ok(code),
                After::Reply(message) => {
                    let message = self.with_commands(message);
                    let ended = match self.is_planning {
                        true => self.plan_reply(message).await?,
                        false => self.reply(message).await?,
                    };
                    if let Some(code) = ended {
                        return Ok(code);
                    }
                }
            }
        }
    }

    /// The next line, or a signal that ends goose. A Ctrl-C that was meant for the reply before only counts as one.
    async fn typed(
        &mut self,
        was_interrupted: &mut bool,
    ) -> anyhow::Result<Result<InputEvent<TypedMessage>, ExitSignal>> {
        let input = Arc::clone(&self.input);
        let mut line = pin!(input.message(PROMPT));
        loop {
            let asked = tokio::select! {
                typed = &mut line => return Ok(Ok(typed)),
                asked = self.signals.next() => asked?,
            };
            let is_first = asked == ExitSignal::Interrupt && stderr::can_ask() && !*was_interrupted;
            if !is_first {
                return Ok(Err(asked));
            }
            *was_interrupted = true;
        }
    }

    /// Works at something the person asked for, and shows that. Ctrl-C or Esc ends it; another signal ends goose.
    pub(super) async fn working<T>(
        &mut self,
        what: &str,
        work: impl Future<Output = T>,
    ) -> anyhow::Result<Result<T, ExitSignal>> {
        let activity = Activity::new(what, Instant::now());
        let input = Arc::clone(&self.input);
        let mut ticks = interval(FRAME_TIME);
        let (mut work, mut escape) = (pin!(work), pin!(input.escape()));
        let done = loop {
            tokio::select! {
                done = &mut work => break Ok(done),
                asked = self.signals.next() => break Err(asked?),
                () = &mut escape => break Err(ExitSignal::Interrupt),
                _ = ticks.tick(), if stderr::is_seen() && !self.input.is_asking() => {
                    let width = size::columns() - 1;
                    stderr::status_lines(&[&activity.line(Instant::now(), width)], width);
                }
            }
        };
        stderr::end_status();
        if done.is_err() {
            stderr::line(format_args!("{FAINT}Cancelled.{FAINT:#}"));
        }
        Ok(done)
    }

    async fn line(&mut self, message: &TypedMessage) -> Next {
        let line = message.text.as_str();
        if line.trim().is_empty() {
            return Ok(After::Line);
        }
        if message.typed.trim_start().starts_with(COMMAND) {
            return self.run_command(line.trim().trim_start_matches(COMMAND).trim()).await;
        }
        if let Some(after) = self.user_command(line).await? {
            return Ok(after);
        }
        match Slash::parse(line) {
            Some(command) => self.command(command, &message.typed).await,
            None => self.message(line.trim_end(), &message.typed).await,
        }
    }

    /// Reads what a message attaches. If that fails, nothing is sent.
    pub(super) async fn message(&mut self, text: &str, typed: &str) -> Next {
        let request = AttachmentRequest { text, typed, images: &[] };
        if !request.may_attach() {
            return Ok(After::Reply(text.into()));
        }
        let (exchange, input) = (self.assembled.exchange.clone(), Arc::clone(&self.input));
        let attached = attached(&exchange, request, &input, Verbosity::Normal);
        let attached = self.working("reading the attachments", attached).await??;
        Ok(After::Reply(attached.map_err(told)?))
    }

    /// One reply. `Some` where goose is to end.
    pub(crate) async fn reply(
        &mut self,
        message: goose_extension::Message,
    ) -> anyhow::Result<Option<ExitCode>> {
        let message = self.with_note(message);
        let reply = self.assembled.exchange.reply_to(message);
        let ended = self.follow(reply).await?;
        if let Ok(Outcome::Done { .. }) = ended {
            self.assembled.exchange.write_title();
        }
        self.show_standing_after(&ended);
        Ok(ended.err())
    }

    /// Plans a request: the agent looks around, then the planner writes the plan. `Some` where goose is to end.
    async fn plan_reply(&mut self, message: goose_extension::Message) -> anyhow::Result<Option<ExitCode>> {
        // Two agents answer, which plan mode has said already.
        self.screen.set_announcing(false);
        let explored = self.assembled.exchange.explore(message);
        let mut ended = self.follow(explored).await?;
        if let Ok(Outcome::Done { .. }) = ended {
            let plan = self.assembled.exchange.write_plan();
            ended = self.follow(plan).await?;
        }
        self.screen.set_announcing(true);
        self.show_standing_after(&ended);
        Ok(ended.err())
    }

    /// Follows a reply to its outcome. The error is the exit code where goose is to end.
    pub(super) async fn follow(&mut self, reply: Reply) -> anyhow::Result<Result<Outcome, ExitCode>> {
        let input = stderr::can_ask().then_some(&self.input);
        let exchange = &self.assembled.exchange;
        let notify = self.assembled.notify;
        let follower =
            Follower { exchange, view: &mut self.screen, signals: &mut self.signals, input, notify };
        let began = Instant::now();
        let ended = follower.follow(reply).await?;
        notify.ended(began.elapsed());
        match ended {
            Ending::Leave(code) => {
                self.end_time = LEAVE_TIME;
                Ok(Err(code))
            }
            Ending::Finished(outcome) => {
                if outcome == Outcome::Cancelled {
                    self.input.take_back();
                    stderr::line(format_args!("{FAINT}Cancelled.{FAINT:#}"));
                }
                Ok(Ok(outcome))
            }
        }
    }

    /// Shows where the conversation stands after a reply, unless goose is to end.
    pub(super) fn show_standing_after(&self, ended: &Result<Outcome, ExitCode>) {
        if ended.is_ok() {
            self.show_standing();
        }
    }

    /// Shows the line that says where the conversation stands.
    pub(super) fn show_standing(&self) {
        if stderr::is_seen() {
            stderr::line(format_args!("{FAINT}{}{FAINT:#}", escape::line(&self.standing())));
        }
    }

    /// Describes the state of the conversation.
    pub(super) fn standing(&self) -> String {
        let Assembled { exchange, permissions, .. } = &self.assembled;
        let mut parts = Vec::from_iter(agent_name(exchange));
        parts.push(permissions.mode().to_string());
        parts.extend(self.is_planning.then(|| "plan mode".to_owned()));
        standing(&model_name(exchange), self.screen.cost(), &parts)
    }
}

/// The model that answers. An external agent has its own.
pub(super) fn model_name(exchange: &Exchange) -> String {
    let agent = exchange.agent();
    match agent.manifest.connection {
        Some(_) => agent.manifest.name.clone(),
        None => exchange.model().to_string(),
    }
}

/// The mode of the agent, and whether the user has pinned it. An external agent has no modes.
fn agent_name(exchange: &Exchange) -> Option<String> {
    let agent = exchange.agent();
    match (&agent.manifest.connection, agent.chosen_by) {
        (Some(_), _) => None,
        (None, ChosenBy::User) => Some(format!("{} (pinned)", agent.mode.slug)),
        (None, _) => Some(agent.mode.slug.clone()),
    }
}
