//! The keyboard: one question at a time owns it, and one thread reads all input.
//!
//! A caller takes the keyboard's [`Turn`] before it shows a question and holds it until the answer arrives, so an
//! answer always belongs to the question on the screen. Input from before the question is discarded. A question whose
//! caller is dropped is cancelled, see [`Turn::answer`].
//!
//! Between the lines of a session, input is held back without echo, see [`Input::hold`]: it must not appear within an
//! answer, and is kept for the next lines. During a reply it is read for Esc, see [`Input::escape`]. [`Input::restore`]
//! restores the terminal's original mode, however goose ends.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread,
};

use goose_extension::{ToolResult, prelude::async_trait};
use goose_mcp_bridge::{Browser as _, SystemBrowser};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};
use url::Url;

use super::{
    completion::{Purpose, SessionValues},
    menu::{Menu, MenuChoice},
    reader::{InputKind, Reader, Request},
    type_ahead::TypeAhead,
};
use crate::{prompts::Dialogue, stderr};

/// Capacity of the request queue: one question, and those withdrawn a moment ago.
const QUEUE: usize = 16;

/// Begins and ends the mode in which terminals mark what is pasted.
pub(super) const BEGIN_BRACKETED_PASTE: &str = "\x1b[?2004h";
pub(super) const END_BRACKETED_PASTE: &str = "\x1b[?2004l";

/// Outcome of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InputEvent<T = String> {
    /// A line, or several.
    Text(T),
    /// Ctrl-C on an empty line.
    Interrupted,
    /// Ctrl-C that discarded a line.
    Dropped,
    /// Ctrl-D or end of input.
    Ended,
    /// The keyboard can no longer be read. The user was told.
    Lost,
}

impl<T> InputEvent<T> {
    /// Converts the text.
    pub(super) fn map<U>(self, convert: impl FnOnce(T) -> U) -> InputEvent<U> {
        match self {
            Self::Text(text) => InputEvent::Text(convert(text)),
            Self::Interrupted => InputEvent::Interrupted,
            Self::Dropped => InputEvent::Dropped,
            Self::Ended => InputEvent::Ended,
            Self::Lost => InputEvent::Lost,
        }
    }
}

/// A message as the user gave it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TypedMessage {
    /// The whole text.
    pub(crate) text: String,
    /// The text without what was pasted; empty if there is no keyboard.
    pub(crate) typed: String,
}

impl From<String> for TypedMessage {
    /// A text that is no message.
    fn from(text: String) -> Self {
        Self { text, typed: String::new() }
    }
}

/// The user's keyboard.
#[derive(Debug, Default)]
pub(crate) struct Input {
    history: Option<PathBuf>,
    requests: OnceLock<SyncSender<Request>>,
    terminal: OnceLock<Option<Termios>>,
    /// True if input between questions is held back without echo.
    is_held: AtomicBool,
    turns: Arc<Mutex<()>>,
    /// Text that was typed during replies.
    ahead: Arc<parking_lot::Mutex<TypeAhead>>,
    /// Values of commands, for completion.
    values: SessionValues,
}

impl Input {
    /// Creates a keyboard. Nothing is read and no thread is started before the first question.
    pub(crate) fn new(history: Option<PathBuf>) -> Self {
        Self { history, ..Self::default() }
    }

    /// Returns the source of the values that are completed.
    pub(crate) fn values(&self) -> &SessionValues {
        &self.values
    }

    /// Waits for the keyboard. No other question is asked while the turn is held.
    pub(crate) async fn turn(self: &Arc<Self>) -> Turn {
        let turn = Arc::clone(&self.turns).lock_owned().await;
        Turn { input: Arc::clone(self), is_begun: AtomicBool::new(false), _turn: turn }
    }

    /// Returns true while a question is open.
    pub(crate) fn is_asking(&self) -> bool {
        self.turns.try_lock().is_err()
    }

    /// Asks for a message to the model: with history, completion and several lines.
    pub(crate) async fn message(&self, prompt: &str) -> InputEvent<TypedMessage> {
        let _turn = self.turns.lock().await;
        stderr::end_status();
        self.request(InputKind::line(prompt, "", Purpose::Message)).await
    }

    /// Waits for Esc. What is typed meanwhile is kept for the next lines. Questions may be asked at the same time.
    pub(crate) async fn escape(&self) {
        while self.is_held.load(Ordering::SeqCst) && stderr::can_ask() {
            match self.request(InputKind::Escape).await {
                InputEvent::Interrupted => return,
                // A question has the keyboard.
                InputEvent::Dropped => {}
                _ => break,
            }
        }
        std::future::pending().await
    }

    /// Returns the lines that show what was typed during the reply.
    pub(crate) fn typed_ahead(&self) -> Vec<String> {
        self.ahead.lock().shown()
    }

    /// Puts the messages that wait back into the next line.
    pub(crate) fn take_back(&self) {
        self.ahead.lock().take_back();
    }

    async fn request(&self, what: InputKind) -> InputEvent<TypedMessage> {
        let (answer, answered) = oneshot::channel();
        let requests = self.requests.get_or_init(|| self.begin());
        let sent = requests.try_send(Request { what, answer }).is_ok();
        if sent && let Ok(typed) = answered.await {
            return typed;
        }
        stderr::error("The keyboard can no longer be read.");
        InputEvent::Lost
    }

