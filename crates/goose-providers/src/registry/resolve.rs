//! From a spec and what the user has set to the endpoint that is asked.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use url::{Host, Url};

use crate::{
    endpoint::{ApiKey, Dialect, Endpoint, KeyHeader},
    lookup::TrackedLookup,
    registry::{
        address::{self, Usual},
        service::{CHAT_PATH, Service, Setting, Wire},
        setup_error::SetupError,
    },
    wires::openai_version,
};

/// Most expansions of variables within variables.
const MAX_EXPANSIONS: usize = 4;

/// The longest patience that can be asked for: a day.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// A service that can be asked.
pub(super) struct Resolved {
    pub(super) wire: Wire,
    pub(super) endpoint: Endpoint,
}

/// The user's settings for one service and one model.
pub(super) struct Resolver<'a> {
    pub(super) spec: &'a Service<'a>,
    pub(super) model: &'a str,
    pub(super) lookup: &'a TrackedLookup<'a>,
}

impl Resolver<'_> {
    pub(super) fn resolve(&self) -> Result<Resolved, SetupError> {
        let base = self.base()?;
        let (wire, path) = self.wire_and_path(&base.url)?;
        let url = match base.kind {
            BaseKind::Host => address::join(&base.url, &path),
            BaseKind::BaseUrl => address::join_base(&base.url, &path),
        };
        let mut endpoint = Endpoint::new(self.spec.name, url);
        endpoint.key_header =
            self.spec.key_header.map_or(KeyHeader::Usual, |name| KeyHeader::Named(name.to_owned()));
        endpoint.dialect = self.dialect(&endpoint.url);
        endpoint.headers = self.headers()?;
        endpoint.timeout = self.timeout()?.or(self.spec.timeout);
        endpoint.proxy = address::proxy_for(&endpoint.url, self.lookup)?;
        if let Some((name, key)) = self.key()? {
            endpoint = endpoint.with_key(key.expose(), name);
        }
        endpoint.key_name =
            endpoint.key_name.or_else(|| self.spec.keys.first().map(|name| (*name).to_owned()));
        Ok(Resolved { wire, endpoint })
    }

    /// Returns a setting that is not empty.
    fn value(&self, name: &str) -> Option<String> {
        self.lookup.value(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// One of the variables that every service has: `OPENAI_HOST`.
    fn usual(&self, suffix: &str) -> Option<(String, String)> {
        let name = format!("{}_{suffix}", self.spec.prefix?);
        let value = self.value(&name)?;
        Some((name, value))
    }

    fn base(&self) -> Result<Base, SetupError> {
        let named = |(name, text): (String, String), kind| self.parse_base(&text, &name, kind);
        if let Some(host) = self.usual("HOST") {
            return named(host, BaseKind::Host);
        }
        if let Some(base_url) = self.usual("BASE_URL") {
            return named(base_url, BaseKind::BaseUrl);
        }
        let mut text = self.fill(self.spec.host)?;
        if self.spec.wire == Wire::Vertex {
            // The place that is everywhere has no name of its own in the address.
            text = text.replace("://global-", "://");
        }
        self.parse_base(&text, &format!("the address of {}", self.spec.name), BaseKind::Host)
    }

    fn parse_base(&self, text: &str, variable: &str, kind: BaseKind) -> Result<Base, SetupError> {
        let usual = if self.spec.wire == Wire::Ollama { Usual::Ollama } else { Usual::Service };
        let url = address::parse(text, usual).map_err(|reason| bad(variable, reason))?;
        Ok(Base { url, kind })
    }

    fn wire_and_path(&self, base: &Url) -> Result<(Wire, String), SetupError> {
        let said = self.usual("BASE_PATH").map(|(_, path)| path);
        if self.spec.wire == Wire::OpenAi {
            let wire = OpenAiWire { said_path: said.as_deref(), base, model: self.model };
            let (wire, path) = wire.choose(self.value(API_VARIABLE).as_deref())?;
            return Ok((wire, path.to_owned()));
        }
        let path = match said {
            Some(path) => path,
            None => self.fill(self.spec.path())?,
        };
        let is_responses =
            path.split('?').next().unwrap_or_default().trim_end_matches('/').ends_with("responses");
        match self.spec.wire {
            Wire::Chat if is_responses => Ok((Wire::Responses, path)),
            wire => Ok((wire, path)),
        }
    }

    /// The inventor's newest is understood at the inventor's own address only; a gateway may stand anywhere.
    fn dialect(&self, url: &Url) -> Dialect {
        let own = Url::parse(self.spec.host).ok();
        match own {
            _ if self.spec.dialect == Dialect::Gateway => Dialect::Gateway,
            Some(own) if own.host_str() != url.host_str() => Dialect::Common,
            _ => self.spec.dialect,
        }
    }

    /// Puts settings in the place of `${NAME}`.
    fn fill(&self, template: &str) -> Result<String, SetupError> {
        let mut text = template.to_owned();
        for _ in 0..MAX_EXPANSIONS {
            if !text.contains("${") {
                break;
            }
            text = self.fill_once(&text)?;
        }
        Ok(text)
    }

    fn fill_once(&self, template: &str) -> Result<String, SetupError> {
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, behind)) = after.split_once('}') else { break };
            text.push_str(before);
            text.push_str(&self.setting(name)?);
            rest = behind;
        }
        text.push_str(rest);
        Ok(text)
    }

    fn setting(&self, name: &str) -> Result<String, SetupError> {
        if name == "model" {
            return Ok(self.model.to_owned());
        }
        let unknown = Setting { name, ..Setting::default() };
        let variable = self.spec.settings.iter().find(|variable| variable.name == name).unwrap_or(&unknown);
        let mut names = std::iter::once(name).chain(variable.also.iter().copied());
        let said = names.find_map(|name| self.value(name));
        let said = said.or_else(|| variable.default.map(str::to_owned));
        said.or_else(|| self.lookup.secret(name).map(|secret| secret.expose().to_owned())).ok_or_else(|| {
            SetupError::MissingSetting {
                service: self.spec.display.to_owned(),
                variable: name.to_owned(),
                example: variable.example.map(str::to_owned),
            }
        })
    }

    fn headers(&self) -> Result<Vec<(String, String)>, SetupError> {
        let mut headers = Vec::new();
        for (name, value) in &self.spec.headers {
            headers.push(header(name, &self.fill(value)?, "the headers of the provider")?);
        }
        for (variable, name) in &self.spec.header_settings {
            if let Some(value) = self.value(variable) {
                headers.push(header(name, &value, variable)?);
            }
        }
        headers.extend(self.custom_headers()?);
        Ok(headers)
    }

    /// `Name=value,Name=value`, or one on each line.
    fn custom_headers(&self) -> Result<Vec<(String, String)>, SetupError> {
        let Some(prefix) = self.spec.prefix else { return Ok(Vec::new()) };
        let variable = format!("{prefix}_CUSTOM_HEADERS");
        let said = self.value(&variable);
        let Some(text) = said.or_else(|| Some(self.lookup.secret(&variable)?.expose().to_owned())) else {
            return Ok(Vec::new());
        };
        let pairs = text.split([',', '\n']).map(str::trim).filter(|pair| !pair.is_empty());
        let parse = |pair: &str| {
            let (name, value) = pair
                .split_once('=')
                .or_else(|| pair.split_once(':'))
                .ok_or_else(|| bad(&variable, "expected Name=value pairs, separated by commas".to_owned()))?;
            header(name.trim(), value.trim(), &variable)
        };
        pairs.map(parse).collect()
    }

    fn timeout(&self) -> Result<Option<Duration>, SetupError> {
        let Some((name, text)) = self.usual("TIMEOUT") else { return Ok(None) };
        let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        match seconds {
            Some(seconds) if !seconds.is_zero() => Ok(Some(seconds.min(MAX_TIMEOUT))),
            _ => Err(bad(&name, format!("`{text}` is not a number of seconds"))),
        }
    }

    fn key(&self) -> Result<Option<(String, ApiKey)>, SetupError> {
        for name in &self.spec.keys {
            let Some(key) = self.lookup.secret(name).filter(|key| !key.is_empty()) else { continue };
            if HeaderValue::from_str(key.expose()).is_err() {
                let reason = format!("it contains characters that no key has ({} bytes)", key.expose().len());
                return Err(bad(name, reason));
            }
            return Ok(Some(((*name).to_owned(), key)));
        }
        match self.spec.keys.first().filter(|_| self.spec.needs_key()) {
            None => Ok(None),
            Some(variable) => Err(SetupError::MissingKey {
                service: self.spec.display.to_owned(),
                variable: (*variable).to_owned(),
                advice: self.spec.key_advice.map(str::to_owned),
                docs: self.spec.docs.map(str::to_owned),
            }),
        }
    }
}

