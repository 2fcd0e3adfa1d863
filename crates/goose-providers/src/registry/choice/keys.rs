//! The services whose keys are looked for.

/// The services that are chosen where their key is in the environment, the first one first. Left out are services that
/// need more than a key, and those whose variable is set for other reasons (such as `GITHUB_TOKEN` and `HF_TOKEN`).
pub const KEY_ORDER: &[&str] = &[
    "anthropic",
    "openai",
    "google",
    "openrouter",
    "groq",
    "xai",
    "mistral",
    "deepseek",
    "cerebras",
    "together",
    "fireworks",
    "moonshot",
    "zai",
    "qwen",
    "minimax",
    "cohere",
];
