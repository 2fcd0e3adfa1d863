//! Everything that can be asked for.

use std::{path::PathBuf, str::FromStr, time::Duration};

use anyhow::{Context as _, bail};

/// What the flags say.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) wire: Wire,
    pub(super) start: Start,
    pub(super) death: Death,
    pub(super) noise: Noise,
    pub(super) list: List,
    pub(super) http: Http,
    /// What happens when a tool is called, before it does what it does; in the order of the flags.
    pub(super) behaviours: Vec<(String, Behaviour)>,
    pub(super) never_answers: bool,
    pub(super) slow_answer: Duration,
    pub(super) huge_notification: Option<u64>,
    pub(super) strange_results: bool,
    pub(super) notify_flood: Option<u64>,
    pub(super) ignore_eof: bool,
}

impl Options {
    /// The names of tools that flags speak of.
    pub(super) fn named_tools(&self) -> impl Iterator<Item = &str> {
        self.behaviours.iter().map(|(name, _)| name).chain(&self.death.on_call).map(String::as_str)
    }
}

/// Which protocol is spoken.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// 2025-11-25, with `initialize`.
    #[default]
    Old,
    /// 2026-07-28, with `server/discover`.
    New,
}

impl Wire {
    pub(super) fn version(self) -> &'static str {
        match self {
            Self::Old => "2025-11-25",
            Self::New => "2026-07-28",
        }
    }
}

impl FromStr for Wire {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let wire = [Self::Old, Self::New].into_iter().find(|wire| wire.version() == text);
        wire.with_context(|| format!("`{text}` is no wire; use 2025-11-25 or 2026-07-28"))
    }
}

/// What happens before the first message.
#[derive(Debug, Default)]
pub(super) struct Start {
    pub(super) starts: Option<PathBuf>,
    pub(super) state: Option<PathBuf>,
    pub(super) dies: bool,
    pub(super) die_first: Option<u64>,
    pub(super) slow: Duration,
    pub(super) stderr: Vec<String>,
    pub(super) stderr_flood: bool,
    pub(super) grandchildren: bool,
    pub(super) ignore_term: bool,
    /// The program has been started again with the signal ignored.
    pub(super) term_is_ignored: bool,
}

/// When and how the program dies.
#[derive(Debug, Default)]
pub(super) struct Death {
    pub(super) how: DieHow,
    pub(super) on_call: Vec<String>,
    pub(super) after_calls: Option<u64>,
}

/// How a program can end.
#[derive(Debug, Clone, Copy)]
pub(super) enum DieHow {
    Exit(i32),
    Abort,
    Kill9,
}

impl Default for DieHow {
    fn default() -> Self {
        Self::Exit(1)
    }
}

impl FromStr for DieHow {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        Ok(match (text, text.strip_prefix("exit:")) {
            ("abort", _) => Self::Abort,
            ("kill9", _) => Self::Kill9,
            (_, Some(code)) => Self::Exit(code.parse()?),
            _ => bail!("`{text}` is no way to die; use exit:N, abort or kill9"),
        })
    }
}

/// What stands between the messages on standard output.
#[derive(Debug, Default)]
pub(super) struct Noise {
    pub(super) on: bool,
    pub(super) flood: u64,
}

/// What the list of tools looks like.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) slow: Duration,
    pub(super) cursors: Cursors,
    /// How many more tools there are.
    pub(super) tools: u64,
    pub(super) page_size: Option<u64>,
    pub(super) bad: Vec<String>,
    pub(super) changing: bool,
}

/// How one page leads to the next.
#[derive(Debug, Default, Clone, Copy)]
pub(super) enum Cursors {
    #[default]
    Honest,
    Endless,
    Same,
    Cycle,
}

/// What a tool does before it does what it does.
#[derive(Debug, Clone)]
pub(super) enum Behaviour {
    Hang,
    Late(Duration),
    HugeLine(u64),
    Ask(Ask),
    Progress(u64),
    Log,
}

/// What can be asked of a client.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ask {
    Form,
    Url,
    Sampling,
    Roots,
}

impl FromStr for Ask {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        Ok(match text {
            "form" => Self::Form,
            "url" => Self::Url,
            "sampling" => Self::Sampling,
            "roots" => Self::Roots,
            _ => bail!("`{text}` is no question; use form, url, sampling or roots"),
        })
    }
}

/// Faults of the HTTP endpoint.
#[derive(Debug, Default)]
pub(super) struct Http {
    pub(super) on: bool,
    /// Status codes for the next requests, and how often each.
    pub(super) statuses: Vec<(u16, u64)>,
    pub(super) status_always: Option<u16>,
    pub(super) status_on: Option<String>,
    pub(super) retry_after: Option<String>,
    pub(super) www_authenticate: Option<String>,
    pub(super) redirect: Option<String>,
    pub(super) json_body: Option<u64>,
    pub(super) expire_sessions: bool,
    pub(super) headers_log: Option<PathBuf>,
}
