//! A session that a goose server has open: its events, messages and answers go through the server's Unix socket.
//!
//! A session has one writer, so it is not opened a second time here. The model, the agent and the permissions are those
//! of the server. Leaving does not end a reply.

use std::{collections::VecDeque, env, pin::pin, process::ExitCode, sync::Arc, time::Instant};

use goose::{
    config::Paths,
    exchange::{Event, EventRecord, Outcome},
    session::{LoadedSession, SessionId, SessionStore},
};
use goose_server::{LocalClient, LocalError, OpenSessionState, ServerOptions, SessionEvents};
use tokio::time::{MissedTickBehavior, interval};

use super::{
    recap::{self, Extent},
    slash::Slash,
};
use crate::{
    args::ConversationArgs,
    commands::{
        conversation_setup::{self, EarlierSession},
        explained,
    },
    escape,
    output::{FAINT, NAME, WARNING},
    signals::{ExitSignal, Signals},
    stderr,
    terminal::{
        approval::Said,
        follow,
        input::{Input, InputEvent, TypedMessage},
        notify::Notify,
        screen::{Detail, Screen, View as _},
        status::FRAME_TIME,
    },
};

const PROMPT: &str = "› ";

/// Maximum number of events that wait while a line is typed. Further ones wait in the server.
const MAX_WAITING: usize = 512;

/// Session that is open in a server of this user.
pub(super) struct Owned {
    client: LocalClient,
    session: LoadedSession,
    state: OpenSessionState,
}

/// Returns the session that the arguments resume, if a server has it open.
///
/// # Errors
///
/// Fails if there is no such session, and with errors of the store.
pub(super) async fn owned(paths: &Paths, args: &ConversationArgs) -> anyhow::Result<Option<Owned>> {
    let socket = ServerOptions::socket_file(paths);
    if args.fork || !conversation_setup::resumes(args) || !socket.exists() {
        return Ok(None);
    }
    let store = SessionStore::at(SessionStore::file(paths));
    let id = conversation_setup::resumed(&store, &env::current_dir()?, args).await?.id;
    let client = LocalClient::new(socket);
    let state = match client.open_session(&id).await {
        Ok(Some(state)) => state,
        Ok(None) => return Ok(None),
        Err(error) => {
            stderr::line(format_args!("{WARNING}{}{WARNING:#}", escape::text(&error.to_string())));
            return Ok(None);
        }
    };
    let session = store.open_session(&id).await.map_err(explained)?;
    Ok(Some(Owned { client, session, state }))
}

/// Returns true if a server has the session open.
pub(super) async fn is_owned(paths: &Paths, session: &SessionId) -> bool {
    let client = LocalClient::new(ServerOptions::socket_file(paths));
    client.open_session(session).await.is_ok_and(|state| state.is_some())
}

/// Shows the session, and sends what the user types.
///
/// # Errors
///
/// Fails if the terminal is gone or the server refuses what it is asked for.
pub(super) async fn run(
    owned: Owned,
    extent: Extent,
    input: Arc<Input>,
    signals: Signals,
) -> anyhow::Result<ExitCode> {
    let Owned { client, session, state } = owned;
    let id = session.summary.id.clone();
    // A reply that runs is shown from its beginning, else only what is new.
    let after = match state.is_running {
        true => format!("0.0.{}", session.summary.steps),
        false => state.position.clone(),
    };
    let events = client.events(&id, &after).await?;
    greet(&session, &state, extent)?;
    let mut attached = Attached {
        client,
        session: id,
        events,
        screen: Screen::new(Detail::Usual),
        input,
        signals,
        notify: Notify::default(),
        waiting: VecDeque::new(),
        is_running: state.is_running,
        is_ours: false,
    };
    attached.input.hold();
    let ended = attached.lines().await;
    attached.input.restore();
    ended
}

fn greet(session: &LoadedSession, state: &OpenSessionState, extent: Extent) -> anyhow::Result<()> {
    if !stderr::is_seen() {
        return Ok(());
    }
    stderr::line(format_args!(
        "{NAME}goose {}{NAME:#} {FAINT}· {} · session {} in a goose server · /help{FAINT:#}",
        env!("CARGO_PKG_VERSION"),
        state.mode,
        session.summary.id,
    ));
    let mut before = EarlierSession { unfinished: false, ..EarlierSession::of(session) };
    if state.is_running
        && let Some(last) = before.events.iter().rposition(|event| matches!(event, Event::Prompt(_)))
    {
        before.events.truncate(last);
    }
    recap::show(&before, extent)?;
    Ok(())
}

/// The user at the terminal of a session in a server.
struct Attached {
    client: LocalClient,
    session: SessionId,
    events: SessionEvents,
    screen: Screen,
    input: Arc<Input>,
    signals: Signals,
    notify: Notify,
    /// Events that came while a line was typed or a question was open.
    waiting: VecDeque<EventRecord>,
    is_running: bool,
    /// True if the running reply answers a message that was typed here.
    is_ours: bool,
}

