//! Who may do what: modes, rules, and answers that hold for exactly what was shown.
//!
//! A model's call passes, in this order: [`Toolset`](crate::agents::toolset::Toolset), argument validation, [`Permissions`],
//! dispatch. [`Permissions::judge`] says whether it runs, does not run, or a person decides; right before it runs,
//! [`Permissions::still_holds`] checks that it is still what was decided about.
//!
//! # Rules
//!
//! They are kept in `permission.yaml` in the config folder. deny wins over ask, ask over allow, whatever the order.
//!
//! ```yaml
//! user:                               # whole tools
//!   always_allow: [memory__search_memories]
//!   ask_before: []
//!   never_allow: []
//! rules:
//!   - allow: shell cargo test *       # any further words
//!   - ask: shell git push *
//!   - deny: write ~/.ssh/**           # files, by whatever tool, and by `>` in the shell
//!   - allow: write src/**             # relative to the working folder
//!   - allow: github__create_issue owner=ada repo=*
//!     tool: 6f1e…                     # the tool as it was then; goose writes this
//! ```
//!
//! A rule is a tool and, perhaps, a pattern:
//!
//! ```text
//! rule    = tool [pattern]
//! tool    = name as the model sees it, with * | shell | read | write | bare name of a tool
//! pattern = words of a command   for shell: * within a word; a * at the end is any further words; quotes keep blanks
//!         | path                 for files: * within a name; ** any folders; ~/ is home; without / of the working folder
//!         | name=value …         for other tools: arguments, with *
//! ```
//!
//! A bare name allows only goose's own tools: any server may call a tool `shell`. Rules that ask or deny take it widely,
//! and also count where they *may* be meant. A command is allowed when each of its segments is; what cannot be read asks.
//! The `*` at the end of a rule that allows is no option that makes a program run another one, as `cargo build --config …`:
//! that is written out in a rule, or asked. As in a shell, stars in a path of a rule that allows do not stand for a dot that
//! a name begins with: `.github/**` is written out.
//!
//! # Protected files
//!
//! A built-in list of rules asks in every mode, `auto` without any rule included: before goose's own folders, `.git`, what
//! shells, editors and agents load, keys and credentials are written, and before secrets are read. People add to it with
//! rules of their own, and take from it with rules that write a path out: `allow: read .env`, `allow: write .vscode/**`. Rules
//! about commands cannot see all that a program does; they are a seat belt, and a sandbox is the wall.
//!
//! | where | what for |
//! | --- | --- |
//! | `mode.rs`, `permissions.rs`, `verdict.rs` | the modes; what is shared; what comes out |
//! | `call.rs`, `judge.rs`, `judge_shell.rs`, `judge_words.rs` | a call, and how it is judged |
//! | `rule.rs`, `glob.rs`, `matching.rs`, `paths.rs` | rules, and what they mean |
//! | `rules_file.rs`, `append.rs` | `permission.yaml` |
//! | `protected.rs`, `judge_protected.rs`, `judge_computed.rs`, `secrets_below.rs` | the built-in list of files that are asked about in every mode |
//! | `shell/` | what a command line would do |
//! | `git_repository.rs` | whether a repository runs programs when git only reads it |
//! | `suggest.rs`, `shown.rs`, `pin.rs` | "always"; what a yes is about; tools that change |
//! | `explain.rs` | the verdict in each mode and what it rests on, for people |
//! | `inspector.rs` | others who may object |

mod append;
mod call;
mod explain;
mod git_repository;
mod glob;
mod inspector;
mod judge;
mod judge_computed;
mod judge_protected;
mod judge_shell;
mod judge_words;
mod matching;
mod mode;
mod paths;
mod permissions;
mod pin;
mod protected;
mod rule;
mod rules_file;
mod secrets_below;
mod shell;
mod shown;
mod suggest;
mod verdict;

pub use call::{CallToJudge, Origin};
pub use explain::{ExplainedFile, ExplainedSegment, Explanation, ModeVerdict};
pub use inspector::{Inspector, Objection};
pub use mode::{Mode, UnknownMode};
pub use permissions::{PermissionOptions, Permissions};
pub use rule::{Effect, Rule};
pub use shown::{Shown, Void};
pub use verdict::{Judgement, Verdict};
