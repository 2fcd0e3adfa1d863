//! Everything that can be asked for.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};

use super::listing;

/// The parsed flags.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) wire: Wire,
    pub(super) start: Start,
    pub(super) death: Death,
    pub(super) noise: Noise,
    pub(super) list: List,
    pub(super) http: Http,
    /// Faults of a tool call before its own work, in the order of the flags.
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

/// The protocol version that the server uses.
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

/// Faults before the first message.
#[derive(Debug, Default)]
pub(super) struct Start {
    pub(super) starts: Option<PathBuf>,
    pub(super) state: Option<PathBuf>,
    pub(super) dies: bool,
    pub(super) die_first: Option<u64>,
    /// The number of starts after which `echo` describes itself differently.
    pub(super) redefine_after: Option<usize>,
    pub(super) slow: Duration,
    pub(super) stderr: Vec<String>,
    pub(super) stderr_flood: bool,
    pub(super) grandchildren: bool,
    pub(super) ignore_term: bool,
    /// The program has been started again with the signal ignored.
    pub(super) term_is_ignored: bool,
}

/// The moment and the way of the program's death.
#[derive(Debug, Default)]
pub(super) struct Death {
    pub(super) how: DieHow,
    pub(super) on_call: Vec<String>,
    pub(super) after_calls: Option<u64>,
}

/// The ways in which a program can end.
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

/// Noise between the messages on standard output.
#[derive(Debug, Default)]
pub(super) struct Noise {
    pub(super) on: bool,
    pub(super) flood: u64,
}

/// The form of the list of tools.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) slow: Duration,
    pub(super) cursors: Cursors,
    /// The number of additional tools.
    pub(super) tools: u64,
    pub(super) page_size: Option<u64>,
    pub(super) bad: Vec<String>,
    pub(super) changing: bool,
}

/// The way from one page to the next.
#[derive(Debug, Default, Clone, Copy)]
pub(super) enum Cursors {
    #[default]
    Honest,
    Endless,
    Same,
    Cycle,
}

/// A fault of a tool before its own work.
#[derive(Debug, Clone)]
pub(super) enum Behaviour {
    Hang,
    Late(Duration),
    HugeLine(u64),
    Ask(Ask),
    Progress(u64),
    Log,
}

/// Questions to a client.
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

/// One flag: its values, what it does, and how.
struct Flag {
    name: &'static str,
    values: &'static [&'static str],
    help: &'static str,
    set: fn(&mut Options, Values<'_>) -> anyhow::Result<()>,
}

/// The values of one flag, as many as it takes.
#[derive(Clone, Copy)]
struct Values<'a>(&'a [String]);

impl Values<'_> {
    fn text(self, position: usize) -> String {
        self.0.get(position).cloned().unwrap_or_default()
    }

    fn read<T>(self, position: usize) -> anyhow::Result<T>
    where
        T: FromStr<Err: Into<anyhow::Error>>,
    {
        let text = self.text(position);
        text.parse().map_err(|error: T::Err| error.into().context(format!("`{text}`")))
    }

    fn seconds(self, position: usize) -> anyhow::Result<Duration> {
        Ok(Duration::try_from_secs_f64(self.read(position)?)?)
    }

    /// A tool's name, and what it does.
    fn tool(self, position: usize, behaviour: Behaviour) -> (String, Behaviour) {
        (self.text(position), behaviour)
    }
}

macro_rules! flags {
    ($($name:literal [$($value:literal)*] $help:literal => |$options:ident, $values:ident| $set:expr;)*) => {
        &[$(Flag {
            name: $name,
            values: &[$($value),*],
            help: $help,
            set: |$options, $values| {
                $set;
                Ok(())
            },
        }),*]
    };
}

