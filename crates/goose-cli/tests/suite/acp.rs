//! `goose acp`, driven by an editor: its unsaved buffers, its terminals, its answers.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use goose_test_support::{ModelServer, Turn, binary, model_server::Asked};
use serde_json::{Value, json};

use crate::support::{Home, wait_until};

/// The time that an answer may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// An editor with goose as its agent.
pub(crate) struct Editor {
    goose: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    last_id: u64,
    /// Texts of open files, saved or not.
    buffers: BTreeMap<String, String>,
    /// Outputs of terminals, and how their commands ended.
    terminals: Vec<(String, Option<i32>)>,
    /// Id of the choice that the person makes; none for a person who does not answer.
    choice: Option<&'static str>,
    updates: Vec<Value>,
    requests: Vec<(String, Value)>,
}

impl Editor {
    pub(crate) fn start(home: &Home, model: &ModelServer, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut command = home.goose(&["acp"]);
        command.args(arguments).stdin(Stdio::piped()).stderr(Stdio::inherit());
        let mut goose = with_model(&mut command, model).spawn()?;
        let input = goose.stdin.take().context("its input is ours")?;
        let output = BufReader::new(goose.stdout.take().context("its output is ours")?);
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "broken": line }));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut editor = Self {
            goose,
            input,
            messages,
            last_id: 0,
            buffers: BTreeMap::new(),
            terminals: Vec::new(),
            choice: Some("allow"),
            updates: Vec::new(),
            requests: Vec::new(),
        };
        let greeted = editor.ask("initialize", json!({
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true, "elicitation": {"form": {}}, "_meta": {"goose": {"tools": true}},
            },
            "clientInfo": {"name": "test", "version": "1"},
        }))?;
        ensure!(
            greeted["protocolVersion"] == 1 && greeted["agentCapabilities"]["loadSession"] == true,
            "{greeted}"
        );
        Ok(editor)
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        writeln!(self.input, "{message}")?;
        Ok(self.input.flush()?)
    }

    fn request(&mut self, method: &str, params: Value) -> anyhow::Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        Ok(id)
    }

    /// The result of a request. What goose asks meanwhile is answered.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.request(method, params)?;
        self.answer_to(id, |_| false)?.context("it is answered")
    }

    /// Waits for the answer to a request, or until a message was handled that `is_enough`.
    fn answer_to(&mut self, id: u64, is_enough: impl Fn(&Value) -> bool) -> anyhow::Result<Option<Value>> {
        loop {
            let message = self.messages.recv_timeout(LIMIT).context("goose does not answer")?;
            if message["id"] == id && message["method"].is_null() {
                return match message.get("result") {
                    Some(result) => Ok(Some(result.clone())),
                    None => bail!("{}", message["error"]),
                };
            }
            self.handle(&message)?;
            if is_enough(&message) {
                return Ok(None);
            }
        }
    }

    fn handle(&mut self, message: &Value) -> anyhow::Result<()> {
        let method = message["method"].as_str().with_context(|| format!("not a message: {message}"))?;
        let params = &message["params"];
        if method == "session/update" {
            self.updates.push(params["update"].clone());
            return Ok(());
        }
        if message["id"].is_null() {
            return Ok(());
        }
        self.requests.push((method.to_owned(), params.clone()));
        if let Some(result) = self.result_of(method, params)? {
            self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))?;
        }
        Ok(())
    }

    fn result_of(&mut self, method: &str, params: &Value) -> anyhow::Result<Option<Value>> {
        let path = params["path"].as_str().unwrap_or_default();
        let terminal = params["terminalId"].as_str().and_then(|id| id.parse::<usize>().ok());
        Ok(Some(match method {
            "fs/read_text_file" => match self.buffers.get(path) {
                Some(text) => json!({ "content": text }),
                None => json!({"content": fs::read_to_string(path).unwrap_or_default()}),
            },
            "fs/write_text_file" => {
                self.buffers
                    .insert(path.to_owned(), params["content"].as_str().unwrap_or_default().to_owned());
                json!({})
            }
            "terminal/create" => {
                let arguments = params["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let mut command = Command::new(params["command"].as_str().unwrap_or_default());
                let output = command
                    .args(arguments)
                    .current_dir(params["cwd"].as_str().unwrap_or_default())
                    .output()?;
                self.terminals.push((String::from_utf8(output.stdout)?, output.status.code()));
                json!({"terminalId": (self.terminals.len() - 1).to_string()})
            }
            "terminal/output" => {
                let (output, code) =
                    terminal.and_then(|at| self.terminals.get(at)).context("there is such a terminal")?;
                json!({"output": output, "truncated": false, "exitStatus": {"exitCode": code}})
            }
            "terminal/wait_for_exit" => {
                let (_, code) =
                    terminal.and_then(|at| self.terminals.get(at)).context("there is such a terminal")?;
                json!({ "exitCode": code })
            }
            "terminal/release" | "terminal/kill" => json!({}),
            "session/request_permission" => match self.choice {
                Some(choice) => json!({"outcome": {"outcome": "selected", "optionId": choice}}),
                None => return Ok(None),
            },
            "_goose/call_tool" => {
                let text = format!("{} of {}", params["name"], params["arguments"]["page"]);
                json!({"content": [{"type": "text", "text": text}]})
            }
            "elicitation/create" => json!({"action": "accept", "content": {"name": "Mother"}}),
            other => bail!("goose asked {other}"),
        }))
    }

    fn new_session(&mut self, folder: &Path, servers: Value) -> anyhow::Result<Value> {
        self.ask("session/new", json!({"cwd": folder, "mcpServers": servers}))
    }

    pub(crate) fn prompt(&mut self, session: &Value, text: &str) -> anyhow::Result<Value> {
        let prompt = json!([{"type": "text", "text": text}]);
        let ended = self.ask("session/prompt", json!({"sessionId": session, "prompt": prompt}))?;
        Ok(ended["stopReason"].clone())
    }

    /// The updates of a kind since the last look.
    fn take(&mut self, kind: &str) -> Vec<Value> {
        self.updates.extract_if(.., |update| update["sessionUpdate"] == kind).collect()
    }

    fn text(&mut self, kind: &str) -> String {
        let chunks = self.take(kind);
        chunks.iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
    }

    /// The parameters of the requests of a method.
    fn asked(&self, method: &str) -> Vec<&Value> {
        self.requests.iter().filter(|(known, _)| known == method).map(|(_, params)| params).collect()
    }

    /// Closes the connection, after which goose ends by itself.
    pub(crate) fn leave(self) -> anyhow::Result<()> {
        let Self { mut goose, input, .. } = self;
        drop(input);
        let ended = goose.wait()?;
        ensure!(ended.success(), "{ended}");
        Ok(())
    }
}

