//! The thread that reads input: messages with a line editor, answers as plain lines of the terminal, and what is typed
//! during a reply.

use std::{
    env, fs,
    io::{self, Write as _},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::Receiver,
    },
    time::{Duration, Instant},
};

use goose_fs::create_private_dir;
use goose_process::ProcessSpec;
use parking_lot::Mutex;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    termios::{Termios, tcgetattr},
};
use rustyline::{
    Behavior, Config, Editor, Event, EventHandler,
    config::Configurer as _,
    error::{ReadlineError, Signal},
    history::DefaultHistory,
};
use tokio::sync::oneshot;

use super::{
    completion::{Assistant, Purpose, SessionValues},
    input::{BEGIN_BRACKETED_PASTE, END_BRACKETED_PASTE, InputEvent, TypedMessage, set},
    keys::Keys,
    menu::{Menu, MenuChoice},
    paste::Pastes,
    type_ahead::{ESCAPE_TIME, TypeAhead},
};
use crate::{escape, stderr};

/// Maximum number of lines in the history.
const MAX_HISTORY: usize = 2_000;

/// Maximum length of a message in the history.
const MAX_REMEMBERED_BYTES: usize = 64 * 1024;

/// Maximum size of an edited text.
const MAX_EDITED_BYTES: u64 = 4 * 1024 * 1024;

/// Maximum length of an answer; terminals themselves allow about 4 KB per line.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Interval of the checks that the asker still waits.
const LOOK: Duration = Duration::from_millis(50);

/// Last character of a line that is continued; not a part of the message.
const CONTINUES: char = '\\';

/// Prompt of a continuation line.
const CONTINUES_PROMPT: &str = "… ";

type LineEditor = Editor<Assistant, DefaultHistory>;

/// A request to the reader thread.
pub(super) struct Request {
    pub(super) what: InputKind,
    pub(super) answer: Asker,
}

/// Kind of input.
pub(super) enum InputKind {
    /// A line in the line editor, with optional initial text.
    Line { prompt: String, initial: String, purpose: Purpose },
    /// A plain line of the terminal; the question is on the screen.
    Answer,
    /// A text in the user's editor, in a file with this ending.
    Edit { text: String, ending: &'static str },
    /// An entry of a menu.
    Choose { menu: Menu, chosen: oneshot::Sender<MenuChoice> },
    /// Esc, while everything else is kept for the next lines. Ends when something else is requested.
    Escape,
}

impl InputKind {
    /// A line in the line editor.
    pub(super) fn line(prompt: &str, initial: &str, purpose: Purpose) -> Self {
        Self::Line { prompt: prompt.to_owned(), initial: initial.to_owned(), purpose }
    }
}

/// The caller that waits for an answer; closed if it is gone.
pub(super) type Asker = oneshot::Sender<InputEvent<TypedMessage>>;

/// State of the reader thread.
#[derive(Default)]
pub(super) struct Reader {
    /// Line editor for messages, with their history.
    editor: Option<LineEditor>,
    /// True if the last Ctrl-C discarded a line.
    dropped: Arc<AtomicBool>,
    pastes: Arc<Pastes>,
    /// Text that was typed during replies.
    ahead: Arc<Mutex<TypeAhead>>,
    history: Option<PathBuf>,
    /// The terminal as it was.
    terminal: Option<Termios>,
    values: SessionValues,
}

impl Reader {
    pub(super) fn new(
        history: Option<PathBuf>,
        terminal: Option<Termios>,
        ahead: Arc<Mutex<TypeAhead>>,
        values: SessionValues,
    ) -> Self {
        // A pipe in its place would be waited for.
        let history = history.filter(|path| path.metadata().map_or(true, |found| found.is_file()));
        Self { ahead, history, terminal, values, ..Self::default() }
    }

    /// Handles requests until all senders are dropped. Skips cancelled ones.
    pub(super) fn answer_all(mut self, requests: &Receiver<Request>) {
        let mut next = None;
        while let Some(Request { what, answer: asker }) = next.take().or_else(|| requests.recv().ok()) {
            if asker.is_closed() {
                continue;
            }
            let typed = match what {
                InputKind::Line { prompt, initial, purpose } => self.line(&prompt, &initial, purpose),
                InputKind::Answer => answered(&asker).map(TypedMessage::from),
                InputKind::Edit { text, ending } => self
                    .edited(&text, ending, &asker)
                    .map_or(InputEvent::Ended, |text| InputEvent::Text(TypedMessage::from(text))),
                InputKind::Choose { menu, chosen } => {
                    // The caller may be gone.
                    let _ = menu.ask_while(|| !asker.is_closed()).map(|choice| chosen.send(choice));
                    InputEvent::Ended
                }
                InputKind::Escape => self.escape(&asker, || {
                    next = requests.try_recv().ok();
                    next.is_some()
                }),
            };
            // The caller may be gone.
            let _ = asker.send(typed);
        }
    }

