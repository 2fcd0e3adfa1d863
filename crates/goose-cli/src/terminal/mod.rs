//! Display of replies on a terminal, and input of messages and answers.
//!
//! - `screen`: the events of a reply as text, made of `answer` (set by `markdown`), `tool_call`, `tasks`,
//!   `log_entry`, `diff`, `reasoning`, `outcome`, `status`;
//!   `json`: the same events for programs;
//! - `input`: the keyboard and its turns; `reader`: reads lines, with `completion`, `keys` and `paste`; `menu`: lists
//!   to choose from;
//!   `type_ahead`: text typed during a reply; `approval`: consent to tool calls; `notify`: a sign to a user who looks
//!   elsewhere;
//! - `follow`: follows one reply, with signals and questions; `size`: width of the terminal.

pub(crate) mod answer;
pub(crate) mod approval;
pub(crate) mod completion;
pub(crate) mod diff;
pub(crate) mod follow;
pub(crate) mod input;
pub(crate) mod json;
mod keys;
pub(crate) mod log_entry;
pub(crate) mod markdown;
pub(crate) mod menu;
pub(crate) mod notify;
mod outcome;
mod paste;
mod reader;
mod reasoning;
pub(crate) mod screen;
pub(crate) mod size;
pub(crate) mod status;
pub(crate) mod tasks;
pub(crate) mod tool_call;
mod type_ahead;
