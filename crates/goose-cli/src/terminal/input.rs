//! The person's keyboard: one question at a time has it, and one thread reads all that is typed.
//!
//! Whoever asks takes the keyboard's [`Turn`] before the first word of the question is shown, and keeps it until the
//! answer is there; so no answer goes to another question than the one the person sees. What was typed before a
//! question was seen is no answer to it and is dropped. A question whose asker goes away is withdrawn, see
//! [`Turn::answer`].
//!
//! Between the lines of a conversation what is typed is neither shown nor changed, see [`Input::hold`], so that it does
//! not stand in the answer and is there for the next line. [`Input::restore`] leaves the terminal as it was, however
//! goose ends.

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
    completion::Purpose,
    reader::{Reader, Request, What},
};
use crate::{
    aside,
    dialogue::{Dialogue, Keyboard},
};

/// How many questions may wait for the thread: one, and those that were withdrawn a moment ago.
const QUEUE: usize = 16;

/// Ends the mode in which terminals mark what is pasted.
const END_BRACKETED_PASTE: &str = "\x1b[?2004l";

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A line, or several.
    Text(String),
    /// Ctrl-C on an empty line.
    Interrupted,
    /// Ctrl-C that took a line back.
    Dropped,
    /// Ctrl-D, or there is no more.
    Ended,
    /// The keyboard cannot be read any more. The person was told.
    Lost,
}

/// The person's keyboard.
#[derive(Debug)]
pub(crate) struct Input {
    history: Option<PathBuf>,
    requests: OnceLock<SyncSender<Request>>,
    terminal: OnceLock<Option<Termios>>,
    /// Whether what is typed between questions waits unseen.
    is_held: AtomicBool,
    turns: Arc<Mutex<()>>,
}

impl Input {
    /// Nothing is read, and no thread begun, before the first question.
    pub(crate) fn new(history: Option<PathBuf>) -> Self {
        Self {
            history,
            requests: OnceLock::new(),
            terminal: OnceLock::new(),
            is_held: AtomicBool::new(false),
            turns: Arc::default(),
        }
    }

    /// Waits for the keyboard. Nobody else asks while the turn is kept.
    pub(crate) async fn turn(self: &Arc<Self>) -> Turn {
        let turn = Arc::clone(&self.turns).lock_owned().await;
        Turn { input: Arc::clone(self), is_begun: AtomicBool::new(false), _turn: turn }
    }

    /// Whether somebody asks now.
    pub(crate) fn is_asking(&self) -> bool {
        self.turns.try_lock().is_err()
    }

    /// Asks for a message to the model: with history, completion and several lines.
    pub(crate) async fn message(&self, prompt: &str) -> Typed {
        let _turn = self.turns.lock().await;
        aside::end_status();
        self.request(What::line(prompt, "", Purpose::Message)).await
    }

    async fn request(&self, what: What) -> Typed {
        let (answer, answered) = oneshot::channel();
        let requests = self.requests.get_or_init(|| self.begin());
        let sent = requests.try_send(Request { what, answer }).is_ok();
        if sent && let Ok(typed) = answered.await {
            return typed;
        }
        aside::error("The keyboard cannot be read any more.");
        Typed::Lost
    }

    fn begin(&self) -> SyncSender<Request> {
        let terminal = self.original().cloned();
        let (sender, requests) = sync_channel(QUEUE);
        let history = self.history.clone();
        thread::spawn(move || Reader::new(history, terminal).answer_all(&requests));
        sender
    }

    /// The terminal as it was, where there is one.
    fn original(&self) -> Option<&Termios> {
        self.terminal.get_or_init(|| tcgetattr(io::stdin()).ok()).as_ref()
    }

    /// From now on what is typed between questions waits for the next line, unseen. Ctrl-C stays a signal.
    pub(crate) fn hold(&self) {
        self.is_held.store(true, Ordering::SeqCst);
        self.rest();
    }

    /// The terminal as it is between questions.
    fn rest(&self) {
        if let Some(original) = self.original() {
            let is_held = self.is_held.load(Ordering::SeqCst);
            set(&if is_held { quiet(original) } else { original.clone() });
        }
    }

    /// Leaves the terminal as it was, also where a line is still being read.
    pub(crate) fn restore(&self) {
        self.is_held.store(false, Ordering::SeqCst);
        if let Some(Some(terminal)) = self.terminal.get() {
            set(terminal);
            let _ = write!(io::stderr(), "{END_BRACKETED_PASTE}");
        }
    }
}

/// Where this fails there is no terminal any more.
pub(super) fn set(terminal: &Termios) {
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, terminal);
}

fn quiet(original: &Termios) -> Termios {
    let mut quiet = original.clone();
    quiet.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    quiet.input_modes -= InputModes::ICRNL;
    quiet
}

/// The terminal itself edits the line, shows it, and makes a signal of Ctrl-C.
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
    /// Asks for a short answer. Dropped before it is there, the question is withdrawn: what was typed of an answer is
    /// taken back, and the next question has the keyboard. Ctrl-C is a signal meanwhile, as it is without a question.
    pub(crate) async fn answer(&self, prompt: &str) -> Typed {
        self.begin();
        let open = Open::new(&self.input, prompt);
        let typed = self.input.request(What::Answer).await;
        open.answered(&typed);
        typed
    }

    /// Lets the person change a line.
    pub(crate) async fn change(&self, prompt: &str, line: &str) -> Typed {
        self.begin();
        self.input.request(What::line(prompt, line, Purpose::Answer)).await
    }

    /// Lets the person change a text in their own editor; [`Typed::Ended`] where there is none or it failed.
    pub(crate) async fn edit(&self, text: &str) -> Typed {
        self.begin();
        self.input.request(What::Edit { text: text.to_owned() }).await
    }

    /// What was typed before the first question of a turn is no answer to it.
    fn begin(&self) {
        aside::end_status();
        if !self.is_begun.swap(true, Ordering::SeqCst) {
            discard();
        }
    }
}

/// Where this fails there is no terminal any more.
fn discard() {
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

/// A question that stands on the screen.
struct Open<'a> {
    input: &'a Input,
    is_answered: bool,
}

impl<'a> Open<'a> {
    fn new(input: &'a Input, prompt: &str) -> Self {
        if let Some(original) = input.original() {
            set(&answering(original));
        }
        aside::question(prompt);
        Self { input, is_answered: false }
    }

    fn answered(mut self, typed: &Typed) {
        self.is_answered = true;
        // Ctrl-D leaves the cursor where it is.
        let line_end = if matches!(typed, Typed::Text(_)) { "" } else { "\n" };
        aside::end_question(line_end);
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            discard();
            aside::end_question(" (withdrawn)\n");
        }
        self.input.rest();
    }
}

#[async_trait]
impl Keyboard for Arc<Input> {
    async fn turn(&self) -> Box<dyn Dialogue> {
        Box::new(Input::turn(self).await)
    }
}

#[async_trait]
impl Dialogue for Turn {
    fn tell(&self, line: &str) {
        aside::line(line);
    }

    async fn ask(&self, prompt: &str) -> Option<String> {
        match self.answer(prompt).await {
            Typed::Text(text) => Some(text),
            _ => None,
        }
    }

    async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
        SystemBrowser.open(server, url).await
    }
}
