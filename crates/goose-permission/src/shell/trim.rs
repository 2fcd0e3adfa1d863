//! `${x#pattern}`, `${x%pattern}` on known values.

use crate::glob::Glob;

/// Returns the values without a prefix (`#`, `##`) or suffix (`%`, `%%`) that matches a pattern; `None` if
/// they are not known. `*` in the value is a wildcard, too.
pub(super) fn trimmed(value: &str, operator: &str, pattern: &str) -> Option<Vec<String>> {
    if value.contains('*') {
        return trimmed_wildcard(value, operator, pattern);
    }
    if pattern.contains('?') {
        return None;
    }
    let glob = Glob::new(pattern);
    let ends = || (0..=value.len()).filter(|at| value.is_char_boundary(*at));
    let rest = match operator {
        "#" => ends().find(|at| glob.matches(&value[..*at])).map(|at| &value[at..]),
        "##" => ends().rev().find(|at| glob.matches(&value[..*at])).map(|at| &value[at..]),
        "%" => ends().rev().find(|at| glob.matches(&value[*at..])).map(|at| &value[..at]),
        _ => ends().find(|at| glob.matches(&value[*at..])).map(|at| &value[..at]),
    };
    Some(vec![rest.unwrap_or(value).to_owned()])
}

/// Like [`trimmed`], for a value with a wildcard: only what is certain about the known text at its end.
fn trimmed_wildcard(value: &str, operator: &str, pattern: &str) -> Option<Vec<String>> {
    let (first, last) = (value.split('*').next()?, value.rsplit('*').next()?);
    let rest = match (operator, pattern) {
        ("##", "*/") => value.rsplit('/').next().map(str::to_owned),
        ("%", "/*") => value.rsplit_once('/').map(|(folder, _)| folder.to_owned()),
        ("%", ".*") if last.contains('.') => value.rsplit_once('.').map(|(name, _)| name.to_owned()),
        (_, pattern) if pattern.contains(['*', '?']) => None,
        ("#" | "##", prefix) if first.len() >= prefix.len() => {
            Some(value.strip_prefix(prefix).unwrap_or(value).to_owned())
        }
        ("%" | "%%", suffix) if last.len() >= suffix.len() => {
            Some(value.strip_suffix(suffix).unwrap_or(value).to_owned())
        }
        _ => None,
    }?;
    // A name without its start may begin with a dot.
    let hidden = rest.starts_with('*').then(|| format!(".{rest}"));
    Some([rest].into_iter().chain(hidden).collect())
}
