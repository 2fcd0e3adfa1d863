//! One question and its answer, on a thread that may block.

use std::cell::RefCell;

use goose_engine::{
    EngineError, GenerateError, Generated, LoadedModel, Sampling, Speaker, Turn, WriteOptions, common_prefix,
};
use goose_providers::{ProviderError, ProviderResult, ReplyEvent, Request, StopReason, ToolCall, Usage};
use tokio::sync::mpsc::Sender;

use super::{
    blind::Blind,
    claims::{Claims, Doubt},
    engine::refused,
    form::Form,
    history::turns,
    known::EDIT,
    named,
    offer::Offer,
    plain::{self, Plain},
    progress::Progress,
    prompt,
    reading::Reading,
    removal, renamed,
    rewrite::{self, Rewrite},
    seen::Seen,
    steps::{asked, last_asked},
    voice::Voice,
};

/// How long an answer may get where nobody says otherwise, in tokens.
const DEFAULT_ANSWER: usize = 2_048;

/// How much room an answer needs at least, in tokens.
const LEAST_ANSWER: usize = 256;

pub(super) type Events = Sender<ProviderResult<ReplyEvent>>;

/// What is asked, made small.
pub(super) struct Question {
    pub(super) id: String,
    pub(super) offer: Offer,
    turns: Vec<Turn>,
    /// What the turns begin with before anybody says something.
    opening: Vec<Turn>,
    /// What a person asked last.
    task: String,
    /// Whether the model was told that something is only to be removed.
    is_told: bool,
    /// What was seen of the files.
    seen: Seen,
    /// What is not changed unseen.
    blind: Blind,
    /// What may be claimed.
    pub(super) claims: Claims,
    progress: Progress,
    /// A file that was named and not looked at.
    unlooked: Option<String>,
    /// What can be answered in plain words.
    plain: Option<Plain>,
    /// What the answer must fit; none where it is free text.
    pub(super) form: Option<Form>,
    sampling: Sampling,
    longest: usize,
    conversation: Option<String>,
}

/// The question as tokens.
pub(super) struct Prompt {
    tokens: Vec<u32>,
    /// How many tokens at the beginning are the same in every conversation.
    base: usize,
    /// How long the answer may get.
    room: usize,
}

impl Question {
    pub(super) fn of(request: Request<'_>, id: String) -> Self {
        let asked: Vec<String> = request.messages.iter().map(|message| asked(message)).collect();
        let offer = Offer::of(request.tools, &asked);
        let has_tools = !offer.tools.is_empty();
        let (opening, surroundings) = match has_tools {
            true => {
                let opening = prompt::opening(&offer);
                let surroundings = prompt::before_the_task(&opening, request.system);
                (opening, surroundings)
            }
            false => {
                (vec![Turn { speaker: Speaker::System, text: request.system.to_owned() }], String::new())
            }
        };
        let turns = turns(&offer, opening.clone(), &surroundings, request.messages);
        let seen = Seen::of(request.messages);
        let progress = Progress::of(request.messages, &seen);
        let unlooked = named::unlooked(request.messages, &seen).filter(|_| offer.can_read());
        // After one file was changed, the next that was named is looked at.
        let next = unlooked.as_deref().filter(|_| progress.has_changed && progress.unfinished.is_none());
        let next = next.and_then(|file| Form::read(&offer, file));
        let form = has_tools.then(|| next.unwrap_or_else(|| Form::of(&offer, &progress, &seen)));
        let plain = Plain::of(request.messages);
        let mut claims = Claims::of(request.messages, &seen, request.system, plain.as_ref());
        let in_doubt = Doubt::Unfounded(String::new());
        claims.can_go_on &= Form::instead(&offer, &progress, &seen, in_doubt).is_some();
        let options = request.options;
        let sampling = Sampling { temperature: options.temperature.unwrap_or(0.0), ..Sampling::default() };
        let longest =
            options.max_tokens.map_or(DEFAULT_ANSWER, |most| usize::try_from(most).unwrap_or(usize::MAX));
        Self {
            id,
            offer,
            turns,
            opening,
            task: last_asked(request.messages),
            is_told: removal::is_told(request.messages),
            blind: Blind::of(request.messages),
            unlooked,
            claims,
            plain,
            seen,
            progress,
            form,
            sampling,
            longest,
            conversation: options.conversation.clone().filter(|_| !options.is_ephemeral),
        }
    }

