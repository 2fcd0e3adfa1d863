//! One request and its answer: the next call, or the final answer, is written within a [`Form`]; what a small model does better
//! with less before it is written in a prompt of its own.

use std::{ops::ControlFlow, sync::Arc};

use goose_engine::Turn;
use goose_extension::Message;
use goose_providers::{
    Arguments, ProviderResult, ReplyEvent, Request, RequestOptions, StopReason, ToolCall, Usage,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;

use crate::backend::{Backend, Prompt, Report};

use super::{
    focus,
    form::Form,
    goals::{self, Goal},
    history, prompt,
    reading::Reading,
    situation::{Situation, asked},
    tools::{Does, Offered, Tools},
};

/// The longest answer if the request sets no limit, in tokens.
const DEFAULT_ANSWER_TOKENS: usize = 2_048;

/// The room for events of one answer that are not read yet: more than an answer has tokens, so sending never waits.
pub(super) const MAX_EVENTS: usize = 1_000_000;

pub(super) type Events = Sender<ProviderResult<ReplyEvent>>;

type Send<'a> = dyn Fn(ReplyEvent) + Sync + 'a;

/// A request, made small.
pub(super) struct Question {
    id: String,
    tools: Tools,
    messages: Vec<Arc<Message>>,
    options: RequestOptions,
    /// The turns that every conversation with these tools begins with.
    opening: Vec<Turn>,
    /// The conversation.
    turns: Vec<Turn>,
}

/// A prompt of its own in which the answer goes on.
enum Focus {
    Answer(Vec<Turn>),
    File(String, Vec<Turn>),
}

impl Question {
    pub(super) fn new(request: Request<'_>, id: String) -> Self {
        let requests: Vec<String> = request.messages.iter().map(|message| asked(message)).collect();
        let tools = Tools::new(request.tools, &requests);
        let (opening, before) = prompt::opening(&tools, request.system);
        let turns = history::turns(&tools, &before, request.messages);
        let (messages, options) = (request.messages.to_vec(), request.options.clone());
        Self { id, tools, messages, options, opening, turns }
    }

    /// Answers with events.
    pub(super) async fn answer(&self, backend: &mut dyn Backend, events: &Events) -> ProviderResult<()> {
        // Without a receiver the task that runs this is ended.
        let send = |event: ReplyEvent| drop(events.try_send(Ok(event)));
        let reporting = events.clone();
        let report: Report = Arc::new(move |status| drop(reporting.try_send(Ok(ReplyEvent::Status(status)))));
        backend.prepare(self.conversation(None), &report).await?;
        let mut usage = Usage::default();
        let stop = if self.tools.offered.is_empty() {
            let written = backend.write(self.conversation(None), &mut hand_out(&send)).await?;
            usage = written.usage;
            written.stop_reason()
        } else {
            self.next_step(backend, &send, &mut usage).await?
        };
        send(ReplyEvent::Usage(usage));
        if let (StopReason::EndTurn, false, Some(conversation)) =
            (&stop, self.options.is_ephemeral, &self.options.conversation)
        {
            backend.remember(conversation);
        }
        send(ReplyEvent::Finished(stop));
        Ok(())
    }

    async fn next_step(
        &self,
        backend: &mut dyn Backend,
        send: &Send<'_>,
        usage: &mut Usage,
    ) -> ProviderResult<StopReason> {
        let situation = Situation::new(&self.messages, &self.tools);
        if let Some((path, tool)) = situation.unread().zip(self.tools.that(Does::Read)) {
            return Ok(send_call(called(self.id.clone(), tool, json!({ "path": path })), send));
        }
        let goal = self.goal(backend, &situation, usage).await?;
        let id = goal.in_id(&self.id);
        let mut form = Form::new(&self.tools, &situation, goal);
        let mut may_focus = true;
        loop {
            let mut reading = Reading::new(&self.tools);
            let mut focus = None;
            let mut read = |text: &str| {
                reading.push(text);
                focus = self.focus(&reading, &situation).filter(|_| may_focus);
                reading
                    .new_text()
                    .filter(|_| focus.is_none())
                    .into_iter()
                    .for_each(|text| send(ReplyEvent::Text(text)));
                if focus.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let written = backend.write(self.conversation(Some(&form)), &mut read).await?;
            *usage = Usage { output: usage.output + written.usage.output, ..written.usage };
            match focus {
                None => {
                    if reading.is_answer() {
                        return Ok(written.stop_reason());
                    } else if let Some(text) = reading.plain_text() {
                        send(ReplyEvent::Text(text.to_owned()));
                        return Ok(written.stop_reason());
                    }
                    let call = reading.call(&id, written.why_cut());
                    send_call(call.clone(), send);
                    self.look_around(&situation, goal, &call, send);
                    return Ok(StopReason::ToolUse);
                }
                Some(Focus::Answer(turns)) => {
                    let written = backend
                        .write(self.apart(&turns, focus::MAX_ANSWER_TOKENS), &mut hand_out(send))
                        .await?;
                    usage.output += written.usage.output;
                    return Ok(written.stop_reason());
                }
                Some(Focus::File(path, turns)) => {
                    send(ReplyEvent::Status(format!("writing {path}")));
                    let answer = collect(backend, self.apart(&turns, usize::MAX), usage).await?;
                    let page = situation.page(&path);
                    if let Some((does, arguments)) = focus::call(&path, page, &answer)
                        && let Some(tool) = self.tools.that(does)
                    {
                        return Ok(send_call(called(id, tool, arguments), send));
                    }
                    // It changed nothing: the change quotes the file instead.
                    form = page.and_then(|page| Form::edit_of(&self.tools, page)).unwrap_or(form);
                    may_focus = false;
                }
            }
        }
    }

    /// In a small folder, the first look for an answer is at all files: small models look at one and guess the rest. `own` is the
    /// model's own look.
    fn look_around(&self, situation: &Situation<'_>, goal: Goal, own: &ToolCall, send: &Send<'_>) {
        let few = situation.few_files().filter(|_| goal == Goal::Answer && situation.steps.is_empty());
        let Some((files, tool)) = few.zip(self.tools.that(Does::Read)) else { return };
        for (index, file) in files.iter().enumerate() {
            let id = goal.in_id(&format!("{}-{index}", self.id));
            let call = called(id, tool, json!({ "path": file }));
            if (&call.name, &call.arguments) != (&own.name, &own.arguments) {
                send_call(call, send);
            }
        }
    }

    /// The goal of the request: as stated before, or else as the model says now.
    async fn goal(
        &self,
        backend: &mut dyn Backend,
        situation: &Situation<'_>,
        usage: &mut Usage,
    ) -> ProviderResult<Goal> {
        if let Some(goal) = situation.steps.iter().find_map(|step| Goal::from_id(step.id)) {
            return Ok(goal);
        }
        let (opening, turns) = (goals::opening(), [goals::question(&situation.task)]);
        let prompt = Prompt {
            opening: &opening,
            favoured: Some(goals::FAVOUR),
            ..self.apart(&turns, goals::MAX_TOKENS)
        };
        Ok(Goal::from_reply(&collect(backend, prompt, usage).await?))
    }

    /// The prompt of its own in which this goes on, as soon as that is clear.
    fn focus(&self, reading: &Reading<'_>, situation: &Situation<'_>) -> Option<Focus> {
        if reading.is_answer() {
            // What a command printed is short, and the examples show how to tell it.
            let has_found = situation.steps.last().is_some_and(|step| step.does != Does::Run)
                && !situation.has_done(&[Does::Edit, Does::Write]);
            return has_found.then(|| Focus::Answer(focus::answering(situation, &self.tools)));
        }
        let changes = reading.tool().is_some_and(|tool| matches!(tool.does, Does::Edit | Does::Write));
        let path = reading.path().filter(|_| changes)?;
        let turns = match situation.page(&path) {
            Some(page) => focus::rewriting(page, situation, &self.tools)?,
            None => focus::creating(&path, situation, &self.tools),
        };
        Some(Focus::File(path, turns))
    }

    /// The conversation, to be continued within a form.
    fn conversation<'a>(&'a self, form: Option<&'a Form>) -> Prompt<'a> {
        Prompt { opening: &self.opening, is_apart: false, form, ..self.apart(&self.turns, usize::MAX) }
    }

    /// A prompt apart from the conversation.
    fn apart<'a>(&self, turns: &'a [Turn], max_tokens: usize) -> Prompt<'a> {
        Prompt {
            opening: &[],
            turns,
            is_apart: true,
            form: None,
            favoured: None,
            max_tokens: max_tokens.min(self::max_tokens(&self.options)),
            temperature: self.options.temperature.unwrap_or(0.0),
        }
    }
}