fn with_model<'a>(command: &'a mut Command, model: &ModelServer) -> &'a mut Command {
    command.env("OPENAI_HOST", model.url()).env("OPENAI_API_KEY", "test").env("GOOSE_DISABLE_KEYRING", "1");
    command.env("GOOSE_PROVIDER", "openai").env("GOOSE_MODEL", "gpt-4o")
}

/// The error of a request that must fail.
fn refusal(result: anyhow::Result<Value>) -> anyhow::Result<String> {
    match result {
        Ok(result) => bail!("it was not refused: {result}"),
        Err(error) => Ok(error.to_string()),
    }
}

#[test]
fn an_editor_shows_asks_and_gives_its_buffers_and_terminals() -> anyhow::Result<()> {
    let home = Home::new()?;
    let folder = home.path().canonicalize()?.join("work");
    fs::create_dir(&folder)?;
    let file = folder.join("open.txt");
    fs::write(&file, "saved\n")?;
    let model = ModelServer::scripted([
        Turn::thinking("I look.").and_call("developer__read", json!({"path": "open.txt"})),
        Turn::call("developer__edit", json!({"path": "open.txt", "before": "not saved", "after": "changed"})),
        Turn::call("developer__shell", json!({"command": "touch made; echo from $((40 + 2))"})),
        Turn::call("todo__todo_write", json!({"content": "- [x] look\n- [ ] tell"})),
        Turn::text("All done.").costing(100, 10),
    ])?;
    let mut editor = Editor::start(&home, &model, &["--mode", "smart_approve"])?;
    editor.buffers.insert(file.display().to_string(), "not saved\n".to_owned());
    let session = editor.new_session(&folder, json!([]))?["sessionId"].clone();
    let link =
        json!({"type": "resource_link", "uri": format!("file://{}", file.display()), "name": "open.txt"});
    let embedded =
        json!({"type": "resource", "resource": {"uri": "file:///other.rs", "text": "fn other() {}"}});
    let image = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
    let prompt = json!([{"type": "text", "text": "Change it"}, link, embedded, image]);
    let ended = editor.ask("session/prompt", json!({"sessionId": session, "prompt": prompt}))?;
    ensure!(
        ended["stopReason"] == "end_turn" && ended["usage"]["inputTokens"].as_u64() >= Some(100),
        "{ended}"
    );

    let asked = model.asked();
    let first = asked[0].body.to_string();
    ensure!(
        first.contains("fn other() {}") && first.contains("open.txt") && first.contains("iVBORw0KGgo="),
        "{first}"
    );
    let results: Vec<String> = asked[4].tool_results().into_iter().map(|(_, text)| text).collect();
    ensure!(results[0].contains("not saved") && results[2].contains("from 42"), "{results:?}");
    ensure!(editor.buffers[&file.display().to_string()] == "changed\n", "{:?}", editor.buffers);
    ensure!(fs::read_to_string(&file)? == "saved\n", "the editor saves files by itself");

    let permissions = editor.asked("session/request_permission");
    let kinds: Vec<&Value> = permissions.iter().map(|asked| &asked["toolCall"]["kind"]).collect();
    ensure!(kinds == ["edit", "execute"], "{permissions:?}");
    let diff = json!({"type": "diff", "path": file, "oldText": "not saved\n", "newText": "changed\n"});
    ensure!(permissions[0]["toolCall"]["content"][0] == diff, "{:?}", permissions[0]);
    let options: Vec<&Value> =
        permissions[0]["options"].as_array().into_iter().flatten().map(|it| &it["kind"]).collect();
    ensure!(
        options.first() == Some(&&json!("allow_once")) && options.last() == Some(&&json!("reject_once")),
        "{options:?}"
    );

    ensure!(
        editor.text("agent_message_chunk") == "All done."
            && editor.text("agent_thought_chunk").starts_with("I look.")
    );
    let calls = editor.take("tool_call");
    let kinds: Vec<&Value> = calls.iter().map(|call| &call["kind"]).collect();
    ensure!(kinds == ["read", "edit", "execute", "think"], "{calls:?}");
    ensure!(
        calls[0]["locations"] == json!([{"path": file}])
            && calls[2]["title"] == "touch made; echo from $((40 + 2))",
        "{calls:?}"
    );
    let changes = editor.take("tool_call_update");
    let ended = changes.iter().filter(|change| change["status"] == "completed").count();
    let has_terminal = changes.iter().any(|change| change["content"][0]["type"] == "terminal");
    ensure!(
        ended == 4 && has_terminal && changes.iter().any(|change| change["content"][0] == diff),
        "{changes:?}"
    );
    ensure!(editor.take("plan")[0]["entries"][1]["status"] == "in_progress");
    ensure!(!editor.take("usage_update").is_empty() && !editor.take("available_commands_update").is_empty());
    ensure!(
        editor.take("session_info_update")[0]["title"]
            .as_str()
            .is_some_and(|title| title.contains("Change it"))
    );
    editor.leave()
}

