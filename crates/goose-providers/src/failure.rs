//! Turns error responses into [`ProviderError`]s: by status, by the service's own kinds of error, and by the phrases of
//! many services for the same thing.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use goose_extension::shown_place;
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use crate::{
    endpoint::{ApiKey, Endpoint},
    error::ProviderError,
    http::ShortAnswer,
};

/// Longest part of a service's message that is kept.
const MAX_MESSAGE_CHARS: usize = 1_000;

/// Phrases for a conversation that is too long.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "context_window_exceeded",
    "context length",
    "context window",
    "context limit",
    "context size",
    "exceed_context_size",
    "prompt is too long",
    "input is too long",
    "input length and `max_tokens` exceed",
    "too many tokens",
    "too many input tokens",
    "token limit",
    "maximum number of tokens",
    "reduce the length of the messages",
    "request_too_large",
    "string_above_max_length",
    "max_prompt_tokens_exceeded",
];

/// Phrases for an account without credit.
const NO_QUOTA: &[&str] = &[
    "insufficient_quota",
    "insufficient_balance",
    "insufficient balance",
    "insufficient credit",
    "credit balance is too low",
    "billing_hard_limit",
    "billing_error",
    "more credits",
    "out of credits",
    "payment required",
];

/// Google's phrase for any limit, even one that ends in a minute; from other services it means the account.
const OVER_QUOTA: &str = "exceeded your current quota";

/// Part of the names of Google's daily limits: waiting within a session does not help.
const DAILY: &str = "PerDay";

/// The least length of what is taken for a secret. Shorter ones, such as the `none` that local servers get for a key,
/// stand in many a word.
const MIN_SECRET_BYTES: usize = 8;

/// Parts of the names of headers that hold secrets.
const SECRET_HEADERS: &[&str] = &["auth", "key", "token", "secret", "cookie", "password"];

/// Kinds of error for a wrong key.
const BAD_KEY: &[&str] = &["authentication_error", "invalid_api_key", "permission_error", "unauthorized"];

/// Google's phrases, with status 400, for a key that is wrong, missing or expired.
const BAD_GOOGLE_KEY: &[&str] = &["api key not valid", "api key not found", "api key expired"];

/// Kinds of error for too many requests, and for trouble on the service's side.
const TOO_OFTEN: &[&str] = &["rate_limit", "too_many_requests", "rate limit", "resource_exhausted"];
const IN_TROUBLE: &[&str] = &[
    "overloaded",
    "server_error",
    "internal_error",
    "api_error",
    "timeout_error",
    "service_unavailable",
    "unavailable",
    "bad_gateway",
];

/// A service's words, apart from what it calls the kind of failure.
#[derive(Default)]
struct Words {
    kind: String,
    message: String,
    /// From Google's machine-readable details, as is the next one.
    retry_delay: Option<Duration>,
    is_daily: bool,
}

/// The error that an answer other than 2xx stands for.
pub(crate) fn from_refusal(endpoint: &Endpoint, refusal: &ShortAnswer) -> ProviderError {
    let status = refusal.status;
    if status.is_redirection() {
        return redirected(status, &refusal.headers);
    }
    let words = match serde_json::from_slice::<Value>(&refusal.body) {
        Ok(value) => words_of(&value),
        Err(_) => Words { message: text_of(&refusal.body), ..Words::default() },
    };
    let retry_after = retry_after(&refusal.headers, &words);
    classify(endpoint, Some(status.as_u16()), words, retry_after)
}

/// The text of an error response.
pub(crate) fn refusal_text(endpoint: &Endpoint, refusal: &ShortAnswer) -> String {
    presentable(endpoint, &text_of(&refusal.body), Some(refusal.status.as_u16()))
}

/// The words of an error document, without those that are for programs.
pub(crate) fn words(document: &Value) -> String {
    let described = document.get("error_description").and_then(Value::as_str).filter(|text| !text.is_empty());
    clean(&described.map_or_else(|| words_of(document).message, str::to_owned))
}

/// The error in the middle of a stream, or in an answer that claims success.
pub(crate) fn from_value(endpoint: &Endpoint, error: &Value) -> ProviderError {
    let words = words_of(error);
    let code =
        number(error, "code").or_else(|| number(error, "status")).filter(|code| (400..600).contains(code));
    let retry_after = words.retry_after();
    classify(endpoint, code, words, retry_after)
}

