//! The built-in extensions, through the door that everybody uses: `Extension::call` with a context.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, and so do its helpers")]

mod arguments;
mod builtins;
mod computer_documents;
mod computer_hostile;
mod computer_screen;
mod computer_script;
mod computer_support;
mod computer_web;
mod developer_backend;
mod developer_edit;
mod developer_files;
mod developer_find;
mod developer_hostile;
mod developer_kept;
mod developer_races;
mod developer_server;
mod developer_shell;
mod developer_support;
mod developer_tools;
mod developer_wrong;
mod example;
mod memory_concurrency;
mod memory_files;
mod memory_names;
mod memory_search;
mod memory_tools;
#[expect(dead_code, reason = "its main function is for the program")]
#[path = "../../examples/rust_extension.rs"]
mod rust_extension;
mod support;
mod tutorial;