    /// Why an answer comes too early.
    pub(super) fn too_early(&self) -> Option<Doubt> {
        let hasty = || self.plain.as_ref().map(|_| Doubt::Hasty);
        self.unlooked.clone().map(Doubt::Elsewhere).or_else(hasty)
    }

    /// Why a call is not made as it is begun.
    pub(super) fn second_thought(&self, reading: &Reading<'_>) -> Option<Doubt> {
        if let Some(file) = self.unlooked.as_ref().filter(|_| reading.is_making()) {
            return Some(Doubt::Elsewhere(file.clone()));
        }
        let can_edit = self.offer.tools.iter().any(|tool| tool.name == EDIT);
        let path = reading.changed_file().filter(|path| can_edit && self.rewrite(path).is_some())?;
        Some(Doubt::Quoting(path))
    }

    /// The file that is changed by writing it anew, where it is one for that.
    pub(super) fn rewrite(&self, path: &str) -> Option<Rewrite> {
        Rewrite::of(path, &self.seen, &self.task)
    }

    /// The call without what it says twice.
    pub(super) fn unrepeated(&self, call: ToolCall) -> ToolCall {
        self.seen.unrepeated(call)
    }

    /// The call, where it does no harm to what the model has not seen.
    pub(super) fn guarded(&self, call: ToolCall) -> ToolCall {
        let meant = renamed::as_meant(self.seen.as_meant(call), &self.seen, &self.task);
        let call = self.blind.refused(meant, &self.seen);
        if self.is_told { call } else { removal::guarded(call, &self.task) }
    }

    /// The question as tokens, where it fits.
    pub(super) fn fit(&mut self, loaded: &LoadedModel) -> ProviderResult<Prompt> {
        let fits = |plain: &Plain| loaded.fits(&plain.turns(), plain::MAX_TOKENS);
        self.plain = self.plain.take().filter(fits);
        let tokens = loaded.tokens(&self.turns);
        let room = loaded.capacity().saturating_sub(tokens.len());
        if room >= LEAST_ANSWER.min(self.longest) {
            let base = self.base(loaded, &tokens);
            return Ok(Prompt { tokens, base, room: room.min(self.longest) });
        }
        Err(self.too_long(loaded, tokens.len()))
    }

    /// How many tokens at the beginning are the same in every conversation.
    fn base(&self, loaded: &LoadedModel, tokens: &[u32]) -> usize {
        if self.form.is_some() { common_prefix(&loaded.tokens(&self.opening), tokens) } else { 0 }
    }

    /// Making the conversation shorter helps, unless the last message alone is too long.
    fn too_long(&self, loaded: &LoadedModel, tokens: usize) -> ProviderError {
        let least = least(&self.opening, &self.turns);
        let capacity = loaded.capacity();
        let alone = loaded.tokens(&least).len();
        if alone + LEAST_ANSWER > capacity {
            return refused(&format!(
                "this small local model keeps {capacity} tokens in mind, and the last message with the instructions alone \
                 has {alone}. Ask about a part of it, name the file instead of pasting it, or use a larger model."
            ));
        }
        ProviderError::ContextLength {
            message: format!("it has {tokens} tokens, and this small local model keeps {capacity} in mind"),
        }
    }
}

/// The instructions and what was said last.
fn least(opening: &[Turn], turns: &[Turn]) -> Vec<Turn> {
    let last = turns.iter().rev().find(|turn| turn.speaker == Speaker::User);
    opening.iter().chain(last).cloned().collect()
}

/// Answers. Ends early, within a token, when nobody reads the events any more.
pub(super) fn answer(loaded: &mut LoadedModel, question: &Question, prompt: &Prompt, events: &Events) {
    if let Err(error) = answered(loaded, question, prompt, events) {
        // Whoever asked may be gone.
        let _ = events.blocking_send(Err(failed(error)));
    }
}

