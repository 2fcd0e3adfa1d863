//! Whether a variable's name says that its value is a secret.

/// Words that only secrets have in their names.
const SECRET_WORDS: [&str; 10] = [
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "APIKEY",
    "PAT",
];

/// What comes before `KEY` in the name of a secret.
const KINDS_OF_KEY: [&str; 6] = ["API", "ACCESS", "PRIVATE", "SECRET", "SIGNING", "ENCRYPTION"];

/// Endings that show a place and not the secret itself.
const PLACES: [&str; 4] = ["_DIR", "_FILE", "_PATH", "_SOCK"];

/// Whether a variable of this name most likely holds a secret: `OPENAI_API_KEY`, `GITHUB_TOKEN`, `PGPASSWORD`. Such
/// variables reach a child process only if its configuration asks for them.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if PLACES.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    let words: Vec<&str> = name.split(['_', '-', '.']).filter(|word| !word.is_empty()).collect();
    words.iter().any(|word| is_secret_word(word)) || has_secret_key(&words) || name.ends_with("_PWD")
}

/// A word from the list, some also with something before them: `PGPASSWORD`.
fn is_secret_word(word: &str) -> bool {
    SECRET_WORDS.contains(&word)
        || ["PASSWORD", "TOKEN", "SECRET", "APIKEY"].iter().any(|ending| word.ends_with(ending))
}

fn has_secret_key(words: &[&str]) -> bool {
    let is_key = |word: &str| word == "KEY" || word == "KEYS";
    words.windows(2).any(|pair| matches!(pair, [kind, key] if KINDS_OF_KEY.contains(kind) && is_key(key)))
}
