//! Calls: first what the flags say about the tool, then what the tool does.

use std::{io, sync::atomic::Ordering, thread, time::Duration};

use serde_json::{Value, json};

use super::{
    death,
    message::{Reply, Request, notification, response, text_result},
    options::{Behaviour, Wire},
    padded::{FILLING, Padded},
    server::Server,
    strange,
};

/// The time between two reports of progress.
const STEP: Duration = Duration::from_millis(50);

const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

impl Server {
    pub(super) fn call(&self, request: &Request) -> Reply {
        let name = request.params["name"].as_str().unwrap_or_default();
        if self.options.death.on_call.iter().any(|tool| tool == name) {
            death::die(self.options.death.how);
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
                return Some(strange::padded(Padded::of_length(&message, *bytes)));
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
        self.options.strange_results.then(|| strange::reply(request, self.options.wire)).flatten()
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
            death::die(self.options.death.how);
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
    let params = json!({ "level": "info", "logger": "misbehave", "data": text });
    notification("notifications/message", params)
}
