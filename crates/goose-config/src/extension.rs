//! [`ExtensionConfig`]: one extension as it is configured: its kind, and the fields that all kinds have.

use std::{collections::BTreeMap, time::Duration};

use goose_extension::{shown_address, shown_arguments};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::serde_repr::{Values, Wire};

/// Time limit of a call, unless the configuration has one.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// Maximum time of a call, whatever the configuration says.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Configuration of an extension, in `config.yaml` and in recipes.
///
/// Reading is lenient: fields may be missing or `null`, and unknown ones are ignored. [`check`](Self::check)
/// finds configurations that cannot work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Wire")]
pub struct ExtensionConfig {
    /// Kind of the extension, with the fields of that kind.
    #[serde(flatten)]
    pub kind: ExtensionKind,
    /// Name for display. [`key`](Self::key) is derived from it.
    pub name: String,
    /// Description in one sentence. May be empty.
    pub description: String,
    /// Name for lists of extensions, if it differs from `name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Time limit of a call in seconds; see [`timeout`](Self::timeout).
    #[serde(rename = "timeout", skip_serializing_if = "Option::is_none")]
    pub timeout_secs: Option<u64>,
    /// True if the extension came with goose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundled: Option<bool>,
    /// Tools that may be used; empty means all. Read it with [`available_tools`](Self::available_tools).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub available_tools: Vec<String>,
}

/// Kind of an extension, with what is needed to reach it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExtensionKind {
    /// Service that is part of goose, by name.
    Builtin {
        /// Names of secret environment variables that its commands get, where they are set.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        env_keys: Vec<String>,
    },
    /// Part of goose that needs sessions or models, by name.
    Platform,
    /// Child process that speaks MCP on its standard input and output.
    Stdio {
        /// Program.
        cmd: String,
        /// Arguments of the program.
        args: Vec<String>,
        /// Environment variables with literal values.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        envs: Values,
        /// Names of environment variables whose values are secrets.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        env_keys: Vec<String>,
    },
    /// Server that speaks MCP over HTTP.
    StreamableHttp {
        /// Address of the server.
        uri: String,
        /// Headers of every request; `$VAR` and `${VAR}` are replaced.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        headers: Values,
        /// Variables for the headers with literal values.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        envs: Values,
        /// Names of variables for the headers whose values are secrets.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        env_keys: Vec<String>,
        /// Details of the login that the server does not announce.
        #[serde(skip_serializing_if = "Option::is_none")]
        oauth: Option<OAuthConfig>,
    },
    /// Tools that the user interface runs.
    Frontend {
        /// Descriptions of the tools, in MCP's form.
        tools: Vec<Value>,
        /// Instructions about the tools, for the model.
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// Python program in the configuration itself, run with `uvx`.
    InlinePython {
        /// Source of the program.
        code: String,
        /// Packages that the program needs.
        dependencies: Vec<String>,
    },
    /// Server of the old HTTP transport, which is no longer supported. It is read so that the error can say
    /// what to do.
    Sse {
        /// Address of the server.
        #[serde(skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
    },
}

/// Login at a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthConfig {
    /// Client id that goose is registered with. Without it, goose registers itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Name of the secret with the client secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_key: Option<String>,
    /// Login server. Without it, the one that the server names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Scopes to ask for.
    #[serde(
        default,
        deserialize_with = "crate::serde_repr::null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub scopes: Vec<String>,
    /// Local port of the browser's callback. Without it, any free port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_port: Option<u16>,
}