#[test]
fn a_cancelled_prompt_ends_with_its_question() -> anyhow::Result<()> {
    let home = Home::new()?;
    let model = ModelServer::scripted([
        Turn::call("developer__shell", json!({"command": "sleep 600"})),
        Turn::text("Well."),
    ])?;
    let mut editor = Editor::start(&home, &model, &["--mode", "approve"])?;
    editor.choice = None;
    let session = editor.new_session(home.path(), json!([]))?["sessionId"].clone();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Sleep"}]});
    let id = editor.request("session/prompt", prompt.clone())?;
    editor.answer_to(id, |message| message["method"] == "session/request_permission")?;
    let busy = refusal(editor.ask("session/prompt", prompt))?;
    ensure!(busy.contains("a prompt is running"), "{busy}");
    editor.send(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}))?;
    let ended = editor.answer_to(id, |_| false)?;
    ensure!(ended.as_ref().is_some_and(|ended| ended["stopReason"] == "cancelled"), "{ended:?}");
    ensure!(editor.prompt(&session, "Go on")? == "end_turn" && editor.text("agent_message_chunk") == "Well.");

    // Sent at once, so that goose reads both before it begins.
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}});
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Never mind"}]});
    let prompt = json!({"jsonrpc": "2.0", "id": 1_000, "method": "session/prompt", "params": prompt});
    write!(editor.input, "{prompt}\n{cancel}\n")?;
    let ended = editor.answer_to(1_000, |_| false)?;
    ensure!(ended.as_ref().is_some_and(|ended| ended["stopReason"] == "cancelled"), "{ended:?}");
    editor.leave()
}

