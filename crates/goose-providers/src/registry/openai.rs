//! OpenAI's two wires: which one a model is asked over.

use url::Url;

use super::{
    resolve::{bad, is_host},
    service::{CHAT_PATH, Wire},
    setup_error::SetupError,
};

/// The variable that decides: `chat` or `responses`.
pub(super) const API_VARIABLE: &str = "GOOSE_OPENAI_API";

const RESPONSES_PATH: &str = "v1/responses";

/// The facts that decide.
pub(super) struct Choice<'a> {
    pub(super) said_path: Option<&'a str>,
    pub(super) base: &'a Url,
    pub(super) model: &'a str,
}

impl<'a> Choice<'a> {
    /// The user's word, else what the path says, else what the model needs.
    pub(super) fn make(&self, said: Option<&str>) -> Result<(Wire, &'a str), SetupError> {
        let wire = match said.map(str::to_ascii_lowercase).as_deref() {
            Some("chat" | "chat_completions") => Wire::Chat,
            Some("responses") => Wire::Responses,
            Some(other) => {
                return Err(bad(API_VARIABLE, format!("`{other}` is not valid; use `chat` or `responses`")));
            }
            None => self.by_path().unwrap_or_else(|| self.by_model()),
        };
        Ok((wire, self.path(wire)))
    }

    fn by_path(&self) -> Option<Wire> {
        let path = self.said_path.unwrap_or_else(|| self.base.path()).trim_end_matches('/');
        match path {
            path if path.ends_with("responses") => Some(Wire::Responses),
            path if path.ends_with("chat/completions") => Some(Wire::Chat),
            _ => None,
        }
    }

    /// Some models are at Responses only. The newest think and call tools there only, but what stands in for OpenAI at
    /// another address seldom has it.
    fn by_model(&self) -> Wire {
        let own = is_host(self.base, "api.openai.com");
        if needs_responses(self.model) || (own && thinks_with_tools(self.model)) {
            return Wire::Responses;
        }
        Wire::Chat
    }

    fn path(&self, wire: Wire) -> &'a str {
        let usual = if wire == Wire::Responses { RESPONSES_PATH } else { CHAT_PATH };
        // A path that was said for the other wire does not fit.
        match self.said_path {
            Some(path) if wire == Wire::Responses && path.ends_with("chat/completions") => usual,
            Some(path) => path,
            None => usual,
        }
    }
}

fn needs_responses(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let ours = name.starts_with("gpt-") || name.starts_with('o') || name.starts_with("codex");
    let marks = ["codex", "-pro", "deep-research", "computer-use"];
    ours && marks.iter().any(|mark| name.contains(mark))
}

/// GPT 5.4 and what came after it.
fn thinks_with_tools(model: &str) -> bool {
    let Some(version) = model.strip_prefix("gpt-") else { return false };
    let number = version.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    match (major.parse::<u32>(), minor.parse::<u32>()) {
        (Ok(major), Ok(minor)) => (major, minor) >= (5, 4),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(base: &str, model: &str) -> Wire {
        let base = Url::parse(base).unwrap();
        Choice { said_path: None, base: &base, model }.make(None).unwrap().0
    }

    #[test]
    fn a_model_is_asked_where_it_answers() {
        let own = "https://api.openai.com";
        for model in ["gpt-4o", "gpt-4.1", "gpt-5", "gpt-5.2", "o3", "gpt-oss-120b", "ft:gpt-4o:me"] {
            assert_eq!(wire(own, model), Wire::Chat, "{model}");
        }
        for model in
            ["gpt-5-codex", "gpt-5.1-codex-max", "o1-pro", "o3-deep-research", "gpt-5.4", "gpt-6-astra"]
        {
            assert_eq!(wire(own, model), Wire::Responses, "{model}");
        }
        assert_eq!(wire("http://127.0.0.1:1", "gpt-6-astra"), Wire::Chat);
        assert_eq!(wire("http://127.0.0.1:1", "gpt-5-codex"), Wire::Responses);
        assert_eq!(wire("http://127.0.0.1:1/v1/responses", "gpt-4o"), Wire::Responses);
        assert_eq!(wire("https://api.openai.com.evil.com", "gpt-6"), Wire::Chat);
    }
}