const FLAGS: &[Flag] = flags! {
    "--wire" ["VERSION"] "speak 2025-11-25 (the default) or 2026-07-28" => |o, v| o.wire = v.read(0)?;

    "--starts" ["FILE"] "append a line with the process id at each start" =>
        |o, v| o.start.starts = Some(v.text(0).into());
    "--die-on-start" [] "die at once, with a line on stderr" => |o, _v| o.start.dies = true;
    "--die-first" ["N"] "the first N starts die at once; needs --state" => |o, v| o.start.die_first = Some(v.read(0)?);
    "--state" ["FILE"] "where --die-first counts the starts" => |o, v| o.start.state = Some(v.text(0).into());
    "--redefine-after" ["N"] "after N starts, the tool `echo` describes itself differently; needs --starts" =>
        |o, v| o.start.redefine_after = Some(v.read(0)?);
    "--slow-start" ["SECONDS"] "read nothing and answer nothing until then" => |o, v| o.start.slow = v.seconds(0)?;
    "--stderr" ["TEXT"] "write a line to stderr at the start" => |o, v| o.start.stderr.push(v.text(0));
    "--stderr-flood" [] "write to stderr without end" => |o, _v| o.start.stderr_flood = true;
    "--grandchildren" [] "leave two sleeping processes, one in a session of its own; their ids are on stderr and in \
        the result of the tool `grandchildren`" => |o, _v| o.start.grandchildren = true;
    "--ignore-eof" [] "go on when stdin is closed" => |o, _v| o.ignore_eof = true;
    "--ignore-term" [] "go on at SIGTERM; what it starts does so too" => |o, _v| o.start.ignore_term = true;
    "--term-is-ignored" [] "set by --ignore-term" => |o, _v| o.start.term_is_ignored = true;

    "--die-on-call" ["TOOL"] "die when this tool is called" => |o, v| o.death.on_call.push(v.text(0));
    "--die-after-calls" ["N"] "die as soon as N calls were answered" => |o, v| o.death.after_calls = Some(v.read(0)?);
    "--die-how" ["HOW"] "exit:N (the default is exit:1), abort or kill9" => |o, v| o.death.how = v.read(0)?;

    "--never-initialize" [] "read everything, answer nothing" => |o, _v| o.never_answers = true;
    "--slow-answer" ["SECONDS"] "every answer comes that much later" => |o, v| o.slow_answer = v.seconds(0)?;
    "--slow-list" ["SECONDS"] "each page of tools comes that much later" => |o, v| o.list.slow = v.seconds(0)?;
    "--noise" [] "a log line, a blank line and half a message before each message on stdout" =>
        |o, _v| o.noise.on = true;
    "--noise-flood" ["N"] "N log lines before each message on stdout" => |o, v| o.noise.flood = v.read(0)?;

    "--hang" ["TOOL"] "calls of this tool never return" => |o, v| o.behaviours.push(v.tool(0, Behaviour::Hang));
    "--late" ["TOOL" "SECONDS"] "it answers after that time, even when it was cancelled" =>
        |o, v| o.behaviours.push(v.tool(0, Behaviour::Late(v.seconds(1)?)));
    "--huge-line" ["BYTES" "TOOL"] "it answers with one line of that length" =>
        |o, v| o.behaviours.push(v.tool(1, Behaviour::HugeLine(v.read(0)?)));
    "--ask" ["KIND" "TOOL"] "it asks the client (form, url, sampling or roots) and returns what came" =>
        |o, v| o.behaviours.push(v.tool(1, Behaviour::Ask(v.read(0)?)));
    "--progress" ["TOOL" "N"] "it reports progress N times, 50 ms apart" =>
        |o, v| o.behaviours.push(v.tool(0, Behaviour::Progress(v.read(1)?)));
    "--log" ["TOOL"] "it sends a log message" => |o, v| o.behaviours.push(v.tool(0, Behaviour::Log));
    "--huge-notification" ["BYTES"] "a log message of that length before each result of a call" =>
        |o, v| o.huge_notification = Some(v.read(0)?);
    "--strange-results" [] "add the tools nul, invalid_utf8, image20mb, empty, no_content, wrong_shape, bad_base64" =>
        |o, _v| o.strange_results = true;

    "--tools" ["N"] "add N well-formed tools" => |o, v| o.list.tools = v.read(0)?;
    "--page-size" ["N"] "list N tools at a time; without it, all at once" => |o, v| o.list.page_size = Some(v.read(0)?);
    "--endless-pages" [] "every page of tools has a next one" => |o, _v| o.list.cursors = Cursors::Endless;
    "--same-cursor" [] "every page names itself as the next one" => |o, _v| o.list.cursors = Cursors::Same;
    "--cursor-cycle" [] "the pages a and b name each other as the next one" => |o, _v| o.list.cursors = Cursors::Cycle;
    "--bad-tools" [] "add one tool of each bad kind" => |o, _v| o.list.bad.extend(listing::kinds());
    "--bad-tool" ["KIND"] "add a bad tool: empty, duplicate, long, control, space, not-object, string-type, \
        wrong-keyword, deep, no-schema" => |o, v| o.list.bad.push(listing::kind(&v.text(0))?);
    "--changing" [] "add the tool grow; each call of it adds a tool, and the client is told" =>
        |o, _v| o.list.changing = true;
    "--notify-flood" ["N"] "add the tool flood; it says N times that the tools have changed" =>
        |o, v| o.notify_flood = Some(v.read(0)?);

    "--http" [] "serve over HTTP; the first line on stdout is the URL" => |o, _v| o.http.on = true;
    "--status" ["CODE" "TIMES"] "the first TIMES messages after the greeting get this status; several follow each other" =>
        |o, v| o.http.statuses.push((v.read(0)?, v.read(1)?));
    "--status-always" ["CODE"] "every request gets this status" => |o, v| o.http.status_always = Some(v.read(0)?);
    "--status-on" ["METHOD"] "only messages of this method get a status, such as tools/call" =>
        |o, v| o.http.status_on = Some(v.text(0));
    "--retry-after" ["SECONDS"] "a header for the statuses" => |o, v| o.http.retry_after = Some(v.text(0));
    "--www-authenticate" ["TEXT"] "a header for the statuses 401 and 403" =>
        |o, v| o.http.www_authenticate = Some(v.text(0));
    "--redirect" ["URL"] "every request is sent there with 307" => |o, v| o.http.redirect = Some(v.text(0));
    "--json-body" ["BYTES"] "calls are answered with plain JSON of that length" =>
        |o, v| o.http.json_body = Some(v.read(0)?);
    "--expire-sessions" [] "a session is forgotten after one call" => |o, _v| o.http.expire_sessions = true;
    "--headers-log" ["FILE"] "append the headers of each request" => |o, v| o.http.headers_log = Some(v.text(0).into());
};

