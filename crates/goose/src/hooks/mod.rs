//! Hooks: commands of the user that run at fixed points of a session. They can add text and block an action;
//! they never allow what the permissions would not.
//!
//! ```text
//! sources: config.yaml, ~/.claude/settings.json, trusted project files ─► Hook (event, matcher, command)
//! Hooks::fire(event, input) ─► run: sh -c COMMAND, JSON on stdin ─► outcome: exit code, JSON, text
//! ```
//!
//! The format is that of Claude Code: the same file works in both programs.
//!
//! - `file`: parses hooks; `sources`: the files that have some;
//! - `tool_shape`: tools and their arguments by the names that hooks know;
//! - `run`: one run of a command; `outcome`: the meaning of its output;
//! - `session`: the hooks of a session, event by event.

mod file;
mod outcome;
mod run;
mod session;
mod sources;
mod tool_shape;

pub use file::{Hook, HookEvent};
pub use outcome::HookEffect;
pub use run::{HookExit, HookRun};
pub use session::{HookPlace, HookReport, Hooks, own_tool};
pub(crate) use session::{JoinedEffect, MAX_CONTINUATIONS, SessionSource, ToolFacts};
pub use sources::{HookFile, HookFileState};
pub(crate) use sources::{project_hooks, untrusted_hooks_notice};