/// The next thing to handle during a reply.
enum Next {
    Event(Option<Box<EventRecord>>),
    Signal(ExitSignal),
    Escape,
    Tick,
}

impl Attached {
    /// Reply and line in turn, until the user leaves or the server ends.
    async fn lines(&mut self) -> anyhow::Result<ExitCode> {
        let mut was_interrupted = false;
        loop {
            if let Some(code) = self.follow().await? {
                return Ok(code);
            }
            let typed = match self.typed(was_interrupted).await? {
                Ok(Some(typed)) => typed,
                Ok(None) => return Ok(self.server_ended()),
                Err(asked) => return Ok(asked.code()),
            };
            match typed {
                InputEvent::Text(message) => {
                    was_interrupted = false;
                    if let Some(code) = self.line(message.text.trim_end()).await? {
                        return Ok(code);
                    }
                }
                InputEvent::Dropped => was_interrupted = false,
                InputEvent::Interrupted if !was_interrupted => {
                    was_interrupted = true;
                    stderr::line(format_args!("{FAINT}To leave, press Ctrl-C again.{FAINT:#}"));
                }
                InputEvent::Interrupted | InputEvent::Ended => return Ok(ExitCode::SUCCESS),
                InputEvent::Lost => return Ok(ExitCode::FAILURE),
            }
        }
    }

    /// The next line; `None` if the server ends meanwhile.
    async fn typed(
        &mut self,
        mut was_interrupted: bool,
    ) -> anyhow::Result<Result<Option<InputEvent<TypedMessage>>, ExitSignal>> {
        let Self { input, signals, events, waiting, notify, .. } = self;
        let mut line = pin!(input.message(PROMPT));
        loop {
            tokio::select! {
                typed = &mut line => return Ok(Ok(Some(typed))),
                asked = signals.next() => {
                    let asked = asked?;
                    // One that was meant for the reply before ends nothing.
                    if asked != ExitSignal::Interrupt || was_interrupted || !stderr::can_ask() {
                        return Ok(Err(asked));
                    }
                    was_interrupted = true;
                }
                record = events.next(), if waiting.len() < MAX_WAITING => match record {
                    Ok(Some(record)) => {
                        if record.event.question_id().is_some() {
                            notify.asks();
                        }
                        waiting.push_back(record);
                    }
                    Ok(None) | Err(LocalError::Connection(_)) => return Ok(Ok(None)),
                    Err(error) => return Err(error.into()),
                },
            }
        }
    }

    /// Handles a line. `Some` where goose is to end.
    async fn line(&mut self, line: &str) -> anyhow::Result<Option<ExitCode>> {
        match Slash::parse(line) {
            Some(Slash::Exit) => return Ok(Some(ExitCode::SUCCESS)),
            Some(Slash::Help) => help(),
            Some(_) => stderr::line(
                "A goose server has this session open, so this command is not available here. Use /help.",
            ),
            None if line.trim().is_empty() => {}
            None if line.starts_with('!') => {
                stderr::line("A goose server has this session open, so commands are not run here.");
            }
            None => return self.say(line).await,
        }
        Ok(None)
    }

    /// Sends a message and shows the reply. What other clients began in the meantime comes first.
    async fn say(&mut self, text: &str) -> anyhow::Result<Option<ExitCode>> {
        if let Some(code) = self.follow().await? {
            return Ok(Some(code));
        }
        self.is_ours = true;
        match self.client.say(&self.session, text).await {
            Ok(()) => self.is_running = true,
            Err(LocalError::NoServer(_) | LocalError::Connection(_)) => return Ok(Some(self.server_ended())),
            Err(error) => {
                self.is_ours = false;
                stderr::error(&error.to_string());
            }
        }
        self.follow().await
    }

    /// Shows events until no reply runs. `Some` where goose is to end.
    async fn follow(&mut self) -> anyhow::Result<Option<ExitCode>> {
        let mut ticks = interval(FRAME_TIME);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let keyboard = stderr::can_ask().then(|| Arc::clone(&self.input));
        let mut escape = Box::pin(follow::escape(keyboard.as_ref()));
        let mut is_cancelled = false;
        while self.is_running || !self.waiting.is_empty() {
            let next = tokio::select! {
                biased;
                asked = self.signals.next() => Next::Signal(asked?),
                record = next_record(&mut self.waiting, &mut self.events) => Next::Event(record?.map(Box::new)),
                () = &mut escape => Next::Escape,
                _ = ticks.tick(), if self.screen.is_moving() || keyboard.is_some() => Next::Tick,
            };
            let asked = match next {
                Next::Event(None) => return Ok(Some(self.server_ended())),
                Next::Event(Some(record)) => self.event(&record).await?,
                Next::Signal(asked) => Some(asked),
                Next::Escape => {
                    escape = Box::pin(follow::escape(keyboard.as_ref()));
                    (!is_cancelled).then_some(ExitSignal::Interrupt)
                }
                Next::Tick => {
                    self.screen.set_typed(self.input.typed_ahead());
                    self.screen.tick(Instant::now());
                    None
                }
            };
            match asked {
                None => {}
                Some(ExitSignal::Interrupt) if !is_cancelled => {
                    is_cancelled = true;
                    self.client.cancel(&self.session).await?;
                    self.screen.before_question(None)?;
                    stderr::line("Cancelling. Press Ctrl-C again to leave.");
                }
                Some(asked) => return Ok(Some(asked.code())),
            }
        }
        Ok(None)
    }

