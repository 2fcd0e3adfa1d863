//! `$VAR` and `${VAR}` in the values of headers.

use super::{ConfigError, Secret};

/// Replaces each `$NAME` and `${NAME}` by its value. A `$` that no name follows stays as it is (`$5`, `$$`, a lone
/// `$`, `${`), and values are not looked at again. A name that `lookup` does not know is an error.
pub fn substitute(
    text: &str,
    lookup: impl Fn(&str) -> Result<Option<Secret>, ConfigError>,
) -> Result<String, ConfigError> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        result.push_str(before);
        rest = match name_at(after) {
            Some((name, after)) => {
                let unknown = || ConfigError::UnknownVariable { name: name.to_owned() };
                result.push_str(lookup(name)?.ok_or_else(unknown)?.expose());
                after
            }
            None => {
                result.push('$');
                after
            }
        };
    }
    result.push_str(rest);
    Ok(result)
}

/// The name behind a `$`, and what comes after it.
fn name_at(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('{') {
        Some(inner) => {
            inner.split_once('}').filter(|(name, _)| !name.is_empty() && name_length(name) == name.len())
        }
        None => text.split_at_checked(name_length(text)).filter(|(name, _)| !name.is_empty()),
    }
}

/// How many bytes at the beginning are a variable's name.
fn name_length(text: &str) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len())
}
