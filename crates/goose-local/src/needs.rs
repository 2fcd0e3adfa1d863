//! [`Needs`]: the memory that a local model takes, and a measurement of its speed on this machine.

use std::{
    fs,
    time::{Duration, Instant},
};

use goose_engine::{EngineError, LoadOptions, Model, ModelFacts, ModelOptions, Sequence};

/// Number of tokens that are read to measure the speed of reading.
const PROMPT_TOKENS: usize = 64;

/// Maximum number of tokens that are computed one by one to measure the speed of writing.
const ANSWER_TOKENS: usize = 16;

/// Time after which no further token is computed.
const ENOUGH: Duration = Duration::from_secs(1);

/// Source of the free memory, and the line with it, in kilobytes.
const MEMORY_FILE: &str = "/proc/meminfo";
const FREE_LINE: &str = "MemAvailable:";

/// Memory that a model needs, and how to load it.
#[derive(Debug, Clone)]
pub struct Needs {
    /// Bytes of the weights.
    pub weights: u64,
    /// Bytes of a conversation that fills the context.
    pub conversation: u64,
    /// Context that goose uses, in tokens.
    pub context: usize,
    options: LoadOptions,
}

/// Speed in tokens per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// Speed of reading a prompt.
    pub reading: f64,
    /// Speed of writing an answer.
    pub writing: f64,
}

impl Needs {
    pub(crate) fn new(facts: &ModelFacts, file_bytes: u64, options: LoadOptions) -> Self {
        let conversation = facts.token_bytes.saturating_mul(options.context as u64);
        Self { weights: file_bytes, conversation, context: options.context, options }
    }

    /// Returns the bytes in all.
    pub fn bytes(&self) -> u64 {
        self.weights.saturating_add(self.conversation)
    }

    /// Loads the model and measures its speed. Returns `None` if it is not known within the limit. Blocks.
    ///
    /// # Errors
    ///
    /// The model cannot be loaded.
    pub fn measure(&self, limit: Duration) -> Result<Option<Speed>, EngineError> {
        let begun = Instant::now();
        let is_late = || begun.elapsed() > limit;
        match self.timed(&is_late) {
            Ok(speed) => Ok(Some(speed)),
            Err(EngineError::Cancelled) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn timed(&self, is_late: &dyn Fn() -> bool) -> Result<Speed, EngineError> {
        let capacity = (PROMPT_TOKENS + ANSWER_TOKENS + 1).min(self.context);
        let options = ModelOptions { threads: self.options.threads, context: Some(capacity) };
        let model = Model::open(&self.options.file, &options)?;
        let vocabulary = model.info().vocabulary.max(1);
        // The content does not matter for the time.
        let tokens: Vec<u32> =
            (0..PROMPT_TOKENS.min(capacity / 2).max(1)).map(|n| (n % vocabulary) as u32).collect();
        let mut sequence = Sequence::new(model, capacity)?;
        // The first pass reads the weights from the disk.
        sequence.feed(&tokens[..1], is_late)?;
        sequence.keep(0);

        let begun = Instant::now();
        sequence.feed(&tokens, is_late)?;
        let reading = rate(tokens.len(), begun.elapsed());
        let begun = Instant::now();
        let mut written = 0;
        while written < ANSWER_TOKENS && sequence.tokens().len() < capacity && begun.elapsed() < ENOUGH {
            sequence.feed(&tokens[..1], is_late)?;
            written += 1;
        }
        Ok(Speed { reading, writing: rate(written, begun.elapsed()) })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a speed is approximate")]
fn rate(tokens: usize, time: Duration) -> f64 {
    tokens as f64 / time.as_secs_f64().max(f64::EPSILON)
}

/// Returns the bytes of memory that are free for programs, if the system tells them.
pub fn free_memory() -> Option<u64> {
    free_in(&fs::read_to_string(MEMORY_FILE).ok()?)
}

fn free_in(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(FREE_LINE))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use goose_test_support::tiny_model;

    use super::*;

    #[test]
    fn free_memory_is_read_as_the_system_writes_it() {
        assert_eq!(free_in("MemTotal:  8 kB\nMemAvailable:    4 kB\n"), Some(4096));
        assert_eq!(free_in("MemTotal:  8 kB\n"), None);
        assert_eq!(free_in("MemAvailable: many kB\n"), None);
    }

    #[test]
    fn needs_follow_the_context_and_the_speed_is_measured() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("tiny.gguf");
        tiny_model::write(&file, 1)?;
        let facts = Model::facts(&file)?;
        let needs = |context| {
            let options = LoadOptions { file: file.clone(), threads: None, context, cache: None };
            Needs::new(&facts, 1000, options)
        };
        assert_eq!(needs(200).conversation, 2 * needs(100).conversation);
        assert!(needs(1).conversation > 0 && needs(100).bytes() == 1000 + needs(100).conversation);
        let speed = needs(100).measure(Duration::from_secs(60))?.expect("it is a small model");
        assert!(speed.reading > 0.0 && speed.writing > 0.0, "{speed:?}");
        assert_eq!(needs(100).measure(Duration::ZERO)?, None);
        assert!(needs(2).measure(Duration::from_secs(60))?.is_some(), "a context of two tokens");
        Ok(())
    }
}