    /// Shows an event, or puts it to the user. `Some` where the reply is to be cancelled, or goose to end.
    async fn event(&mut self, record: &EventRecord) -> anyhow::Result<Option<ExitSignal>> {
        let event = &record.event;
        match event {
            Event::Prompt(message) => {
                self.is_running = true;
                if !self.is_ours {
                    stderr::end_status();
                    for line in escape::text(&message.own_text()).lines() {
                        stderr::line(format_args!("{NAME}> {line}{NAME:#}"));
                    }
                }
            }
            Event::TaskPlan(plan) => {
                self.screen.event(event)?;
                if plan.is_question {
                    return self.question(record).await;
                }
            }
            event if event.question_id().is_some() => return self.question(record).await,
            event => {
                self.screen.event(event)?;
                if let Event::Finished(outcome) = event {
                    (self.is_running, self.is_ours) = (false, false);
                    if *outcome == Outcome::Cancelled {
                        stderr::line(format_args!("{FAINT}Cancelled.{FAINT:#}"));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Puts a question to the user, until it is answered here or elsewhere, or withdrawn.
    async fn question(&mut self, record: &EventRecord) -> anyhow::Result<Option<ExitSignal>> {
        let Some(id) = record.event.question_id() else { return Ok(None) };
        // The events of a reply that began before also have the questions that were answered.
        if !self.client.is_open(record).await? {
            return Ok(None);
        }
        self.screen.before_question(record.task.as_deref())?;
        if !stderr::can_ask() {
            match self.is_ours {
                true => drop(self.client.answer(record, &follow::unattended(&record.event)).await?),
                false => stderr::line("A question waits for an answer of another client."),
            }
            return Ok(None);
        }
        self.notify.asks();
        let input = Arc::clone(&self.input);
        let asking = async { follow::ask(&input.turn().await, &record.event).await };
        let said = tokio::select! {
            // First: a question that was closed meanwhile is not shown any more.
            biased;
            () = closed(id, &mut self.waiting, &mut self.events) => return Ok(None),
            asked = self.signals.next() => return Ok(Some(asked?)),
            said = asking => said,
        };
        let Said::Answer(answer) = said else { return Ok(Some(ExitSignal::Interrupt)) };
        if !self.client.answer(record, &answer).await? {
            stderr::line("The question was answered elsewhere.");
        }
        Ok(None)
    }

    /// Says that the server has ended, and how to continue.
    fn server_ended(&self) -> ExitCode {
        stderr::end_status();
        stderr::line(format_args!(
            "The goose server has ended. To resume this session: `goose session --session-id {}`",
            self.session
        ));
        if self.is_running { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Returns the next event, of those that wait first; `None` once the server has ended.
async fn next_record(
    waiting: &mut VecDeque<EventRecord>,
    events: &mut SessionEvents,
) -> Result<Option<EventRecord>, LocalError> {
    match waiting.pop_front() {
        Some(record) => Ok(Some(record)),
        None => match events.next().await {
            Err(LocalError::Connection(_)) => Ok(None),
            next => next,
        },
    }
}

/// Waits until a question is closed, or no more events come. Other events are kept.
async fn closed(id: &str, waiting: &mut VecDeque<EventRecord>, events: &mut SessionEvents) {
    let is_it =
        |record: &EventRecord| matches!(&record.event, Event::QuestionClosed { id: closed } if closed == id);
    if waiting.iter().any(is_it) {
        return;
    }
    while let Ok(Some(record)) = events.next().await {
        let is_closed = is_it(&record);
        waiting.push_back(record);
        if is_closed {
            return;
        }
    }
}

fn help() {
    stderr::line(
        "A goose server has this session open. Lines are sent to it as messages, and its questions are answered here.\n\
         /exit leaves (also Ctrl-D, Ctrl-C twice); the session stays open in the server, and a reply goes on.\n\
         Ctrl-C or Esc during a reply cancels it. All other commands need a session that no server has open; \
         `goose session --resume --fork` opens a copy.",
    );
}
