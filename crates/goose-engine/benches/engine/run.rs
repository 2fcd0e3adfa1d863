//! One measurement of one engine.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use goose_engine::{Instructions, Model, ModelOptions, Sequence};

use crate::{Failure, Options};

/// Context length, as in use.
pub(crate) const CONTEXT: usize = 4096;
/// Number of tokens that are written.
pub(crate) const DECODE: usize = 64;
/// Prompt of about a thousand tokens: Rust, as a coding assistant reads it. It is a separate file, so
/// that figures of different versions can be compared.
pub(crate) const PROMPT: &str = include_str!("prompt.txt");
/// Question after the first answer: about thirty tokens.
const FOLLOW_UP: &str = "\n\nNow explain in one short paragraph what the worker keeps between two passes, \
                         why the scratch buffers are there, and which of them are shared by the threads.\n";

/// Result of a run.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    /// Number of tokens of the prompt.
    pub(crate) prompt_tokens: f64,
    /// Prompt tokens per second.
    pub(crate) prompt: f64,
    /// Written tokens per second.
    pub(crate) decode: f64,
    pub(crate) peak_bytes: f64,
    /// Seconds from the start to the first token.
    pub(crate) first: f64,
    /// Time to the first token of a second turn, relative to the first turn without opening the model.
    /// Not measured for the peer.
    pub(crate) second: Option<f64>,
}

impl Figures {
    pub(crate) fn to_line(self) -> String {
        let Self { prompt_tokens, prompt, decode, peak_bytes, first, second } = self;
        let second = second.map(|second| format!(" {second}")).unwrap_or_default();
        format!("{prompt_tokens} {prompt} {decode} {peak_bytes} {first}{second}")
    }

    /// Parses the last line of a child's output.
    pub(crate) fn from_output(output: &[u8]) -> Result<Self, Failure> {
        let text = String::from_utf8_lossy(output);
        let line = text.lines().last().unwrap_or_default();
        let numbers = line.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>();
        match numbers.as_deref() {
            Ok([prompt_tokens, prompt, decode, peak_bytes, first, second @ ..]) => Ok(Self {
                prompt_tokens: *prompt_tokens,
                prompt: *prompt,
                decode: *decode,
                peak_bytes: *peak_bytes,
                first: *first,
                second: second.first().copied(),
            }),
            _ => Err(format!("a run printed no figures: {text}").into()),
        }
    }

    pub(crate) fn median(all: &[Self]) -> Self {
        let middle = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
        };
        let median = |of: fn(&Self) -> f64| middle(all.iter().map(of).collect());
        let seconds: Option<Vec<f64>> = all.iter().map(|figures| figures.second).collect();
        Self {
            prompt_tokens: median(|figures| figures.prompt_tokens),
            prompt: median(|figures| figures.prompt),
            decode: median(|figures| figures.decode),
            peak_bytes: median(|figures| figures.peak_bytes),
            first: median(|figures| figures.first),
            second: seconds.map(middle),
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prompt_tokens, prompt, decode, peak_bytes, first, second } = self;
        write!(
            f,
            "prompt {prompt:6.1} t/s ({prompt_tokens} tokens), decode {decode:5.1} t/s, peak {:.2} GB, \
             first token after {first:.1} s",
            peak_bytes / 1e9
        )?;
        second.map_or(Ok(()), |second| write!(f, ", second turn {second:.3} of that"))
    }
}

/// Measures the engine in a separate process.
pub(crate) fn in_child(options: &Options) -> Result<Figures, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["--child", "--model"])
        .arg(&options.model)
        .args(["--threads", &options.threads.to_string()]);
    if let Some(instructions) = &options.instructions {
        command.args(["--instructions", instructions]);
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Figures::from_output(&output.stdout)
}

/// Measures the engine in this process.
pub(crate) fn measure(options: &Options) -> Result<Figures, Failure> {
    let start = Instant::now();
    let model_options = ModelOptions { threads: Some(options.threads), context: None };
    let model = Model::open_with(&options.model, &model_options, instructions(options)?)?;
    let tokens = model.tokenizer().encode(PROMPT);
    let follow_up = model.tokenizer().encode_continuation(FOLLOW_UP);
    let mut sequence = Sequence::new(model, CONTEXT)?;
    let begin = Instant::now();
    let mut next = best(sequence.feed(&tokens, &|| false)?);
    let reading = begin.elapsed().as_secs_f64();
    let first = start.elapsed().as_secs_f64();
    let begin = Instant::now();
    for _ in 0..DECODE {
        next = best(sequence.feed(&[next], &|| false)?);
    }
    let decode = DECODE as f64 / begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    sequence.feed(&[[next].as_slice(), &follow_up].concat(), &|| false)?;
    let second = Some(begin.elapsed().as_secs_f64() / reading);
    let (prompt_tokens, peak_bytes) = (tokens.len() as f64, peak_bytes()?);
    Ok(Figures { prompt_tokens, prompt: prompt_tokens / reading, decode, peak_bytes, first, second })
}

fn instructions(options: &Options) -> Result<Instructions, Failure> {
    let Some(name) = &options.instructions else { return Ok(Instructions::best()) };
    let named = |level: &Instructions| format!("{level:?}").eq_ignore_ascii_case(name);
    Ok(Instructions::all().into_iter().find(named).ok_or(format!("this machine has no {name}"))?)
}

fn best(logits: &[f32]) -> u32 {
    logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(token, _)| token as u32)
}

/// Returns the peak of resident memory on Linux. Elsewhere, returns NaN, which misses every limit.
fn peak_bytes() -> Result<f64, Failure> {
    let status = Path::new("/proc/self/status");
    if !status.exists() {
        return Ok(f64::NAN);
    }
    let status = std::fs::read_to_string(status)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0)
}
