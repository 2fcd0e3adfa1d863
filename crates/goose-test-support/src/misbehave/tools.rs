//! The tools that do nothing wrong.

use std::{sync::atomic::Ordering, time::Duration};

use serde_json::{Value, json};

use super::{
    message::{INVALID_PARAMS, Reply, Request},
    server::Server,
};

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
    /// What a tool does when nothing is wrong with it.
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

    /// Whether there is such a tool among those that flags and counting make.
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
