//! Tells variables that hold secrets from others, by their names and by the shapes of their values.
//!
//! Both are needed: `STRIPE_SK` says nothing to who does not know Stripe, and `DEPLOY_HOOK=https://hooks.slack.com/…` has a
//! harmless name. A wrong guess costs little, because a configuration can name each variable that a server needs.

/// Words that only secrets have in their names, besides those of [`SECRET_ENDINGS`].
const SECRET_WORDS: [&str; 28] = [
    "AUTH",
    "AUTHORIZATION",
    "BEARER",
    "COOKIE",
    "CRED",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "DSN",
    "JWT",
    "MNEMONIC",
    "OTP",
    "PASS",
    "PASSCODE",
    "PASSPHRASE",
    "PAT",
    "PEM",
    "PIN",
    "PRIVATE",
    "SALT",
    "SECRETS",
    "SIGNATURE",
    "SIGNING",
    "SK",
    "TOTP",
    "TWOFACTOR",
    "WEBHOOK",
    "WEBHOOKS",
];

/// Words of secrets' names, and ends of such words: `PASSWORD`, `PGPASSWORD`, `MYAPIKEY`.
const SECRET_ENDINGS: [&str; 9] = [
    "PASSWORD",
    "PASSWD",
    "TOKEN",
    "SECRET",
    "APIKEY",
    "PRIVATEKEY",
    "SECRETKEY",
    "ACCESSKEY",
    "CONNECTIONSTRING",
];

/// Pairs of words that stand for a secret only together.
const SECRET_PAIRS: [[&str; 2]; 3] = [["CONNECTION", "STRING"], ["CONN", "STRING"], ["CONN", "STR"]];

/// Words before `KEY` in names of other things.
const HARMLESS_KEYS: [&str; 5] = ["PUBLIC", "HOT", "COMPOSE", "SORT", "PRIMARY"];

/// Words that tell the sessions of desktops and terminals, which programs need to find each other, from those of
/// logins.
const DESKTOP_WORDS: [&str; 24] = [
    "BUS", "BYOBU", "CLASS", "DBUS", "DESKTOP", "DID", "FULL", "GNOME", "ITERM", "KDE", "KONSOLE", "MANAGER",
    "NAME", "SHELL", "SWAY", "TERM", "TERMINAL", "TMUX", "TYPE", "UID", "VERSION", "WT", "XDG", "ZELLIJ",
];

/// Endings that show a place and not the secret itself.
const PLACES: [&str; 4] = ["_DIR", "_FILE", "_PATH", "_SOCK"];

/// Variables whose values are folders and settings of the terminal. A folder may be called anything, and programs
/// cannot do without these.
const NEVER_BY_VALUE: [&str; 14] = [
    "PATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "TMPDIR",
    "SHELL",
    "USER",
    "LOGNAME",
    "TERM",
    "DISPLAY",
    "MANPATH",
    "INFOPATH",
    "LS_COLORS",
    "_",
];

/// The beginnings of tokens, with the least number of characters that follow.
const TOKEN_PREFIXES: [(&str, usize); 47] = [
    ("sk-", 20),
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("rk_live_", 8),
    ("rk_test_", 8),
    ("whsec_", 12),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 12),
    ("gldt-", 12),
    ("glrt-", 12),
    ("xoxa-", 8),
    ("xoxb-", 8),
    ("xoxc-", 8),
    ("xoxd-", 8),
    ("xoxe-", 8),
    ("xoxe.", 8),
    ("xoxp-", 8),
    ("xoxr-", 8),
    ("xoxs-", 8),
    ("xapp-", 8),
    ("hf_", 16),
    ("npm_", 24),
    ("pypi-", 24),
    ("dop_v1_", 16),
    ("dckr_pat_", 12),
    ("shpat_", 16),
    ("lin_api_", 16),
    ("hvs.", 16),
    ("ya29.", 16),
    ("SG.", 20),
    ("AIza", 30),
    ("AGE-SECRET-KEY-", 16),
    ("r8_", 24),
    ("gsk_", 16),
    ("xai-", 16),
    ("dapi", 24),
    ("pplx-", 16),
    ("sbp_", 16),
    ("figd_", 16),
    ("ATATT3", 16),
    ("EAACEdEose0cBA", 8),
    ("sq0atp-", 16),
];

/// The beginnings of Amazon's key ids, which 16 capitals and digits follow.
const AWS_PREFIXES: [&str; 2] = ["AKIA", "ASIA"];

/// Texts that only addresses with a secret path, keys and connection strings have in them, in lower case.
const SECRET_PARTS: [&str; 11] = [
    "-----begin ",
    "hooks.slack.com/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "outlook.office.com/webhook",
    "webhook.office.com/",
    "api.telegram.org/bot",
    "password=",
    "passwd=",
    "accountkey=",
    "sharedaccesskey=",
];

