//! Calls: first what the flags say about the tool, then what the tool does.

use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{io, thread};

use serde_json::{Value, json};

use super::{
    message::{FILLING, INVALID_PARAMS, Padded, Reply, Request, notification, response, text_result},
    options::{Behaviour, Wire},
    server::Server,
    start,
};

/// The time between two reports of progress.
const STEP: Duration = Duration::from_millis(50);

const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

impl Server {
    pub(super) fn call(&self, request: &Request) -> Reply {
        let name = request.params["name"].as_str().unwrap_or_default();
        if self.options.death.on_call.iter().any(|tool| tool == name) {
            start::die(self.options.death.how);
        }
        let mut reply = None;
        for (_, behaviour) in self.options.behaviours.iter().filter(|(tool, _)| tool == name) {
            reply = self.behave(request, behaviour).or(reply);
        }
        let reply = reply.or_else(|| self.strange(request)).unwrap_or_else(|| self.ordinary(request, name));
        if let Some(bytes) = self.options.huge_notification {
            let message = Padded::of_length(&log_message(FILLING), bytes);
            let _ = request.outlet.send(&mut |output| message.write(output));
        }
        reply
    }

    /// Does one thing that flags say about a tool; some of them make up its answer.
    fn behave(&self, request: &Request, behaviour: &Behaviour) -> Option<Reply> {
        match behaviour {
            Behaviour::Hang => loop {
                thread::park();
            },
            Behaviour::Late(time) => thread::sleep(*time),
            Behaviour::HugeLine(bytes) => {
                let message = response(&request.id, self.options.wire, text_result(FILLING.to_owned()));
                return Some(padded(Padded::of_length(&message, *bytes)));
            }
            Behaviour::Ask(ask) => return Some(self.ask(request, *ask)),
            Behaviour::Progress(times) => {
                let _ = progress(request, *times);
            }
            Behaviour::Log => {
                let _ = self.log(request);
            }
        }
        None
    }

    fn strange(&self, request: &Request) -> Option<Reply> {
        self.options.strange_results.then(|| reply(request, self.options.wire)).flatten()
    }

    /// On the newer wire a client gets a log only where it has asked for one.
    fn log(&self, request: &Request) -> io::Result<()> {
        if self.options.wire == Wire::New && request.params["_meta"][LOG_LEVEL_KEY].is_null() {
            return Ok(());
        }
        request.outlet.message(&log_message("something happened"))
    }

    /// Counts the call that was just answered.
    pub(super) fn after_call(&self) {
        let answered = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if self.options.death.after_calls.is_some_and(|most| answered >= most) {
            start::die(self.options.death.how);
        }
    }
}

fn progress(request: &Request, times: u64) -> io::Result<()> {
    let token = &request.params["_meta"]["progressToken"];
    for done in 1..=times {
        thread::sleep(STEP);
        if !token.is_null() {
            let params = json!({ "progressToken": token, "progress": done, "total": times });
            request.outlet.message(&notification("notifications/progress", params))?;
        }
    }
    Ok(())
}

fn log_message(text: &str) -> Value {
    let params = json!({ "level": "info", "logger": "faulty_server", "data": text });
    notification("notifications/message", params)
}

/// The tools that are always there.
pub(super) fn defaults() -> Vec<Value> {
    vec![
        tool("echo", "Gives back a text.", json!({ "text": { "type": "string" } }), &["text"]),
        tool("pid", "Says in which process it runs.", json!({}), &[]),
        tool("count", "Says how often it was called.", json!({}), &[]),
        tool(
            "sleep",
            "Waits, unless it is cancelled.",
            json!({ "seconds": { "type": "number" } }),
            &["seconds"],
        ),
        tool("env", "Gives an environment variable.", json!({ "name": { "type": "string" } }), &["name"]),
        tool("cancelled", "Says which requests were cancelled.", json!({}), &[]),
    ]
}

/// A tool without arguments.
pub(super) fn plain(name: &str) -> Value {
    tool(name, "Says that it was called.", json!({}), &[])
}

fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> Value {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    json!({ "name": name, "description": description, "inputSchema": schema })
}

