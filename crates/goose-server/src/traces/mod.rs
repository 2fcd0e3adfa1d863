//! OpenTelemetry: a span for each run, with a child for each request to the model and for each call of a tool.
//!
//! Names, times, ends and numbers of tokens are sent; no text of messages, arguments or results.
//!
//! - `run`: events of a run as spans; `export`: spans as OTLP, in JSON over HTTP.

mod export;
mod run;

use std::time::Duration;

use goose::config::Secret;
use serde_json::{Value, json};
use thiserror::Error;
use url::Url;

pub(crate) use self::{export::Exporter, run::RunTrace};

/// Time limit of a request to the collector, if the environment sets none.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Error in the variables of OpenTelemetry.
#[derive(Debug, Error)]
#[error("{name} cannot be used: {reason}")]
pub struct TraceError {
    name: &'static str,
    reason: String,
}

/// Settings for traces, from the variables that OpenTelemetry defines.
#[derive(Debug, Clone)]
pub struct TraceSettings {
    url: Url,
    headers: Vec<(String, Secret)>,
    timeout: Duration,
    /// Attributes of the resource.
    resource: Vec<(String, String)>,
}

impl TraceSettings {
    /// Reads variables; `None` if they name no collector or disable traces.
    ///
    /// # Errors
    ///
    /// Fails if a variable cannot be understood, or asks for a protocol other than `http/json`.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, TraceError> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let is = |name: &str, value: &str| set(name).is_some_and(|it| it.eq_ignore_ascii_case(value));
        if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
            return Ok(None);
        }
        let Some(url) = address(&set)? else { return Ok(None) };
        let of_traces = |traces: &'static str, all: &'static str| match set(traces) {
            Some(value) => Some((traces, value)),
            None => set(all).map(|value| (all, value)),
        };
        let protocol = of_traces("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL");
        if let Some((name, value)) = protocol
            && value != "http/json"
        {
            return Err(TraceError { name, reason: format!("`{value}` is not supported; use http/json") });
        }
        let headers = match of_traces("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS") {
            Some((name, value)) => pairs(name, &value)?,
            None => Vec::new(),
        };
        let timeout = match of_traces("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT") {
            Some((name, value)) => milliseconds(name, &value)?,
            None => TIMEOUT,
        };
        let mut resource = match set("OTEL_RESOURCE_ATTRIBUTES") {
            Some(value) => pairs("OTEL_RESOURCE_ATTRIBUTES", &value)?,
            None => Vec::new(),
        };
        if let Some(name) = set("OTEL_SERVICE_NAME") {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".to_owned(), name));
        } else if !resource.iter().any(|(key, _)| key == "service.name") {
            resource.push(("service.name".to_owned(), "goose".to_owned()));
        }
        let headers = headers.into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
        Ok(Some(Self { url, headers, timeout, resource }))
    }
}

/// Returns the address for traces. A variable for all signals has the address without its path.
fn address(set: &impl Fn(&str) -> Option<String>) -> Result<Option<Url>, TraceError> {
    const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
    let (name, text) = match (set(TRACES), set(ALL)) {
        (Some(text), _) => (TRACES, text),
        (None, Some(text)) => (ALL, format!("{}/v1/traces", text.trim_end_matches('/'))),
        (None, None) => return Ok(None),
    };
    let url = Url::parse(&text).map_err(|error| TraceError { name, reason: error.to_string() })?;
    match url.scheme() {
        "http" | "https" => Ok(Some(url)),
        other => Err(TraceError { name, reason: format!("`{other}` is neither http nor https") }),
    }
}

/// Reads `NAME=VALUE,NAME=VALUE` with values in percent encoding.
fn pairs(name: &'static str, text: &str) -> Result<Vec<(String, String)>, TraceError> {
    let pair = |part: &str| {
        let (key, value) = part.split_once('=')?;
        // A plus sign is not a space here.
        let value = value.trim().replace('+', "%2B");
        let (value, _) = url::form_urlencoded::parse(value.as_bytes()).next().unwrap_or_default();
        Some((key.trim().to_owned(), value.into_owned()))
    };
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    let bad = || TraceError { name, reason: "it is a list of NAME=VALUE".to_owned() };
    parts.map(|part| pair(part).ok_or_else(bad)).collect()
}

fn milliseconds(name: &'static str, text: &str) -> Result<Duration, TraceError> {
    let number = text.trim().parse::<u64>().ok().filter(|number| *number > 0);
    let number = number.ok_or(TraceError { name, reason: "it is a number of milliseconds".to_owned() })?;
    Ok(Duration::from_millis(number))
}

/// Returns an attribute with a text.
fn text(key: &str, value: impl ToString) -> Value {
    json!({"key": key, "value": {"stringValue": value.to_string()}})
}

/// Returns an attribute with a number, which JSON of OTLP has as a text.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<TraceSettings>, TraceError> {
        TraceSettings::read(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_name_the_collector() {
        assert!(read(&[]).unwrap().is_none());
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/");
        assert!(read(&[endpoint, ("OTEL_SDK_DISABLED", "true")]).unwrap().is_none());
        assert!(read(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")]).unwrap().is_none());
        let settings = read(&[
            endpoint,
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20a+b=,x=1"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,region=north"),
            ("OTEL_SERVICE_NAME", "geese"),
        ])
        .unwrap()
        .unwrap();
        assert_eq!(settings.url.as_str(), "http://127.0.0.1:4318/v1/traces");
        let headers = settings.headers.iter().map(|(name, value)| (name.as_str(), value.expose()));
        assert_eq!(headers.collect::<Vec<_>>(), [("authorization", "Basic a+b="), ("x", "1")]);
        assert_eq!(settings.timeout, Duration::from_millis(250));
        let resource = settings.resource.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        assert_eq!(resource.collect::<Vec<_>>(), [("region", "north"), ("service.name", "geese")]);
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://collector.example/own");
        assert_eq!(read(&[endpoint, own]).unwrap().unwrap().url.as_str(), own.1);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "grpc://collector"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ] {
            let error = read(&[endpoint, (name, value)]).unwrap_err().to_string();
            assert!(error.starts_with(name), "{error}");
        }
    }
}
