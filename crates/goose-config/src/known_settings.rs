//! The settings that goose reads, with their meanings: what [`unknown_keys`](crate::unknown_keys) compares with, and
//! what the reference of the documentation is made from.

/// Key of a file, and its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// Key, as it is written.
    pub key: &'static str,
    /// Meaning, with the default.
    pub meaning: &'static str,
}

const fn setting(key: &'static str, meaning: &'static str) -> Setting {
    Setting { key, meaning }
}

/// Top-level keys of `config.yaml` that goose or goose 1.52 reads. Services add the names of their variables.
pub const SETTINGS: &[Setting] = &[
    setting("extensions", "mapping of extensions by name"),
    setting("profiles", "mapping of profiles by name; `GOOSE_PROFILE` or `--profile` selects one"),
    setting("agents", "mapping of external agents by name"),
    setting(
        "orchestrator",
        "mapping: `split` (`ask`, `auto`, `off`), `recall` (`folder`, `all`, `off`), `max_tokens` of all tasks of a request \
         (10000000), `check` (false)",
    ),
    setting("hooks", "mapping of hooks by event"),
    setting("slash_commands", "list of `{command, recipe_path}`: recipes as commands of a session"),
    setting("providers", "written by goose 1.52: mapping of providers; `model` of the active one is read"),
    setting(
        "active_provider",
        "written by goose 1.52: the provider; it wins over `GOOSE_PROVIDER` in the same file",
    ),
    setting("CONTEXT_FILE_NAMES", "list of file names with hints for the model (`.goosehints`, `AGENTS.md`)"),
    setting(
        "GOOSE_ACCELERATOR",
        "fast model for names, summaries and routing, as `PROVIDER:MODEL`; the working model by default",
    ),
    setting(
        "GOOSE_AUTO_COMPACT_THRESHOLD",
        "share of the context, from 0 to 1, at which the conversation is compacted (0.8)",
    ),
    setting(
        "GOOSE_CONTEXT_LIMIT",
        "context of the model in tokens, if goose does not know it or it should be smaller",
    ),
    setting(
        "GOOSE_DISABLE_KEYRING",
        "`true` keeps secrets in `secrets.yaml` instead of the system's keyring",
    ),
    setting(
        "GOOSE_GITHUB_CLIENT_ID",
        "client id of the GitHub App with which `goose configure login github_models` logs in",
    ),
    setting("GOOSE_GITHUB_HOST", "address of that login (`https://github.com`)"),
    setting("GOOSE_INPUT_LIMIT", "context in tokens that Ollama is asked to provide (32768)"),
    setting("GOOSE_LOCAL_THREADS", "number of compute threads of the local model"),
    setting("GOOSE_MAX_TOKENS", "maximum length of an answer in tokens"),
    setting("GOOSE_MAX_TOOL_REPETITIONS", "maximum number of identical tool calls in a row (5)"),
    setting("GOOSE_MAX_TURNS", "maximum number of requests to the model for one message (1000)"),
    setting("GOOSE_MODE", "permission mode: `auto` (default), `smart_approve`, `approve`, `chat`"),
    setting("GOOSE_MODEL", "name of the model, optionally with its provider: `PROVIDER:MODEL`"),
    setting(
        "GOOSE_MODERATOR",
        "what happens when the context is full: `summarize` (default), `truncate`, `passive`",
    ),
    setting("GOOSE_MOIM_MESSAGE_FILE", "file with text that is added to each request, up to 64 KB"),
    setting("GOOSE_MOIM_MESSAGE_TEXT", "text that is added to each request, up to 64 KB"),
    setting(
        "GOOSE_NOTIFY",
        "sign when a long reply ends or a question waits: `bell` (default), `desktop`, `off`",
    ),
    setting("GOOSE_OPENAI_API", "API of OpenAI: `chat` or `responses`; by default what the model needs"),
    setting(
        "GOOSE_ORCHESTRATOR_DISABLED",
        "`true` switches the choice of agents and the splitting of lists off",
    ),
    setting("GOOSE_PLANNER_MODEL", "model that writes plans; the working model by default"),
    setting("GOOSE_PLANNER_PROVIDER", "provider of the model that writes plans"),
    setting("GOOSE_PROFILE", "name of the profile to use"),
    setting("GOOSE_PROVIDER", "provider of the model, such as `anthropic` or `ollama`"),
    setting("GOOSE_REASONING_EFFORT", "reasoning effort of the model: `none`, `low`, `medium`, `high`"),
    setting("GOOSE_RECIPE_PATH", "folders with recipes, separated by colons"),
    setting("GOOSE_SHELL", "shell that runs commands; `bash` by default, or else `sh`"),
    setting("GOOSE_SHELL_ENV", "list of secret variables that commands get"),
    setting(
        "GOOSE_SUBAGENT_MAX_TURNS",
        "maximum number of requests to the model for one task or delegate (25)",
    ),
    setting("GOOSE_SUBAGENT_MODEL", "model of delegates; the working model by default"),
    setting("GOOSE_SUBAGENT_PROVIDER", "provider of the model of delegates"),
    setting("GOOSE_TEMPERATURE", "sampling temperature"),
    setting("GOOSE_TELEMETRY_ENABLED", "written by goose 1.52; without effect, there is no telemetry"),
    setting("GOOSE_CLI_THEME", "written by goose 1.52; without effect, goose uses the terminal's colours"),
    setting("OPENAI_HOST", "address of the provider `openai`, for servers with the same API"),
    setting("OPENAI_BASE_PATH", "path of its API below that address"),
    setting("ANTHROPIC_HOST", "address of the provider `anthropic`"),
    setting("OLLAMA_HOST", "address of Ollama"),
];

/// Keys of a profile.
pub const PROFILE_SETTINGS: &[Setting] = &[
    setting("processor", "model that does the work, as `PROVIDER:MODEL`"),
    setting("accelerator", "fast model, as `GOOSE_ACCELERATOR`"),
    setting("moderator", "as `GOOSE_MODERATOR`"),
    setting("extensions", "list of extensions; no others are used"),
    setting("temperature", "as `GOOSE_TEMPERATURE`"),
    setting("effort", "as `GOOSE_REASONING_EFFORT`"),
    setting("max_tokens", "as `GOOSE_MAX_TOKENS`"),
    setting("context_limit", "as `GOOSE_CONTEXT_LIMIT`"),
    setting("compact_threshold", "as `GOOSE_AUTO_COMPACT_THRESHOLD`"),
    setting("max_turns", "as `GOOSE_MAX_TURNS`"),
    setting("max_tool_repetitions", "as `GOOSE_MAX_TOOL_REPETITIONS`"),
    setting("mode", "as `GOOSE_MODE`"),
    setting("instructions", "additional instructions for the model"),
];
