//! [`Question`]: one request and its answer. The next call, or the final answer, is written within a
//! [`Form`]. Commands, files and answers about results are written in focused prompts, because a small
//! model does better with less text before it.

use std::{ops::ControlFlow, sync::Arc};

use async_trait::async_trait;
use goose_engine::Turn;
use goose_extension::Message;
use goose_providers::{
    Arguments, ProviderResult, ReplyEvent, Request, RequestOptions, StopReason, ToolCall, Usage,
};
use serde_json::{Value, json};

use crate::backend::{Backend, Completion, Prompt, TextSink};

use super::{
    events::EventSender,
    focus,
    form::Form,
    history,
    plan::{self, Goal, Plan},
    prompt,
    request_state::{MAX_AT_ONCE, RequestState, user_text},
    stream_parser::StreamParser,
    tools::{Capability, OfferedTool, Tools},
};

/// Default limit of an answer, in tokens.
const DEFAULT_ANSWER_TOKENS: usize = 2_048;

/// Id of a call. The conversation makes it unique.
pub(super) const CALL_ID: &str = "local";

/// Request in the form that a small model gets.
pub(super) struct Question {
    tools: Tools,
    messages: Vec<Arc<Message>>,
    options: RequestOptions,
    /// Turns that every conversation with these tools begins with.
    opening: Vec<Turn>,
    /// Turns of this conversation.
    turns: Vec<Turn>,
}

/// Continuation of a step outside of the conversation.
enum Focus {
    /// Read all files of a small folder first.
    Look,
    Answer(Vec<Turn>),
    /// Write the content of a file, or a command if there is no path.
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

    /// Writes the answer to `events`.
    pub(super) async fn answer(&self, backend: &mut dyn Backend, events: &EventSender) -> ProviderResult<()> {
        backend.prepare(self.conversation(None), &events.reporter()).await?;
        let mut writer = Writer { backend, events, usage: Usage::default() };
        let stop = match self.tools.offered.is_empty() {
            true => writer.forward(self.conversation(None)).await?,
            false => self.next_step(&mut writer).await?,
        };
        let _ = events.send(ReplyEvent::Usage(writer.usage)).await;
        let is_kept = stop == StopReason::EndTurn && !self.options.is_ephemeral;
        if let Some(conversation) = self.options.conversation.as_ref().filter(|_| is_kept) {
            writer.backend.remember(conversation);
        }
        let _ = events.send(ReplyEvent::Finished(stop)).await;
        Ok(())
    }

    /// Writes the next call, or the final answer.
    async fn next_step(&self, writer: &mut Writer<'_>) -> ProviderResult<StopReason> {
        let events = writer.events;
        let state = RequestState::new(&self.messages, &self.tools);
        let plan = self.plan(writer, &state).await?;
        let unread = state.unread(plan.goal() != Goal::Run);
        if !unread.is_empty() && self.tools.by_capability(Capability::Read).is_some() {
            return Ok(self.read(unread, &plan, events).await);
        }
        let form = Form::new(&self.tools, &state, &plan);
        let mut step = StepSink::new(self, Some((&state, &plan)), events);
        let completion = writer.write(self.conversation(Some(&form)), &mut step).await?;
        match step.focus.take() {
            None => return Ok(step.finish(&plan, &completion).await),
            Some(Focus::Look) => return Ok(self.read(state.names().collect(), &plan, events).await),
            Some(Focus::Answer(turns)) => {
                return writer.forward(self.detached(&turns, focus::MAX_ANSWER_TOKENS)).await;
            }
            Some(Focus::Call(path, turns)) => {
                let path = path.as_deref();
                let status = format!("writing {}", path.unwrap_or("a command"));
                let _ = events.send(ReplyEvent::Status(status)).await;
                let (favoured, max_tokens) = match path {
                    Some(_) => (None, usize::MAX),
                    None => (Some(focus::FAVOUR), focus::MAX_ANSWER_TOKENS),
                };
                let prompt = Prompt { favoured, ..self.detached(&turns, max_tokens) };
                // Models like to explain what they wrote. Only the first code block is used.
                let (text, is_cut) = writer.collect(prompt, |text| focus::block(text).is_some()).await?;
                if !is_cut
                    && let Some((capability, arguments)) = focus::call(path, &state, plan.goal(), &text)
                    && let Some(tool) = self.tools.by_capability(capability)
                {
                    return Ok(events.send_call(tool_call(CALL_ID, tool, arguments, &plan)).await);
                }
            }
        }
        // The focused prompt gave no usable call: the model writes the whole step in the conversation.
        let mut step = StepSink::new(self, None, events);
        let completion = writer.write(self.conversation(Some(&form)), &mut step).await?;
        Ok(step.finish(&plan, &completion).await)
    }

