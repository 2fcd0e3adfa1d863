//! What a shell command would do, piece by piece, read with a real parser.
//!
//! - `word`: a word as the shell would see it; `tree`: from source to [`Script`]; `heredoc`, `distrust`: where the parser is
//!   checked, because shells differ; `wrappers`: `env`, `sudo`, `xargs`, `bash -c` … and what they run;
//! - `read_only`, `git`: what is known to change nothing; `folders`: what is looked into besides the words that are written;
//! - `steering`: options that make a program run another one.
//!
//! Whatever is not understood is a [`Doubt`]. Nothing here allows or forbids; that is for the judge.

mod assignments;
mod distrust;
mod folders;
mod git;
mod heredoc;
mod read_only;
mod steering;
mod tree;
mod word;
mod wrappers;

pub(super) use assignments::is_harmless as is_harmless_variable;
pub(super) use folders::{looks_below, takes_files, unnamed as unnamed_folder};
pub(super) use read_only::{is_always_read_only, is_read_only};
pub(super) use steering::is_steered;
pub(super) use tree::read;
pub(super) use word::{Reach, Word};

/// The longest command that is looked into.
pub(super) const MAX_COMMAND_BYTES: usize = 256 * 1024;

/// How many segments a person can be expected to judge; more are asked about as a whole.
pub(super) const MAX_SEGMENTS: usize = 50;

/// How many segments are looked at to see whether one is denied.
const MAX_SEGMENTS_READ: usize = 20_000;

/// How many shells in shells are looked into.
const MAX_NESTING: usize = 5;

/// Whether what is read here is the language of a shell, by its name or path.
pub(super) fn is_language_of(shell: &str) -> bool {
    shell.rsplit('/').next().is_some_and(|name| matches!(name, "sh" | "bash" | "dash" | "ash"))
}

/// What a command line would do.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// The commands, in no particular order.
    pub(super) segments: Vec<Segment>,
    /// The files that redirections read and write.
    pub(super) files: Vec<FileUse>,
    /// What is not understood.
    pub(super) doubts: Vec<Doubt>,
}

impl Script {
    fn doubt(&mut self, weight: Weight, reason: impl Into<String>) {
        self.doubts.push(Doubt { weight, reason: reason.into() });
    }

    /// Whether it goes to another folder on its way, so that relative paths lead elsewhere.
    pub(super) fn moves(&self) -> bool {
        let programs = self.segments.iter().flat_map(|segment| &segment.forms);
        programs.filter_map(|form| form.words.first()?.program()).any(|name| MOVES.contains(&name))
    }
}

/// Commands after which the working folder is another one.
pub(super) const MOVES: [&str; 3] = ["cd", "pushd", "popd"];

/// One command.
#[derive(Debug)]
pub(super) struct Segment {
    /// The command, and what is left of it as wrappers are taken off: `sudo apt update`, `apt update`.
    pub(super) forms: Vec<Form>,
    /// The variables that are set for it.
    pub(super) variables: Vec<String>,
    /// Whether what it runs is judged by itself, as the script of `bash -c` is.
    pub(super) kind: SegmentKind,
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
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Something that is not understood.
#[derive(Debug)]
pub(super) struct Doubt {
    pub(super) weight: Weight,
    pub(super) reason: String,
}

/// How much a doubt hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// It may hide any command at all.
    Opaque,
    /// What runs is known, but not all that it does.
    Subtle,
}
