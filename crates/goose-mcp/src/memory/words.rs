//! Words, as searching and comparing see them: runs of letters and digits, in lower case.

/// The words of a text, in order.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}