    fn begin(&self) -> SyncSender<Request> {
        let terminal = self.original().cloned();
        let (sender, requests) = sync_channel(QUEUE);
        let (history, ahead, values) = (self.history.clone(), Arc::clone(&self.ahead), self.values.clone());
        thread::spawn(move || Reader::new(history, terminal, ahead, values).answer_all(&requests));
        sender
    }

    /// Returns the terminal's original mode, if there is a terminal.
    fn original(&self) -> Option<&Termios> {
        self.terminal.get_or_init(|| tcgetattr(io::stdin()).ok()).as_ref()
    }

    /// Holds back input between questions for the next line, without echo. Ctrl-C stays a signal.
    pub(crate) fn hold(&self) {
        self.is_held.store(true, Ordering::SeqCst);
        self.rest();
    }

    /// Sets the mode of the terminal between questions.
    fn rest(&self) {
        if let Some(original) = self.original() {
            let is_held = self.is_held.load(Ordering::SeqCst);
            set(&if is_held { quiet(original) } else { original.clone() });
        }
    }

    /// Restores the terminal's original mode, even while a line is being read.
    pub(crate) fn restore(&self) {
        self.is_held.store(false, Ordering::SeqCst);
        if let Some(Some(terminal)) = self.terminal.get() {
            set(terminal);
            let _ = write!(io::stderr(), "{END_BRACKETED_PASTE}");
        }
    }
}

/// Sets the mode of the terminal. If this fails, the terminal is gone.
pub(super) fn set(terminal: &Termios) {
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, terminal);
}

fn quiet(original: &Termios) -> Termios {
    let mut quiet = original.clone();
    quiet.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    quiet.input_modes -= InputModes::ICRNL;
    quiet
}

/// Mode for answers: the terminal edits and echoes the line, and turns Ctrl-C into a signal.
fn answering(original: &Termios) -> Termios {
    let mut answering = original.clone();
    answering.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
    answering.input_modes |= InputModes::ICRNL;
    answering
}

/// The keyboard, for one question.
#[derive(Debug)]
pub(crate) struct Turn {
    input: Arc<Input>,
    is_begun: AtomicBool,
    _turn: OwnedMutexGuard<()>,
}

impl Turn {
    /// Asks for a short answer. If the future is dropped, the question is cancelled: partial input is discarded, and
    /// the keyboard is free for the next question. Ctrl-C stays a signal meanwhile.
    pub(crate) async fn answer(&self, prompt: &str) -> InputEvent {
        self.begin();
        let open = Open::new(&self.input, prompt);
        let typed = self.input.request(InputKind::Answer).await.map(|answer| answer.text);
        open.answered(&typed);
        typed
    }

    /// Asks a question until the answer is yes or no. The end of input means no.
    pub(crate) async fn is_agreed(&self, question: &str) -> bool {
        loop {
            let InputEvent::Text(text) = self.answer(question).await else { return false };
            match text.trim().to_ascii_lowercase().as_str() {
                "y" | "yes" => return true,
                "n" | "no" => return false,
                _ => stderr::line("Answer y or n."),
            }
        }
    }

    /// Lets the user edit a line.
    pub(crate) async fn change(&self, prompt: &str, line: &str) -> InputEvent {
        self.begin();
        self.input.request(InputKind::line(prompt, line, Purpose::Answer)).await.map(|answer| answer.text)
    }

    /// Lets the user edit a text in their editor, in a file with this ending; [`InputEvent::Ended`] if there is none or
    /// it failed.
    pub(crate) async fn edit(&self, text: &str, ending: &'static str) -> InputEvent {
        self.begin();
        self.input.request(InputKind::Edit { text: text.to_owned(), ending }).await.map(|edited| edited.text)
    }

    /// Lets the user choose from a menu. Returns `None` if the user cancelled.
    pub(crate) async fn choose(&self, menu: Menu) -> Option<MenuChoice> {
        self.begin();
        let (chosen, choice) = oneshot::channel();
        self.input.request(InputKind::Choose { menu, chosen }).await;
        choice.await.ok()
    }

    /// Discards input that was typed before the first question of a turn.
    fn begin(&self) {
        stderr::end_status();
        if !self.is_begun.swap(true, Ordering::SeqCst) {
            discard();
        }
    }
}

/// Discards pending input. If this fails, the terminal is gone.
fn discard() {
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

/// A question on the screen.
struct Open<'a> {
    input: &'a Input,
    is_answered: bool,
}

impl<'a> Open<'a> {
    fn new(input: &'a Input, prompt: &str) -> Self {
        if let Some(original) = input.original() {
            set(&answering(original));
        }
        stderr::question(prompt);
        Self { input, is_answered: false }
    }

    fn answered(mut self, typed: &InputEvent) {
        self.is_answered = true;
        // Ctrl-D does not move the cursor.
        let line_end = if matches!(typed, InputEvent::Text(_)) { "" } else { "\n" };
        stderr::end_question(line_end);
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            discard();
            stderr::end_question(" (cancelled)\n");
        }
        self.input.rest();
    }
}

#[async_trait]
impl Dialogue for Turn {
    fn tell(&self, line: &str) {
        stderr::line(line);
    }

    async fn ask(&self, prompt: &str) -> Option<String> {
        match self.answer(prompt).await {
            InputEvent::Text(text) => Some(text),
            _ => None,
        }
    }

    async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
        SystemBrowser.open(server, url).await
    }
}
