//! Services that run the models of others.

use super::super::service::{CHAT, Key, Service};
use crate::endpoint::Dialect;

/// Hosts and routers, most used first.
pub(super) const HOSTS: &[Service] = &[
    Service {
        name: "openrouter",
        display: "OpenRouter",
        prefix: "OPENROUTER",
        host: "https://openrouter.ai",
        path: "api/v1/chat/completions",
        key: Key::Required(&["OPENROUTER_API_KEY"]),
        dialect: Dialect::Gateway,
        headers: &[("x-title", "goose")],
        docs: "https://openrouter.ai/keys",
        models: &[
            "anthropic/claude-sonnet-5.5",
            "openai/gpt-5.6-sol",
            "google/gemini-3.8-flash",
            "qwen/qwen3-coder",
        ],
        ..CHAT
    },
    Service {
        name: "groq",
        display: "Groq",
        prefix: "GROQ",
        host: "https://api.groq.com",
        path: "openai/v1/chat/completions",
        key: Key::Required(&["GROQ_API_KEY"]),
        docs: "https://console.groq.com/keys",
        models: &["openai/gpt-oss-120b", "moonshotai/kimi-k2-instruct-0905", "llama-3.3-70b-versatile"],
        ..CHAT
    },
    Service {
        name: "together",
        display: "Together AI",
        prefix: "TOGETHER",
        host: "https://api.together.xyz",
        key: Key::Required(&["TOGETHER_API_KEY"]),
        docs: "https://api.together.xyz/settings/api-keys",
        models: &[
            "moonshotai/Kimi-K2-Instruct-0905",
            "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8",
            "openai/gpt-oss-120b",
        ],
        ..CHAT
    },
    Service {
        name: "fireworks",
        display: "Fireworks AI",
        prefix: "FIREWORKS",
        host: "https://api.fireworks.ai",
        path: "inference/v1/chat/completions",
        key: Key::Required(&["FIREWORKS_API_KEY"]),
        docs: "https://app.fireworks.ai/settings/users/api-keys",
        models: &[
            "accounts/fireworks/models/kimi-k2-instruct-0905",
            "accounts/fireworks/models/gpt-oss-120b",
        ],
        ..CHAT
    },
    Service {
        name: "cerebras",
        display: "Cerebras",
        prefix: "CEREBRAS",
        host: "https://api.cerebras.ai",
        key: Key::Required(&["CEREBRAS_API_KEY"]),
        docs: "https://cloud.cerebras.ai",
        models: &["zai-glm-4.7", "gpt-oss-120b", "qwen-3-235b-a22b-instruct-2507"],
        ..CHAT
    },
    Service {
        name: "nvidia",
        display: "NVIDIA NIM",
        prefix: "NVIDIA",
        host: "https://integrate.api.nvidia.com",
        key: Key::Required(&["NVIDIA_API_KEY"]),
        docs: "https://build.nvidia.com",
        models: &["openai/gpt-oss-120b", "meta/llama-3.3-70b-instruct"],
        ..CHAT
    },
    Service {
        name: "venice",
        display: "Venice.ai",
        prefix: "VENICE",
        host: "https://api.venice.ai",
        path: "api/v1/chat/completions",
        key: Key::Required(&["VENICE_API_KEY"]),
        docs: "https://docs.venice.ai",
        models: &["llama-3.3-70b", "deepseek-v4-pro"],
        ..CHAT
    },
    Service {
        name: "tetrate",
        display: "Tetrate Agent Router",
        prefix: "TETRATE",
        host: "https://api.router.tetrate.ai",
        key: Key::Required(&["TETRATE_API_KEY"]),
        docs: "https://router.tetrate.ai",
        models: &["claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro"],
        ..CHAT
    },
    Service {
        name: "sambanova",
        display: "SambaNova",
        prefix: "SAMBANOVA",
        host: "https://api.sambanova.ai",
        key: Key::Required(&["SAMBANOVA_API_KEY"]),
        docs: "https://cloud.sambanova.ai/apis",
        models: &["gpt-oss-120b", "Meta-Llama-3.3-70B-Instruct"],
        ..CHAT
    },
    Service {
        name: "deepinfra",
        display: "DeepInfra",
        prefix: "DEEPINFRA",
        host: "https://api.deepinfra.com",
        path: "v1/openai/chat/completions",
        key: Key::Required(&["DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN"]),
        docs: "https://deepinfra.com/dash/api_keys",
        models: &["openai/gpt-oss-120b", "Qwen/Qwen3-Coder-480B-A35B-Instruct"],
        ..CHAT
    },
    Service {
        name: "hyperbolic",
        display: "Hyperbolic",
        prefix: "HYPERBOLIC",
        host: "https://api.hyperbolic.xyz",
        key: Key::Required(&["HYPERBOLIC_API_KEY"]),
        docs: "https://app.hyperbolic.ai/settings",
        models: &["openai/gpt-oss-120b", "Qwen/Qwen3-Coder-480B-A35B-Instruct"],
        ..CHAT
    },
    Service {
        name: "novita",
        display: "Novita AI",
        prefix: "NOVITA",
        host: "https://api.novita.ai",
        path: "v3/openai/chat/completions",
        key: Key::Required(&["NOVITA_API_KEY"]),
        docs: "https://novita.ai/settings/key-management",
        models: &["moonshotai/kimi-k2-0905", "openai/gpt-oss-120b"],
        ..CHAT
    },
    Service {
        name: "nebius",
        display: "Nebius Token Factory",
        prefix: "NEBIUS",
        host: "https://api.tokenfactory.nebius.com",
        key: Key::Required(&["NEBIUS_API_KEY"]),
        docs: "https://tokenfactory.nebius.com",
        models: &["openai/gpt-oss-120b", "Qwen/Qwen3-Coder-480B-A35B-Instruct"],
        ..CHAT
    },
    Service {
        name: "huggingface",
        aliases: &["hf"],
        display: "Hugging Face",
        prefix: "HUGGINGFACE",
        host: "https://router.huggingface.co",
        key: Key::Required(&["HF_TOKEN", "HUGGINGFACE_API_KEY"]),
        docs: "https://huggingface.co/settings/tokens",
        models: &["openai/gpt-oss-120b", "Qwen/Qwen3-Coder-480B-A35B-Instruct"],
        ..CHAT
    },
    Service {
        name: "siliconflow",
        display: "SiliconFlow",
        prefix: "SILICONFLOW",
        host: "https://api.siliconflow.com",
        key: Key::Required(&["SILICONFLOW_API_KEY"]),
        docs: "https://cloud.siliconflow.com/account/ak",
        models: &["zai-org/GLM-4.6", "Qwen/Qwen3-Coder-480B-A35B-Instruct"],
        ..CHAT
    },
    Service {
        name: "baseten",
        display: "Baseten",
        prefix: "BASETEN",
        host: "https://inference.baseten.co",
        key: Key::Required(&["BASETEN_API_KEY"]),
        docs: "https://app.baseten.co/settings/api_keys",
        models: &["openai/gpt-oss-120b", "moonshotai/Kimi-K2-Instruct-0905"],
        ..CHAT
    },
    Service {
        name: "vercel_ai_gateway",
        aliases: &["vercel", "aigateway"],
        display: "Vercel AI Gateway",
        prefix: "AI_GATEWAY",
        host: "https://ai-gateway.vercel.sh",
        key: Key::Required(&["AI_GATEWAY_API_KEY"]),
        dialect: Dialect::Gateway,
        docs: "https://vercel.com/docs/ai-gateway",
        models: &["anthropic/claude-sonnet-5.5", "openai/gpt-5.6-sol", "google/gemini-3.8-flash"],
        ..CHAT
    },
    Service {
        name: "scaleway",
        display: "Scaleway",
        prefix: "SCALEWAY",
        host: "https://api.scaleway.ai",
        key: Key::Required(&["SCW_SECRET_KEY", "SCALEWAY_API_KEY"]),
        docs: "https://console.scaleway.com/iam/api-keys",
        models: &["gpt-oss-120b", "qwen3-coder-30b-a3b-instruct"],
        ..CHAT
    },
    Service {
        name: "ovhcloud",
        display: "OVHcloud AI Endpoints",
        prefix: "OVHCLOUD",
        host: "https://oai.endpoints.kepler.ai.cloud.ovh.net",
        key: Key::Required(&["OVHCLOUD_API_KEY"]),
        docs: "https://endpoints.ai.cloud.ovh.net",
        models: &["gpt-oss-120b", "Qwen3-Coder-30B-A3B-Instruct"],
        ..CHAT
    },
    Service {
        name: "chutes",
        display: "Chutes",
        prefix: "CHUTES",
        host: "https://llm.chutes.ai",
        key: Key::Required(&["CHUTES_API_KEY"]),
        docs: "https://chutes.ai/app/api",
        models: &["openai/gpt-oss-120b", "zai-org/GLM-4.6"],
        ..CHAT
    },
    Service {
        name: "avian",
        display: "Avian",
        prefix: "AVIAN",
        host: "https://api.avian.io",
        key: Key::Required(&["AVIAN_API_KEY"]),
        docs: "https://avian.io",
        models: &["deepseek/deepseek-v3.2", "moonshotai/kimi-k2.5"],
        ..CHAT
    },
    Service {
        name: "ollama_cloud",
        display: "Ollama Cloud",
        prefix: "OLLAMA_CLOUD",
        host: "https://ollama.com",
        key: Key::Required(&["OLLAMA_CLOUD_API_KEY", "OLLAMA_API_KEY"]),
        docs: "https://ollama.com/settings/keys",
        models: &["qwen3-coder:480b-cloud", "gpt-oss:120b-cloud"],
        ..CHAT
    },
];
