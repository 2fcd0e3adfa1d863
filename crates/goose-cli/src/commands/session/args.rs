//! Arguments of `goose session`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::args::{ConversationArgs, ExtensionArgs, JsonArgs, ListFormat, ModelArgs, SESSION};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose session                        start a new session
  goose session --resume               choose a session to resume
  goose session --resume --fork        resume a copy of it
  goose session list --search 'ports'
  goose session export 20261115_3 --format markdown -o talk.md

Type /help in a session to list its commands.";

/// Arguments of `goose session`: a chat, or a command about saved sessions.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SessionCommand>,
    #[command(flatten)]
    pub(crate) chat: ChatArgs,
}

/// Arguments of an interactive session.
#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) conversation: ConversationArgs,
    /// Additional system instructions
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = SESSION)]
    pub(crate) system: Option<String>,
    /// Edit the earlier messages in $VISUAL or $EDITOR before resuming
    #[arg(long, requires = "resumes", help_heading = SESSION)]
    pub(crate) edit: bool,
    /// Print the earlier messages when resuming
    #[arg(long, requires = "resumes", help_heading = SESSION)]
    pub(crate) history: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) which: ExtensionArgs,
}

/// Commands about saved sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List sessions, newest first
    #[command(after_help = "Examples:\n  goose session list\n  goose session list --here --search ports")]
    List(ListArgs),
    /// Search the messages of all sessions
    #[command(
        after_help = "Examples:\n  goose session search 'connection refused'\n  goose session search ports --limit 3 --json"
    )]
    Search {
        /// Text to search for
        text: String,
        /// Maximum number to show
        #[arg(short, long, value_name = "N", default_value_t = 10)]
        limit: u32,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// Remove sessions, after showing them
    #[command(
        after_help = "Examples:\n  goose session remove 20261115_3 20261115_4\n  goose session remove 'old work' --yes\n  goose session remove --regex '^test'"
    )]
    Remove(RemoveArgs),
    /// Export a session as Markdown, JSON or YAML
    #[command(
        after_help = "Examples:\n  goose session export 20261115_3 -o session.json\n  goose session export --format markdown -o talk.md"
    )]
    Export {
        #[command(flatten)]
        which: WhichSession,
        /// Output format; that of the output file by default, otherwise Markdown
        #[arg(long, value_enum)]
        format: Option<ExportFormat>,
        /// Output file; standard output by default
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Import an exported session, or sessions of goose 1.x, Claude Code or Codex
    #[command(
        after_help = "Examples:\n  goose session import session.json\n  goose session import ~/.local/share/goose/sessions/sessions.db\n  goose session import ~/.claude/projects/-home-ada-engine/7f71463f.jsonl\n  goose session import ~/.codex/sessions/2026/11/18"
    )]
    Import {
        /// File to import, or folder with files; the content tells the format
        file: PathBuf,
    },
    /// Rename a session
    #[command(after_help = "Examples:\n  goose session rename 20261115_3 'new ports'")]
    Rename {
        /// Id or name of the session
        session: String,
        /// New name
        new_name: String,
    },
    /// Copy a session
    #[command(after_help = "Examples:\n  goose session fork 20261115_3")]
    Fork {
        #[command(flatten)]
        which: WhichSession,
    },
    /// Write a folder for a bug report: versions, settings without secrets, and a session
    #[command(
        after_help = "Examples:\n  goose session diagnostics\n  goose session diagnostics 20261115_3 -o report"
    )]
    Diagnostics {
        #[command(flatten)]
        which: WhichSession,
        /// Folder to write to; goose-diagnostics-ID by default
        #[arg(short, long, value_name = "FOLDER")]
        output: Option<PathBuf>,
    },
}

/// Arguments of `goose session list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Maximum number to show
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u32,
    /// Only sessions of this folder
    #[arg(long)]
    pub(crate) here: bool,
    /// Only sessions of a folder
    #[arg(short, long, value_name = "FOLDER", alias = "working_dir", conflicts_with = "here")]
    pub(crate) working_dir: Option<PathBuf>,
    /// Oldest first
    #[arg(long, conflicts_with = "search")]
    pub(crate) ascending: bool,
    /// Include the sessions of delegated tasks
    #[arg(long, conflicts_with = "search")]
    pub(crate) all: bool,
    /// Only sessions that contain this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// Output format, for scripts written for other versions
    #[arg(short, long, value_enum, value_name = "FORMAT", hide = true)]
    pub(crate) format: Option<ListFormat>,
    #[command(flatten)]
    pub(crate) form: JsonArgs,
}

/// The session to work on; the latest one by default.
#[derive(Debug, Args)]
pub(crate) struct WhichSession {
    /// Id or name of the session; the latest one by default
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Name of the session
    #[arg(short, long, conflicts_with = "session")]
    name: Option<String>,
    /// Id of the session
    #[arg(long, value_name = "ID", conflicts_with_all = ["session", "name"])]
    session_id: Option<String>,
}

impl WhichSession {
    /// Returns the id or name that was given.
    pub(crate) fn named(&self) -> Option<&str> {
        let names = [&self.session, &self.name, &self.session_id];
        names.into_iter().find_map(|name| name.as_deref())
    }
}

/// Output format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ExportFormat {
    /// For reading.
    #[default]
    Markdown,
    /// Complete, for `goose session import`.
    Json,
    /// Complete, as YAML.
    Yaml,
}

/// Arguments of `goose session remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Ids or names of sessions
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
    /// Name of a session
    #[arg(short, long)]
    pub(crate) name: Option<String>,
    /// Id of a session
    #[arg(long, value_name = "ID")]
    pub(crate) session_id: Option<String>,
    /// All sessions whose id or name this regular expression matches
    #[arg(short, long, value_name = "REGEX")]
    pub(crate) regex: Option<String>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
}
