//! Analysis of shell commands.
//!
//! | file | contents |
//! | --- | --- |
//! | `reader.rs`, `expansions.rs`, `braces.rs`, `word.rs` | parser of characters and words |
//! | `grammar.rs`, `compound.rs`, `redirection.rs`, `heredoc.rs` | parser of commands, into a [`Script`] (`script.rs`) |
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
mod script;
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
pub(super) use script::{
    Access, Coverage, FileUse, Form, LooseWord, MAX_SEGMENTS, Script, Segment, SegmentKind,
};
pub(super) use values::{Cause, KnownValues, Listed, Value, Values};
pub(super) use variables::is_exec_variable;
pub(super) use word::{Reach, Word};
pub(super) use written_files::{WrittenFiles, written_files};

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
