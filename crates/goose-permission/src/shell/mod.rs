//! Analysis of shell commands.
//!
//! - `reader`, `expansions`, `grammar`, `compound`, `redirection`, `heredoc`: from source to [`Script`], for a subset of the syntax that dash and
//!   bash parse alike; `word`: a word as the shell would see it; `current_folders`: the folders that a command may run in;
//! - `segment`: from words to a [`Segment`]; `wrappers`: `env`, `sudo`, `xargs`, `bash -c` … and the commands that they run;
//!   `builtins`: builtin commands that evaluate their words; `launchers`: programs that run code;
//! - `read_only`, `git`, `sed`, `awk`: commands that are known to change nothing; `folder_arguments`: the folders that a command
//!   uses; `written_files`: the files that a command writes; `exec_options`: options that make a program run another one;
//!   `variables`: variables that do.
//!
//! Everything that is not understood is a doubt (`Script::doubts`). This module decides nothing; the judge does.

mod awk;
mod builtins;
mod compound;
mod current_folders;
mod exec_options;
mod expansions;
mod folder_arguments;
mod git;
mod grammar;
mod heredoc;
mod launchers;
mod read_only;
mod reader;
mod redirection;
mod sed;
mod segment;
mod variables;
mod word;
mod wrappers;
mod written_files;

#[cfg(test)]
mod tests;

pub(super) use current_folders::Folders;
pub(super) use exec_options::has_exec_option;
pub(super) use folder_arguments::{
    chosen as chosen_folders, handles_folders, included_names, listed_names, looks_below, shows_below,
    shows_names_only, takes_files, unnamed as unnamed_folder,
};
pub(super) use launchers::is_launcher;
pub(super) use read_only::{asks_version, is_always_read_only, only_carries, risky_variable};
pub(super) use variables::is_exec_variable;
pub(super) use word::{Reach, Word};
pub(super) use written_files::{WrittenFiles, written_files};

/// The longest command that is parsed.
pub(super) const MAX_COMMAND_BYTES: usize = 256 * 1024;

/// The largest number of segments that are shown one by one; a command with more needs approval as a whole.
pub(super) const MAX_SEGMENTS: usize = 50;

/// The largest number of commands and words, counted again behind each wrapper.
const MAX_PARTS: usize = 20_000;

const TOO_MANY_PARTS: &str = "it has too many parts";

/// The largest nesting of shells.
const MAX_NESTING: usize = 5;

/// Returns true if the syntax of a shell, given by name or path, is supported.
pub(super) fn is_supported(shell: &str) -> bool {
    shell.rsplit('/').next().is_some_and(|name| matches!(name, "sh" | "bash" | "dash" | "ash"))
}

/// Parses a command line.
pub(super) fn read(source: &str) -> Script {
    let mut script = Script::default();
    reader::Reader::read(&mut script, source, None, 0, Folders::here());
    // A command is complete only after the commands in its words, so the order differs from the source.
    script.segments.sort_by_key(|segment| segment.at);
    script.files.sort_by_key(|file| file.at);
    if script.segments.len() > MAX_SEGMENTS {
        let reason = format!("it has {} parts, too many to check one by one", script.segments.len());
        script.doubts.push(reason);
    }
    script
}

/// The parts of a command line, in source order.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// The commands.
    pub(super) segments: Vec<Segment>,
    /// The files that redirections read and write.
    pub(super) files: Vec<FileUse>,
    /// Words that belong to no command, with their folders: values of variables, and items of loops.
    pub(super) loose: Vec<(Word, Folders)>,
    /// The variables that are set for all following commands, except those that no program reads.
    pub(super) set: Vec<String>,
    /// The parts that are not understood.
    pub(super) doubts: Vec<String>,
    /// The reason why a part was not parsed at all.
    pub(super) unread: Option<&'static str>,
    /// The number of commands and words so far.
    parts: usize,
}

/// One command.
#[derive(Debug)]
pub(super) struct Segment {
    /// The command, and the commands inside its wrappers: `sudo apt update`, `apt update`.
    pub(super) forms: Vec<Form>,
    /// The variables that are set for the command.
    pub(super) variables: Vec<String>,
    /// Tells whether the commands that it runs are judged separately, as the script of `bash -c` is.
    pub(super) kind: SegmentKind,
    /// The folders that it may run in.
    pub(super) folders: Folders,
    /// The reason why the code that it runs is not known.
    pub(super) opaque_reason: Option<&'static str>,
    /// The start of its source.
    pub(super) source: String,
    /// The position in the source.
    pub(super) at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SegmentKind {
    /// Must be allowed itself.
    Own,
    /// Only runs others, which must be allowed.
    Carrier,
}

/// A command at some depth of wrapping.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) words: Vec<Word>,
    pub(super) coverage: Coverage,
    /// True if it is known to change nothing.
    pub(super) reads_only: bool,
}

impl Form {
    pub(super) fn new(words: Vec<Word>, coverage: Coverage) -> Self {
        Self { reads_only: read_only::is_read_only(&words), words, coverage }
    }
}

/// The part of a segment that is allowed if a form is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coverage {
    /// The whole segment.
    Segment,
    /// Nothing: `apt update` says nothing about `sudo apt update`.
    Nothing,
}

/// A file that a redirection uses.
#[derive(Debug)]
pub(super) struct FileUse {
    /// The path as written; `None` if it is only known at run time.
    pub(super) path: Option<String>,
    /// The word that names it.
    pub(super) word: Word,
    /// The source of the word.
    pub(super) source: String,
    pub(super) access: Access,
    /// The folders that it may be relative to.
    pub(super) folders: Folders,
    /// The position in the source.
    pub(super) at: usize,
}

/// The kind of access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}