struct Base {
    url: Url,
    kind: BaseKind,
}

/// The meaning of a base address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BaseKind {
    /// A host, to which the whole path is added.
    Host,
    /// A base URL as the makers' own libraries define it.
    BaseUrl,
}

fn header(name: &str, value: &str, variable: &str) -> Result<(String, String), SetupError> {
    if HeaderName::try_from(name).is_err() {
        return Err(bad(variable, format!("`{}` is not a valid header name", name.escape_debug())));
    }
    if HeaderValue::from_str(value).is_err() {
        return Err(bad(variable, format!("the value of the header `{name}` contains invalid characters")));
    }
    Ok((name.to_owned(), value.to_owned()))
}

pub(super) fn bad(variable: &str, reason: String) -> SetupError {
    SetupError::BadSetting { variable: variable.to_owned(), reason }
}

/// Returns whether the URL's host is this one or a subdomain of it.
pub(super) fn is_host(url: &Url, host: &str) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            name == host || name.strip_suffix(host).is_some_and(|sub| sub.ends_with('.'))
        }
        _ => false,
    }
}

/// The variable that decides about OpenAI's wire: `chat` or `responses`.
const API_VARIABLE: &str = "GOOSE_OPENAI_API";

const RESPONSES_PATH: &str = "v1/responses";

/// The facts that decide over which of OpenAI's two wires a model is asked.
struct OpenAiWire<'a> {
    said_path: Option<&'a str>,
    base: &'a Url,
    model: &'a str,
}

impl<'a> OpenAiWire<'a> {
    /// The user's word, else what the path says, else what the model needs.
    fn choose(&self, said: Option<&str>) -> Result<(Wire, &'a str), SetupError> {
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
    openai_version(model).is_some_and(|version| version >= (5, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(base: &str, model: &str) -> Wire {
        let base = Url::parse(base).unwrap();
        OpenAiWire { said_path: None, base: &base, model }.choose(None).unwrap().0
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
