//! [`Script`]: a parsed command line.

use std::ops::Range;

use super::{current_folders::Folders, word::Word};

/// Longest command that is parsed.
pub(crate) const MAX_COMMAND_BYTES: usize = 256 * 1024;

/// Maximum number of segments that are shown one by one; a command with more needs approval as a whole.
pub(crate) const MAX_SEGMENTS: usize = 50;

/// Maximum number of commands and words, counted again for each wrapper.
pub(super) const MAX_PARTS: usize = 20_000;

pub(super) const TOO_MANY_PARTS: &str = "it has too many parts";

/// Maximum nesting of shells.
pub(super) const MAX_NESTING: usize = 5;

/// Parts of a command line, in source order.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// Commands.
    pub(crate) segments: Vec<Segment>,
    /// Files that redirections read and write.
    pub(crate) files: Vec<FileUse>,
    /// Words outside of commands: values of variables, and items of loops.
    pub(crate) loose: Vec<LooseWord>,
    /// Texts of here-documents.
    pub(crate) heredocs: Vec<String>,
    /// Variables that are set for all following commands, except those that no program reads.
    pub(crate) set: Vec<String>,
    /// True if a file is the input of several commands: `while …; done <x`.
    pub(crate) has_shared_input: bool,
    /// True if the errors of several commands go where their output goes.
    pub(crate) mixes_errors: bool,
    /// Streams that get the content of a file: `$(<x)`.
    pub(crate) file_streams: Vec<usize>,
    /// Parts that are not understood.
    pub(crate) doubts: Vec<String>,
    /// Reason why a part was not parsed at all.
    pub(crate) unread: Option<&'static str>,
    /// Number of commands and words so far.
    pub(super) parts: usize,
    /// Number of streams so far.
    pub(super) streams: usize,
}

/// A word outside of commands.
#[derive(Debug)]
pub(crate) struct LooseWord {
    /// Variable that gets it as its value.
    pub(crate) variable: Option<String>,
    /// Part of the source in which the variable of a loop certainly has a value.
    pub(crate) body: Range<usize>,
    pub(crate) word: Word,
    /// Folders that it may be relative to.
    pub(crate) folders: Folders,
}

/// One command.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Command, and the commands inside its wrappers: `sudo apt update`, `apt update`.
    pub(crate) forms: Vec<Form>,
    /// Variables that are set for the command.
    pub(crate) variables: Vec<String>,
    /// [`SegmentKind::Carrier`] if the commands that it runs are judged separately, as the script of
    /// `bash -c` is.
    pub(crate) kind: SegmentKind,
    /// Folders that the command may run in.
    pub(crate) folders: Folders,
    pub(crate) context: Context,
    pub(crate) redirected: Redirected,
    /// Stream of the files that `find` passes to the commands that it runs.
    pub(crate) found: Option<usize>,
    /// Reason why the code that the command runs is not known.
    pub(crate) opaque_reason: Option<&'static str>,
    /// Start of the command's source.
    pub(crate) source: String,
    /// Position in the source.
    pub(crate) at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentKind {
    /// The command itself must be allowed.
    Own,
    /// The command only runs others, which must be allowed.
    Carrier,
}

/// A command at some depth of wrapping.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) words: Vec<Word>,
    pub(crate) coverage: Coverage,
    /// True if the command is known to change nothing.
    pub(crate) reads_only: bool,
}

/// Part of a segment that is allowed if a form is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// Whole segment.
    Segment,
    /// No part: a rule for `apt update` does not allow `sudo apt update`.
    Nothing,
}

/// A file that a redirection uses.
#[derive(Debug)]
pub(crate) struct FileUse {
    /// Path as written; `None` if it is only known at run time.
    pub(crate) path: Option<String>,
    /// Word that names the file.
    pub(crate) word: Word,
    /// Source of the word.
    pub(crate) source: String,
    /// Reading or writing.
    pub(crate) access: Access,
    /// Folders that the path may be relative to.
    pub(crate) folders: Folders,
    /// Position in the source.
    pub(crate) at: usize,
}

/// Kind of access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Streams and loops around a command.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Context {
    /// Stream that the command reads: 0 for that of the whole script.
    pub(crate) input: usize,
    /// Stream that the command writes: 0 for that of the whole script.
    pub(crate) output: usize,
    /// Number of open loops and functions.
    pub(super) loops: usize,
}

/// Effect of redirections on the streams of a command.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Redirected {
    /// True if the command reads a file instead of its stream.
    pub(super) reads_file: bool,
    /// True if its errors go where its output goes.
    pub(super) mixes_errors: bool,
}

impl Redirected {
    pub(super) fn add(&mut self, other: Self) {
        self.reads_file |= other.reads_file;
        self.mixes_errors |= other.mixes_errors;
    }
}