/// Reads the arguments.
pub(super) fn parse(arguments: &[String]) -> anyhow::Result<Options> {
    let mut options = Options::default();
    let mut rest = arguments;
    while let Some((name, after)) = rest.split_first() {
        let flag = FLAGS
            .iter()
            .find(|flag| flag.name == name)
            .ok_or_else(|| anyhow!("There is no flag `{name}`. `--help` lists them all."))?;
        ensure!(after.len() >= flag.values.len(), "`{name}` needs {}.", flag.values.join(" and "));
        let (values, after) = after.split_at(flag.values.len());
        (flag.set)(&mut options, Values(values)).with_context(|| format!("`{name}` cannot be used so"))?;
        rest = after;
    }
    ensure!(
        options.start.die_first.is_none() || options.start.state.is_some(),
        "`--die-first` counts its starts in a file. Give it one with `--state FILE`."
    );
    Ok(options)
}

/// All flags, with what they do.
pub(super) fn help() -> String {
    let mut help =
        "An MCP server that does wrong what its flags say. Without flags it does nothing wrong.\n\n"
            .to_owned();
    for flag in FLAGS {
        let usage = format!("{} {}", flag.name, flag.values.join(" "));
        let _ = writeln!(help, "  {usage:<28} {}", flag.help);
    }
    help.push_str("  --help                       show this\n");
    help
}
