//! An external agent that does as it is told, right or wrong. The program `foreign_agent` is this.
//!
//! | flag | it |
//! | --- | --- |
//! | `--starts FILE` | adds its process id to the file |
//! | `--prompts FILE` | adds each prompt to the file, as JSON |
//! | `--mute` | never answers |
//! | `--exit CODE` | ends at once, with words on standard error |
//! | `--version N` | speaks another version of the protocol |
//! | `--login` | wants a login before a session |
//! | `--http` | reaches MCP servers over HTTP |
//!
//! | last line of a task, or parts of it between `;;` | it |
//! | --- | --- |
//! | `say TEXT` | says it, word by word |
//! | `work TITLE` | reports a tool call, and speaks before and after it |
//! | `read PATH`, `write PATH TEXT` | asks us to, and says what came of it |
//! | `edit PATH TEXT`, `run COMMAND`, `fetch URL` | asks for permission, and says which option was chosen |
//! | `action JSON` | the same, for a tool call with these fields |
//! | `vague KIND` | the same, with the kind only; `nameless`: not even with that |
//! | `later PATH` | reports an edit with a diff of 100 KB, then asks by the id of the call only; `many PATH`: an edit of 65 files |
//! | `change PATH TEXT` | asks for permission, writes the file by itself, and says nothing; says `refused` otherwise |
//! | `touch PATH`, `await PATH` | makes a file, or waits until there is one; says nothing |
//! | `form QUESTION` | asks the person, and says the answer |
//! | `env NAME`, `folder`, `servers` | says what it was given |
//! | `child` | starts a process that outlives it, and says its id |
//! | `wait` | works until it is cancelled; `deaf`: and does not listen then |
//! | `mumble` | writes lines that are no messages, then says `fine`; `babble`: without end |
//! | `shout` | writes one line of 9 MiB |
//! | `drone` | talks without end; `chatter`: reports tool calls without end |
//! | `crash` | ends in the middle, with words on standard error |
//! | `refuse`, `fail`, `oddly` | refuses; answers with an error; ends in a way that the protocol does not have |

use std::{
    io::{BufRead as _, StdinLock, StdoutLock, Write as _},
    process::{Command, Stdio},
};

use anyhow::Context as _;
use serde_json::{Value, json};

/// The id of the only session.
const SESSION: &str = "session-1";

/// The bytes of a long diff, and the number of files beside another one.
const LONG_DIFF: usize = 100_000;
const MANY_FILES: usize = 64;

/// The bytes of the line that is too long.
const LONG_LINE: usize = 9 * 1024 * 1024;

struct Agent {
    input: StdinLock<'static>,
    output: StdoutLock<'static>,
    /// The version that it speaks.
    version: u64,
    wants_login: bool,
    takes_http: bool,
    /// The parameters of `session/new`.
    session: Value,
    last_id: u64,
    is_cancelled: bool,
    /// The file that prompts are written to.
    prompts: Option<String>,
}

/// Runs the agent until its input ends.
///
/// # Errors
///
/// Fails if its streams do.
pub fn run(flags: Vec<String>) -> anyhow::Result<()> {
    let value = |flag: &str| flags.iter().position(|it| it == flag).and_then(|at| flags.get(at + 1).cloned());
    if let Some(file) = value("--starts") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
        writeln!(file, "{}", std::process::id())?;
    }
    if let Some(code) = value("--exit") {
        writeln!(std::io::stderr(), "no key found")?;
        std::process::exit(code.parse()?);
    }
    let mut agent = Agent {
        input: std::io::stdin().lock(),
        output: std::io::stdout().lock(),
        version: value("--version").map_or(Ok(1), |version| version.parse())?,
        wants_login: flags.iter().any(|flag| flag == "--login"),
        takes_http: flags.iter().any(|flag| flag == "--http"),
        session: Value::Null,
        last_id: 0,
        is_cancelled: false,
        prompts: value("--prompts"),
    };
    if flags.iter().any(|flag| flag == "--mute") {
        while agent.receive()?.is_some() {}
        return Ok(());
    }
    while let Some(message) = agent.receive()? {
        agent.answer(&message)?;
    }
    Ok(())
}