fn number(error: &Value, field: &str) -> Option<u16> {
    let field = error.get(field)?;
    let number = field.as_u64().or_else(|| field.as_str()?.parse().ok())?;
    u16::try_from(number).ok()
}

fn classify(
    endpoint: &Endpoint,
    status: Option<u16>,
    words: Words,
    retry_after: Option<Duration>,
) -> ProviderError {
    let said = format!("{} {}", words.kind, words.message).to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| said.contains(phrase));
    let kind = words.kind.to_lowercase();
    let is_kind = |phrases: &[&str]| phrases.iter().any(|phrase| kind.contains(phrase));
    let message = presentable(endpoint, &words.message, status);
    let is_client_fault = status.is_none_or(|status| (400..500).contains(&status) || status == 500);
    let is_over_quota = words.is_daily || (status != Some(429) && said.contains(OVER_QUOTA));
    match status {
        Some(402) => ProviderError::Quota { message },
        _ if says(NO_QUOTA) || is_over_quota => ProviderError::Quota { message },
        Some(401 | 403) => auth(endpoint, message),
        Some(400) if says(BAD_GOOGLE_KEY) => auth(endpoint, message),
        Some(413) => ProviderError::ContextLength { message },
        Some(429) => ProviderError::RateLimited { message, retry_after },
        _ if is_client_fault && says(TOO_LONG) => ProviderError::ContextLength { message },
        Some(408 | 409 | 425 | 500..) => ProviderError::Server { status, message, retry_after },
        _ if is_kind(BAD_KEY) => auth(endpoint, message),
        _ if is_kind(TOO_OFTEN) => ProviderError::RateLimited { message, retry_after },
        None if is_kind(IN_TROUBLE) || kind.is_empty() => {
            ProviderError::Server { status, message, retry_after }
        }
        _ => ProviderError::Refused { status, message },
    }
}

fn auth(endpoint: &Endpoint, message: String) -> ProviderError {
    ProviderError::Auth { provider: endpoint.provider.clone(), message, key: endpoint.key_name.clone() }
}

fn redirected(status: StatusCode, headers: &HeaderMap) -> ProviderError {
    let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let location = match url::Url::parse(location) {
        Ok(url) => shown_place(url.as_str()),
        Err(_) => clean(location.split(['?', '#']).next().unwrap_or_default()),
    };
    ProviderError::Refused {
        status: Some(status.as_u16()),
        message: format!(
            "redirected to `{location}`, which goose does not follow; if you trust that address, set it as the service's"
        ),
    }
}

/// The error that a document holds.
pub(crate) fn error_in(document: &Value) -> Option<&Value> {
    document.get("error").filter(|error| !error.is_null())
}

/// Services wrap their words differently: `{"error": {"message", "type", "code"}}`, `{"error": "…"}`, `{"message"}`,
/// `{"detail"}`, any of them in a list.
fn words_of(value: &Value) -> Words {
    let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
    let error = error_in(value).unwrap_or(value);
    let text = |field: &str| error.get(field).and_then(Value::as_str).unwrap_or_default();
    let kind = format!("{} {} {}", text("type"), text("code"), text("status"));
    let message = [error.as_str().unwrap_or_default(), text("message"), text("detail"), text("msg")];
    let message = message.into_iter().find(|text| !text.is_empty());
    let mut message = message.map_or_else(|| value.to_string(), str::to_owned);
    // OpenRouter passes on what the service behind it said.
    if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
        message = format!("{message}: {raw}");
    }
    let (retry_delay, is_daily) = details_of(error);
    Words { kind: kind.trim().to_owned(), message, retry_delay, is_daily }
}

/// Google's machine-readable details: `"details": [{"retryDelay": "26s"}, {"violations": [{"quotaId": "…PerDay…"}]}]`.
/// Returns the pause, and whether a limit for a day is reached.
fn details_of(error: &Value) -> (Option<Duration>, bool) {
    let details = error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let delay = |detail: &Value| spoken_duration(detail.get("retryDelay")?.as_str()?);
    let quota = |violation: &Value| violation.get("quotaId").and_then(Value::as_str).map(str::to_owned);
    let violations = details.iter().filter_map(|detail| detail.get("violations")?.as_array()).flatten();
    (details.iter().find_map(delay), violations.filter_map(quota).any(|name| name.contains(DAILY)))
}

/// Returns the text of an error response that is not JSON. Of an HTML page only the title is worth repeating.
fn text_of(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if !text.trim_start().starts_with('<') {
        return text.into_owned();
    }
    let title = text.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    title.unwrap_or("an HTML page").to_owned()
}

