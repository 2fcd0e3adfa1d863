//! [`Terminals`]: commands that run in terminals of the editor, where the user sees them.

use std::{
    collections::VecDeque, io, os::unix::process::ExitStatusExt as _, process::ExitStatus, sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use goose::exchange::Event;
use goose_extension::{CommandSpec, RunningCommand, StartedCommand};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncWriteExt as _, DuplexStream, duplex},
    runtime::Handle,
    sync::watch,
    time::timeout,
};

use super::client::Client;

/// Output that the editor keeps of a command.
const MAX_OUTPUT: u64 = 8 * 1024 * 1024;

/// Bytes of output that wait for the tool.
const PIPE: usize = 64 * 1024;

/// Interval at which new output is asked for.
const POLL: Duration = Duration::from_millis(250);

/// Time for the editor to start a terminal, or to end one.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Number of terminals that stay after their commands have ended. Releasing one kills what still runs in it.
const MAX_KEPT: usize = 8;

/// Maximum number of commands whose calls are not known yet.
const MAX_WAITING: usize = 64;

/// Terminals of a session.
pub(super) struct Terminals {
    client: Arc<Client>,
    session: String,
    /// Commands of running calls, and the ids of the calls.
    calls: Mutex<Vec<(String, String)>>,
    /// Terminals whose command has ended. What it has left in the background may still run there.
    ended: Mutex<VecDeque<String>>,
}

/// State of a command.
#[derive(Clone, Default)]
struct State {
    /// Id of the terminal, once there is one.
    terminal: Option<String>,
    /// End of the command, or a sentence about the editor.
    end: Option<Result<ExitStatus, String>>,
}

impl Terminals {
    pub(super) fn new(client: Arc<Client>, session: String) -> Self {
        Self { client, session, calls: Mutex::default(), ended: Mutex::default() }
    }

    /// Starts a command in a terminal.
    pub(super) fn start(self: &Arc<Self>, command: CommandSpec) -> StartedCommand {
        let (output, reader) = duplex(PIPE);
        let (state, watched) = watch::channel(State::default());
        let terminals = Arc::clone(self);
        tokio::spawn(async move { terminals.run(command, output, state).await });
        let command = TerminalCommand { terminals: Arc::clone(self), state: watched, is_done: false };
        StartedCommand { command: Box::new(command), output: Box::new(reader) }
    }

    async fn run(&self, command: CommandSpec, mut output: DuplexStream, state: watch::Sender<State>) {
        let ended = self.follow(&command, &mut output, &state).await;
        state.send_modify(|state| state.end = Some(ended));
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    ///
    /// Fails with a sentence about the editor.
    async fn follow(
        &self,
        command: &CommandSpec,
        output: &mut DuplexStream,
        state: &watch::Sender<State>,
    ) -> Result<ExitStatus, String> {
        let terminal = self.create(command).await?;
        state.send_modify(|state| state.terminal = Some(terminal.clone()));
        self.show(command, &terminal).await;
        let about = json!({"sessionId": self.session, "terminalId": terminal});
        let mut exit = std::pin::pin!(self.client.ask("terminal/wait_for_exit", about.clone()));
        let mut seen = 0;
        let ended = loop {
            match timeout(POLL, &mut exit).await {
                Ok(ended) => break ended?,
                Err(_) => self.copy(&about, output, &mut seen).await?,
            }
        };
        self.copy(&about, output, &mut seen).await?;
        Ok(status(&ended))
    }

    async fn create(&self, command: &CommandSpec) -> Result<String, String> {
        let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
        let variables =
            command.env.iter().map(|(name, value)| json!({"name": text(name), "value": text(value)}));
        let params = json!({
            "sessionId": self.session,
            "command": command.program,
            "args": command.args.iter().map(|argument| text(argument)).collect::<Vec<_>>(),
            "env": variables.collect::<Vec<_>>(),
            "cwd": command.working_dir,
            "outputByteLimit": MAX_OUTPUT,
        });
        let created = timeout(ANSWER_TIME, self.client.ask("terminal/create", params)).await;
        let created = created.map_err(|_| "The editor did not start a terminal.".to_owned())??;
        let id = created.get("terminalId").and_then(Value::as_str).map(str::to_owned);
        id.ok_or_else(|| "The editor gave its terminal no id.".to_owned())
    }

    /// Copies the output after the first `seen` bytes. The editor drops the beginning of very long output.
    async fn copy(&self, about: &Value, output: &mut DuplexStream, seen: &mut usize) -> Result<(), String> {
        let answer = self.client.ask("terminal/output", about.clone()).await?;
        let text = answer.get("output").and_then(Value::as_str).unwrap_or_default();
        if answer.get("truncated") == Some(&Value::Bool(true)) {
            if *seen != usize::MAX {
                *seen = usize::MAX;
                let note = format!(
                    "\n[The editor keeps the last {MAX_OUTPUT} bytes of the output; the rest follows there.]\n"
                );
                write(output, &note).await;
            }
            return Ok(());
        }
        if let Some(new) = text.get(*seen..) {
            *seen = text.len();
            write(output, new).await;
        }
        Ok(())
    }

    /// Shows a terminal in the call that runs its command.
    async fn show(&self, command: &CommandSpec, terminal: &str) {
        let text = command.args.last().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
        let call = {
            let mut calls = self.calls.lock();
            let at = calls.iter().position(|(known, _)| *known == text);
            at.map(|at| calls.remove(at).1)
        };
        if let Some(call) = call {
            let content = json!([{"type": "terminal", "terminalId": terminal}]);
            let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "content": content});
            self.client.update(&self.session, update).await;
        }
    }

    /// Notes the call of a command, before its terminal is created.
    pub(super) fn note(&self, event: &Event) {
        let Event::ToolStarted { id, arguments, .. } = event else { return };
        let Some(command) = arguments.get("command").and_then(Value::as_str) else { return };
        let mut calls = self.calls.lock();
        if calls.len() >= MAX_WAITING {
            calls.remove(0);
        }
        calls.push((command.to_owned(), id.clone()));
    }

    /// Keeps the terminal of a command that has ended, and releases the oldest one if there are too many.
    async fn keep(&self, terminal: String) {
        let oldest = {
            let mut ended = self.ended.lock();
            ended.push_back(terminal);
            if ended.len() > MAX_KEPT { ended.pop_front() } else { None }
        };
        if let Some(oldest) = oldest {
            self.tell("terminal/release", &oldest).await;
        }
    }

    /// Sends a request about a terminal. The outcome does not matter: the terminal may be gone.
    async fn tell(&self, method: &str, terminal: &str) {
        let about = json!({"sessionId": self.session, "terminalId": terminal});
        let _ = timeout(ANSWER_TIME, self.client.ask(method, about)).await;
    }
}

