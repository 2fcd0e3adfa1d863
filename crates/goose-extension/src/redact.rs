//! Addresses, arguments, headers and settings as they can be shown: people paste them into issues and chats.
//!
//! Everything that goose prints or logs about a configuration goes through here. Names stay, values of secrets become
//! [`HIDDEN`].

use std::fmt::Write as _;

use crate::looks_secret::{is_secret_value, looks_secret};

/// The placeholder for a value that is not shown.
pub const HIDDEN: &str = "(hidden)";

/// The placeholder within an address or a word.
const LEFT_OUT: &str = "…";

/// Options that are followed by a header.
const HEADER_OPTIONS: [&str; 2] = ["-H", "--header"];

/// Options that are followed by `user:password`.
const USER_OPTIONS: [&str; 2] = ["-u", "--user"];

/// Words before a credential in a header: `Bearer $TOKEN`.
const SCHEMES: [&str; 4] = ["bearer", "basic", "token", "apikey"];

/// Returns an address without user name and password, the values of its query, its fragment, and parts of its path that
/// are secrets. A text that is no address is returned as it is.
pub fn shown_address(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (rest, fragment) = rest.split_once('#').map_or((rest, None), |(rest, text)| (rest, Some(text)));
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let (authority, path) = place.find('/').map_or((place, ""), |at| place.split_at(at));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let mut shown = format!("{scheme}://");
    shown.push_str(host);
    shown.push_str(&shown_path(host, path));
    if let Some(query) = query {
        let pairs: Vec<String> = query.split('&').map(shown_pair).collect();
        // Writing into a string cannot fail.
        let _ = write!(shown, "?{}", pairs.join("&"));
    }
    if fragment.is_some() {
        let _ = write!(shown, "#{LEFT_OUT}");
    }
    shown
}

/// Returns an address as [`shown_address`] does, without its query and fragment.
pub fn shown_place(address: &str) -> String {
    shown_address(address.split(['?', '#']).next().unwrap_or_default())
}

/// Returns a command line word by word, without the values of options, variables and addresses that are secrets.
pub fn shown_arguments<W: AsRef<str>>(words: &[W]) -> Vec<String> {
    let mut before = "";
    let mut shown = Vec::with_capacity(words.len());
    for word in words {
        let word = word.as_ref();
        shown.push(shown_word(before, word));
        before = word;
    }
    shown
}

/// Returns the value of a header. Names of variables stay, because they are no secrets and show what a server is sent.
pub fn shown_header(name: &str, value: &str) -> String {
    let is_secret = looks_secret(name) || name.to_ascii_lowercase().contains("key") || is_secret_value(value);
    if is_secret && !names_variables_only(value) { HIDDEN.to_owned() } else { value.to_owned() }
}

/// Returns the value of a setting or a variable.
pub fn shown_value(name: &str, value: &str) -> String {
    // `OPENAI_CUSTOM_HEADERS` and the like: most headers that people add carry a key.
    let has_headers = name.to_ascii_uppercase().ends_with("_HEADERS");
    if has_headers || looks_secret(name) || is_secret_value(value) {
        return HIDDEN.to_owned();
    }
    shown_address(value)
}

/// Returns any text, such as lines of a log, without what looks like a secret in it. Everything else, also its white
/// space, stays.
pub fn shown_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = String::new();
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let (start, inner, end) = within_quotes(word);
        let safe = shown_word(&before, inner);
        shown.extend([start, safe.as_str(), end, &piece[word.len()..]]);
        // An option is followed by its value on the same line.
        before = if piece.ends_with('\n') { String::new() } else { inner.to_owned() };
    }
    shown
}

/// A word and the quotes, brackets and commas around it.
fn within_quotes(word: &str) -> (&str, &str, &str) {
    const AROUND: &[char] = &['"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '\\'];
    let rest = word.trim_start_matches(AROUND);
    let inner = rest.trim_end_matches(AROUND);
    (&word[..word.len() - rest.len()], inner, &rest[inner.len()..])
}

/// A path, with what is a secret left out: a token, or all of a webhook's.
fn shown_path(host: &str, path: &str) -> String {
    let path = match path.strip_prefix("/bot") {
        Some(_) if host == "api.telegram.org" => return format!("/{LEFT_OUT}"),
        _ => path,
    };
    if is_secret_value(&format!("{host}{path}")) && !path.split('/').any(is_secret_value) {
        return format!("/{LEFT_OUT}");
    }
    let parts: Vec<&str> =
        path.split('/').map(|part| if is_secret_value(part) { LEFT_OUT } else { part }).collect();
    parts.join("/")
}

fn shown_pair(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, _)) => format!("{name}={LEFT_OUT}"),
        None => LEFT_OUT.to_owned(),
    }
}

fn shown_word(before: &str, word: &str) -> String {
    let header = |text: &str| match text.split_once(':') {
        Some((name, value)) => format!("{name}: {}", shown_header(name.trim(), value.trim())),
        None => HIDDEN.to_owned(),
    };
    if HEADER_OPTIONS.contains(&before) {
        return header(word);
    }
    let is_user = USER_OPTIONS.contains(&before) && word.contains(':');
    if is_user || (is_secret_option(before) && !word.starts_with('-')) {
        return LEFT_OUT.to_owned();
    }
    match word.split_once('=') {
        Some((name, value)) if HEADER_OPTIONS.contains(&name) => format!("{name}={}", header(value)),
        Some((name, _)) if is_secret_option(name) || looks_secret(name) => format!("{name}={LEFT_OUT}"),
        Some((name, value)) if !name.contains("://") && is_secret_value(value) => {
            format!("{name}={}", shown_alone(value))
        }
        _ => shown_alone(word),
    }
}

fn shown_alone(word: &str) -> String {
    let shown = shown_address(word);
    if is_secret_value(&shown) { LEFT_OUT.to_owned() } else { shown }
}

/// `--token`, `--api-key`, `-password`; and `--key`, which may be a file, and is left out all the same.
fn is_secret_option(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    name.len() < word.len() && (looks_secret(name) || name.eq_ignore_ascii_case("key"))
}

/// Returns true if a header's value has nothing in it but names of variables and the word for their kind.
fn names_variables_only(value: &str) -> bool {
    value.split_whitespace().all(|word| {
        let name = word.strip_prefix('$').map(|it| it.trim_start_matches('{').trim_end_matches('}'));
        match name {
            Some(name) => name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'),
            None => SCHEMES.contains(&word.to_ascii_lowercase().as_str()),
        }
    })
}
