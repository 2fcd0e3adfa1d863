//! What models, packages and versions may be called: these become names of files and words of command lines.

/// The longest name.
const MAX_NAME_BYTES: usize = 100;

/// Whether it is one plain word: letters, digits, and `.`, `_`, `-` after the first.
pub(super) fn is_plain(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        for good in ["qwen2.5-coder-1.5b", "a", "0.2.0"] {
            assert!(is_plain(good), "{good}");
        }
        for bad in ["", "..", ".hidden", "-r", "a/b", "a b", "../x", "ä", "a\n", &"x".repeat(101)] {
            assert!(!is_plain(bad), "{bad:?}");
        }
    }
}
