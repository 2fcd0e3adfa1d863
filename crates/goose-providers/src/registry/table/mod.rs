//! The services that goose knows. A service that speaks a wire that is there needs a row here and nothing else.
//!
//! Names and variables are the ones that goose users write (`GOOSE_PROVIDER`, `…_API_KEY`, `…_HOST`).

mod clouds;
mod hosts;
mod local;
mod makers;

use super::service::Service;

/// Every service, in the order in which it is offered.
pub(crate) fn services() -> impl Iterator<Item = &'static Service> {
    [makers::MAKERS, local::LOCAL, clouds::CLOUDS, hosts::HOSTS].into_iter().flatten()
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
