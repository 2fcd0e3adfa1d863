//! Permission checks for tool calls: modes, rules, and approvals that are valid only for the call that was
//! shown.
//!
//! A model's call passes the toolset, argument validation, [`Permissions`] and dispatch, in this order.
//! [`Permissions::judge`] allows the call, denies it, or requires approval. Right before the call runs,
//! [`Permissions::still_holds`] checks that it is still the call that was approved.
//!
//! # Rules
//!
//! Rules are stored in `permission.yaml` in the config folder. Deny wins over ask, and ask over allow, in any
//! order.
//!
//! ```yaml
//! user:                               # whole tools
//!   always_allow: [memory__search_memories]
//!   ask_before: []
//!   never_allow: []
//! rules:
//!   - allow: shell cargo test *       # any further words
//!   - ask: shell git push *
//!   - deny: write ~/.ssh/**           # files, with any tool, and with `>` in the shell
//!   - allow: write src/**             # relative to the working folder
//!   - allow: fetch docs.rs            # pages of a host, with any tool; also localhost:3000
//!   - deny: fetch *.example.com
//!   - allow: github__create_issue owner=ada repo=*
//!     tool: 6f1e…                     # fingerprint of the tool; written by goose
//! ```
//!
//! A rule is a tool and an optional pattern:
//!
//! ```text
//! rule    = tool [pattern]
//! tool    = name as the model sees it, with * | shell | read | write | fetch | bare name of a tool
//! pattern = words of a command   for shell: * within a word; a * at the end matches any further words;
//!                                quotes keep blanks
//!         | path                 for files: * within a name; ** any folders; ~/ is home;
//!                                other paths are relative to the working folder
//!         | host[:port]          for fetch: * matches any characters
//!         | name=value …         for other tools: arguments, with *
//! ```
//!
//! Hosts that are not on the internet need approval in every mode, unless an allow rule names the host without `*`,
//! and, for a public name that leads there, with its port.
//! Metadata services of clouds are never reached.
//!
//! In an allow rule, a bare name matches only goose's own tools, because any server may call a tool `shell`.
//! Rules that ask or deny match every tool of that name, and also apply if they only *may* match. A command
//! is allowed if each of its segments is allowed; a command that cannot be parsed needs approval. The `*` at
//! the end of an allow rule does not match options that make a program run another one, such as
//! `cargo build --config …`: the rule must name them. As in a shell, `*` in the path of an allow rule does
//! not match a leading dot: write `.github/**`.
//!
//! # Protected files
//!
//! A built-in list of rules asks in every mode, including `auto` without any rules: before writing to goose's
//! own folders, `.git`, startup files of shells, editors and agents, keys and credentials, and before reading
//! secrets. Users extend the list with their own rules, and make exceptions with rules that name the path:
//! `allow: read .env`, `allow: write .vscode/**`. Rules about commands cannot see everything that a program
//! does: they prevent accidents, and only a sandbox contains an attack.
//!
//! | file | purpose |
//! | --- | --- |
//! | `permissions.rs`, `verdict.rs` | shared state; results |
//! | `call.rs`, `judge.rs`, `judge_shell.rs`, `path_arguments.rs` | a call and how it is judged |
//! | `judge_fetch.rs` | calls that fetch from a host |
//! | `judge_writes.rs` | the files that a call is known to write |
//! | `rule.rs`, `glob.rs`, `matching.rs`, `paths.rs` | rules and how they match |
//! | `rules_file.rs`, `append.rs` | `permission.yaml` |
//! | `protected.rs`, `protected_files.txt` | the built-in list of protected files |
//! | `judge_protected.rs`, `judge_values.rs`, `secrets_below.rs` | calls that use protected files |
//! | `shell/` | parser and analysis of command lines |
//! | `git_repository.rs` | repositories that make git run programs when it only reads |
//! | `suggest.rs` | the rule that "always" stores |
//! | `approval_snapshot.rs`, `tool_fingerprint.rs` | the scope of an approval; changed tools |
//! | `explain.rs` | the verdict in each mode with its reasons, for the user |

#![forbid(unsafe_code)]

mod append;
mod approval_snapshot;
mod call;
mod explain;
mod git_repository;
mod glob;
mod judge;
mod judge_fetch;
mod judge_folders;
mod judge_protected;
mod judge_shell;
mod judge_values;
mod judge_writes;
mod matching;
mod path_arguments;
mod paths;
mod permissions;
mod protected;
mod rule;
mod rules_file;
mod secrets_below;
mod shell;
mod suggest;
mod tool_fingerprint;
mod verdict;

pub use approval_snapshot::{ApprovalSnapshot, StaleApproval};
pub use call::{CallToJudge, Origin};
pub use explain::{ExplainedFile, ExplainedSegment, Explanation, ModeVerdict};
pub use goose_config::{Mode, UnknownMode};
pub use permissions::{PermissionOptions, Permissions};
pub use protected::ProtectedFile;
pub use rule::{Effect, Rule, RuleError};
pub use verdict::{Judgement, Verdict};
