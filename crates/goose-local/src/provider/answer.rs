//! One question and its answer, on a thread that may block.

use goose_providers::{ProviderError, ProviderResult, ReplyEvent, Request, StopReason, Usage};
use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::{
    engine::{Loaded, refused},
    form,
    history::{Speaker, Turn, last_asked, turns},
    offer::Offer,
    progress::Progress,
    prompt,
    reading::{FreeText, Reading},
    saved::common,
    unseen::Unseen,
};
use crate::{
    EngineError,
    generate::{Ended, GenerateError, Generated, Grammar, Limits, Sampler, Sampling, Writing},
};

/// How long an answer may get where nobody says otherwise, in tokens.
const DEFAULT_ANSWER: usize = 2_048;

/// How much room an answer needs at least, in tokens.
const LEAST_ANSWER: usize = 256;

type Events = Sender<ProviderResult<ReplyEvent>>;

/// What is asked, made small.
pub(super) struct Question {
    id: String,
    offer: Offer,
    turns: Vec<Turn>,
    /// What the turns begin with before anybody says something.
    opening: Vec<Turn>,
    /// What is not written over.
    unseen: Unseen,
    /// What the answer must fit; none where it is free text.
    form: Option<Value>,
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
        let offer = Offer::of(request.tools, &last_asked(request.messages));
        let has_tools = !offer.tools.is_empty();
        let (opening, surroundings) = match has_tools {
            true => (prompt::opening(&offer), request.system),
            false => (vec![Turn { speaker: Speaker::System, text: request.system.to_owned() }], ""),
        };
        let turns = turns(&offer, opening.clone(), surroundings, request.messages);
        let form = has_tools.then(|| form::schema(&offer, Progress::of(request.messages)));
        let unseen = Unseen::of(request.messages);
        let options = request.options;
        let sampling = Sampling { temperature: options.temperature.unwrap_or(0.0), ..Sampling::default() };
        let longest =
            options.max_tokens.map_or(DEFAULT_ANSWER, |most| usize::try_from(most).unwrap_or(usize::MAX));
        Self {
            id,
            offer,
            turns,
            opening,
            unseen,
            form,
            sampling,
            longest,
            conversation: options.conversation.clone(),
        }
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
    if let Err(error) = written(loaded, question, prompt, events) {
        // Whoever asked may be gone.
        let _ = events.blocking_send(Err(failed(error)));
    }
}

fn written(
    loaded: &mut Loaded,
    question: &Question,
    prompt: &Prompt,
    events: &Events,
) -> Result<(), GenerateError> {
    let grammar = match &question.form {
        Some(form) => Some(Grammar::for_schema(loaded.vocabulary()?, form)?),
        None => None,
    };
    let is_cancelled = || events.is_closed();
    let known = loaded.recall(&prompt.tokens);
    let read = loaded.read_base(&prompt.tokens[..prompt.base], known, &is_cancelled)?;
    let mut voice = Voice::new(question);
    let mut hand_out = |bytes: &[u8]| {
        for event in voice.push(bytes) {
            let _ = events.blocking_send(Ok(event));
        }
    };
    let writing = Writing {
        model: &loaded.model,
        sequence: &mut loaded.sequence,
        grammar,
        sampler: Sampler::new(question.sampling),
        limits: Limits { tokens: prompt.room },
    };
    let generated = writing.write(&prompt.tokens[read..], &is_cancelled, &mut hand_out)?;
    let stop = voice.end(question, generated.ended, prompt.room, events);
    if let (StopReason::EndTurn, Some(conversation)) = (&stop, &question.conversation) {
        loaded.remember(conversation);
    }
    let _ = events.blocking_send(Ok(ReplyEvent::Usage(usage(prompt, known, generated))));
    let _ = events.blocking_send(Ok(ReplyEvent::Finished(stop)));
    Ok(())
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

/// What becomes of the bytes: text as it is, or one of the calls.
enum Voice<'a> {
    Free(FreeText),
    Formed(Reading<'a>),
}

impl<'a> Voice<'a> {
    fn new(question: &'a Question) -> Self {
        match question.form {
            None => Self::Free(FreeText::default()),
            Some(_) => Self::Formed(Reading::new(&question.offer, question.id.clone())),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<ReplyEvent> {
        match self {
            Self::Free(text) => text.push(bytes).map(ReplyEvent::Text).into_iter().collect(),
            Self::Formed(reading) => reading.push(bytes),
        }
    }

    /// Hands over the call, where there is one, and says why it is over.
    fn end(&self, question: &Question, ended: Ended, most: usize, events: &Events) -> StopReason {
        let why_cut = match ended {
            Ended::Complete | Ended::Cancelled => None,
            Ended::TooLong => Some(format!(
                "The call was cut off after {most} tokens, so nothing was done. Do it in smaller pieces"
            )),
            Ended::GoesRound => Some(
                "The call repeated itself without end, so it was cut off and nothing was done. Do it in another way"
                    .to_owned(),
            ),
        };
        let call = match self {
            Self::Formed(reading) => {
                reading.call(why_cut.as_deref()).map(|call| question.unseen.spared(call))
            }
            Self::Free(_) => None,
        };
        match (call, ended) {
            (Some(call), _) => {
                let _ = events.blocking_send(Ok(ReplyEvent::Call(call)));
                StopReason::ToolUse
            }
            (None, Ended::TooLong) => StopReason::MaxTokens,
            (None, Ended::GoesRound) => StopReason::Other("the text repeated itself without end".to_owned()),
            (None, _) => StopReason::EndTurn,
        }
    }
}