fn hand_out<'a>(send: &'a Send<'_>) -> impl FnMut(&str) -> ControlFlow<()> + 'a {
    |text| {
        send(ReplyEvent::Text(text.to_owned()));
        ControlFlow::Continue(())
    }
}

fn called(id: String, tool: &Offered, arguments: Value) -> ToolCall {
    let arguments = Arguments::Object(arguments.as_object().cloned().unwrap_or_default());
    ToolCall { id, name: tool.name.clone(), arguments, opaque: None }
}

/// Sends a call.
pub(super) fn send_call(call: ToolCall, send: &Send<'_>) -> StopReason {
    send(ReplyEvent::CallStarted { id: call.id.clone(), name: call.name.clone() });
    send(ReplyEvent::Call(call));
    StopReason::ToolUse
}

/// Writes a text that is used as a whole, apart from the conversation: only its output counts, as its input fills no context.
async fn collect(backend: &mut dyn Backend, prompt: Prompt<'_>, usage: &mut Usage) -> ProviderResult<String> {
    let mut all = String::new();
    let mut keep = |text: &str| {
        all.push_str(text);
        ControlFlow::Continue(())
    };
    usage.output += backend.write(prompt, &mut keep).await?.usage.output;
    Ok(all)
}

/// The longest answer, in tokens.
pub(super) fn max_tokens(options: &RequestOptions) -> usize {
    options.max_tokens.map_or(DEFAULT_ANSWER_TOKENS, |most| usize::try_from(most).unwrap_or(usize::MAX))
}
