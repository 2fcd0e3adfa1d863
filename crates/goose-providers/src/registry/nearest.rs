//! Suggestions for misspelled names.

/// Most suggestions.
const MAX_SUGGESTIONS: usize = 3;

/// Longer names are not compared: no service has such a name.
const MAX_NAME_BYTES: usize = 64;

/// The names that are close to the one given, closest first.
pub(super) fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    if given.len() > MAX_NAME_BYTES {
        return Vec::new();
    }
    let given = given.to_lowercase().replace('-', "_");
    let reach = (given.len() / 3).max(2);
    let mut close: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let within = given.len() >= 3 && (name.contains(&given) || given.contains(name));
            let steps = if within { 1 } else { strsim::levenshtein(&given, name) };
            (steps <= reach).then_some((steps, name))
        })
        .collect();
    close.sort();
    close.truncate(MAX_SUGGESTIONS);
    close.into_iter().map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_forgiven_and_nonsense_is_not() {
        let names = ["openai", "azure_openai", "anthropic", "google", "groq"];
        let near = |given: &str| nearest(given, names.into_iter());
        assert_eq!(near("opnai"), ["openai"]);
        assert_eq!(near("antropic"), ["anthropic"]);
        assert_eq!(near("azure-openai"), ["azure_openai", "openai"]);
        assert_eq!(near("zzzzzzzz"), [""; 0]);
        assert_eq!(near(&"o".repeat(10_000)), [""; 0]);
    }
}
