//! What a person at a terminal sees of the work, and how they answer.
//!
//! - `screen`: the events of a reply as text, made of `answer` (set by `markdown`), `tool_call`, `diff`, `status`;
//!   `json`: the same events for programs;
//! - `input`: the keyboard, whose turn it is; `reader`: lines that are typed, with `completion`; `approval`: may a tool run?
//! - `follow`: one reply from its begin to its end, with signals and questions; `size`: how wide the terminal is.

pub(crate) mod answer;
pub(crate) mod approval;
pub(crate) mod completion;
pub(crate) mod diff;
pub(crate) mod follow;
pub(crate) mod input;
pub(crate) mod json;
pub(crate) mod markdown;
mod reader;
pub(crate) mod screen;
pub(crate) mod size;
pub(crate) mod status;
pub(crate) mod tool_call;
