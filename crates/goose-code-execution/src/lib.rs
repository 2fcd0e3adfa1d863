//! `code_execution`: TypeScript that calls the agent's tools, so that a task of many calls costs one.
//!
//! A program sees each tool as a function, `developer.shell({command: "ls"})`, and only its output and its
//! last value are returned. It has no files, network or environment: each call goes through
//! [`CallContext::call_tool`](goose_extension::CallContext::call_tool), with the same toolset, permissions,
//! approvals and events as any other call. This crate is not a general JavaScript runtime: a program gets a
//! new engine, and nothing stays after it.
//!
//! ```text
//! extension ─► run ─► engine thread: erase types, evaluate
//!               ▲                        │ call
//!               └──── CallContext ◄──────┘
//! ```
//!
//! | file | purpose |
//! | --- | --- |
//! | `extension.rs` | the extension and its tools |
//! | `functions.rs` | tools as functions: names, and suggestions for unknown ones |
//! | `typescript.rs` | declarations of functions, from JSON Schemas |
//! | `erase.rs` | removes types; lines and columns stay where they were |
//! | `engine.rs`, `engine/`, `prelude.js` | one program in a QuickJS engine |
//! | `engines.rs` | counts the engines of the process, including those that cannot be stopped |
//! | `run.rs` | the thread of an engine, and its calls on the runtime |
//! | `output.rs` | results of calls and printed output, bounded |
//! | `limits.rs` | all limits |

#![forbid(unsafe_code)]

mod engine;
mod engines;
mod erase;
mod extension;
mod functions;
mod limits;
mod output;
mod run;
mod typescript;

pub use extension::CodeExecution;
