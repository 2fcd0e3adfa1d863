//! One question and its answer, on a thread that may block.

use std::cell::RefCell;

use goose_providers::{ProviderError, ProviderResult, ReplyEvent, Request, StopReason, ToolCall, Usage};
use tokio::sync::mpsc::Sender;

use super::{
    blind::Blind,
    claims::Claims,
    engine::{Loaded, refused},
    form::Form,
    history::{Speaker, Turn, turns},
    offer::Offer,
    progress::Progress,
    prompt,
    saved::common,
    seen::Seen,
    steps::asked,
    voice::Voice,
};
use crate::{
    EngineError,
    generate::{GenerateError, Generated, Grammar, Limits, Sampler, Sampling, Writing},
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
    /// What was seen of the files.
    seen: Seen,
    /// What is not changed unseen.
    blind: Blind,
    /// What may be claimed.
    pub(super) claims: Claims,
    progress: Progress,
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
        let form = has_tools.then(|| Form::of(&offer, &progress, &seen));
        let options = request.options;
        let sampling = Sampling { temperature: options.temperature.unwrap_or(0.0), ..Sampling::default() };
        let longest =
            options.max_tokens.map_or(DEFAULT_ANSWER, |most| usize::try_from(most).unwrap_or(usize::MAX));
        Self {
            id,
            offer,
            turns,
            opening,
            blind: Blind::of(request.messages),
            claims: Claims::of(request.messages, &seen),
            seen,
            progress,
            form,
            sampling,
            longest,
            conversation: options.conversation.clone(),
        }
    }

    /// The call, where it does no harm to what the model has not seen.
    pub(super) fn guarded(&self, call: ToolCall) -> ToolCall {
        self.blind.refused(self.seen.as_meant(call), &self.seen)
    }

    /// The question as tokens, where it fits.
    pub(super) fn fit(&self, loaded: &Loaded) -> ProviderResult<Prompt> {
        let tokens = loaded.tokens(&self.turns);
        let room = loaded.capacity.saturating_sub(tokens.len());
        if room >= LEAST_ANSWER.min(self.longest) {
            let base = self.base(loaded, &tokens);
            return Ok(Prompt { tokens, base, room: room.min(self.longest) });
        }
        Err(self.too_long(loaded, tokens.len()))
    }

    /// How many tokens at the beginning are the same in every conversation.
    fn base(&self, loaded: &Loaded, tokens: &[u32]) -> usize {
        if self.form.is_some() { common(&loaded.tokens(&self.opening), tokens) } else { 0 }
    }

    /// Making the conversation shorter helps, unless the last message alone is too long.
    fn too_long(&self, loaded: &Loaded, tokens: usize) -> ProviderError {
        let least = least(&self.opening, &self.turns);
        let capacity = loaded.capacity;
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
pub(super) fn answer(loaded: &mut Loaded, question: &Question, prompt: &Prompt, events: &Events) {
    if let Err(error) = answered(loaded, question, prompt, events) {
        // Whoever asked may be gone.
        let _ = events.blocking_send(Err(failed(error)));
    }
}

fn answered(
    loaded: &mut Loaded,
    question: &Question,
    prompt: &Prompt,
    events: &Events,
) -> Result<(), GenerateError> {
    let known = loaded.recall(&prompt.tokens);
    let is_cancelled = || events.is_closed();
    let read = loaded.read_base(&prompt.tokens[..prompt.base], known, &is_cancelled)?;
    let mut voice = Voice::new(question, events);
    let mut written = write(loaded, question.form.as_ref(), &mut voice, Part { question, prompt, read })?;
    if let Some(doubt) = voice.doubt() {
        match Form::instead(&question.offer, &question.progress, &question.seen, doubt) {
            Some(form) => {
                voice = Voice::believing(question, events);
                let read = loaded.recall(&prompt.tokens);
                let again = write(loaded, Some(&form), &mut voice, Part { question, prompt, read })?;
                written = Generated { tokens: written.tokens + again.tokens, ..again };
            }
            None => voice.admit(),
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
    loaded: &mut Loaded,
    form: Option<&Form>,
    voice: &mut Voice<'_>,
    part: Part<'_>,
) -> Result<Generated, GenerateError> {
    let Part { question, prompt, read } = part;
    let grammar = match form {
        Some(form) => Some(Grammar::of(loaded.vocabulary()?, form.grammar())?),
        None => None,
    };
    let writing = Writing {
        model: &loaded.model,
        sequence: &mut loaded.sequence,
        grammar,
        sampler: Sampler::new(question.sampling),
        limits: Limits { tokens: prompt.room },
    };
    let voice = RefCell::new(voice);
    let is_over = || voice.borrow().is_over();
    writing.write(&prompt.tokens[read..], &is_over, &mut |bytes| voice.borrow_mut().push(bytes))
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
