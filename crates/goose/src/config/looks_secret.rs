//! Whether a variable's name says that its value is a secret.

/// Words that only secrets have in their names.
const SECRET_WORDS: [&str; 16] = [
    "AUTH",
    "COOKIE",
    "DSN",
    "JWT",
    "PASS",
    "PASSCODE",
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

/// What comes before `KEY` in names that are no secrets.
const HARMLESS_KEYS: [&str; 5] = ["PUBLIC", "HOT", "COMPOSE", "SORT", "PRIMARY"];

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

/// `OPENAI_KEY`, `AWS_ACCESS_KEY_ID`: a key of something.
fn has_secret_key(words: &[&str]) -> bool {
    let is_key = |word: &str| word == "KEY" || word == "KEYS";
    words.windows(2).any(|pair| matches!(pair, [kind, key] if is_key(key) && !HARMLESS_KEYS.contains(kind)))
}

/// Whether a value is an address with a password in it, such as that of a database.
pub(super) fn holds_password(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority
        .rsplit_once('@')
        .is_some_and(|(user, _)| user.split_once(':').is_some_and(|(_, it)| !it.is_empty()))
}
