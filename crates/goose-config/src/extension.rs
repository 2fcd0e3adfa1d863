//! One configured extension: what it is, where it comes from, and what every kind has in common.

use std::{collections::BTreeMap, time::Duration};

use goose_extension::{shown_address, shown_arguments};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::serde_repr::{Values, Wire};

/// Default time limit of a call.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// The longest time that a call may take, whatever the configuration says.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// An extension as people configure it, in `config.yaml` and in recipes.
///
/// Reading is lenient (fields may be missing or `null`, unknown ones are passed over); whether the result makes
/// sense is what [`check`](Self::check) tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Wire")]
pub struct ExtensionConfig {
    /// Its origin.
    #[serde(flatten)]
    pub kind: ExtensionKind,
    /// The name that people see.
    pub name: String,
    /// One sentence about it; may be empty.
    pub description: String,
    /// A nicer name for lists of extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The time limit of a call in seconds; see [`timeout`](Self::timeout).
    #[serde(rename = "timeout", skip_serializing_if = "Option::is_none")]
    pub timeout_secs: Option<u64>,
    /// True if it came with goose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundled: Option<bool>,
    /// The tools that may be used; empty means all. [`available_tools`](Self::available_tools) is what is used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub available_tools: Vec<String>,
}

/// The origin of an extension, with what is needed to reach it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExtensionKind {
    /// A service that is part of goose, by its name.
    Builtin,
    /// A part of goose that needs sessions or models, by its name.
    Platform,
    /// A child process that speaks MCP on its standard input and output.
    Stdio {
        /// The program.
        cmd: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables, literally.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        envs: Values,
        /// Environment variables whose values are secrets, by name.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        env_keys: Vec<String>,
    },
    /// A server that speaks MCP over HTTP.
    StreamableHttp {
        /// The server's address.
        uri: String,
        /// Headers of every request; `$VAR` and `${VAR}` are replaced.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        headers: Values,
        /// Variables for the headers, literally.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        envs: Values,
        /// Variables for the headers whose values are secrets, by name.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        env_keys: Vec<String>,
        /// Details of the login, if the server's own answers are not enough.
        #[serde(skip_serializing_if = "Option::is_none")]
        oauth: Option<OAuthConfig>,
    },
    /// Tools that the user interface runs.
    Frontend {
        /// Their descriptions, as MCP has them.
        tools: Vec<Value>,
        /// The instructions about them for the model.
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// A Python program in the configuration itself, run with `uvx`.
    InlinePython {
        /// The program.
        code: String,
        /// The packages that it needs.
        dependencies: Vec<String>,
    },
    /// A server of the old HTTP kind, which is no longer reached. It is read so that the error can say what to do.
    Sse {
        /// The server's address.
        #[serde(skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
    },
}

/// The login at a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthConfig {
    /// The client that goose is registered as; without it goose registers itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The name of the secret that holds the client's secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_key: Option<String>,
    /// The login server that goose signs in at; without it the one that the server names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The scopes to ask for.
    #[serde(
        default,
        deserialize_with = "crate::serde_repr::null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub scopes: Vec<String>,
    /// The local port that the browser comes back to; any free one without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_port: Option<u16>,
}

impl ExtensionConfig {
    /// An extension of a kind, with nothing else said.
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

    /// A service that is part of goose.
    pub fn builtin(name: impl Into<String>) -> Self {
        Self::new(name, ExtensionKind::Builtin)
    }

    /// A part of goose that needs sessions or models.
    pub fn platform(name: impl Into<String>) -> Self {
        Self::new(name, ExtensionKind::Platform)
    }

    /// A child process.
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

    /// A server that speaks MCP over HTTP.
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

    /// Tools that the user interface runs.
    pub fn frontend(name: impl Into<String>, tools: Vec<Value>) -> Self {
        Self::new(name, ExtensionKind::Frontend { tools, instructions: None })
    }

    /// A Python program, run with `uvx`.
    pub fn inline_python(name: impl Into<String>, code: impl Into<String>) -> Self {
        Self::new(name, ExtensionKind::InlinePython { code: code.into(), dependencies: Vec::new() })
    }

