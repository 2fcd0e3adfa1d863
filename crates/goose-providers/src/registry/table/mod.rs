//! The services that goose knows. A service that speaks a known wire needs a row here and nothing else.
//!
//! Names and variables are the ones that goose users write (`GOOSE_PROVIDER`, `…_API_KEY`, `…_HOST`).

mod clouds;
mod hosts;
mod makers;

use crate::{
    endpoint::Dialect,
    registry::service::{CHAT, Key, Service, Wire},
};

/// Every service, in the order in which it is offered.
pub(crate) fn services() -> impl Iterator<Item = &'static Service> {
    [makers::MAKERS, LOCAL, clouds::CLOUDS, hosts::HOSTS].into_iter().flatten()
}

/// Services that goose users may have set and that goose cannot talk to: the name, why, and what to do instead.
pub(crate) const UNSUPPORTED: &[(&str, &str, &str)] = &[
    (
        "local",
        "the small model is a part of the goose program, and this one was built without it",
        "build goose with its default features, start a server such as ollama, or use a service with a key",
    ),
    (
        "github_copilot",
        "it requires a login of its own",
        "use github_models with a GITHUB_TOKEN, or a gateway such as litellm",
    ),
    (
        "sagemaker_tgi",
        "its requests must be signed with AWS keys",
        "use aws_bedrock with a Bedrock API key, or put litellm in front of the endpoint",
    ),
    ("claude-code", "it is a program, not a service", "use anthropic with an ANTHROPIC_API_KEY"),
    ("codex", "it is a program, not a service", "use openai with an OPENAI_API_KEY"),
    ("chatgpt_codex", "it requires a ChatGPT login", "use openai with an OPENAI_API_KEY"),
    ("cursor-agent", "it is a program, not a service", "use openai or anthropic with a key"),
    ("gemini-cli", "it is a program, not a service", "use google with a GOOGLE_API_KEY"),
];

/// Local servers, most used first.
pub(super) const LOCAL: &[Service] = &[
    Service {
        name: "ollama",
        display: "Ollama",
        wire: Wire::Ollama,
        prefix: "OLLAMA",
        host: "http://localhost:11434",
        path: "api/chat",
        key: Key::Optional(&["OLLAMA_API_KEY"]),
        docs: "https://ollama.com/download",
        models: &["qwen3-coder:30b", "qwen3:8b", "gpt-oss:20b", "llama3.3"],
        ..CHAT
    },
    Service {
        name: "litellm",
        display: "LiteLLM",
        prefix: "LITELLM",
        host: "http://localhost:4000",
        key: Key::Optional(&["LITELLM_API_KEY"]),
        dialect: Dialect::Gateway,
        docs: "https://docs.litellm.ai",
        models: &["gpt-5.6-sol", "claude-sonnet-5-5"],
        ..CHAT
    },
    Service {
        name: "lmstudio",
        aliases: &["lm_studio"],
        display: "LM Studio",
        prefix: "LMSTUDIO",
        host: "http://localhost:1234",
        key: Key::Optional(&["LMSTUDIO_API_KEY"]),
        docs: "https://lmstudio.ai",
        models: &["qwen3-coder-30b", "openai/gpt-oss-20b"],
        ..CHAT
    },
    Service {
        name: "llama_cpp",
        aliases: &["llama_server", "llama-server", "llamacpp"],
        display: "llama.cpp server",
        prefix: "LLAMA_CPP",
        host: "http://localhost:8080",
        key: Key::Optional(&["LLAMA_CPP_API_KEY"]),
        docs: "https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
        models: &["default"],
        ..CHAT
    },
    Service {
        name: "vllm",
        display: "vLLM",
        prefix: "VLLM",
        host: "http://localhost:8000",
        key: Key::Optional(&["VLLM_API_KEY"]),
        docs: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
        models: &["Qwen/Qwen3-Coder-30B-A3B-Instruct", "openai/gpt-oss-20b"],
        ..CHAT
    },
    Service {
        name: "docker_model_runner",
        aliases: &["docker"],
        display: "Docker Model Runner",
        prefix: "DOCKER_MODEL_RUNNER",
        host: "http://localhost:12434",
        path: "engines/v1/chat/completions",
        key: Key::Optional(&[]),
        docs: "https://docs.docker.com/ai/model-runner",
        models: &["ai/qwen3-coder", "ai/gpt-oss"],
        ..CHAT
    },
];
