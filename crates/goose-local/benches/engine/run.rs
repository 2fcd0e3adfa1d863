//! One engine, measured once; and what a measurement is.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use goose_local::{Instructions, Model, ModelOptions, Sequence};

use crate::{Failure, Options};

/// Room for the conversation, as in use.
pub(crate) const CONTEXT: usize = 4096;
/// Tokens that are written.
pub(crate) const DECODE: usize = 64;
/// The prompt: Rust, as a coding assistant reads it, cut to about a thousand tokens.
pub(crate) const PROMPT: &str = include_str!("../../src/model/forward.rs");
pub(crate) const PROMPT_BYTES: usize = 4300;

/// What a run showed.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    /// Tokens of the prompt.
    pub(crate) prompt_tokens: f64,
    /// Prompt tokens read in a second.
    pub(crate) prompt: f64,
    /// Tokens written in a second.
    pub(crate) decode: f64,
    pub(crate) peak_bytes: f64,
    /// Seconds from the start to the first token.
    pub(crate) first: f64,
}

impl Figures {
    pub(crate) fn to_line(self) -> String {
        format!("{} {} {} {} {}", self.prompt_tokens, self.prompt, self.decode, self.peak_bytes, self.first)
    }

    /// Reads the last line of what a child printed.
    pub(crate) fn from_output(output: &[u8]) -> Result<Self, Failure> {
        let text = String::from_utf8_lossy(output);
        let line = text.lines().last().unwrap_or_default();
        let numbers = line.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>();
        match numbers.as_deref() {
            Ok([prompt_tokens, prompt, decode, peak_bytes, first]) => Ok(Self {
                prompt_tokens: *prompt_tokens,
                prompt: *prompt,
                decode: *decode,
                peak_bytes: *peak_bytes,
                first: *first,
            }),
            _ => Err(format!("a run printed no figures: {text}").into()),
        }
    }

    pub(crate) fn median(all: &[Self]) -> Self {
        let median = |of: fn(&Self) -> f64| {
            let mut values: Vec<f64> = all.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
        };
        Self {
            prompt_tokens: median(|figures| figures.prompt_tokens),
            prompt: median(|figures| figures.prompt),
            decode: median(|figures| figures.decode),
            peak_bytes: median(|figures| figures.peak_bytes),
            first: median(|figures| figures.first),
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prompt_tokens, prompt, decode, peak_bytes, first } = self;
        write!(
            f,
            "prompt {prompt:6.1} t/s ({prompt_tokens} tokens), decode {decode:5.1} t/s, peak {:.2} GB, first token after {first:.1} s",
            peak_bytes / 1e9
        )
    }
}

/// The prompt's text.
pub(crate) fn prompt() -> &'static str {
    let mut end = PROMPT_BYTES.min(PROMPT.len());
    while !PROMPT.is_char_boundary(end) {
        end -= 1;
    }
    &PROMPT[..end]
}

/// Measures our engine in a process of its own.
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

/// Measures our engine here.
pub(crate) fn measure(options: &Options) -> Result<Figures, Failure> {
    let start = Instant::now();
    let model_options = ModelOptions { threads: Some(options.threads), context: None };
    let model = Model::open_with(&options.model, &model_options, instructions(options)?)?;
    let tokens = model.tokenizer().encode(prompt());
    let mut sequence = Sequence::new(model, CONTEXT)?;
    let begin = Instant::now();
    let mut next = best(sequence.feed(&tokens, &|| false)?);
    let prompt = tokens.len() as f64 / begin.elapsed().as_secs_f64();
    let first = start.elapsed().as_secs_f64();
    let begin = Instant::now();
    for _ in 0..DECODE {
        next = best(sequence.feed(&[next], &|| false)?);
    }
    let decode = DECODE as f64 / begin.elapsed().as_secs_f64();
    Ok(Figures { prompt_tokens: tokens.len() as f64, prompt, decode, peak_bytes: peak_bytes()?, first })
}

fn instructions(options: &Options) -> Result<Instructions, Failure> {
    let Some(name) = &options.instructions else { return Ok(Instructions::best()) };
    let named = |level: &Instructions| format!("{level:?}").eq_ignore_ascii_case(name);
    Ok(Instructions::all().into_iter().find(named).ok_or(format!("this machine has no {name}"))?)
}

fn best(logits: &[f32]) -> u32 {
    logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(token, _)| token as u32)
}

/// The most memory that was resident, from Linux; elsewhere not a number, which holds no bar.
fn peak_bytes() -> Result<f64, Failure> {
    let status = Path::new("/proc/self/status");
    if !status.exists() {
        return Ok(f64::NAN);
    }
    let status = std::fs::read_to_string(status)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0)
}