async fn write(output: &mut DuplexStream, text: &str) {
    // A tool that has seen enough closes its end.
    let _ = output.write_all(text.as_bytes()).await;
}

/// Returns the way that a command ended.
fn status(ended: &Value) -> ExitStatus {
    match ended.get("exitCode").and_then(Value::as_i64) {
        Some(code) => ExitStatus::from_raw((i32::try_from(code).unwrap_or(1) & 0xff) << 8),
        None => ExitStatus::from_raw(signal(ended.get("signal").and_then(Value::as_str).unwrap_or_default())),
    }
}

fn signal(name: &str) -> i32 {
    const NAMES: [(&str, i32); 8] = [
        ("HUP", 1),
        ("INT", 2),
        ("QUIT", 3),
        ("ABRT", 6),
        ("KILL", 9),
        ("SEGV", 11),
        ("PIPE", 13),
        ("TERM", 15),
    ];
    let name = name.trim_start_matches("SIG");
    let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    known.or_else(|| name.parse().ok()).unwrap_or(9)
}

/// A command in a terminal. Dropping it releases the terminal, which kills the command.
struct TerminalCommand {
    terminals: Arc<Terminals>,
    state: watch::Receiver<State>,
    is_done: bool,
}

impl TerminalCommand {
    async fn ended(&mut self) -> io::Result<ExitStatus> {
        let state = self.state.wait_for(|state| state.end.is_some()).await.map_err(io::Error::other)?;
        match &state.end {
            Some(Ok(status)) => Ok(*status),
            Some(Err(reason)) => Err(io::Error::other(reason.clone())),
            None => Err(io::Error::other("the terminal is gone")),
        }
    }
}

/// Waits for the terminal of a command. Returns `None` if there is none.
async fn terminal_of(state: &mut watch::Receiver<State>) -> Option<String> {
    let begun = |state: &State| state.terminal.is_some() || state.end.is_some();
    state.wait_for(begun).await.ok()?.terminal.clone()
}

#[async_trait]
impl RunningCommand for TerminalCommand {
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.ended().await
    }

    async fn stop(mut self: Box<Self>, grace: Duration) -> io::Result<ExitStatus> {
        if let Ok(ended) = timeout(grace, self.ended()).await {
            return ended;
        }
        if let Some(terminal) = terminal_of(&mut self.state).await {
            self.terminals.tell("terminal/kill", &terminal).await;
        }
        let ended = timeout(ANSWER_TIME, self.ended()).await;
        ended.unwrap_or_else(|_| Err(io::Error::other("the editor did not end the terminal")))
    }

    async fn release(mut self: Box<Self>) -> io::Result<ExitStatus> {
        let ended = self.ended().await;
        if let Some(terminal) = terminal_of(&mut self.state).await {
            self.is_done = true;
            self.terminals.keep(terminal).await;
        }
        ended
    }
}

impl Drop for TerminalCommand {
    fn drop(&mut self) {
        let (terminals, mut state, is_done) = (Arc::clone(&self.terminals), self.state.clone(), self.is_done);
        let Ok(runtime) = Handle::try_current() else { return };
        if is_done {
            return;
        }
        runtime.spawn(async move {
            if let Some(terminal) = terminal_of(&mut state).await {
                terminals.tell("terminal/release", &terminal).await;
            }
        });
    }
}
