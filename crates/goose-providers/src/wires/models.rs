//! Facts about models that their names tell: the fields that they take or refuse.

/// The name without the folder that gateways put before it: `openai/o3` is `o3`.
fn bare(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

/// Returns whether it is a reasoning model of OpenAI's: it takes no temperature, and thoughts count as output.
pub(super) fn is_openai_thinker(model: &str) -> bool {
    let name = bare(model);
    let is_o_series =
        name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_gpt_5 = openai_version(name).is_some_and(|version| version >= (5, 0));
    (is_o_series || is_gpt_5) && !name.contains("-chat")
}

/// Returns whether it is a model of OpenAI's that refuses reasoning options.
pub(super) fn is_openai_talker(model: &str) -> bool {
    let name = bare(model);
    (name.starts_with("gpt-") || name.starts_with("chatgpt"))
        && !name.contains("oss")
        && !is_openai_thinker(name)
}

/// Returns OpenAI's least effort: from `gpt-5.1` on reasoning can be switched off, before that only kept short.
pub(super) fn least_openai_effort(model: &str) -> &'static str {
    match openai_version(bare(model)) {
        Some(version) if version >= (5, 1) => "none",
        Some(_) => "minimal",
        None => "low",
    }
}

/// Returns the version of a GPT.
pub(crate) fn openai_version(name: &str) -> Option<(u32, u32)> {
    version(name.strip_prefix("gpt-")?)
}

/// Returns the version of a Gemini; aliases such as `gemini-flash-latest` have none.
pub(super) fn gemini_version(model: &str) -> Option<(u32, u32)> {
    version(bare(model).strip_prefix("gemini-")?)
}

/// Reads the number that a text begins with: `5.1-codex` is 5.1.
fn version(text: &str) -> Option<(u32, u32)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let mut numbers = text.get(..end)?.split('.');
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0)))
}

/// The way to make a Claude think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaudeThinking {
    /// It cannot.
    Unknown,
    /// With a budget of tokens.
    Budget,
    /// As it sees fit, under an effort.
    Adaptive,
    /// The same; its thoughts are only shown when asked for, and it takes no temperature.
    AdaptiveOnly,
}

/// Returns the way for this model. Other names belong to services with the same wire; they know budgets.
pub(super) fn claude_thinking(model: &str) -> ClaudeThinking {
    let name = bare(model);
    let Some((_, rest)) = name.split_once("claude-") else { return ClaudeThinking::Budget };
    // Dates (`20250514`) are no part of the version.
    let numbers = rest.split(['-', '.', '@', ':']).filter(|part| part.len() <= 2);
    let mut numbers = numbers.filter_map(|part| part.parse::<u32>().ok());
    match (numbers.next(), numbers.next().unwrap_or(0)) {
        (Some(0..=2), _) | (Some(3), 0..=5) => ClaudeThinking::Unknown,
        (Some(3), _) | (Some(4), 0..=5) => ClaudeThinking::Budget,
        (Some(4), 6) => ClaudeThinking::Adaptive,
        _ => ClaudeThinking::AdaptiveOnly,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openai_models_are_told_apart() {
        for thinker in
            ["o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.2-codex", "openai/gpt-5-mini", "gpt-6"]
        {
            assert!(is_openai_thinker(thinker) && !is_openai_talker(thinker), "{thinker}");
        }
        for talker in
            ["gpt-4", "gpt-4o", "gpt-4.1-mini", "gpt-3.5-turbo", "gpt-5-chat-latest", "chatgpt-4o-latest"]
        {
            assert!(!is_openai_thinker(talker) && is_openai_talker(talker), "{talker}");
        }
        for other in ["openai/gpt-oss-120b", "qwen3", "olmo-2", "grok-4"] {
            assert!(!is_openai_thinker(other) && !is_openai_talker(other), "{other}");
        }
        assert_eq!(["gpt-5.1", "gpt-5", "o3"].map(least_openai_effort), ["none", "minimal", "low"]);
    }

    #[test]
    fn claudes_are_told_apart() {
        use ClaudeThinking::{Adaptive, AdaptiveOnly, Budget, Unknown};
        let table = [
            ("claude-3-5-sonnet-20241022", Unknown),
            ("claude-3-haiku-20240307", Unknown),
            ("claude-3-7-sonnet-latest", Budget),
            ("claude-sonnet-4-20250514", Budget),
            ("claude-opus-4-5", Budget),
            ("anthropic/claude-sonnet-4.6", Adaptive),
            ("claude-opus-4-7", AdaptiveOnly),
            ("claude-sonnet-5", AdaptiveOnly),
            ("claude-mythos-preview", AdaptiveOnly),
            ("kimi-k2", Budget),
        ];
        for (model, expected) in table {
            assert_eq!(claude_thinking(model), expected, "{model}");
        }
    }
}