    /// Reads a message. A line that ends with a backslash is continued.
    fn line(&mut self, prompt: &str, initial: &str, purpose: Purpose) -> InputEvent<TypedMessage> {
        if purpose == Purpose::Answer {
            return self.read_answer(prompt, initial).map(TypedMessage::from);
        }
        let mut begun = String::new();
        self.pastes.clear();
        let (queued, mut initial) = {
            let mut ahead = self.ahead.lock();
            match ahead.next_message() {
                Some(queued) => (Some(queued), String::new()),
                None => (None, ahead.take_line()),
            }
        };
        if let Some(queued) = queued {
            stderr::line(format_args!("\x1b[1m{prompt}\x1b[0m{}", escape::text(&queued.text)));
            self.remember(&queued.text);
            return InputEvent::Text(queued);
        }
        loop {
            let (prompt, purpose) = match begun.is_empty() {
                true => (prompt, purpose),
                false => (CONTINUES_PROMPT, Purpose::Continuation),
            };
            match self.read_message(prompt, &std::mem::take(&mut initial), purpose) {
                InputEvent::Text(text) => match text.strip_suffix(CONTINUES) {
                    Some(line) => begun.extend([line, "\n"]),
                    None => {
                        begun.push_str(&text);
                        break;
                    }
                },
                InputEvent::Interrupted if !begun.is_empty() => return InputEvent::Dropped,
                InputEvent::Ended if !begun.is_empty() => break,
                other => return other.map(TypedMessage::from),
            }
        }
        let text = self.pastes.expanded(&begun);
        if text.len() <= MAX_REMEMBERED_BYTES {
            self.remember(&text);
        }
        let typed = if stderr::can_ask() { self.pastes.typed(&begun) } else { String::new() };
        InputEvent::Text(TypedMessage { text, typed })
    }

    fn read_message(&mut self, prompt: &str, initial: &str, purpose: Purpose) -> InputEvent {
        if self.editor.is_none() {
            self.editor = self.new_editor(purpose);
            if let (Some(editor), Some(history)) = (&mut self.editor, &self.history) {
                // There is none at first.
                let _ = editor.load_history(history);
            }
        }
        if let Some(helper) = self.editor.as_mut().and_then(Editor::helper_mut) {
            helper.purpose = purpose;
        }
        match &mut self.editor {
            Some(editor) => read(editor, prompt, initial, &self.dropped),
            None => InputEvent::Ended,
        }
    }

    /// Waits for Esc until the asker is gone or something else is requested.
    fn escape(
        &self,
        asker: &Asker,
        mut is_wanted_elsewhere: impl FnMut() -> bool,
    ) -> InputEvent<TypedMessage> {
        let (stdin, mut last) = (io::stdin(), Instant::now());
        stderr::send(BEGIN_BRACKETED_PASTE);
        let event = loop {
            let is_there = is_typed(&stdin);
            let mut ahead = self.ahead.lock();
            if ahead.is_within_key() && last.elapsed() > ESCAPE_TIME && ahead.end_key() {
                break InputEvent::Interrupted;
            }
            if asker.is_closed() || is_wanted_elsewhere() {
                break InputEvent::Dropped;
            }
            if !matches!(is_there, Ok(true)) {
                match is_there {
                    Ok(_) => continue,
                    Err(_) => break InputEvent::Ended,
                }
            }
            let mut part = [0; 4096];
            match rustix::io::read(&stdin, &mut part) {
                Ok(0) => break InputEvent::Ended,
                Ok(count) if ahead.push(part.get(..count).unwrap_or_default()) => {
                    break InputEvent::Interrupted;
                }
                Ok(_) => last = Instant::now(),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => break InputEvent::Ended,
            }
        };
        stderr::send(END_BRACKETED_PASTE);
        event
    }

    /// Uses a separate editor, because input typed ahead belongs to the next message.
    fn read_answer(&self, prompt: &str, initial: &str) -> InputEvent {
        match self.new_editor(Purpose::Answer) {
            Some(mut editor) => read(&mut editor, prompt, initial, &self.dropped),
            None => InputEvent::Ended,
        }
    }