impl ExtensionConfig {
    /// Creates an extension of a kind, with defaults for everything else.
    pub fn new(name: impl Into<String>, kind: ExtensionKind) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            display_name: None,
            timeout_secs: None,
            bundled: None,
            available_tools: Vec::new(),
            kind,
        }
    }

    /// Creates a service that is part of goose.
    pub fn builtin(name: impl Into<String>) -> Self {
        Self::new(name, ExtensionKind::Builtin { env_keys: Vec::new() })
    }

    /// Creates a part of goose that needs sessions or models.
    pub fn platform(name: impl Into<String>) -> Self {
        Self::new(name, ExtensionKind::Platform)
    }

    /// Creates a child process.
    pub fn stdio<A: Into<String>>(
        name: impl Into<String>,
        cmd: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        let kind =
            ExtensionKind::Stdio { cmd: cmd.into(), args, envs: Values::default(), env_keys: Vec::new() };
        Self::new(name, kind)
    }

    /// Creates a server that speaks MCP over HTTP.
    pub fn streamable_http(name: impl Into<String>, uri: impl Into<String>) -> Self {
        let kind = ExtensionKind::StreamableHttp {
            uri: uri.into(),
            headers: Values::default(),
            envs: Values::default(),
            env_keys: Vec::new(),
            oauth: None,
        };
        Self::new(name, kind)
    }

    /// Creates tools that the user interface runs.
    pub fn frontend(name: impl Into<String>, tools: Vec<Value>) -> Self {
        Self::new(name, ExtensionKind::Frontend { tools, instructions: None })
    }

    /// Creates a Python program, run with `uvx`.
    pub fn inline_python(name: impl Into<String>, code: impl Into<String>) -> Self {
        Self::new(name, ExtensionKind::InlinePython { code: code.into(), dependencies: Vec::new() })
    }

    /// Sets the description.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the time limit of its calls, rounded up to whole seconds.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout_secs = Some(timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0));
        self
    }

    /// Adds an environment variable. Kinds without variables stay as they are.
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let ExtensionKind::Stdio { envs, .. } | ExtensionKind::StreamableHttp { envs, .. } = &mut self.kind
        {
            envs.insert(name.into(), value.into());
        }
        self
    }

    /// Adds a secret, by name. Kinds without variables stay as they are.
    pub fn with_env_key(mut self, name: impl Into<String>) -> Self {
        if let ExtensionKind::Builtin { env_keys }
        | ExtensionKind::Stdio { env_keys, .. }
        | ExtensionKind::StreamableHttp { env_keys, .. } = &mut self.kind
        {
            env_keys.push(name.into());
        }
        self
    }

    /// Adds a header. Kinds that are not reached over HTTP stay as they are.
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let ExtensionKind::StreamableHttp { headers, .. } = &mut self.kind {
            headers.insert(name.into(), value.into());
        }
        self
    }

    /// Restricts the extension to these tools.
    pub fn with_available_tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.available_tools = tools.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the name for display.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description, which may be empty.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the time for which a call of a server may be silent: the configured one, or
    /// [`DEFAULT_TIMEOUT`].
    pub fn timeout(&self) -> Duration {
        self.call_limit().unwrap_or(DEFAULT_TIMEOUT)
    }

    /// Returns the time limit of a call that the user has chosen, at most [`MAX_TIMEOUT`].
    /// [`DEFAULT_TIMEOUT`] does not count as chosen: earlier versions of goose write it into every entry, and
    /// it must not cut off a `shell` call that asks for more time.
    pub fn call_limit(&self) -> Option<Duration> {
        let limit = Duration::from_secs(self.timeout_secs?).min(MAX_TIMEOUT);
        (limit != DEFAULT_TIMEOUT).then_some(limit)
    }

    /// Returns the only tools that may be used, or `None` if all may.
    pub fn available_tools(&self) -> Option<&[String]> {
        Some(self.available_tools.as_slice()).filter(|tools| !tools.is_empty())
    }

    /// Returns the key in `config.yaml`, which is also the prefix of the tools: the name in lower case,
    /// without spaces, and with `_` for everything but letters, digits, `_` and `-`.
    pub fn key(&self) -> String {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c.to_ascii_lowercase() } else { '_' }
        };
        self.name.chars().filter(|c| !c.is_whitespace()).map(plain).collect()
    }

    /// Returns whether the extension is part of goose.
    pub fn is_own(&self) -> bool {
        matches!(self.kind, ExtensionKind::Builtin { .. } | ExtensionKind::Platform)
    }

    /// Returns true for a feature of any goose version that an entry of `type: platform` can switch.
    pub(crate) fn is_known_switch(&self) -> bool {
        SWITCHES.contains(&&*self.key())
    }

    /// Returns the name of its kind, the value of `type:`.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            ExtensionKind::Builtin { .. } => "builtin",
            ExtensionKind::Platform => "platform",
            ExtensionKind::Stdio { .. } => "stdio",
            ExtensionKind::StreamableHttp { .. } => "streamable_http",
            ExtensionKind::Frontend { .. } => "frontend",
            ExtensionKind::InlinePython { .. } => "inline_python",
            ExtensionKind::Sse { .. } => "sse",
        }
    }

    /// Returns the command line or address without secrets, for display; `None` for kinds that have neither.
    pub fn shown_target(&self) -> Option<String> {
        match &self.kind {
            ExtensionKind::Stdio { cmd, args, .. } => {
                let words: Vec<&String> = std::iter::once(cmd).chain(args).collect();
                let words: Vec<String> = shown_arguments(&words).iter().map(|word| quoted(word)).collect();
                Some(words.join(" "))
            }
            ExtensionKind::StreamableHttp { uri, .. } | ExtensionKind::Sse { uri: Some(uri) } => {
                Some(shown_address(uri))
            }
            _ => None,
        }
    }

    /// Returns the variables of the configuration: literal ones, and the names of secret ones.
    pub(crate) fn variables(&self) -> (Option<&Values>, &[String]) {
        match &self.kind {
            ExtensionKind::Stdio { envs, env_keys, .. }
            | ExtensionKind::StreamableHttp { envs, env_keys, .. } => (Some(envs), env_keys),
            ExtensionKind::Builtin { env_keys } => (None, env_keys),
            _ => (None, &[]),
        }
    }
}

/// Quotes a word as a shell would.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,?&#…".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Entries of `type: platform` that only switch a feature.
///
/// | entry | meaning |
/// | --- | --- |
/// | name of a built-in service | that service; `Settings` resolves it |
/// | `todo`, `apps`, `chatrecall`, `summon`, `tom`, `code_execution` | comes with agents |
/// | `extensionmanager` | comes with agents |
/// | `analyze` | tool of `developer`; the entry starts nothing |
/// | `skills`, `scheduler` | comes with recipes |
/// | `orchestrator` | different feature in goose 1.52; ignored |
/// | anything else | unknown; only `goose doctor` reports it |
const SWITCHES: [&str; 11] = [
    "todo",
    "apps",
    "chatrecall",
    "summon",
    "tom",
    "code_execution",
    "extensionmanager",
    "analyze",
    "skills",
    "scheduler",
    "orchestrator",
];