/// A text without the key and what else is secret, should a service repeat it.
pub(crate) fn without_secrets(endpoint: &Endpoint, text: &str) -> String {
    let in_headers = endpoint.headers.iter().filter(|(name, _)| is_secret_header(name));
    let in_headers = in_headers.map(|(_, value)| value.rsplit(' ').next().unwrap_or_default());
    let secrets = endpoint.key.iter().map(ApiKey::expose).chain(in_headers);
    secrets
        .filter(|secret| secret.len() >= MIN_SECRET_BYTES)
        .fold(text.to_owned(), |text, secret| text.replace(secret, "[hidden]"))
}

fn is_secret_header(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_HEADERS.iter().any(|part| name.contains(part))
}

fn presentable(endpoint: &Endpoint, message: &str, status: Option<u16>) -> String {
    let message = clean(&without_secrets(endpoint, message));
    if !message.is_empty() {
        return message;
    }
    let reason = status.and_then(|status| StatusCode::from_u16(status).ok()?.canonical_reason());
    reason.unwrap_or("no reason was given").to_owned()
}

/// A foreign text as one short line without control characters.
pub(crate) fn clean(text: &str) -> String {
    let spaced = text.chars().map(|c| if c.is_control() || is_invisible(c) { ' ' } else { c });
    let line: String = spaced.take(MAX_MESSAGE_CHARS * 2).collect();
    let words: Vec<&str> = line.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Characters that change how a line looks without being seen.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the pause that a service asks for. A moment that is past means at once.
fn retry_after(headers: &HeaderMap, words: &Words) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis =
        text("retry-after-ms").and_then(|text| text.parse().ok()).and_then(|ms: f64| seconds(ms / 1000.0));
    millis
        .or_else(|| text("retry-after").and_then(seconds_or_date))
        .or_else(|| exhausted_reset(&text))
        .or_else(|| words.retry_after())
}

fn seconds_or_date(text: &str) -> Option<Duration> {
    if let Ok(number) = text.parse::<f64>() {
        return seconds(number);
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// A number of seconds that may be anything.
fn seconds(number: f64) -> Option<Duration> {
    if number.is_nan() {
        return None;
    }
    Some(Duration::try_from_secs_f64(number.max(0.0)).unwrap_or(Duration::MAX))
}

/// Returns the time until an exhausted limit is reset: `x-ratelimit-reset-requests: 6m0s`, or the moment in
/// `x-ratelimit-reset`.
fn exhausted_reset<'a>(text: &impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    let of = |what: &str| {
        let remaining = text(&format!("x-ratelimit-remaining-{what}"));
        let reset = text(&format!("x-ratelimit-reset-{what}")).and_then(spoken_duration);
        reset.filter(|_| remaining.is_none_or(|left| left == "0"))
    };
    of("requests").max(of("tokens")).or_else(|| text("x-ratelimit-reset").and_then(moment))
}

/// A moment as seconds or milliseconds since 1970, or a number of seconds from now.
fn moment(text: &str) -> Option<Duration> {
    const A_MOMENT_IN_SECONDS: f64 = 1e9;
    const A_MOMENT_IN_MILLIS: f64 = 1e12;
    let number: f64 = text.parse().ok()?;
    if number < A_MOMENT_IN_SECONDS {
        return seconds(number);
    }
    let since_1970 = seconds(if number >= A_MOMENT_IN_MILLIS { number / 1000.0 } else { number })?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(since_1970.saturating_sub(now))
}

/// `1h2m3.5s`, `20ms`; every part has its unit.
fn spoken_duration(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|at| *at > 0)?;
        let (number, tail) = rest.split_at(digits);
        let unit_end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let factor = match unit.trim() {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * factor;
        rest = tail;
    }
    seconds(total)
}

impl Words {
    fn retry_after(&self) -> Option<Duration> {
        self.retry_delay.or_else(|| try_again_in(&self.message))
    }
}

/// OpenAI and Google say it in the message: `Please try again in 1.2s.`, `Please retry in 58.8s.`
fn try_again_in(message: &str) -> Option<Duration> {
    let rest = ["try again in ", "retry in "].into_iter().find_map(|words| message.split(words).nth(1))?;
    let spoken = rest.split_whitespace().next()?.trim_end_matches(['.', ',']);
    spoken_duration(spoken)
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