/// A session that was begun in the terminal is continued in an editor, and the other way round.
#[test]
fn a_session_moves_between_terminal_and_editor() -> anyhow::Result<()> {
    let home = Home::new()?;
    let folder = home.path().canonicalize()?;
    let model = ModelServer::scripted([
        Turn::call("developer__shell", json!({"command": "echo $((20 + 1))"})),
        Turn::text("From the terminal."),
        Turn::text("From the editor."),
        Turn::text("From the terminal again."),
    ])?;
    let mut command = home.goose(&["run", "-t", "Begin here", "--mode", "auto"]);
    let begun = with_model(command.current_dir(&folder), &model).output()?;
    ensure!(begun.status.success(), "{begun:?}");

    let mut editor = Editor::start(&home, &model, &[])?;
    let listed = editor.ask("session/list", json!({"cwd": folder}))?;
    let known = &listed["sessions"][0];
    ensure!(known["title"] == "Begin here" && known["cwd"] == json!(folder), "{listed}");
    let session = known["sessionId"].clone();
    let load = json!({"sessionId": session, "cwd": folder, "mcpServers": []});
    let loaded = editor.ask("session/load", load.clone())?;
    ensure!(loaded["modes"]["currentModeId"].is_string(), "{loaded}");
    ensure!(
        editor.text("user_message_chunk") == "Begin here"
            && editor.text("agent_message_chunk") == "From the terminal."
    );
    let (calls, changes) = (editor.take("tool_call"), editor.take("tool_call_update"));
    ensure!(
        calls[0]["kind"] == "execute" && changes.iter().any(|it| it["status"] == "completed"),
        "{calls:?} {changes:?}"
    );
    ensure!(editor.prompt(&session, "Go on here")? == "end_turn");
    ensure!(editor.text("agent_message_chunk") == "From the editor.");
    ensure!(
        model.asked()[2].body.to_string().contains("From the terminal."),
        "the model knows what was before"
    );

    editor.ask("session/close", json!({ "sessionId": session }))?;
    let closed = refusal(editor.prompt(&session, "Still?"))?;
    ensure!(closed.contains("is not open"), "{closed}");
    editor.ask("session/resume", load)?;
    ensure!(editor.text("user_message_chunk").is_empty(), "a resumed session is not shown again");
    editor.leave()?;

    let id = session.as_str().context("it has an id")?;
    let mut command = home.goose(&["run", "--session-id", id, "-t", "And back", "--mode", "auto"]);
    let back = with_model(command.current_dir(&folder), &model).output()?;
    ensure!(
        back.status.success() && String::from_utf8_lossy(&back.stdout).contains("From the terminal again."),
        "{back:?}"
    );
    ensure!(model.asked()[3].body.to_string().contains("From the editor."));
    Ok(())
}

