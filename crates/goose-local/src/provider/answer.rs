//! One request and its answer: the next call, or the final answer, is written within a [`Form`]; what a small model does better
//! with less before it is written in a prompt of its own.

use std::{ops::ControlFlow, sync::Arc};

use goose_engine::{Ended, Speaker, Turn};
use goose_extension::Message;
use goose_providers::{
    Arguments, ProviderResult, ReplyEvent, Request, RequestOptions, StopReason, ToolCall, Usage,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;

use super::{
    backend::{Backend, Prompt, Report, Written},
    focus,
    form::Form,
    goals::{self, Goal, Goals},
    history, prompt,
    reading::Reading,
    situation::{Situation, asked},
    tools::{Does, Offered, Tools},
};

/// The longest answer if the request sets no limit, in tokens.
const DEFAULT_ANSWER_TOKENS: usize = 2_048;

/// The room for events of one answer that are not read yet.
const MIN_EVENTS: usize = 1_000;
const MAX_EVENTS: usize = 1_000_000;

pub(super) type Events = Sender<ProviderResult<ReplyEvent>>;

/// A request, made small.
pub(super) struct Question {
    id: String,
    tools: Tools,
    messages: Vec<Arc<Message>>,
    options: RequestOptions,
    goals: Goals,
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
    pub(super) fn new(request: Request<'_>, id: String, goals: Goals) -> Self {
        let requests: Vec<String> = request.messages.iter().map(|message| asked(message)).collect();
        let tools = Tools::new(request.tools, &requests);
        let (opening, before) = match tools.offered.is_empty() {
            true => (vec![Turn { speaker: Speaker::System, text: request.system.to_owned() }], String::new()),
            false => prompt::opening(&tools, request.system),
        };
        let turns = history::turns(&tools, &before, request.messages);
        let (messages, options) = (request.messages.to_vec(), request.options.clone());
        Self { id, tools, messages, options, goals, opening, turns }
    }

    fn max_tokens(&self) -> usize {
        max_tokens(&self.options)
    }

    /// Answers with events.
    pub(super) async fn answer(&self, backend: &mut dyn Backend, events: &Events) -> ProviderResult<()> {
        // Without a receiver the task that runs this is ended.
        let send = |event: ReplyEvent| drop(events.try_send(Ok(event)));
        let mut usage = Usage::default();
        let reporting = events.clone();
        let report: Report = Arc::new(move |status| drop(reporting.try_send(Ok(ReplyEvent::Status(status)))));
        backend.prepare(self.prompt(&self.opening, &self.turns, None, self.max_tokens()), &report).await?;
        let stop = if self.tools.offered.is_empty() {
            let prompt = self.prompt(&self.opening, &self.turns, None, self.max_tokens());
            let written = self.write_text(backend, prompt, &send).await?;
            add(&mut usage, &written);
            stop_reason(&written)
        } else {
            self.next_step(backend, &send, &mut usage).await?
        };
        send(ReplyEvent::Usage(usage));
        if let (StopReason::EndTurn, Some(conversation)) =
            (&stop, self.options.conversation.as_deref().filter(|_| !self.options.is_ephemeral))
        {
            backend.remember(conversation);
        }
        send(ReplyEvent::Finished(stop));
        Ok(())
    }

    async fn next_step(
        &self,
        backend: &mut dyn Backend,
        send: &(dyn Fn(ReplyEvent) + Sync),
        usage: &mut Usage,
    ) -> ProviderResult<StopReason> {
        let situation = Situation::new(&self.messages, &self.tools);
        if let Some((path, tool)) = situation.unread().zip(self.tools.that(Does::Read)) {
            self.send_call(tool, json!({ "path": path }), send);
            return Ok(StopReason::ToolUse);
        }
        let goal = self.goal(backend, &situation, usage).await?;
        self.goals.set(&self.id, goal);
        let mut form = Form::new(&self.tools, &situation, goal);
        let mut may_focus = true;
        loop {
            let mut reading = Reading::new(&self.tools);
            let mut focus = None;
            let prompt = self.prompt(&self.opening, &self.turns, Some(&form), self.max_tokens());
            let written = backend
                .write(prompt, &mut |text| {
                    reading.push(text);
                    focus = self.focus(&reading, &situation).filter(|_| may_focus);
                    if focus.is_some() {
                        return ControlFlow::Break(());
                    }
                    if let Some(text) = reading.new_text() {
                        send(ReplyEvent::Text(text));
                    }
                    ControlFlow::Continue(())
                })
                .await?;
            add(usage, &written);
            match focus {
                None if reading.is_answer() => return Ok(stop_reason(&written)),
                None if reading.plain_text().is_some() => {
                    send(ReplyEvent::Text(reading.plain_text().unwrap_or_default().to_owned()));
                    return Ok(stop_reason(&written));
                }
                None => {
                    let call = reading.call(&self.id, why_cut(&written, self.max_tokens()).as_deref());
                    send(ReplyEvent::CallStarted { id: call.id.clone(), name: call.name.clone() });
                    send(ReplyEvent::Call(call));
                    return Ok(StopReason::ToolUse);
                }
                Some(Focus::Answer(turns)) => {
                    let most = focus::MAX_ANSWER_TOKENS.min(self.max_tokens());
                    let written =
                        self.write_text(backend, self.prompt(&[], &turns, None, most), send).await?;
                    usage.output += written.usage.output;
                    return Ok(stop_reason(&written));
                }
                Some(Focus::File(path, turns)) => {
                    send(ReplyEvent::Status(format!("writing {path}")));
                    let (answer, written) =
                        write_all(backend, self.prompt(&[], &turns, None, self.max_tokens())).await?;
                    usage.output += written.usage.output;
                    let call = focus::call(&path, situation.page(&path), &answer);
                    if let Some((tool, arguments)) =
                        call.and_then(|(does, it)| Some((self.tools.that(does)?, it)))
                    {
                        self.send_call(tool, arguments, send);
                        return Ok(StopReason::ToolUse);
                    }
                    // It changed nothing, or too much: the change quotes the file instead.
                    form = Form::edit_of(&self.tools, &situation, &path).unwrap_or(form);
                }
            }
            may_focus = false;
        }
    }

    /// The goal of the request: as stated before, or else as the model says now.
    async fn goal(
        &self,
        backend: &mut dyn Backend,
        situation: &Situation<'_>,
        usage: &mut Usage,
    ) -> ProviderResult<Goal> {
        if let Some(goal) = situation.steps.iter().find_map(|step| self.goals.get(step.id)) {
            return Ok(goal);
        }
        let (opening, turns) = (goals::opening(), [goals::question(&situation.task)]);
        let prompt = Prompt {
            is_apart: true,
            favoured: Some(goals::FAVOUR),
            ..self.prompt(&opening, &turns, None, goals::MAX_TOKENS)
        };
        let (reply, written) = write_all(backend, prompt).await?;
        usage.output += written.usage.output;
        Ok(Goal::from_reply(&reply))
    }

    /// The prompt of its own in which this goes on, as soon as that is clear.
    fn focus(&self, reading: &Reading<'_>, situation: &Situation<'_>) -> Option<Focus> {
        if reading.is_answer() {
            let has_found = !situation.steps.is_empty() && !situation.has_changed(&self.tools);
            return (has_found && !situation.has_just_run(&self.tools))
                .then(|| Focus::Answer(focus::answering(situation, &self.tools)));
        }
        let changes = reading.tool().is_some_and(|tool| matches!(tool.does, Does::Edit | Does::Write));
        let path = reading.path().filter(|_| changes)?;
        let turns = match situation.page(&path) {
            Some(page) => focus::rewriting(page, &situation.task)?,
            None => focus::creating(&path, situation, &self.tools),
        };
        Some(Focus::File(path, turns))
    }

    fn prompt<'a>(
        &self,
        opening: &'a [Turn],
        turns: &'a [Turn],
        form: Option<&'a Form>,
        max_tokens: usize,
    ) -> Prompt<'a> {
        Prompt {
            opening,
            turns,
            is_apart: opening.is_empty(),
            form,
            favoured: None,
            max_tokens,
            temperature: self.options.temperature.unwrap_or(0.0),
        }
    }

    async fn write_text(
        &self,
        backend: &mut dyn Backend,
        prompt: Prompt<'_>,
        send: &(dyn Fn(ReplyEvent) + Sync),
    ) -> ProviderResult<Written> {
        let mut hand_out = |text: &str| {
            send(ReplyEvent::Text(text.to_owned()));
            ControlFlow::Continue(())
        };
        backend.write(prompt, &mut hand_out).await
    }

    fn send_call(&self, tool: &Offered, arguments: Value, send: &(dyn Fn(ReplyEvent) + Sync)) {
        let (id, name) = (self.id.clone(), tool.name.clone());
        send(ReplyEvent::CallStarted { id: id.clone(), name: name.clone() });
        let arguments = Arguments::Object(arguments.as_object().cloned().unwrap_or_default());
        send(ReplyEvent::Call(ToolCall { id, name, arguments, opaque: None }));
    }
}

