//! The wires that goose speaks: OpenAI chat (and its many compatibles), OpenAI Responses, Anthropic, Ollama, Google's
//! Gemini and Amazon's Converse.
//!
//! ```text
//! Request ── encode ──► bytes ── Http ──► events ── decode ──► Assembly ──► ReplyEvents
//!            content, ids, names                                 caps, ids, arguments
//!            History: what was written before is not written again
//! ```
//!
//! - `wire`: what a codec is, and the provider that is made of one; `body`: a request as it is written;
//!   `stream`: an answer as it comes;
//! - `assembly`: the pieces of an answer under caps; `content`: what a message may hold, in the form that all wires share;
//! - `history`: the bytes of a conversation that only grows; `names`: ids and tool names that every service takes;
//! - `framing`: from bytes to events; `caching`: marks for Claude's cache;
//! - `text`: what several wires write alike; `tools`: tools as services want them described; `models`: what is known of
//!   models by their names.

mod anthropic;
mod assembly;
mod body;
mod caching;
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
mod text;
mod tools;
mod wire;

pub use anthropic::Anthropic;
pub(crate) use anthropic::VertexClaude;
pub use converse::Bedrock;
pub use gemini::Gemini;
pub use ollama::Ollama;
pub use openai_chat::OpenAiChat;
pub use openai_responses::OpenAiResponses;