    /// With one sentence about it.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// With a time limit for its calls, in whole seconds (a part of a second counts as one).
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout_secs = Some(timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0));
        self
    }

    /// With an environment variable. Kinds without an environment of their own stay as they are.
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let ExtensionKind::Stdio { envs, .. } | ExtensionKind::StreamableHttp { envs, .. } = &mut self.kind
        {
            envs.insert(name.into(), value.into());
        }
        self
    }

    /// With a secret, by name. Kinds without an environment of their own stay as they are.
    pub fn with_env_key(mut self, name: impl Into<String>) -> Self {
        if let ExtensionKind::Stdio { env_keys, .. } | ExtensionKind::StreamableHttp { env_keys, .. } =
            &mut self.kind
        {
            env_keys.push(name.into());
        }
        self
    }

    /// With a header. Kinds that are not reached over HTTP stay as they are.
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let ExtensionKind::StreamableHttp { headers, .. } = &mut self.kind {
            headers.insert(name.into(), value.into());
        }
        self
    }

    /// With only these tools.
    pub fn with_available_tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.available_tools = tools.into_iter().map(Into::into).collect();
        self
    }

    /// The name that people see.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One sentence about it; may be empty.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The time that a call of a server may be silent: the configured one, else [`DEFAULT_TIMEOUT`].
    pub fn timeout(&self) -> Duration {
        self.call_limit().unwrap_or(DEFAULT_TIMEOUT)
    }

    /// The time limit for a call that the user has chosen, at most [`MAX_TIMEOUT`]. [`DEFAULT_TIMEOUT`] is no choice: earlier
    /// versions of goose write it into every entry, and it must not cut a `shell` call that asks for more time.
    pub fn call_limit(&self) -> Option<Duration> {
        let limit = Duration::from_secs(self.timeout_secs?).min(MAX_TIMEOUT);
        (limit != DEFAULT_TIMEOUT).then_some(limit)
    }

    /// The only tools that may be used, or `None` if all may.
    pub fn available_tools(&self) -> Option<&[String]> {
        Some(self.available_tools.as_slice()).filter(|tools| !tools.is_empty())
    }

    /// The name in the form of a key: lower case, no spaces, and `_` for what is not a letter, digit, `_` or `-`.
    /// The key in `config.yaml` and the prefix of its tools.
    pub fn key(&self) -> String {
        key_of(&self.name)
    }

    /// Returns whether it is a part of goose, and not of others.
    pub fn is_own(&self) -> bool {
        matches!(self.kind, ExtensionKind::Builtin | ExtensionKind::Platform)
    }

    /// Returns true for a feature of any goose version that an entry of `type: platform` can switch.
    pub(crate) fn is_known_switch(&self) -> bool {
        SWITCHES.contains(&&*self.key())
    }

    /// The name of its kind, as `type:` has it.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            ExtensionKind::Builtin => "builtin",
            ExtensionKind::Platform => "platform",
            ExtensionKind::Stdio { .. } => "stdio",
            ExtensionKind::StreamableHttp { .. } => "streamable_http",
            ExtensionKind::Frontend { .. } => "frontend",
            ExtensionKind::InlinePython { .. } => "inline_python",
            ExtensionKind::Sse { .. } => "sse",
        }
    }

    /// The command line or the address without secrets, to be shown; `None` for an extension that has neither.
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

    /// The variables of its own: literal ones, and the names of secret ones.
    pub(crate) fn variables(&self) -> (Option<&Values>, &[String]) {
        match &self.kind {
            ExtensionKind::Stdio { envs, env_keys, .. }
            | ExtensionKind::StreamableHttp { envs, env_keys, .. } => (Some(envs), env_keys),
            _ => (None, &[]),
        }
    }
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,?&#…".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// See [`ExtensionConfig::key`].
fn key_of(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c.to_ascii_lowercase() } else { '_' }
    };
    name.chars().filter(|c| !c.is_whitespace()).map(plain).collect()
}

/// Entries of `type: platform` that only switch a feature.
///
/// | entry | meaning |
/// | --- | --- |
/// | the name of a built-in service | that service; `Settings` resolves it |
/// | `todo`, `apps`, `chatrecall`, `summon`, `tom`, `code_execution`, `extensionmanager` | comes with agents |
/// | `analyze` | a tool of `developer`; the entry itself starts nothing |
/// | `skills`, `scheduler` | comes with recipes |
/// | `orchestrator` | a different feature in goose 1.52; ignored |
/// | anything else | unknown; only `goose doctor` names it |
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