impl Agent {
    fn receive(&mut self) -> anyhow::Result<Option<Value>> {
        let mut line = String::new();
        if self.input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let message: Value = serde_json::from_str(&line)?;
        self.is_cancelled |= message["method"] == "session/cancel";
        Ok(Some(message))
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        self.line(&message.to_string())
    }

    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.output, "{line}")?;
        Ok(self.output.flush()?)
    }

    fn update(&mut self, update: &Value) -> anyhow::Result<()> {
        let params = json!({"sessionId": SESSION, "update": update});
        self.send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    }

    fn say(&mut self, text: &str) -> anyhow::Result<()> {
        let content = json!({"type": "text", "text": text});
        self.update(&json!({"sessionUpdate": "agent_message_chunk", "content": content}))
    }

    /// Sends a request, and waits for its answer.
    fn ask(&mut self, method: &str, mut params: Value) -> anyhow::Result<Value> {
        self.last_id += 1;
        // Ids of its own, which are texts.
        let id = format!("ask-{}", self.last_id);
        params["sessionId"] = SESSION.into();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let message = self.receive()?.context("the input ended before the answer")?;
            if message["id"] == id.as_str() {
                return Ok(message);
            }
        }
    }

    fn answer(&mut self, message: &Value) -> anyhow::Result<()> {
        let (id, params) = (&message["id"], &message["params"]);
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                assert_eq!(params["clientCapabilities"]["fs"]["writeTextFile"], true);
                let capabilities = json!({"mcpCapabilities": {"http": self.takes_http}});
                json!({"protocolVersion": self.version, "agentCapabilities": capabilities, "authMethods": []})
            }
            "session/new" if self.wants_login => {
                let error = json!({"code": -32000, "message": "Authentication required"});
                return self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
            "session/new" => {
                self.session = params.clone();
                json!({"sessionId": SESSION})
            }
            "session/prompt" => {
                self.is_cancelled = false;
                let text = params["prompt"][0]["text"].as_str().unwrap_or_default().to_owned();
                if let Some(file) = &self.prompts {
                    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
                    writeln!(file, "{}", Value::from(text.as_str()))?;
                }
                let mut stop = "end_turn";
                for part in task(&text).split(" ;; ") {
                    stop = self.work(part)?;
                }
                match stop {
                    "error" => {
                        let error =
                            json!({"code": -32603, "message": "Internal error", "data": "no more paper"});
                        return self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                    }
                    stop => json!({"stopReason": stop}),
                }
            }
            _ => return Ok(()),
        };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    /// Does a task. Returns the reason for its end.
    fn work(&mut self, task: &str) -> anyhow::Result<&'static str> {
        let (what, rest) = task.split_once(' ').unwrap_or((task, ""));
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        match what {
            "say" => {
                for word in rest.split_inclusive(' ') {
                    self.say(word)?;
                }
            }
            "work" => {
                self.say("First I look.")?;
                self.update(
                    &json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": rest, "kind": "think"}),
                )?;
                self.update(
                    &json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}),
                )?;
                self.say("Then I speak.")?;
            }
            "read" => {
                let answer = self.ask("fs/read_text_file", json!({"path": first}))?;
                self.report(&answer, "content")?;
            }
            "write" => {
                let answer = self.ask("fs/write_text_file", json!({"path": first, "content": second}))?;
                self.report(&answer, "nothing")?;
            }
            "edit" => {
                let content = json!([{"type": "diff", "path": first, "oldText": null, "newText": second}]);
                self.permission(json!({"kind": "edit", "content": content}))?;
            }
            "run" => self.permission(json!({"kind": "execute", "rawInput": {"command": rest}}))?,
            "action" => self.permission(serde_json::from_str(rest)?)?,
            "vague" => self.permission(json!({"kind": first}))?,
            "nameless" => {
                let answer = self.request_permission(json!({"toolCallId": "call-2"}))?;
                self.report(&answer, "nothing")?;
            }
            "later" => {
                let diff = json!([{"type": "diff", "path": first, "oldText": null, "newText": "x".repeat(LONG_DIFF)}]);
                self.update(&json!({
                    "sessionUpdate": "tool_call", "toolCallId": "call-3", "title": "Edit", "kind": "edit", "content": diff,
                }))?;
                let answer = self.request_permission(json!({"toolCallId": "call-3"}))?;
                self.say(&chosen(&answer))?;
            }
            "many" => {
                let beside = (0..MANY_FILES).map(|number| json!({"path": format!("{first}.{number}")}));
                let locations: Vec<Value> = beside.chain([json!({"path": first})]).collect();
                self.permission(json!({"kind": "edit", "locations": locations}))?;
            }
            "change" => {
                let content = json!([{"type": "diff", "path": first, "oldText": null, "newText": second}]);
                let call =
                    json!({"toolCallId": "call-4", "title": "Change", "kind": "edit", "content": content});
                match chosen(&self.request_permission(call)?).as_str() {
                    "id-allow_once" => std::fs::write(first, second)?,
                    _ => self.say("refused")?,
                }
            }
            "touch" => std::fs::write(first, "")?,
            "await" => {
                while !std::path::Path::new(first).exists() {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
            }
            "fetch" => self.permission(json!({"kind": "fetch", "rawInput": {"url": rest}}))?,
            "form" => {
                let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
                let form = json!({"mode": "form", "message": rest, "requestedSchema": schema});
                let answer = self.ask("elicitation/create", form)?;
                let said = answer["result"]["content"]["name"].as_str().map(str::to_owned);
                self.say(&said.unwrap_or_else(|| answer.to_string()))?;
            }
            "env" => self.say(&std::env::var(rest).unwrap_or_else(|_| "nothing".to_owned()))?,
            "folder" => {
                let text = format!("{} {}", self.session["cwd"], std::env::current_dir()?.display());
                self.say(&text)?;
            }
            "servers" => {
                let text = self.session["mcpServers"].to_string();
                self.say(&text)?;
            }
            "child" => {
                let child =
                    Command::new("sleep").arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
                self.say(&child.id().to_string())?;
            }
            "wait" => {
                self.say("waiting")?;
                while !self.is_cancelled && self.receive()?.is_some() {}
                return Ok("cancelled");
            }
            "deaf" => {
                self.say("waiting")?;
                while self.receive()?.is_some() {}
            }
            "mumble" => {
                for line in [
                    "",
                    "Loading model…",
                    "{\"jsonrpc\": ",
                    "[1, 2]",
                    "{\"id\": 777, \"result\": {}}",
                    "null",
                ] {
                    self.line(line)?;
                }
                self.say("fine")?;
            }
            "babble" => loop {
                self.line("la")?;
            },
            "shout" => self.line(&"x".repeat(LONG_LINE))?,
            "drone" => loop {
                self.say(&"and so on, ".repeat(1_000))?;
            },
            "chatter" => {
                for number in 0.. {
                    let id = format!("call-{number}");
                    self.update(&json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "again"}))?;
                }
            }
            "crash" => {
                self.say("I will just")?;
                writeln!(std::io::stderr(), "panic: out of ideas")?;
                std::process::exit(3);
            }
            "refuse" => return Ok("refusal"),
            "fail" => return Ok("error"),
            "oddly" => return Ok("bored"),
            other => self.say(&format!("I do not know how to {other}"))?,
        }
        Ok("end_turn")
    }

    fn permission(&mut self, mut call: Value) -> anyhow::Result<()> {
        call["toolCallId"] = "call-1".into();
        call["title"] = "Something that I would like to do".into();
        let answer = self.request_permission(call)?;
        self.say(&chosen(&answer))
    }

    fn request_permission(&mut self, call: Value) -> anyhow::Result<Value> {
        let option = |kind: &str| json!({"optionId": format!("id-{kind}"), "name": kind, "kind": kind});
        let options = json!([option("allow_always"), option("allow_once"), option("reject_once")]);
        self.ask("session/request_permission", json!({"toolCall": call, "options": options}))
    }

    /// Says what came of a request.
    fn report(&mut self, answer: &Value, field: &str) -> anyhow::Result<()> {
        let text = match answer["error"]["message"].as_str() {
            Some(error) => format!("refused: {error}"),
            None => answer["result"][field].as_str().unwrap_or("done").to_owned(),
        };
        self.say(&text)
    }
}

/// The option that was chosen in answer to a permission request.
/// The line with the task: the first one, or the one under the heading of a delegated task.
fn task(text: &str) -> &str {
    let text = text.strip_prefix("Your task:").unwrap_or(text);
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

fn chosen(answer: &Value) -> String {
    let outcome = &answer["result"]["outcome"];
    outcome["optionId"].as_str().or(outcome["outcome"].as_str()).unwrap_or("nothing").to_owned()
}