#[test]
fn modes_options_servers_and_errors() -> anyhow::Result<()> {
    let home = Home::new()?;
    let script = |asked: &Asked| {
        let has_server = asked.tool_names().iter().any(|name| name.starts_with("given__"));
        Turn::text(if has_server { "With it." } else { "Without it." })
    };
    let model = ModelServer::answering(script)?;
    let mut editor = Editor::start(&home, &model, &[])?;
    let server = json!([{"name": "given", "command": binary("faulty_server")?, "args": [], "env": []}]);
    let described = editor.new_session(home.path(), server)?;
    let session = described["sessionId"].clone();
    let modes = described["modes"]["availableModes"].as_array().cloned().unwrap_or_default();
    ensure!(modes.iter().any(|mode| mode["id"] == "coding-agent/backend"), "{modes:?}");
    ensure!(
        editor.prompt(&session, "Is it there?")? == "end_turn"
            && editor.text("agent_message_chunk") == "With it."
    );
    let other = editor.new_session(home.path(), json!([]))?["sessionId"].clone();
    ensure!(
        editor.prompt(&other, "Is it there?")? == "end_turn"
            && editor.text("agent_message_chunk") == "Without it."
    );

    editor.ask("session/set_mode", json!({"sessionId": session, "modeId": "coding-agent/backend"}))?;
    ensure!(editor.take("current_mode_update")[0]["currentModeId"] == "coding-agent/backend");
    let option = |id: &str, value: &str| json!({"sessionId": session, "configId": id, "value": value});
    let set = editor.ask("session/set_config_option", option("permissions", "chat"))?;
    ensure!(set["configOptions"][1]["currentValue"] == "chat", "{set}");
    let set = editor.ask("session/set_config_option", option("model", "gpt-5"))?;
    ensure!(
        set["configOptions"][0]["currentValue"].as_str().is_some_and(|it| it.ends_with("gpt-5")),
        "{set}"
    );
    for (method, params, reason) in [
        ("session/set_config_option", option("colour", "red"), "no option `colour`"),
        ("session/set_config_option", option("permissions", "never"), "is not a mode"),
        ("session/set_mode", json!({"sessionId": session, "modeId": "cook"}), "cook"),
        ("session/new", json!({"cwd": "here", "mcpServers": []}), "absolute path"),
        (
            "session/new",
            json!({"cwd": home.path(), "mcpServers": [{"type": "sse", "name": "old", "url": "http://x/"}]}),
            "`old`",
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "audio", "data": "AAAA"}]}),
            "`audio`",
        ),
        (
            "session/load",
            json!({"sessionId": "20200101_9", "cwd": home.path(), "mcpServers": []}),
            "20200101_9",
        ),
        ("session/dance", json!({}), "session/dance"),
    ] {
        let refused = refusal(editor.ask(method, params))?;
        ensure!(refused.contains(reason), "{method}: {refused}");
    }
    editor.send(&json!("nonsense"))?;
    editor.ask("session/delete", json!({ "sessionId": other }))?;
    let listed = editor.ask("session/list", json!({}))?;
    ensure!(
        listed["sessions"].as_array().is_some_and(|it| it.len() == 1 && it[0]["sessionId"] == session),
        "{listed}"
    );
    editor.leave()
}