impl Server {
    /// Does the work of a tool without a fault.
    pub(super) fn ordinary(&self, request: &Request, name: &str) -> Reply {
        let arguments = &request.params["arguments"];
        match name {
            "echo" => arguments["text"].as_str().map_or_else(|| missing("text"), Reply::text),
            "pid" => Reply::text(std::process::id().to_string()),
            "count" => Reply::text((self.counted.fetch_add(1, Ordering::SeqCst) + 1).to_string()),
            "sleep" => self.sleep(request, &arguments["seconds"]),
            "env" => arguments["name"].as_str().map_or_else(|| missing("name"), variable),
            "cancelled" => Reply::text(json!(self.cancelled.ids()).to_string()),
            "grandchildren" => Reply::text(json!(self.grandchildren).to_string()),
            "grow" if self.options.list.changing => self.grow(),
            "flood" => self.flood(),
            _ if self.has(name) => Reply::text(format!("{name} was called")),
            _ => Reply::refused(INVALID_PARAMS, format!("There is no tool `{name}`.")),
        }
    }

    fn sleep(&self, request: &Request, seconds: &Value) -> Reply {
        match seconds.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
            None => missing("seconds"),
            Some(time) if self.cancelled.wait(&request.id, time) => Reply::Nothing,
            Some(_) => Reply::text("rested"),
        }
    }

    fn grow(&self) -> Reply {
        let number = self.grown.fetch_add(1, Ordering::SeqCst);
        self.listeners.tools_changed();
        Reply::text(format!("there is a tool grown_{number}"))
    }

    fn flood(&self) -> Reply {
        for _ in 0..self.options.notify_flood.unwrap_or(0) {
            self.listeners.tools_changed();
        }
        Reply::text("said it")
    }

    /// Returns whether there is such a tool among those that flags and counting make.
    fn has(&self, name: &str) -> bool {
        let counted = |prefix, count| {
            let number = name.strip_prefix(prefix).and_then(|number| number.parse::<u64>().ok());
            number.is_some_and(|number| number < count)
        };
        self.options.named_tools().any(|tool| tool == name)
            || counted("tool_", self.options.list.tools)
            || counted("grown_", self.grown.load(Ordering::SeqCst))
    }
}

fn variable(name: &str) -> Reply {
    Reply::text(std::env::var(name).unwrap_or_else(|_| "(unset)".to_owned()))
}

fn missing(argument: &str) -> Reply {
    Reply::refused(INVALID_PARAMS, format!("The argument `{argument}` is missing or of another type."))
}

/// The tools that give them.
pub(super) const NAMES: &[&str] =
    &["nul", "invalid_utf8", "image20mb", "empty", "no_content", "wrong_shape", "bad_base64"];

/// The base64 characters of an image of 20 MB.
const IMAGE_CHARACTERS: u64 = 20_000_000 / 3 * 4;

/// The result of one of the tools.
pub(super) fn reply(request: &Request, wire: Wire) -> Option<Reply> {
    Some(match request.params["name"].as_str()? {
        "nul" => Reply::text("before\0between\u{1}\u{7f}\u{1b}[31mafter"),
        "invalid_utf8" => invalid_utf8(request, wire),
        "image20mb" => padded(Padded::new(&response(&request.id, wire, image(FILLING)), IMAGE_CHARACTERS)),
        "empty" => Reply::Result(json!({ "content": [] })),
        "no_content" => Reply::Result(json!({})),
        "wrong_shape" => Reply::Result(json!("only a string")),
        "bad_base64" => Reply::Result(image("*** this is no base64 ***")),
        _ => return None,
    })
}

/// An answer of which most is filling.
pub(super) fn padded(padded: Padded) -> Reply {
    Reply::written(move |output| padded.write(output))
}

fn image(data: &str) -> Value {
    json!({ "content": [{ "type": "image", "data": data, "mimeType": "image/png" }], "isError": false })
}

/// Bytes that are no UTF-8, within the string.
fn invalid_utf8(request: &Request, wire: Wire) -> Reply {
    let text = response(&request.id, wire, text_result(FILLING.to_owned())).to_string();
    let mut bytes = Vec::new();
    if let Some((head, tail)) = text.split_once(FILLING) {
        bytes.extend(head.as_bytes());
        bytes.extend(b"caf\xe9 \xff\xfe");
        bytes.extend(tail.as_bytes());
    }
    Reply::written(move |output| output.write_all(&bytes))
}
