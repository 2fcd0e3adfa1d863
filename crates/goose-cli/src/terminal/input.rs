//! What the person types: one thread reads all of it, so that no two questions wait for the same line.
//!
//! The line editor blocks, and replies run on the main thread; so the editor has a thread of its own, which begins with
//! the first question. While a line is read the terminal is in raw mode; between lines of a conversation what is typed
//! is neither shown nor changed, see [`Input::hold`], so that it does not stand in the answer and is there for the next
//! line. [`Input::restore`] leaves the terminal as it was, however goose ends.

use std::{
    env, fs,
    io::{self, Write as _},
    path::PathBuf,
    process::Command,
    sync::{
        OnceLock,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use goose_extension::{
    ToolResult,
    mcp::{Browser as _, SystemBrowser},
    prelude::async_trait,
};
use rustix::termios::{InputModes, LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::{
    Behavior, Cmd, Config, Editor, KeyEvent, config::Configurer as _, error::ReadlineError,
    history::DefaultHistory,
};
use tokio::sync::oneshot;
use url::Url;

use super::completion::{Assistant, Purpose};
use crate::{aside, dialogue::Dialogue};

/// How many lines of earlier sessions are remembered.
const MAX_HISTORY: usize = 2_000;

/// How many questions may wait; there is never more than one.
const QUEUE: usize = 4;

/// The longest text that an editor may give back.
const MAX_EDITED_BYTES: u64 = 4 * 1024 * 1024;

/// Ends the mode in which terminals mark what is pasted.
const END_BRACKETED_PASTE: &str = "\x1b[?2004l";

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A line, or several.
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or there is no more.
    Ended,
}

/// The person's keyboard.
#[derive(Debug)]
pub(crate) struct Input {
    history: Option<PathBuf>,
    requests: OnceLock<SyncSender<Request>>,
    terminal: OnceLock<Option<Termios>>,
}

struct Request {
    what: What,
    answer: oneshot::Sender<Typed>,
}

enum What {
    Line { prompt: String, initial: String, purpose: Purpose },
    Edit { text: String },
}

impl Input {
    /// Nothing is read, and no thread begun, before the first question.
    pub(crate) fn new(history: Option<PathBuf>) -> Self {
        Self { history, requests: OnceLock::new(), terminal: OnceLock::new() }
    }

    /// Asks for a message to the model: with history, completion and several lines.
    pub(crate) async fn message(&self, prompt: &str) -> Typed {
        let line =
            What::Line { prompt: prompt.to_owned(), initial: String::new(), purpose: Purpose::Message };
        self.ask(line).await
    }

    /// Asks for a short answer, which may be given in part.
    pub(crate) async fn answer(&self, prompt: &str, initial: &str) -> Typed {
        let (prompt, initial) = (prompt.to_owned(), initial.to_owned());
        self.ask(What::Line { prompt, initial, purpose: Purpose::Answer }).await
    }

    /// Lets the person change a text in their own editor; [`Typed::Ended`] where there is none or it failed.
    pub(crate) async fn edit(&self, text: &str) -> Typed {
        self.ask(What::Edit { text: text.to_owned() }).await
    }

    async fn ask(&self, what: What) -> Typed {
        aside::end_status();
        let (answer, answered) = oneshot::channel();
        let requests = self.requests.get_or_init(|| self.begin());
        if requests.try_send(Request { what, answer }).is_err() {
            return Typed::Ended;
        }
        answered.await.unwrap_or(Typed::Ended)
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

    /// From now on what is typed between questions waits for the next one, unseen. Ctrl-C stays a signal.
    pub(crate) fn hold(&self) {
        if let Some(original) = self.original() {
            set(&quiet(original));
        }
    }

    /// Leaves the terminal as it was, also where a line is still being read.
    pub(crate) fn restore(&self) {
        if let Some(Some(terminal)) = self.terminal.get() {
            set(terminal);
            let _ = write!(io::stderr(), "{END_BRACKETED_PASTE}");
        }
    }
}

/// Where this fails there is no terminal any more.
fn set(terminal: &Termios) {
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, terminal);
}

fn quiet(original: &Termios) -> Termios {
    let mut quiet = original.clone();
    quiet.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    quiet.input_modes -= InputModes::ICRNL;
    quiet
}

#[async_trait]
impl Dialogue for Input {
    fn tell(&self, line: &str) {
        aside::line(line);
    }

    async fn ask(&self, prompt: &str) -> Option<String> {
        match self.answer(prompt, "").await {
            Typed::Text(text) => Some(text),
            Typed::Interrupted | Typed::Ended => None,
        }
    }

    async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
        SystemBrowser.open(server, url).await
    }
}

/// The thread's own.
struct Reader {
    editor: Option<Editor<Assistant, DefaultHistory>>,
    history: Option<PathBuf>,
    /// The terminal as it was.
    terminal: Option<Termios>,
}

impl Reader {
    fn new(history: Option<PathBuf>, terminal: Option<Termios>) -> Self {
        let mut editor = editor().ok();
        if let (Some(editor), Some(history)) = (&mut editor, &history) {
            // There is none at first.
            let _ = editor.load_history(history);
        }
        Self { editor, history, terminal }
    }

    fn answer_all(mut self, requests: &Receiver<Request>) {
        while let Ok(request) = requests.recv() {
            let typed = match request.what {
                What::Line { prompt, initial, purpose } => self.line(&prompt, &initial, purpose),
                What::Edit { text } => self.edited(&text).map_or(Typed::Ended, Typed::Text),
            };
            // Who asked may be gone.
            let _ = request.answer.send(typed);
        }
    }

    fn line(&mut self, prompt: &str, initial: &str, purpose: Purpose) -> Typed {
        let Some(editor) = &mut self.editor else { return Typed::Ended };
        if let Some(assistant) = editor.helper_mut() {
            assistant.purpose = purpose;
        }
        let styled = format!("\x1b[1m{prompt}\x1b[0m");
        match editor.readline_with_initial(&(prompt, styled.as_str()), (initial, "")) {
            Ok(text) => {
                if purpose == Purpose::Message {
                    self.remember(&text);
                }
                Typed::Text(text)
            }
            Err(ReadlineError::Interrupted) => Typed::Interrupted,
            Err(_) => Typed::Ended,
        }
    }

    /// The text as the person's editor gives it back; the editor has the terminal as it was.
    fn edited(&self, text: &str) -> Option<String> {
        let now = tcgetattr(io::stdin()).ok();
        self.terminal.iter().for_each(set);
        let edited = edited(text);
        now.iter().for_each(set);
        edited
    }

    /// What cannot be remembered is no reason to stop.
    fn remember(&mut self, text: &str) {
        let (Some(editor), Some(history)) = (&mut self.editor, &self.history) else { return };
        if matches!(editor.add_history_entry(text), Ok(true)) {
            let _ = history.parent().map(fs::create_dir_all);
            let _ = editor.append_history(history);
        }
    }
}

fn editor() -> rustyline::Result<Editor<Assistant, DefaultHistory>> {
    let behavior = if aside::can_ask() { Behavior::PreferTerm } else { Behavior::Stdio };
    let config = Config::builder()
        .history_ignore_space(true)
        .history_ignore_dups(true)?
        .max_history_size(MAX_HISTORY)?
        .completion_type(rustyline::CompletionType::List)
        .behavior(behavior)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_auto_add_history(false);
    editor.set_helper(Some(Assistant::default()));
    editor.bind_sequence(KeyEvent::ctrl('J'), Cmd::Newline);
    editor.bind_sequence(KeyEvent::alt('\r'), Cmd::Newline);
    Ok(editor)
}

/// The text as the person's editor gives it back.
fn edited(text: &str) -> Option<String> {
    let command =
        ["VISUAL", "EDITOR"].into_iter().find_map(|name| env::var(name).ok().filter(|it| !it.is_empty()))?;
    let mut words = command.split_whitespace();
    let file = tempfile::Builder::new().prefix("goose-").suffix(".json").tempfile().ok()?;
    fs::write(file.path(), text).ok()?;
    let ended = Command::new(words.next()?).args(words).arg(file.path()).status().ok()?;
    let is_small = file.path().metadata().ok()?.len() <= MAX_EDITED_BYTES;
    if ended.success() && is_small { fs::read_to_string(file.path()).ok() } else { None }
}