#[test]
fn a_project_is_used_only_if_the_person_trusts_it() -> anyhow::Result<()> {
    let home = Home::new()?;
    let folder = home.path().canonicalize()?.join("project");
    fs::create_dir_all(folder.join(".goose"))?;
    fs::write(folder.join(".goosehints"), "Honk twice.")?;
    fs::write(folder.join(".goose/config.yaml"), "GOOSE_MODE: chat\n")?;
    let model = ModelServer::answering(|_| Turn::text("Yes."))?;
    for (choice, is_trusted) in [("deny", false), ("trust", true), ("none", true)] {
        let mut editor = Editor::start(&home, &model, &[])?;
        editor.choice = Some(choice);
        let session = editor.new_session(&folder, json!([]))?["sessionId"].clone();
        ensure!(editor.prompt(&session, "Are you there?")? == "end_turn");
        let questions = editor.asked("session/request_permission");
        ensure!(questions.len() == usize::from(choice != "none"), "{choice}: {questions:?}");
        let asked = model.asked();
        let last = asked.last().context("the model was asked")?.body.to_string();
        ensure!(last.contains("Honk twice.") == is_trusted, "{choice}: {last}");
        editor.leave()?;
    }
    Ok(())
}

#[test]
fn without_a_model_the_editor_is_told_what_to_do() -> anyhow::Result<()> {
    let home = Home::new()?;
    let model = ModelServer::answering(|_| Turn::text("Yes."))?;
    let mut editor = Editor::start(&home, &model, &["--provider", "anthropic", "--model", "claude"])?;
    let refused = refusal(editor.new_session(home.path(), json!([])))?;
    ensure!(refused.contains("-32000") && refused.contains("ANTHROPIC_API_KEY"), "{refused}");
    editor.leave()
}

#[test]
fn goose_ends_with_its_editor_and_keeps_the_session() -> anyhow::Result<()> {
    let home = Home::new()?;
    let model = ModelServer::scripted([
        Turn::text("Too late.").after(Duration::from_secs(600)),
        Turn::text("Here."),
    ])?;
    let mut editor = Editor::start(&home, &model, &[])?;
    let session = editor.new_session(home.path(), json!([]))?["sessionId"].clone();
    let prompt = json!([{"type": "text", "text": "Are you there?"}]);
    editor.request("session/prompt", json!({"sessionId": session, "prompt": prompt}))?;
    wait_until(LIMIT, "the model is asked", || Ok(!model.asked().is_empty()))?;
    editor.leave()?;

    let mut editor = Editor::start(&home, &model, &[])?;
    editor.ask("session/load", json!({"sessionId": session, "cwd": home.path(), "mcpServers": []}))?;
    ensure!(editor.text("user_message_chunk") == "Are you there?");
    ensure!(
        editor.prompt(&session, "And now?")? == "end_turn" && editor.text("agent_message_chunk") == "Here."
    );
    editor.leave()
}

#[test]
fn tools_and_forms_of_servers_reach_the_editor() -> anyhow::Result<()> {
    let home = Home::new()?;
    let model = ModelServer::scripted([
        Turn::call("editor__open", json!({"page": 3})).and_call("given__ask_name", json!({})),
        Turn::text("Done."),
    ])?;
    let mut editor = Editor::start(&home, &model, &["--mode", "auto"])?;
    let schema = json!({"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]});
    let tool = json!({"name": "open", "description": "Opens a page.", "inputSchema": schema});
    let server = json!({"name": "given", "command": binary("kitchen_sink")?, "args": [], "env": []});
    let created = editor.ask(
        "session/new",
        json!({"cwd": home.path(), "mcpServers": [server], "_meta": {"goose": {"tools": [tool]}}}),
    )?;
    ensure!(editor.prompt(&created["sessionId"], "Work")? == "end_turn");
    let asked = model.asked();
    let results: Vec<String> = asked[1].tool_results().into_iter().map(|(_, text)| text).collect();
    ensure!(results[0] == "\"open\" of 3" && results[1].contains("Mother"), "{results:?}");
    ensure!(editor.asked("elicitation/create").len() == 1, "{:?}", editor.requests);
    editor.leave()
}