/// Returns true if a variable of this name most likely holds a secret: `OPENAI_API_KEY`, `GITHUB_TOKEN`, `PGPASSWORD`.
/// Such variables reach a child process only if its configuration asks for them.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if PLACES.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    let words: Vec<&str> = name.split(['_', '-', '.']).filter(|word| !word.is_empty()).collect();
    words.iter().any(|word| is_secret_word(word))
        || has_secret_pair(&words)
        || is_login_session(&words)
        || name.ends_with("_PWD")
}

/// Returns true if a variable most likely holds a secret, by its name or by its value.
pub fn is_secret_variable(name: &str, value: &str) -> bool {
    looks_secret(name) || (!NEVER_BY_VALUE.contains(&name) && is_secret_value(value))
}

/// Returns true if a value has the shape of a secret: a token of a known service, a key, a connection string, an
/// address with a password.
pub(crate) fn is_secret_value(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    SECRET_PARTS.iter().any(|part| lower.contains(part))
        || has_scheme(&lower)
        || lower.split(';').any(|part| part.trim_start().starts_with("pwd="))
        || holds_password(value)
        || value.split(|c: char| c.is_whitespace() || "\"'`=,;:@/?&()<>|".contains(c)).any(is_token)
}

/// Returns true for the value of a header for logins: `Bearer …`, `Basic …`.
fn has_scheme(lower: &str) -> bool {
    let (scheme, rest) = lower.trim_start().split_once(' ').unwrap_or_default();
    matches!(scheme, "basic" | "bearer") && rest.len() >= 8 && !rest.trim().contains(' ')
}

/// Returns true if a value is an address with a password in it, such as that of a database.
fn holds_password(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority
        .rsplit_once('@')
        .is_some_and(|(user, _)| user.split_once(':').is_some_and(|(_, it)| !it.is_empty()))
}

fn is_secret_word(word: &str) -> bool {
    SECRET_WORDS.contains(&word) || SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending))
}

/// `OPENAI_KEY`, `AWS_ACCESS_KEY_ID`: a key of something; and the other pairs.
fn has_secret_pair(words: &[&str]) -> bool {
    let is_key = |word: &str| word == "KEY" || word == "KEYS";
    words.windows(2).any(|pair| match pair {
        [kind, key] if is_key(key) => !HARMLESS_KEYS.contains(kind),
        pair => SECRET_PAIRS.iter().any(|secret| secret == pair),
    })
}

/// `SESSION_ID`, `ADMIN_SESSION`, and not `XDG_SESSION_ID`.
fn is_login_session(words: &[&str]) -> bool {
    words.contains(&"SESSION") && !words.iter().any(|word| DESKTOP_WORDS.contains(word))
}

fn is_token(word: &str) -> bool {
    is_prefixed_token(word) || is_aws_key(word) || is_jwt(word)
}

fn is_prefixed_token(word: &str) -> bool {
    let has_rest = |rest: &str, least: usize| {
        rest.len() >= least
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
            // `sk-learn-tutorials-for-beginners` is a folder.
            && (!rest.contains(['-', '_']) || rest.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()))
    };
    TOKEN_PREFIXES
        .iter()
        .any(|(prefix, least)| word.strip_prefix(prefix).is_some_and(|rest| has_rest(rest, *least)))
}

fn is_aws_key(word: &str) -> bool {
    let is_id = |rest: &str| {
        rest.len() == 16 && rest.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    AWS_PREFIXES.iter().any(|prefix| word.strip_prefix(prefix).is_some_and(is_id))
}

/// Three parts in base64, of which the first two begin as JSON objects do.
fn is_jwt(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    let is_base64 =
        |part: &&str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    matches!(parts.as_slice(), [head, body, _] if head.starts_with("eyJ") && body.starts_with("eyJ"))
        && parts.iter().all(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name_or_value() {
        for (name, value) in [
            ("DB_PASS", "x"),
            ("MY_PWD", "x"),
            ("GCP_CRED", "x"),
            ("LOGIN_OTP", "1"),
            ("CARD_PIN", "1"),
            ("OPENAI_API_KEY", "x"),
            ("A", "glpat-abcdefghijklmnopqrst"),
            ("A", "rk_live_abcdefgh12345678"),
            ("A", "gsk_abcdefghijklmnop1234"),
            ("A", "xai-abcdefghijklmnop1234"),
            ("A", "shpat_abcdef0123456789"),
            ("A", "dapi0123456789abcdef0123456789abcdef"),
            ("A", "dop_v1_abcdef0123456789"),
            ("A", "Bearer abcdefgh"),
            ("A", "Basic dXNlcjpwYXNz"),
        ] {
            assert!(is_secret_variable(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("SPIN", "1"),
            ("PIPELINE", "basic"),
            ("A", "sk-learn-tutorials-for-beginners"),
            ("A", "basic auth is off"),
            ("PATH", "/usr/bin"),
            ("A", "npm_package_config_of_something"),
        ] {
            assert!(!is_secret_variable(name, value), "{name}={value}");
        }
    }
}
