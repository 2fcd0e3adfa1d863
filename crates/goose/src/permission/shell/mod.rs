//! What a shell command would do, piece by piece.
//!
//! - `reader`, `expansions`, `grammar`, `compound`, `heredoc`: from source to [`Script`], for a small language that dash and
//!   bash read alike; `word`: a word as the shell would see it; `place`: the folders that a command may run in;
//! - `segment`: from words to a [`Segment`]; `wrappers`: `env`, `sudo`, `xargs`, `bash -c` … and what they run; `builtins`:
//!   commands of the shell that evaluate their words; `launchers`: programs that run code;
//! - `read_only`, `git`, `sed`, `awk`: what is known to change nothing; `folders`: what is looked into besides the words that are
//!   written; `steering`: options that make a program run another one.
//!
//! Whatever is not understood is a [`Doubt`]. Nothing here allows or forbids; that is for the judge.

mod assignments;
mod awk;
mod builtins;
mod compound;
mod expansions;
mod folders;
mod git;
mod grammar;
mod heredoc;
mod launchers;
mod place;
mod read_only;
mod reader;
mod sed;
mod segment;
mod steering;
mod word;
mod wrappers;

#[cfg(test)]
mod tests;

pub(super) use assignments::is_steering as is_steering_variable;
pub(super) use folders::{
    chosen as chosen_folders, handles_folders, included_names, listed_names, looks_below, shows_below,
    shows_names_only, takes_files, unnamed as unnamed_folder,
};
pub(super) use launchers::is_launcher;
pub(super) use place::Folders;
pub(super) use read_only::{asks_version, has_harmless_variables, is_always_read_only, only_carries};
pub(super) use steering::is_steered;
pub(super) use word::{Reach, Word};

/// The longest command that is looked into.
pub(super) const MAX_COMMAND_BYTES: usize = 256 * 1024;

/// How many segments a person can be expected to judge; more are asked about as a whole.
pub(super) const MAX_SEGMENTS: usize = 50;

/// How many commands and words are looked at, those behind each wrapper once more. Nobody writes as many.
const MAX_PARTS: usize = 20_000;

const TOO_MANY_PARTS: &str = "it has too many parts";

/// How many shells in shells are looked into.
const MAX_NESTING: usize = 5;

/// Whether what is read here is the language of a shell, by its name or path.
pub(super) fn is_language_of(shell: &str) -> bool {
    shell.rsplit('/').next().is_some_and(|name| matches!(name, "sh" | "bash" | "dash" | "ash"))
}

/// Reads a command line.
pub(super) fn read(source: &str) -> Script {
    let mut script = Script::default();
    reader::Reader::read(&mut script, source, None, 0, Folders::here());
    // A command is complete only behind the commands that stand in its words.
    script.segments.sort_by_key(|segment| segment.at);
    script.files.sort_by_key(|file| file.at);
    if script.segments.len() > MAX_SEGMENTS {
        let reason = format!("it has {} parts, too many to look at each", script.segments.len());
        script.doubts.push(Doubt { reason });
    }
    script
}

/// What a command line would do, in the order in which it is written.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// The commands.
    pub(super) segments: Vec<Segment>,
    /// The files that redirections read and write.
    pub(super) files: Vec<FileUse>,
    /// Words of no command, with the folders in which they stand: values of variables, what a loop goes through.
    pub(super) loose: Vec<(Word, Folders)>,
    /// The variables that are set for all that follows, but for those that no program looks at.
    pub(super) set: Vec<String>,
    /// What is not understood.
    pub(super) doubts: Vec<Doubt>,
    /// Why a part of it was not read at all.
    pub(super) unread: Option<&'static str>,
    /// How many commands and words were counted.
    parts: usize,
}

/// One command.
#[derive(Debug)]
pub(super) struct Segment {
    /// The command, and what is left of it as wrappers are taken off: `sudo apt update`, `apt update`.
    pub(super) forms: Vec<Form>,
    /// The variables that are set for it.
    pub(super) variables: Vec<String>,
    /// Whether what it runs is judged by itself, as the script of `bash -c` is.
    pub(super) kind: SegmentKind,
    /// The folders in which it may run.
    pub(super) folders: Folders,
    /// Why it is not known what it runs in the end.
    pub(super) runs: Option<&'static str>,
    /// The start of its source.
    pub(super) source: String,
    /// Where it begins.
    pub(super) at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SegmentKind {
    /// Must be allowed itself.
    Own,
    /// Only carries others, which must be allowed.
    Carrier,
}

/// A command at some depth of wrapping.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) words: Vec<Word>,
    pub(super) says: Says,
    /// Whether it is known to change nothing.
    pub(super) reads_only: bool,
}

impl Form {
    pub(super) fn new(words: Vec<Word>, says: Says) -> Self {
        Self { reads_only: read_only::is_read_only(&words), words, says }
    }
}

/// What it means that a form is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// The whole segment is.
    All,
    /// Nothing: `apt update` says nothing about `sudo apt update`.
    Nothing,
}

/// A file that a redirection uses.
#[derive(Debug)]
pub(super) struct FileUse {
    /// The path as it is written; `None` where it is not known before the command runs.
    pub(super) path: Option<String>,
    /// What is known of it.
    pub(super) word: Word,
    /// As it stands in the command.
    pub(super) source: String,
    pub(super) access: Access,
    /// The folders that it may be relative to.
    pub(super) folders: Folders,
    /// Where it stands.
    pub(super) at: usize,
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Something that is not understood: it may hide any command at all.
#[derive(Debug)]
pub(super) struct Doubt {
    pub(super) reason: String,
}
