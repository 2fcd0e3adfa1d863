//! [`RunTrace`]: the spans of one run, from its events.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use goose::{
    exchange::{Event, EventRecord, Exchange, Outcome, ToolEnd},
    session::SessionId,
};
use serde_json::{Value, json};

use super::{Exporter, number, text};

/// Kinds of spans, and the status of those that failed.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
const CLIENT: u8 = 3;
const FAILED: u8 = 2;

/// Spans of a run. The run's own is sent when this is dropped.
pub(crate) struct RunTrace {
    exporter: Arc<Exporter>,
    trace: String,
    run: Span,
    model: String,
    /// Request to the model that is not answered.
    asking: Option<Span>,
    calls: Vec<(String, Span)>,
}

/// Span that has not ended.
struct Span {
    id: String,
    name: String,
    kind: u8,
    began: u128,
    attributes: Vec<Value>,
    failure: Option<String>,
}

impl Span {
    fn begin(name: String, kind: u8, attributes: Vec<Value>) -> Self {
        Self { id: random_hex::<8>(), name, kind, began: now(), attributes, failure: None }
    }
}

impl RunTrace {
    /// Begins the trace of a run of an agent.
    pub(crate) fn begin(
        exporter: &Arc<Exporter>,
        agent: &str,
        session: &SessionId,
        exchange: &Exchange,
    ) -> Self {
        let attributes = vec![
            text("gen_ai.operation.name", "invoke_agent"),
            text("gen_ai.agent.name", agent),
            text("gen_ai.conversation.id", session),
        ];
        Self {
            exporter: Arc::clone(exporter),
            trace: random_hex::<16>(),
            run: Span::begin(format!("invoke_agent {agent}"), SERVER, attributes),
            model: exchange.model().to_string(),
            asking: None,
            calls: Vec::new(),
        }
    }

    /// Takes an event of the run.
    pub(crate) fn take(&mut self, record: &EventRecord) {
        match &record.event {
            // The events of a task say nothing about the model that this agent asks.
            Event::Asking { .. } if record.task.is_none() => {
                self.end_asking(None);
                let attributes =
                    vec![text("gen_ai.operation.name", "chat"), text("gen_ai.request.model", &self.model)];
                self.asking = Some(Span::begin(format!("chat {}", self.model), CLIENT, attributes));
            }
            Event::Cost(cost) if record.task.is_none() => {
                if let Some(span) = &mut self.asking {
                    span.attributes.push(number("gen_ai.usage.input_tokens", cost.last.input));
                    span.attributes.push(number("gen_ai.usage.output_tokens", cost.last.output));
                }
                self.end_asking(None);
            }
            Event::Retrying { .. } if record.task.is_none() => {
                self.end_asking(Some("the model did not answer".to_owned()));
            }
            Event::ToolStarted { id, name, .. } => {
                self.end_asking(None);
                let attributes =
                    vec![text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", name)];
                let span = Span::begin(format!("execute_tool {name}"), INTERNAL, attributes);
                self.calls.push((id.clone(), span));
            }
            Event::ToolFinished { id, output, end, .. } => {
                let Some(at) = self.calls.iter().position(|(call, _)| call == id) else { return };
                let (_, mut span) = self.calls.remove(at);
                span.failure = match end {
                    ToolEnd::Ran if output.is_error => Some("the tool failed".to_owned()),
                    ToolEnd::Ran => None,
                    other => Some(format!("{other:?}").to_lowercase()),
                };
                self.send(span);
            }
            Event::Finished(outcome) => {
                self.run.failure = match outcome {
                    Outcome::Failed(_) => Some("the run failed".to_owned()),
                    _ => None,
                };
                self.run.attributes.push(text("goose.outcome", name_of(outcome)));
            }
            _ => {}
        }
    }

    fn end_asking(&mut self, failure: Option<String>) {
        if let Some(mut span) = self.asking.take() {
            span.failure = failure;
            self.send(span);
        }
    }

    fn send(&self, span: Span) {
        let mut sent = json!({
            "traceId": self.trace,
            "spanId": span.id,
            "name": span.name,
            "kind": span.kind,
            "startTimeUnixNano": span.began.to_string(),
            "endTimeUnixNano": now().to_string(),
            "attributes": span.attributes,
        });
        if span.id != self.run.id {
            sent["parentSpanId"] = self.run.id.as_str().into();
        }
        if let Some(failure) = span.failure {
            sent["status"] = json!({"code": FAILED, "message": failure});
        }
        self.exporter.take(sent);
    }
}

impl Drop for RunTrace {
    fn drop(&mut self) {
        self.end_asking(None);
        for (_, span) in std::mem::take(&mut self.calls) {
            self.send(span);
        }
        let id = self.run.id.clone();
        let run =
            std::mem::replace(&mut self.run, Span { id, ..Span::begin(String::new(), SERVER, Vec::new()) });
        self.send(run);
    }
}

fn name_of(outcome: &Outcome) -> String {
    let value = serde_json::to_value(outcome).unwrap_or_default();
    value["outcome"].as_str().unwrap_or("unknown").to_owned()
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

fn random_hex<const BYTES: usize>() -> String {
    let mut bytes = [0; BYTES];
    // Ids of zeros are invalid, so a collector drops the span; nothing else depends on them.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
