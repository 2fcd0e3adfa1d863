//! What `goose session` takes; `goose run` shares the parts about models and conversations.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum, value_parser};

use crate::cli::{Form, Which};

const MODEL: &str = "Which model";
const CONVERSATION: &str = "Which conversation";

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose session                        a new conversation
  goose session --resume               the last one of this folder goes on
  goose session --resume --fork        a copy of it goes on
  goose session list --search 'ports'
  goose session export 20261115_3 --format markdown -o talk.md

In a conversation, /help shows what can be said besides messages.";

/// A conversation, or something about conversations.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SessionCommand>,
    #[command(flatten)]
    pub(crate) chat: ChatArgs,
}

/// A conversation.
#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) conversation: ConversationArgs,
    /// Show what was said before, where a conversation goes on
    #[arg(long, requires = "goes_on", help_heading = CONVERSATION)]
    pub(crate) history: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// Which conversation, and how far it may go.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("goes_on").multiple(true)))]
pub(crate) struct ConversationArgs {
    /// The conversation's name: of a new one, or of the one to go on with
    #[arg(short, long, help_heading = CONVERSATION)]
    pub(crate) name: Option<String>,
    /// The id of the conversation to go on with
    #[arg(long, value_name = "ID", group = "goes_on", help_heading = CONVERSATION)]
    pub(crate) session_id: Option<String>,
    /// Go on with a conversation: the named one, or the last one of this folder
    #[arg(short, long, group = "goes_on", help_heading = CONVERSATION)]
    pub(crate) resume: bool,
    /// Go on with a copy of it, and leave it as it is
    #[arg(long, group = "goes_on", help_heading = CONVERSATION)]
    pub(crate) fork: bool,
    /// How often the model may be asked for one reply
    #[arg(long, value_name = "N", help_heading = CONVERSATION, value_parser = value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// How often it may make the same call in a row
    #[arg(long, value_name = "N", help_heading = CONVERSATION)]
    pub(crate) max_tool_repetitions: Option<u32>,
    /// Show what tools are given and give back in full
    #[arg(long, help_heading = CONVERSATION)]
    pub(crate) debug: bool,
}

/// Which model, and what it may do.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// The service, such as 'openai' or 'anthropic'
    #[arg(long, value_name = "NAME", help_heading = MODEL)]
    pub(crate) provider: Option<String>,
    /// The model, as the service calls it
    #[arg(long, value_name = "NAME", help_heading = MODEL)]
    pub(crate) model: Option<String>,
    /// A profile of the configuration, or a file with one
    #[arg(long, value_name = "NAME", help_heading = MODEL)]
    pub(crate) profile: Option<String>,
    /// Use this file in place of the config folder's config.yaml
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub(crate) config: Option<PathBuf>,
    /// What may be done without asking: 'auto', 'approve', 'smart_approve' or 'chat'
    #[arg(long, value_name = "MODE", help_heading = MODEL)]
    pub(crate) mode: Option<String>,
    /// Trust the configuration of this project (.goose/config.yaml)
    #[arg(long, help_heading = MODEL)]
    pub(crate) trust_project: bool,
    /// Fetch the small local model without asking, where it is needed
    #[arg(long, help_heading = MODEL)]
    pub(crate) yes: bool,
}

/// Something about conversations that are kept.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List conversations, the newest first
    List(ListArgs),
    /// Find conversations by what was said
    Search {
        /// The words
        text: String,
        /// How many to show
        #[arg(short, long, value_name = "N", default_value_t = 10)]
        limit: u32,
        #[command(flatten)]
        form: Form,
    },
    /// Remove conversations
    Remove {
        #[command(flatten)]
        which: WhichSession,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Write a conversation as JSON or Markdown
    Export {
        #[command(flatten)]
        which: WhichSession,
        /// The form
        #[arg(long, value_enum, default_value_t)]
        format: ExportFormat,
        /// Where to; standard output where no file is named
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Add conversations: an exported one, or those of another goose (sessions.db)
    Import {
        /// The file
        file: PathBuf,
    },
    /// Give a conversation another name
    Rename {
        /// The conversation: its id or its name
        session: String,
        /// The new name
        new_name: String,
    },
    /// Copy a conversation, to go on with the copy
    Fork {
        #[command(flatten)]
        which: WhichSession,
    },
    /// Write what helps to find a fault: versions, settings without secrets, and a conversation
    Diagnostics {
        #[command(flatten)]
        which: WhichSession,
        /// The folder to write to
        #[arg(short, long, value_name = "FOLDER")]
        output: Option<PathBuf>,
    },
}

/// How conversations are listed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// How many to show
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u32,
    /// Only those of this folder
    #[arg(long)]
    pub(crate) here: bool,
    /// Only those in which this was said
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// As --json, for scripts that say it so
    #[arg(short, long, value_enum, value_name = "FORM", hide = true)]
    pub(crate) format: Option<ListFormat>,
    #[command(flatten)]
    pub(crate) form: Form,
}

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Lines.
    Text,
    /// One document.
    Json,
}

/// Which conversation is meant; the last one where none is named.
#[derive(Debug, Args)]
pub(crate) struct WhichSession {
    /// The conversation: its id or its name; the last one where none is named
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Its name
    #[arg(short, long, conflicts_with = "session")]
    name: Option<String>,
    /// Its id
    #[arg(long, value_name = "ID", conflicts_with_all = ["session", "name"])]
    session_id: Option<String>,
}

impl WhichSession {
    /// What was named.
    pub(crate) fn named(&self) -> Option<&str> {
        let names = [&self.session, &self.name, &self.session_id];
        names.into_iter().find_map(|name| name.as_deref())
    }
}

/// How a conversation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ExportFormat {
    /// All of it, for goose to import again.
    #[default]
    Json,
    /// To be read.
    Markdown,
}
