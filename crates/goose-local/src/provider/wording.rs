//! The words of a text, in the ways in which texts are looked at here.

/// Words of letters and digits.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Words that can be names in code.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_alphanumeric() && sign != '_').filter(|word| !word.is_empty())
}

/// Words that can be names of files, without the signs around them.
pub(super) fn paths(text: &str) -> impl Iterator<Item = &str> {
    let is_outside = |sign: char| !sign.is_alphanumeric() && !matches!(sign, '.' | '_' | '/');
    text.split_whitespace()
        .map(move |word| word.trim_matches(is_outside).trim_end_matches('.').trim_start_matches("./"))
}
