//! Environment variables, by their effect on programs.

/// Variables that affect only verbosity, language and colour.
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

/// Returns true if setting a variable does not change the effect of a program.
pub(super) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name)
}

/// Returns true if programs are unlikely to read a variable: its name is lower case and does not configure a
/// proxy.
pub(super) fn is_local(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_harmless(name) || (plain && !name.contains("proxy"))
}

/// Returns true if a variable makes shells and well-known programs run other programs, or search for them
/// elsewhere.
pub(crate) fn is_exec_variable(name: &str) -> bool {
    const NAMES: [&str; 26] = [
        "BASHOPTS",
        "BROWSER",
        "CC",
        "CDPATH",
        "CXX",
        "EDITOR",
        "ENV",
        "GCONV_PATH",
        "HOME",
        "IFS",
        "JAVA_TOOL_OPTIONS",
        "LESSCLOSE",
        "LESSOPEN",
        "MANPAGER",
        "OLDPWD",
        "PAGER",
        "PATH",
        "POSIXLY_CORRECT",
        "PROMPT_COMMAND",
        "PS4",
        "PWD",
        "SHELL",
        "SHELLOPTS",
        "TAR_OPTIONS",
        "VISUAL",
        "XDG_CONFIG_HOME",
    ];
    const STARTS: [&str; 15] = [
        "BASH", "CARGO_", "DYLD_", "GIT_", "GO", "LD_", "MAKE", "NODE_", "NPM_", "PERL", "PYTHON", "RUBY",
        "RUST", "SSH_", "npm_",
    ];
    !is_harmless(name)
        && name != "NODE_ENV"
        && (NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start)))
}