fn answered(
    loaded: &mut LoadedModel,
    question: &Question,
    prompt: &Prompt,
    events: &Events,
) -> Result<(), GenerateError> {
    let known = loaded.recall(&prompt.tokens);
    let is_cancelled = || events.is_closed();
    let read = loaded.read_base(&prompt.tokens[..prompt.base], known, &is_cancelled)?;
    let mut voice = Voice::new(question, events);
    let mut written = write(loaded, question.form.as_ref(), &mut voice, Part { question, prompt, read })?;
    let mut doubt = voice.doubt();
    if let (Some(Doubt::Hasty), Some(plain)) = (&doubt, &question.plain) {
        voice = Voice::plain(question, events);
        let plainly = say_plainly(loaded, question, plain, &mut voice)?;
        written = Generated { tokens: written.tokens + plainly.tokens, ..plainly };
        doubt = voice.doubt();
    }
    if let Some(Doubt::Quoting(path)) = &doubt {
        let (tokens, call) = write_anew(loaded, question, path, &is_cancelled)?;
        written.tokens += tokens;
        if voice.takes(call) {
            doubt = None;
        }
    }
    if let Some(doubt) = doubt {
        match Form::instead(&question.offer, &question.progress, &question.seen, doubt.clone()) {
            Some(form) => {
                voice = Voice::believing(question, events);
                let read = loaded.recall(&prompt.tokens);
                let again = write(loaded, Some(&form), &mut voice, Part { question, prompt, read })?;
                written = Generated { tokens: written.tokens + again.tokens, ..again };
            }
            None => voice.admit(&doubt),
        }
    }
    let stop = voice.end(written.ended, prompt.room);
    let _ = events.blocking_send(Ok(ReplyEvent::Usage(usage(prompt, known, written))));
    let is_wanted = events.blocking_send(Ok(ReplyEvent::Finished(stop.clone()))).is_ok();
    if let (StopReason::EndTurn, true, Some(conversation)) = (&stop, is_wanted, &question.conversation) {
        loaded.remember(conversation);
    }
    Ok(())
}

/// Answers from what was found alone.
fn say_plainly(
    loaded: &LoadedModel,
    question: &Question,
    plain: &Plain,
    voice: &mut Voice<'_>,
) -> Result<Generated, GenerateError> {
    let room = plain::MAX_TOKENS.min(question.longest);
    let options = WriteOptions { sampling: question.sampling, max_tokens: room };
    let voice = RefCell::new(voice);
    let is_over = || voice.borrow().is_over();
    loaded.write_apart(&plain.turns(), options, &is_over, &mut |bytes| voice.borrow_mut().push(bytes))
}

/// Writes a file anew, and gives the tokens that it took and the call that makes the change.
fn write_anew(
    loaded: &LoadedModel,
    question: &Question,
    path: &str,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(usize, Option<ToolCall>), GenerateError> {
    let Some(rewrite) = question.rewrite(path) else { return Ok((0, None)) };
    let turns = rewrite.turns();
    let room = Rewrite::room(loaded.tokens(&turns).len());
    if !loaded.fits(&turns, room) {
        return Ok((0, None));
    }
    let options = WriteOptions { sampling: question.sampling, max_tokens: room };
    let mut answer = Vec::new();
    let written =
        loaded.write_apart(&turns, options, is_cancelled, &mut |bytes| answer.extend_from_slice(bytes))?;
    let change = rewrite.change(&String::from_utf8_lossy(&answer));
    Ok((written.tokens, change.map(|change| rewrite::call(&question.id, EDIT, path, change))))
}

/// What an answer is written to.
#[derive(Clone, Copy)]
struct Part<'a> {
    question: &'a Question,
    prompt: &'a Prompt,
    /// How many tokens of the prompt were read.
    read: usize,
}

/// Writes until the end, or until the answer is not believed.
fn write(
    loaded: &mut LoadedModel,
    form: Option<&Form>,
    voice: &mut Voice<'_>,
    part: Part<'_>,
) -> Result<Generated, GenerateError> {
    let Part { question, prompt, read } = part;
    let options = WriteOptions { sampling: question.sampling, max_tokens: prompt.room };
    let voice = RefCell::new(voice);
    let is_over = || voice.borrow().is_over();
    let mut hand_out = |bytes: &[u8]| voice.borrow_mut().push(bytes);
    loaded.write(&prompt.tokens[read..], form.map(Form::grammar), options, &is_over, &mut hand_out)
}

fn usage(prompt: &Prompt, known: usize, generated: Generated) -> Usage {
    Usage {
        input: prompt.tokens.len() as u64,
        output: generated.tokens as u64,
        cached_input: known as u64,
        cache_write: 0,
    }
}

fn failed(error: GenerateError) -> ProviderError {
    match error {
        GenerateError::Engine(error @ EngineError::ContextFull { .. }) => {
            ProviderError::ContextLength { message: error.to_string() }
        }
        other => refused(&other),
    }
}
