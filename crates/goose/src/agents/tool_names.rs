//! Tool names that a model sees: `extension__tool`.
//!
//! Providers accept letters, digits, `_` and `-`, at most 64 of them. Other names are changed in a way that
//! depends only on the name, so that a tool has the same name in every run. If two names collide, all but the
//! one that needed no change get a short hash of their plain name.

use std::collections::{HashMap, HashSet};

use sha2::{Digest as _, Sha256};

/// Separator between the names of an extension and a tool.
pub(super) const SEPARATOR: &str = "__";

/// Maximum length of a name that every provider accepts.
const MAX_BYTES: usize = 64;

/// Number of hexadecimal digits of the hash.
const HASH_DIGITS: usize = 8;

/// Returns the name before it is adapted to the rules of providers.
pub(super) fn plain(extension: &str, tool: &str) -> String {
    format!("{extension}{SEPARATOR}{tool}")
}

/// Assigns names to tools, given as extension and tool. The order stays the same.
pub(super) fn assign(tools: &[(&str, &str)]) -> Vec<String> {
    let plain: Vec<String> = tools.iter().map(|(extension, tool)| plain(extension, tool)).collect();
    let fitted: Vec<String> = plain.iter().map(|name| fit(name)).collect();
    let mut owners: HashMap<&str, usize> = HashMap::with_capacity(tools.len());
    for (index, name) in fitted.iter().enumerate() {
        let owner = owners.entry(name).or_insert(index);
        // The tool whose plain name this is keeps it.
        if plain[*owner] != *name && plain[index] == *name {
            *owner = index;
        }
    }
    let mut taken: HashSet<String> = fitted.iter().cloned().collect();
    let mut assigned = Vec::with_capacity(tools.len());
    for (index, (name, (extension, tool))) in fitted.iter().zip(tools).enumerate() {
        assigned.push(match owners[name.as_str()] == index {
            true => name.clone(),
            false => free(name, extension, tool, &mut taken),
        });
    }
    assigned
}

/// Returns a name with a hash that no other tool has.
fn free(name: &str, extension: &str, tool: &str, taken: &mut HashSet<String>) -> String {
    let mut digits = hash([extension, tool]);
    loop {
        let marked = with_hash(name, &digits);
        if taken.insert(marked.clone()) {
            return marked;
        }
        digits = hash([digits.as_str()]);
    }
}

/// Replaces everything in a name that a provider would reject.
fn fit(name: &str) -> String {
    let mut fitted: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect();
    if !fitted.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        fitted.insert(0, '_');
    }
    if fitted.len() > MAX_BYTES {
        fitted = with_hash(&fitted, &hash([name]));
    }
    fitted
}

fn with_hash(name: &str, hash: &str) -> String {
    let kept = name.len().min(MAX_BYTES - HASH_DIGITS - 1);
    format!("{}_{hash}", &name[..kept])
}

fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut digits = format!("{:x}", hasher.finalize());
    digits.truncate(HASH_DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_accepted(name: &str) -> bool {
        (1..=MAX_BYTES).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    }

    #[test]
    fn ordinary_names_stay_as_they_are() {
        assert_eq!(
            assign(&[("memory", "remember_memory"), ("a-b", "c")]),
            ["memory__remember_memory", "a-b__c"]
        );
    }

    #[test]
    fn refused_characters_are_replaced() {
        assert_eq!(assign(&[("my.server", "read file")]), ["my_server__read_file"]);
        assert_eq!(assign(&[("7zip", "pack")]), ["_7zip__pack"]);
        assert_eq!(assign(&[("größe", "日本")]), ["gr__e____"]);
    }

    #[test]
    fn long_names_are_cut_and_stay_distinct() {
        let long = "x".repeat(100);
        let other = format!("{}y", "x".repeat(99));
        let names = assign(&[("e", &long), ("e", &other)]);
        assert!(names.iter().all(|name| is_accepted(name)), "{names:?}");
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn the_real_owner_of_a_name_keeps_it_whatever_the_order() {
        let (dotted, plain) = (("a", "b.c"), ("a", "b_c"));
        let forth = assign(&[dotted, plain]);
        let back = assign(&[plain, dotted]);
        assert_eq!(forth[1], "a__b_c");
        assert_eq!(back[0], "a__b_c");
        assert_eq!(forth[0], back[1], "the other name does not depend on the order");
        assert_ne!(forth[0], forth[1]);
    }

    #[test]
    fn a_hash_that_is_taken_is_not_used() {
        let dotted = &assign(&[("a", "b.c"), ("a", "b_c")])[0];
        let thief = dotted.strip_prefix("a__").unwrap_or_default();
        let names = assign(&[("a", "b.c"), ("a", "b_c"), ("a", thief)]);
        assert_eq!(names[2], *dotted, "it is really called so");
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 3, "{names:?}");
    }

    #[test]
    fn a_separator_inside_of_a_name_does_not_confuse() {
        let names = assign(&[("a", "b__c"), ("a__b", "c")]);
        assert_eq!(names[0], "a__b__c");
        assert_ne!(names[0], names[1]);
        assert!(is_accepted(&names[1]));
    }
}
