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

use crate::backend::{Backend, Completion, Prompt, Report};

use super::{
    focus,
    form::Form,
    history,
    plan::{self, Goal, Plan},
    prompt,
    request_state::{MAX_AT_ONCE, RequestState, user_text},
    stream_parser::StreamParser,
    tools::{Capability, OfferedTool, Tools},
};

/// The longest answer if the request sets no limit, in tokens.
const DEFAULT_ANSWER_TOKENS: usize = 2_048;

/// The room for events of one answer that are not read yet: more than an answer has tokens, so sending never waits.
pub(super) const MAX_EVENTS: usize = 1_000_000;

/// The id of a call, which the conversation makes unique.
pub(super) const CALL_ID: &str = "local";

pub(super) type Events = Sender<ProviderResult<ReplyEvent>>;

type Send<'a> = dyn Fn(ReplyEvent) + Sync + 'a;

/// A request, made small.
pub(super) struct Question {
    tools: Tools,
    messages: Vec<Arc<Message>>,
    options: RequestOptions,
    /// The turns that every conversation with these tools begins with.
    opening: Vec<Turn>,
    /// The conversation.
    turns: Vec<Turn>,
}

/// The next thing, where that is not left to the conversation: mostly a prompt of its own.
enum Focus {
    /// First the files of a small folder are read.
    Look,
    Answer(Vec<Turn>),
    /// For the content of a file, or else for a command.
    Call(Option<String>, Vec<Turn>),
}

impl Question {
    pub(super) fn new(request: Request<'_>) -> Self {
        let requests: Vec<String> = request.messages.iter().map(|message| user_text(message)).collect();
        let tools = Tools::new(request.tools, &requests);
        let (opening, before) = prompt::opening(&tools, request.system);
        let turns = history::turns(&tools, &before, request.messages);
        Self { tools, messages: request.messages.to_vec(), options: request.options.clone(), opening, turns }
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
            let (_, written) = collect(backend, self.conversation(None), Some(&send), |_| false).await?;
            usage = written.usage;
            written.stop_reason()
        } else {
            self.next_step(backend, &send, &mut usage).await?
        };
        send(ReplyEvent::Usage(usage));
        let is_kept = stop == StopReason::EndTurn && !self.options.is_ephemeral;
        if let Some(conversation) = self.options.conversation.as_ref().filter(|_| is_kept) {
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
        let state = RequestState::new(&self.messages, &self.tools);
        let plan = self.plan(backend, &state, usage).await?;
        let unread = state.unread(plan.goal() != Goal::Run);
        if !unread.is_empty() && self.tools.by_capability(Capability::Read).is_some() {
            return Ok(self.read(unread.into_iter(), &plan, send));
        }
        let form = Form::new(&self.tools, &state, &plan);
        let mut may_focus = true;
        loop {
            let mut parser = StreamParser::new(&self.tools);
            let mut focus = None;
            let mut read = |text: &str| {
                parser.push(text);
                focus = may_focus.then(|| self.focus(&parser, &state, &plan)).flatten();
                if let Some(text) = parser.new_text().filter(|_| focus.is_none()) {
                    send(ReplyEvent::Text(text));
                }
                if focus.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let written = backend.write(self.conversation(Some(&form)), &mut read).await?;
            // The second time, the conversation is known from the first.
            let input = if may_focus { written.usage } else { *usage };
            *usage = Usage { output: usage.output + written.usage.output, ..input };
            match focus {
                None => {
                    let text = parser.plain_text();
                    text.into_iter().for_each(|text| send(ReplyEvent::Text(text.to_owned())));
                    if text.is_some() || parser.is_answer() {
                        return Ok(written.stop_reason());
                    }
                    let mut call = parser.call(CALL_ID, written.why_cut());
                    call.opaque = Some(plan.in_call());
                    return Ok(send_call(call, send));
                }
                Some(Focus::Look) => return Ok(self.read(state.names(), &plan, send)),
                Some(Focus::Answer(turns)) => {
                    let prompt = self.detached(&turns, focus::MAX_ANSWER_TOKENS);
                    let (_, written) = collect(backend, prompt, Some(send), |_| false).await?;
                    usage.output += written.usage.output;
                    return Ok(written.stop_reason());
                }
                Some(Focus::Call(path, turns)) => {
                    let path = path.as_deref();
                    send(ReplyEvent::Status(format!("writing {}", path.unwrap_or("a command"))));
                    let most = path.map_or(focus::MAX_ANSWER_TOKENS, |_| usize::MAX);
                    // Models like to explain what they wrote; only the block is used.
                    let is_enough = |text: &str| focus::block(text).is_some();
                    let (answer, written) =
                        collect(backend, self.detached(&turns, most), None, is_enough).await?;
                    usage.output += written.usage.output;
                    if written.why_cut().is_none()
                        && let Some((capability, arguments)) = focus::call(path, &state, plan.goal(), &answer)
                        && let Some(tool) = self.tools.by_capability(capability)
                    {
                        return Ok(send_call(called(CALL_ID, tool, arguments, &plan), send));
                    }
                    // It is of no use: the model goes on by itself, and quotes the file.
                    may_focus = false;
                }
            }
        }
    }

    /// Reads files without the model's doing.
    fn read<'a>(&self, files: impl Iterator<Item = &'a str>, plan: &Plan, send: &Send<'_>) -> StopReason {
        let tool = self.tools.by_capability(Capability::Read);
        for (index, (tool, path)) in files.filter_map(|path| Some((tool?, path))).enumerate() {
            send_call(called(&format!("{CALL_ID}-{index}"), tool, json!({ "path": path }), plan), send);
        }
        StopReason::ToolUse
    }