    fn new_editor(&self, purpose: Purpose) -> Option<LineEditor> {
        let assistant = Assistant { purpose, values: self.values.clone() };
        editor(assistant, Keys { dropped: Arc::clone(&self.dropped), pastes: Arc::clone(&self.pastes) }).ok()
    }

    /// The text as the person's editor gives it back; the editor has the terminal as it was.
    fn edited(&self, text: &str, ending: &str, asker: &Asker) -> Option<String> {
        let now = tcgetattr(io::stdin()).ok();
        self.terminal.iter().for_each(set);
        let edited = edited(text, ending, asker);
        now.iter().for_each(set);
        edited
    }

    /// Adds a message to the history. Failures are ignored.
    fn remember(&mut self, text: &str) {
        let (Some(editor), Some(history)) = (&mut self.editor, &self.history) else { return };
        if matches!(editor.add_history_entry(text), Ok(true)) {
            let _ = history.parent().map(create_private_dir);
            let _ = editor.append_history(history);
        }
    }
}

/// Reads a line with a line editor.
fn read(editor: &mut LineEditor, prompt: &str, initial: &str, dropped: &AtomicBool) -> InputEvent {
    dropped.store(false, Ordering::SeqCst);
    let styled = format!("\x1b[1m{prompt}\x1b[0m");
    match editor.readline_with_initial(&(prompt, styled.as_str()), (initial, "")) {
        Ok(text) => InputEvent::Text(text),
        Err(ReadlineError::Interrupted) if dropped.load(Ordering::SeqCst) => InputEvent::Dropped,
        Err(ReadlineError::Interrupted | ReadlineError::Signal(Signal::Interrupt)) => InputEvent::Interrupted,
        Err(_) => InputEvent::Ended,
    }
}

/// Reads a plain line of the terminal, unless the caller goes away first.
fn answered(asker: &Asker) -> InputEvent {
    let (stdin, mut line) = (io::stdin(), Vec::new());
    while line.len() < MAX_ANSWER_BYTES {
        let is_there = is_typed(&stdin);
        if asker.is_closed() {
            return InputEvent::Ended;
        }
        match is_there {
            Ok(false) => continue,
            Ok(true) => {}
            Err(_) => return InputEvent::Ended,
        }
        let mut part = [0; 4096];
        match rustix::io::read(&stdin, &mut part) {
            Ok(0) if line.is_empty() => return InputEvent::Ended,
            Ok(0) => break,
            Ok(count) => line.extend_from_slice(part.get(..count).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return InputEvent::Ended,
        }
        if line.ends_with(b"\n") {
            break;
        }
    }
    InputEvent::Text(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())
}

/// Waits briefly for input, and returns true if there is some.
pub(super) fn is_typed(stdin: &io::Stdin) -> rustix::io::Result<bool> {
    let moment = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
    match poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&moment)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error),
    }
}

fn editor(assistant: Assistant, keys: Keys) -> rustyline::Result<LineEditor> {
    let behavior = if stderr::can_ask() { Behavior::PreferTerm } else { Behavior::Stdio };
    let config = Config::builder()
        .history_ignore_space(true)
        .history_ignore_dups(true)?
        .max_history_size(MAX_HISTORY)?
        .completion_type(rustyline::CompletionType::List)
        .behavior(behavior)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_auto_add_history(false);
    editor.set_helper(Some(assistant));
    editor.bind_sequence(Event::Any, EventHandler::Conditional(Box::new(keys)));
    Ok(editor)
}

/// The text as the person's editor gives it back.
fn edited(text: &str, ending: &str, asker: &Asker) -> Option<String> {
    let command =
        ["VISUAL", "EDITOR"].into_iter().find_map(|name| env::var(name).ok().filter(|it| !it.is_empty()))?;
    let mut words = command.split_whitespace();
    let file = tempfile::Builder::new().prefix("goose-").suffix(ending).tempfile().ok()?;
    file.as_file().write_all(text.as_bytes()).ok()?;
    let mut spec = ProcessSpec::new(words.next()?);
    spec.args(words).arg(file.path());
    // It is ended where the answer is not wanted any more.
    let status = goose_process::run_in_foreground(&spec, || !asker.is_closed()).ok()?;
    let is_done = status.is_some_and(|status| status.success());
    let is_small = file.path().metadata().ok()?.len() <= MAX_EDITED_BYTES;
    if is_done && is_small { fs::read_to_string(file.path()).ok() } else { None }
}
