//! One prompt of the editor: from its content to the reason of its end.

use std::sync::{Arc, atomic::Ordering};

use goose::exchange::{Cost, Event, EventRecord, Exchange, Failure, Outcome, Reply};
use goose_extension::Message;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    choices::COMMANDS,
    client::failed,
    prompt, questions,
    session::EditorSession,
    updates::{Updates, chunk},
};
use crate::rpc::{RpcError, invalid};

/// Marks a prompt as running until it is dropped. Dropping it cancels what still runs.
struct Running<'a> {
    session: &'a EditorSession,
    stop: CancellationToken,
}

impl<'a> Running<'a> {
    fn begin(session: &'a EditorSession) -> Result<Self, RpcError> {
        let mut running = session.running.lock();
        if running.is_some() {
            return Err(invalid(
                "a prompt is running in this session; wait for its end or send session/cancel",
            ));
        }
        let stop = CancellationToken::new();
        if session.is_cancelled.swap(false, Ordering::Relaxed) {
            stop.cancel();
        }
        *running = Some(stop.clone());
        Ok(Self { session, stop })
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.session.running.lock() = None;
        self.stop.cancel();
    }
}

/// A prompt that may be one of goose's commands.
enum Asked {
    Message(Message),
    Compact,
    Clear,
    Plan(String),
}

impl Asked {
    fn read(message: Message) -> Self {
        let text = message.text();
        let (word, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let name = word.strip_prefix('/').filter(|name| COMMANDS.iter().any(|(known, _)| known == name));
        match name {
            Some("compact") => Self::Compact,
            Some("clear") => Self::Clear,
            Some("plan") if !rest.trim().is_empty() => Self::Plan(rest.trim().to_owned()),
            _ => Self::Message(message),
        }
    }
}

impl EditorSession {
    /// Answers a prompt. Dropping the future cancels it.
    pub(super) async fn prompt(&self, params: &Value) -> Result<Value, RpcError> {
        let message = prompt::message(params.get("prompt").unwrap_or(&Value::Null)).map_err(invalid)?;
        let running = Running::begin(self)?;
        let stop = running.stop.clone();
        self.client.works_in(self.id.as_str());
        match stop.run_until_cancelled(self.ask_trust()).await {
            Some(asked) => asked?,
            None => return Ok(json!({"stopReason": "cancelled"})),
        }
        let shared = self.opened().await?;
        let exchange = shared.exchange();
        let reply = match Asked::read(message) {
            Asked::Message(message) => exchange.reply_to(message),
            Asked::Plan(request) => exchange.explore(request),
            Asked::Compact => {
                let shortened = exchange.compact().await.map(|(before, after)| {
                    format!("The conversation was shortened from about {before} to about {after} tokens.")
                });
                return self.command(shortened).await;
            }
            Asked::Clear => {
                let cleared = exchange.clear().await;
                return self.command(cleared.map(|()| "What the model sees was cleared.".to_owned())).await;
            }
        };
        self.follow(exchange, reply, &stop).await
    }

    async fn command(&self, done: Result<String, Failure>) -> Result<Value, RpcError> {
        let text = done.map_err(|failure| failed(&explained(&failure)))?;
        self.send(vec![chunk("agent_message_chunk", &text)]).await;
        Ok(json!({"stopReason": "end_turn"}))
    }

    /// Shows a reply to its end.
    async fn follow(
        &self,
        exchange: &Exchange,
        mut reply: Reply,
        stop: &CancellationToken,
    ) -> Result<Value, RpcError> {
        // The request may be cancelled, or the connection may end, while the reply runs.
        let ends_with_request = reply.cancellation().drop_guard();
        let mut updates = Updates::new(&self.folder, false);
        let mut questions = JoinSet::new();
        let mut cost = Cost::default();
        let outcome = loop {
            tokio::select! {
                biased;
                () = stop.cancelled(), if !reply.cancellation().is_cancelled() => reply.cancel(),
                Some(_) = questions.join_next(), if !questions.is_empty() => {}
                record = reply.next_record() => {
                    let Some(record) = record else { break Outcome::Cancelled };
                    match &record.event {
                        Event::Finished(outcome) => break outcome.clone(),
                        Event::Cost(new) => cost = *new,
                        event if event.question_id().is_some() => {
                            questions.spawn(self.question(exchange, &record));
                        }
                        _ => {}
                    }
                    self.send(updates.of_event(&record.event)).await;
                    self.terminals.note(&record.event);
                }
            }
        };
        ends_with_request.disarm();
        questions.shutdown().await;
        self.tell_title().await;
        ended(outcome, &cost)
    }

    /// Puts a question to the user, until it is answered here or elsewhere, or withdrawn.
    fn question(
        &self,
        exchange: &Exchange,
        record: &EventRecord,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (client, session) = (Arc::clone(&self.client), self.id.to_string());
        let (exchange, mut asked, folder) = (exchange.clone(), record.event.clone(), self.folder.clone());
        // Rules for all sessions need the right to administer.
        if let Event::Approval(approval) = &mut asked
            && self.agent.limits.as_ref().is_some_and(|limits| !limits.may_administer)
        {
            approval.always.clear();
        }
        async move {
            let Some(id) = asked.question_id() else { return };
            tokio::select! {
                biased;
                () = exchange.question_closed(id) => {}
                answer = questions::ask(&client, &session, &folder, &asked) => {
                    exchange.answer(id, answer);
                }
            }
        }
    }

    /// Tells the editor the title of the session, if it has a new one.
    async fn tell_title(&self) {
        let Ok(summary) = self.agent.manager.store().summary(&self.id).await else { return };
        let title = Some(summary.name().to_owned());
        let is_new = std::mem::replace(&mut *self.title.lock(), title.clone()) != title;
        if is_new {
            let updated = summary.updated_at.to_string();
            self.send(vec![
                json!({"sessionUpdate": "session_info_update", "title": title, "updatedAt": updated}),
            ])
            .await;
        }
    }
}

/// Returns the answer to a prompt.
fn ended(outcome: Outcome, cost: &Cost) -> Result<Value, RpcError> {
    let reason = match outcome {
        Outcome::Failed(failure) => return Err(failed(&explained(&failure))),
        Outcome::MaxTurns(_) => "max_turn_requests",
        Outcome::MaxTokens => "max_tokens",
        Outcome::Refused => "refusal",
        Outcome::Cancelled => "cancelled",
        _ => "end_turn",
    };
    let usage = cost.session;
    Ok(json!({
        "stopReason": reason,
        "usage": {
            "totalTokens": usage.total(), "inputTokens": usage.input, "outputTokens": usage.output,
            "cachedReadTokens": usage.cached_input, "cachedWriteTokens": usage.cache_write,
        },
    }))
}

fn explained(failure: &Failure) -> String {
    let hint = failure.hint.as_ref().map(|hint| format!(" {hint}")).unwrap_or_default();
    format!("{}{hint}", failure.message)
}