    /// The plan for the request: as stated before, or else as the model says now.
    async fn plan(
        &self,
        backend: &mut dyn Backend,
        state: &RequestState<'_>,
        usage: &mut Usage,
    ) -> ProviderResult<Plan> {
        if let Some(plan) = state.steps.iter().find_map(|step| Plan::from_call(step.plan)) {
            return Ok(plan);
        }
        let (opening, turns) = (plan::opening(), [plan::question(&state.task)]);
        let prompt = Prompt {
            opening: &opening,
            favoured: Some(plan::FAVOUR),
            ..self.detached(&turns, plan::MAX_TOKENS)
        };
        let (reply, written) = collect(backend, prompt, None, |_| false).await?;
        usage.output += written.usage.output;
        Ok(Plan::new(&reply))
    }

    /// The prompt of its own in which this goes on, as soon as that is clear.
    fn focus(&self, parser: &StreamParser<'_>, state: &RequestState<'_>, plan: &Plan) -> Option<Focus> {
        let capability = parser.tool().map(|tool| tool.capability);
        // Small models look at one file of a folder and guess the rest.
        let is_small = (1..=MAX_AT_ONCE).contains(&state.names().count());
        let is_look =
            capability.is_some_and(|capability| capability != Capability::Other) && state.steps.is_empty();
        if plan.goal() != Goal::Run
            && is_look
            && is_small
            && self.tools.by_capability(Capability::Read).is_some()
        {
            return Some(Focus::Look);
        }
        let changes = matches!(capability, Some(Capability::Edit | Capability::Write));
        // The rest of the plan comes before the answer.
        let is_end = parser.is_answer() && plan.goal() != Goal::Answer;
        let rest = is_end.then(|| state.unwritten(plan)).flatten();
        if let Some(path) = rest.map(str::to_owned).or_else(|| parser.path().filter(|_| changes)) {
            let turns = match state.page(&path) {
                Some(page) => focus::rewriting(page, state)?,
                None => focus::creating(&path, state),
            };
            return Some(Focus::Call(Some(path), turns));
        }
        if capability == Some(Capability::Run) {
            return Some(Focus::Call(None, focus::running(state, plan.goal())));
        }
        // What a command printed is short, and the examples show how to tell it.
        let has_found = state.steps.last().is_some_and(|step| step.capability != Capability::Run)
            && !state.has_done(&[Capability::Edit, Capability::Write]);
        (has_found && parser.is_answer()).then(|| Focus::Answer(focus::answering(state)))
    }

    /// The conversation, to be continued within a form.
    fn conversation<'a>(&'a self, form: Option<&'a Form>) -> Prompt<'a> {
        Prompt { opening: &self.opening, is_detached: false, form, ..self.detached(&self.turns, usize::MAX) }
    }

    /// A prompt apart from the conversation.
    fn detached<'a>(&self, turns: &'a [Turn], max_tokens: usize) -> Prompt<'a> {
        Prompt {
            opening: &[],
            turns,
            is_detached: true,
            form: None,
            favoured: None,
            max_tokens: max_tokens.min(self::max_tokens(&self.options)),
            temperature: self.options.temperature.unwrap_or(0.0),
        }
    }
}

fn called(id: &str, tool: &OfferedTool, arguments: Value, plan: &Plan) -> ToolCall {
    let arguments = Arguments::Object(arguments.as_object().cloned().unwrap_or_default());
    ToolCall { id: id.to_owned(), name: tool.name.clone(), arguments, opaque: Some(plan.in_call()) }
}

/// Sends a call.
pub(super) fn send_call(call: ToolCall, send: &Send<'_>) -> StopReason {
    send(ReplyEvent::CallStarted { id: call.id.clone(), name: call.name.clone() });
    send(ReplyEvent::Call(call));
    StopReason::ToolUse
}

/// Writes a text without a form until that is enough, and returns it; with `send` it is handed out as it comes.
async fn collect(
    backend: &mut dyn Backend,
    prompt: Prompt<'_>,
    send: Option<&Send<'_>>,
    is_enough: fn(&str) -> bool,
) -> ProviderResult<(String, Completion)> {
    let mut all = String::new();
    let mut keep = |text: &str| {
        send.into_iter().for_each(|send| send(ReplyEvent::Text(text.to_owned())));
        all.push_str(text);
        if is_enough(&all) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let written = backend.write(prompt, &mut keep).await?;
    Ok((all, written))
}

/// The longest answer, in tokens.
pub(super) fn max_tokens(options: &RequestOptions) -> usize {
    options.max_tokens.map_or(DEFAULT_ANSWER_TOKENS, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
