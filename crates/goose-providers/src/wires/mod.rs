//! The wires that goose speaks: OpenAI chat (and its many compatibles), OpenAI Responses, Anthropic, Ollama, Google's
//! Gemini and Amazon's Converse.
//!
//! ```text
//! Request ── encode ──► bytes ── Http ──► events ── decode ──► Assembly ──► ReplyEvents
//!            content, ids, names                                 caps, ids, arguments
//!            History: a message is encoded once
//! ```
//!
//! - `wire`: the codec trait, and the provider that is made of a codec;
//! - `body`: the JSON of a request; `content`: the content of messages; `history`: encoded messages, kept between
//!   requests;
//! - `framing`: from bytes to events; `stream`: an answer as it comes; `assembly`: its pieces, under caps;
//! - `names`: ids and tool names that every service takes; `models`: facts that the names of models tell.

mod anthropic;
mod assembly;
mod body;
mod content;
mod converse;
mod framing;
mod gemini;
mod history;
mod models;
mod names;
mod ollama;
mod openai_chat;
mod openai_responses;
mod stream;
mod wire;

pub use anthropic::Anthropic;
pub(crate) use anthropic::{ANTHROPIC_HEADERS, VertexClaude};
pub use converse::Bedrock;
pub(crate) use gemini::GEMINI_HEADERS;
pub use gemini::Gemini;
pub(crate) use models::openai_version;
pub use ollama::{Ollama, chat_request};
pub use openai_chat::OpenAiChat;
pub use openai_responses::OpenAiResponses;
