//! Which variables change nothing about what programs do.

/// Variables that only concern how much is said, and in which language and colour.
const HARMLESS: [&str; 22] = [
    "CARGO_TERM_COLOR",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LINES",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
    "VERBOSE",
];

/// Whether a variable can be set for a program without changing what it does.
pub(in crate::permission) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name)
}

/// Whether a variable of the script itself is likely to be none that programs look at: lower case, and no proxy.
pub(super) fn is_local(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_harmless(name) || (plain && !name.contains("proxy"))
}