    /// Calls the tool that reads files, without asking the model.
    async fn read(&self, files: Vec<&str>, plan: &Plan, events: &EventSender) -> StopReason {
        let tool = self.tools.by_capability(Capability::Read);
        for (index, (tool, path)) in files.into_iter().filter_map(|path| Some((tool?, path))).enumerate() {
            let id = format!("{CALL_ID}-{index}");
            events.send_call(tool_call(&id, tool, json!({ "path": path }), plan)).await;
        }
        StopReason::ToolUse
    }

    /// Returns the plan of the request: from an earlier call, or from the model.
    async fn plan(&self, writer: &mut Writer<'_>, state: &RequestState<'_>) -> ProviderResult<Plan> {
        if let Some(plan) = state.steps.iter().find_map(|step| Plan::from_call(step.plan)) {
            return Ok(plan);
        }
        let (opening, turns) = (plan::opening(), [plan::question(&state.task)]);
        let prompt = Prompt {
            opening: &opening,
            favoured: Some(plan::FAVOUR),
            ..self.detached(&turns, plan::MAX_TOKENS)
        };
        let (reply, _) = writer.collect(prompt, |_| false).await?;
        Ok(Plan::new(&reply))
    }

    /// Returns the focused prompt that takes over, as soon as the written text shows which one it is.
    fn focus(&self, parser: &StreamParser<'_>, state: &RequestState<'_>, plan: &Plan) -> Option<Focus> {
        let capability = parser.tool().map(|tool| tool.capability);
        // Small models look at one file of a folder and guess the rest.
        let is_small = (1..=MAX_AT_ONCE).contains(&state.names().count());
        let may_look = plan.goal() != Goal::Run && is_small && state.steps.is_empty();
        let can_read = self.tools.by_capability(Capability::Read).is_some();
        if may_look && can_read && !matches!(capability, None | Some(Capability::Other)) {
            return Some(Focus::Look);
        }
        let changes = matches!(capability, Some(Capability::Edit | Capability::Write));
        // Planned files are written before the answer.
        let is_end = parser.is_answer() && plan.goal() != Goal::Answer;
        // What is to be run has to be there.
        let is_run = capability == Some(Capability::Run) && plan.goal() == Goal::Run;
        let rest = state.unwritten(plan).filter(|path| is_end || is_run && state.page(path).is_none());
        if let Some(path) = rest.map(str::to_owned).or_else(|| parser.path().filter(|_| changes)) {
            let turns = match state.page(&path) {
                Some(page) => focus::rewrite_prompt(page, state)?,
                None => focus::file_prompt(&path, state),
            };
            return Some(Focus::Call(Some(path), turns));
        }
        if capability == Some(Capability::Run) {
            return Some(Focus::Call(None, focus::command_prompt(state, plan.goal())));
        }
        // The output of a command is short, and the examples show how to report it.
        let has_found =
            state.steps.last().is_some_and(|step| step.capability != Capability::Run) && !state.has_written();
        (has_found && parser.is_answer()).then(|| Focus::Answer(focus::answer_prompt(state)))
    }

    /// Returns the conversation as a prompt.
    fn conversation<'a>(&'a self, form: Option<&'a Form>) -> Prompt<'a> {
        Prompt { opening: &self.opening, is_detached: false, form, ..self.detached(&self.turns, usize::MAX) }
    }

