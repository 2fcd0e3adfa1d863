//! The core, through its public doors.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]

mod agent_manager;
mod agents;
mod apps;
mod asking;
mod bad_output;
mod call_path;
mod chatrecall;
mod checkpoints;
mod code_execution;
mod config_keyring;
mod crashes;
mod descriptions;
mod exchange;
mod exchange_calls;
mod exchange_cancel;
mod exchange_outcomes;
mod exchange_property;
mod exchange_questions;
mod exchange_storing;
mod exchange_streams;
mod exchange_support;
mod extension_manager_tools;
mod floors;
mod http_faults;
mod kinds;
mod leftovers;
mod listing_cache;
mod many_sessions;
mod orchestrator;
mod permission_swaps;
mod recipe;
mod rfc;
mod served_agents;
#[path = "../../../goose-session/tests/suite/support.rs"]
mod session_support;
mod sharing;
mod silence;
mod small_models;
mod strangers;
mod summon;
mod support;
mod task_graph;
mod tom;
mod tool_names;
mod toolset;