/// Writes a text that is used as a whole.
async fn write_all(backend: &mut dyn Backend, prompt: Prompt<'_>) -> ProviderResult<(String, Written)> {
    let mut all = String::new();
    let mut keep = |text: &str| {
        all.push_str(text);
        ControlFlow::Continue(())
    };
    let written = backend.write(prompt, &mut keep).await?;
    Ok((all, written))
}

/// The longest answer, in tokens.
pub(super) fn max_tokens(options: &RequestOptions) -> usize {
    options.max_tokens.map_or(DEFAULT_ANSWER_TOKENS, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

/// The most events of an answer: one for each token of a call and of what is written apart, and some about its progress.
pub(super) fn max_events(options: &RequestOptions) -> usize {
    max_tokens(options).saturating_mul(2).clamp(MIN_EVENTS, MAX_EVENTS)
}

/// Counts what was written in the conversation. Of a prompt apart from it only the output counts: its input fills no context.
fn add(usage: &mut Usage, written: &Written) {
    usage.input = written.usage.input;
    usage.cached_input = written.usage.cached_input;
    usage.output += written.usage.output;
}

/// Why a call is not whole.
fn why_cut(written: &Written, most: usize) -> Option<String> {
    match written.ended {
        Ended::Complete | Ended::Cancelled => None,
        Ended::TooLong => Some(format!(
            "The call was cut off after {most} tokens, so nothing was done. Do it in smaller pieces"
        )),
        Ended::GoesRound => Some(
            "The call repeated itself without end, so it was cut off and nothing was done. Do it in another way"
                .to_owned(),
        ),
    }
}

pub(super) fn stop_reason(written: &Written) -> StopReason {
    match written.ended {
        Ended::Complete | Ended::Cancelled => StopReason::EndTurn,
        Ended::TooLong => StopReason::MaxTokens,
        Ended::GoesRound => StopReason::Other("the text repeated itself without end".to_owned()),
    }
}
