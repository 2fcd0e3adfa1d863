//! Analysis of shell commands.
//!
//! | file | contents |
//! | --- | --- |
//! | `reader.rs`, `expansions.rs`, `braces.rs`, `word.rs` | parser of characters and words |
//! | `grammar.rs`, `compound.rs`, `redirection.rs`, `heredoc.rs` | parser of commands, into a [`Script`] |
//! | `current_folders.rs` | folders that a command may run in |
//! | `segment.rs`, `wrappers.rs`, `builtins.rs`, `launchers.rs` | commands that a command runs |
//! | `read_only.rs`, `queries.rs`, `git.rs`, `sed.rs`, `awk.rs` | commands that are known to change nothing |
//! | `folder_arguments.rs`, `written_files.rs` | folders and files that a command uses |
//! | `values.rs`, `streams.rs`, `output.rs`, `trim.rs` | values that words may have at run time |
//! | `exec_options.rs`, `variables.rs` | options and variables that make a program run another one |
//!
//! The parser supports a subset of the syntax that dash and bash parse alike. Everything else is a doubt
//! (`Script::doubts`). Decisions are made by the judge, not here.

mod awk;
mod braces;
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
mod output;
mod queries;
mod read_only;
mod reader;
mod redirection;
mod sed;
mod segment;
mod streams;
mod trim;
mod values;
mod variables;
mod word;
mod wrappers;
mod written_files;

#[cfg(test)]
mod tests;

pub(super) use current_folders::Folders;
pub(super) use exec_options::has_exec_option;
pub(super) use folder_arguments::{
    chosen as chosen_folders, compares_files, follows_links, handles_folders, included_names, is_no_file,
    listed_names, looks_below, may_read_names, reads_names, shows_below, shows_content, shows_names_only,
    takes_files, unnamed as unnamed_folder,
};
pub(super) use launchers::is_launcher;
pub(super) use read_only::{asks_version, is_always_read_only, only_carries, risky_variable};
pub(super) use values::{Cause, KnownValues, Listed, Value, Values};
pub(super) use variables::is_exec_variable;
pub(super) use word::{Reach, Word};
pub(super) use written_files::{WrittenFiles, written_files};

use std::ops::Range;

use reader::Context;
use redirection::Redirected;

/// Longest command that is parsed.
pub(super) const MAX_COMMAND_BYTES: usize = 256 * 1024;

/// Maximum number of segments that are shown one by one; a command with more needs approval as a whole.
pub(super) const MAX_SEGMENTS: usize = 50;

/// Maximum number of commands and words, counted again for each wrapper.
const MAX_PARTS: usize = 20_000;

const TOO_MANY_PARTS: &str = "it has too many parts";

/// Maximum nesting of shells.
const MAX_NESTING: usize = 5;

/// Returns true if the syntax of a shell, given by name or path, is supported.
pub(super) fn is_supported(shell: &str) -> bool {
    shell.rsplit('/').next().is_some_and(|name| matches!(name, "sh" | "bash" | "dash" | "ash"))
}

/// Parses a command line. The values that this needs remain known.
pub(super) fn read(source: &str, known: &KnownValues<'_>) -> Script {
    let mut script = Script::default();
    reader::Reader::read(&mut script, source);
    // A command is complete only after the commands in its words, so the order differs from the source.
    script.segments.sort_by_key(|segment| segment.at);
    script.files.sort_by_key(|file| file.at);
    values::mark_readers(&mut script, known);
    if script.segments.len() > MAX_SEGMENTS {
        let reason = format!("it has {} parts, too many to check one by one", script.segments.len());
        script.doubts.push(reason);
    }
    script
}

/// Parts of a command line, in source order.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Commands.
    pub(super) segments: Vec<Segment>,
    /// Files that redirections read and write.
    pub(super) files: Vec<FileUse>,
    /// Words outside of commands: values of variables, and items of loops.
    pub(super) loose: Vec<LooseWord>,
    /// Texts of here-documents.
    pub(super) heredocs: Vec<String>,
    /// Variables that are set for all following commands, except those that no program reads.
    pub(super) set: Vec<String>,
    /// True if a file is the input of several commands: `while …; done <x`.
    pub(super) has_shared_input: bool,
    /// True if the errors of several commands go where their output goes.
    pub(super) mixes_errors: bool,
    /// Streams that get the content of a file: `$(<x)`.
    pub(super) file_streams: Vec<usize>,
    /// Parts that are not understood.
    pub(super) doubts: Vec<String>,
    /// Reason why a part was not parsed at all.
    pub(super) unread: Option<&'static str>,
    /// Number of commands and words so far.
    parts: usize,
    /// Number of streams so far.
    streams: usize,
}

/// A word outside of commands.
#[derive(Debug)]
pub(super) struct LooseWord {
    /// Variable that gets it as its value.
    pub(super) variable: Option<String>,
    /// Part of the source in which the variable of a loop certainly has a value.
    pub(super) body: Range<usize>,
    pub(super) word: Word,
    /// Folders that it may be relative to.
    pub(super) folders: Folders,
}

/// One command.
#[derive(Debug)]
pub(super) struct Segment {
    /// Command, and the commands inside its wrappers: `sudo apt update`, `apt update`.
    pub(super) forms: Vec<Form>,
    /// Variables that are set for the command.
    pub(super) variables: Vec<String>,
    /// [`SegmentKind::Carrier`] if the commands that it runs are judged separately, as the script of
    /// `bash -c` is.
    pub(super) kind: SegmentKind,
    /// Folders that the command may run in.
    pub(super) folders: Folders,
    pub(super) context: Context,
    pub(super) redirected: Redirected,
    /// Stream of the files that `find` passes to the commands that it runs.
    pub(super) found: Option<usize>,
    /// Reason why the code that the command runs is not known.
    pub(super) opaque_reason: Option<&'static str>,
    /// Start of the command's source.
    pub(super) source: String,
    /// Position in the source.
    pub(super) at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SegmentKind {
    /// The command itself must be allowed.
    Own,
    /// The command only runs others, which must be allowed.
    Carrier,
}

/// A command at some depth of wrapping.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) words: Vec<Word>,
    pub(super) coverage: Coverage,
    /// True if the command is known to change nothing.
    pub(super) reads_only: bool,
}

impl Form {
    pub(super) fn new(words: Vec<Word>, coverage: Coverage) -> Self {
        Self { reads_only: read_only::is_read_only(&words), words, coverage }
    }
}

/// Part of a segment that is allowed if a form is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coverage {
    /// Whole segment.
    Segment,
    /// No part: a rule for `apt update` does not allow `sudo apt update`.
    Nothing,
}

/// A file that a redirection uses.
#[derive(Debug)]
pub(super) struct FileUse {
    /// Path as written; `None` if it is only known at run time.
    pub(super) path: Option<String>,
    /// Word that names the file.
    pub(super) word: Word,
    /// Source of the word.
    pub(super) source: String,
    /// Reading or writing.
    pub(super) access: Access,
    /// Folders that the path may be relative to.
    pub(super) folders: Folders,
    /// Position in the source.
    pub(super) at: usize,
}

/// Kind of access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}