    /// Returns a prompt outside of the conversation.
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

fn tool_call(id: &str, tool: &OfferedTool, arguments: Value, plan: &Plan) -> ToolCall {
    let arguments = Arguments::Object(arguments.as_object().cloned().unwrap_or_default());
    ToolCall { id: id.to_owned(), name: tool.name.clone(), arguments, opaque: Some(plan.in_call()) }
}

/// Model and reader of one answer.
struct Writer<'a> {
    backend: &'a mut dyn Backend,
    events: &'a EventSender,
    /// Tokens so far. The input is that of the first prompt in the conversation.
    usage: Usage,
}

impl Writer<'_> {
    async fn write(&mut self, prompt: Prompt<'_>, sink: &mut dyn TextSink) -> ProviderResult<Completion> {
        let completion = self.backend.write(prompt, sink).await?;
        let first = if prompt.is_detached || self.usage.input > 0 { self.usage } else { completion.usage };
        self.usage = Usage { output: self.usage.output + completion.usage.output, ..first };
        Ok(completion)
    }

    /// Sends the text as it is written.
    async fn forward(&mut self, prompt: Prompt<'_>) -> ProviderResult<StopReason> {
        Ok(self.write(prompt, &mut self.events.clone()).await?.stop_reason())
    }

    /// Returns the text up to where it is enough, and true if it was cut off.
    async fn collect(
        &mut self,
        prompt: Prompt<'_>,
        is_enough: fn(&str) -> bool,
    ) -> ProviderResult<(String, bool)> {
        let mut sink = TextCollector { text: String::new(), is_enough };
        let completion = self.write(prompt, &mut sink).await?;
        Ok((sink.text, completion.why_cut().is_some()))
    }
}

/// Parser of a step while the model writes it. It sends the text of a final answer, and breaks as soon as a
/// focused prompt can take over.
struct StepSink<'a> {
    question: &'a Question,
    /// Basis for the choice of a focused prompt; none if the model writes the whole step.
    guide: Option<(&'a RequestState<'a>, &'a Plan)>,
    parser: StreamParser<'a>,
    /// Focused prompt that takes over.
    focus: Option<Focus>,
    events: &'a EventSender,
}

impl<'a> StepSink<'a> {
    fn new(
        question: &'a Question,
        guide: Option<(&'a RequestState<'a>, &'a Plan)>,
        events: &'a EventSender,
    ) -> Self {
        Self { question, guide, parser: StreamParser::new(&question.tools), focus: None, events }
    }

    /// Sends the call, or the rest of the answer.
    async fn finish(&self, plan: &Plan, completion: &Completion) -> StopReason {
        let text = self.parser.plain_text();
        if let Some(text) = text {
            let _ = self.events.send(ReplyEvent::Text(text.to_owned())).await;
        }
        if text.is_some() || self.parser.is_answer() {
            return completion.stop_reason();
        }
        let mut call = self.parser.call(CALL_ID, completion.why_cut());
        call.opaque = Some(plan.in_call());
        self.events.send_call(call).await
    }
}

#[async_trait]
impl TextSink for StepSink<'_> {
    async fn push(&mut self, text: &str) -> ControlFlow<()> {
        self.parser.push(text);
        self.focus = self.guide.and_then(|(state, plan)| self.question.focus(&self.parser, state, plan));
        if self.focus.is_some() {
            return ControlFlow::Break(());
        }
        match self.parser.new_text() {
            Some(text) => self.events.send(ReplyEvent::Text(text)).await,
            None => ControlFlow::Continue(()),
        }
    }
}

/// Collects text until it is enough.
struct TextCollector {
    text: String,
    is_enough: fn(&str) -> bool,
}

#[async_trait]
impl TextSink for TextCollector {
    async fn push(&mut self, text: &str) -> ControlFlow<()> {
        self.text.push_str(text);
        if (self.is_enough)(&self.text) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Returns the limit of an answer, in tokens.
pub(super) fn max_tokens(options: &RequestOptions) -> usize {
    options.max_tokens.map_or(DEFAULT_ANSWER_TOKENS, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
