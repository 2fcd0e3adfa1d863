//! A service: one row of the table.

use crate::endpoint::Dialect;

/// The protocol of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// OpenAI itself: chat, or Responses for the models that want it.
    OpenAi,
    /// OpenAI's chat completions, as many understand them.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Ollama's own API.
    Ollama,
    /// Google's Gemini API.
    Gemini,
    /// Gemini and Claude at Google's cloud.
    Vertex,
    /// Amazon's Converse API, with an API key.
    Bedrock,
}

/// The key that a service wants.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key {
    /// One of these variables must be set; the first is the one to name.
    Required(&'static [&'static str]),
    /// One of these may be set.
    Optional(&'static [&'static str]),
}

/// A setting that the URL is made with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// The variable, as it stands in the URL: `${AWS_REGION}`.
    pub(crate) name: &'static str,
    /// Other variables that say the same.
    pub(crate) also: &'static [&'static str],
    /// The default; without one the user has to set it.
    pub(crate) default: Option<&'static str>,
    /// An example.
    pub(crate) example: &'static str,
}

/// One row of the table. `prefix` makes the names of the variables that every service has: `…_HOST`, `…_BASE_URL`,
/// `…_BASE_PATH`, `…_TIMEOUT` and `…_CUSTOM_HEADERS`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) display: &'static str,
    pub(crate) wire: Wire,
    pub(crate) prefix: &'static str,
    /// The address; may contain `${SETTING}`.
    pub(crate) host: &'static str,
    /// The path; may contain `${SETTING}` and `${model}`.
    pub(crate) path: &'static str,
    pub(crate) key: Key,
    /// The header that holds the bare key, where it is not the wire's own.
    pub(crate) key_header: Option<&'static str>,
    pub(crate) dialect: Dialect,
    pub(crate) settings: &'static [Setting],
    /// Headers that are always sent.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// Headers that are sent where the variable is set.
    pub(crate) header_settings: &'static [(&'static str, &'static str)],
    /// Additional advice for a missing key.
    pub(crate) key_advice: Option<&'static str>,
    pub(crate) docs: &'static str,
    /// Well-known models; the first is the one to begin with.
    pub(crate) models: &'static [&'static str],
}

/// The usual path of chat completions.
pub(crate) const CHAT_PATH: &str = "v1/chat/completions";

/// A service that speaks like OpenAI's chat, with everything else still to be said.
pub(crate) const CHAT: Service = Service {
    name: "",
    aliases: &[],
    display: "",
    wire: Wire::Chat,
    prefix: "",
    host: "",
    path: CHAT_PATH,
    key: Key::Optional(&[]),
    key_header: None,
    dialect: Dialect::Common,
    settings: &[],
    headers: &[],
    header_settings: &[],
    key_advice: None,
    docs: "",
    models: &[],
};
