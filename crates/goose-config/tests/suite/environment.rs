//! The environment of child processes and the headers of remote servers.

use std::{collections::BTreeMap, ffi::OsString};

use anyhow::{Context, Result, ensure};
use goose_config::{
    BaseEnvironment, ConfigError, EnvSecrets, ExtensionConfig, Secret, looks_secret, substitute,
};
use proptest::prelude::*;

#[test]
fn secret_variables_are_recognized_by_name() {
    for name in [
        "OPENAI_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "GITHUB_TOKEN",
        "GITHUB_TOKEN_WORK",
        "TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SESSION_TOKEN",
        "DB_PASSWORD",
        "DB_PASSWD",
        "PGPASSWORD",
        "MYSQL_PWD",
        "SSH_PRIVATE_KEY",
        "CLIENT_SECRET",
        "SECRET_KEY_BASE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GPG_PASSPHRASE",
        "GITHUB_PAT",
        "openai_api_key",
        "npm_config__authToken",
        "SIGNING_KEY",
        "OPENAI_KEY",
        "DB_PASS",
        "NPM_AUTH",
        "SENTRY_DSN",
        "MYAPIKEY",
        "GOOSE_SERVER__SECRET_KEY",
    ] {
        assert!(looks_secret(name), "{name}");
    }
    for name in [
        "PATH",
        "HOME",
        "USER",
        "SHELL",
        "LANG",
        "LC_ALL",
        "TERM",
        "TMPDIR",
        "PWD",
        "OLDPWD",
        "SSH_AUTH_SOCK",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
        "DISPLAY",
        "XAUTHORITY",
        "KEYBOARD",
        "GOOSE_MAX_TOKENS",
        "TOKENIZERS_PARALLELISM",
        "SSH_ASKPASS",
        "PASSWORD_STORE_DIR",
        "POSTGRES_PASSWORD_FILE",
        "HTTP_PROXY",
        "VIRTUAL_ENV",
        "NODE_PATH",
        "JAVA_HOME",
        "PATTERN",
        "KEY",
        "",
    ] {
        assert!(!looks_secret(name), "{name}");
    }
}

#[test]
fn child_gets_the_base_environment_and_its_own_variables() -> Result<()> {
    let base = [
        ("PATH", "/bin"),
        ("DATABASE_URL", "postgres://me:hush@host/db"),
        ("OPENAI_API_KEY", "hush"),
        ("GH_TOKEN", "outside"),
        ("MODE", "base"),
    ];
    let environment: BaseEnvironment = base.into_iter().collect();
    assert_eq!(environment.get("OPENAI_API_KEY"), None);
    assert_eq!(environment.get("DATABASE_URL"), None);
    let config = ExtensionConfig::stdio("x", "run", [""; 0])
        .with_env("MODE", "$PATH")
        .with_env("MY_API_KEY", "literal")
        .with_env("BOTH", "literal")
        .with_env_key("BOTH")
        .with_env_key("GH_TOKEN");
    let resolved = config.resolve(&EnvSecrets::from_iter(base))?;
    let expected = [
        ("BOTH", "literal"),
        ("GH_TOKEN", "outside"),
        ("MODE", "$PATH"),
        ("MY_API_KEY", "literal"),
        ("PATH", "/bin"),
    ];
    let expected: BTreeMap<OsString, OsString> =
        expected.map(|(name, value)| (name.into(), value.into())).into();
    assert_eq!(environment.for_child(&resolved), expected);
    ensure!(!format!("{environment:?} {resolved:?}").contains("literal"));
    Ok(())
}

#[test]
fn missing_secret_is_reported_with_extension_and_places_to_set_it() -> Result<()> {
    let stdio = ExtensionConfig::stdio("github", "run", [""; 0]).with_env_key("GH_TOKEN");
    let http = ExtensionConfig::streamable_http("github", "http://h")
        .with_header("Authorization", "Bearer ${GH_TOKEN}");
    let oauth: ExtensionConfig = serde_saphyr::from_str(
        "{type: streamable_http, name: github, uri: 'http://h',
          oauth: {client_id: a, client_secret_key: GH_TOKEN}}",
    )?;
    for (config, used_for) in
        [(stdio, "env_keys"), (http, "the header 'Authorization'"), (oauth, "oauth.client_secret_key")]
    {
        let error = config.resolve(&EnvSecrets::default()).err().context("found")?.to_string();
        for part in ["'GH_TOKEN'", "'github'", "environment variable", "secrets.yaml", used_for] {
            ensure!(error.contains(part), "{part}: {error}");
        }
    }
    Ok(())
}

#[test]
fn variables_of_the_extension_take_precedence_in_headers() -> Result<()> {
    let secrets =
        EnvSecrets::from_iter([("A", "outside"), ("B", "outside"), ("KEY", "k"), ("BROKEN", "a\nb")]);
    let config = ExtensionConfig::streamable_http("x", "http://h/$B")
        .with_env("A", "$B")
        .with_env_key("KEY")
        .with_header("X", "$A ${B} $KEY")
        .with_header("Y", "plain");
    let resolved = config.resolve(&secrets)?;
    let expected = [("X".to_owned(), Secret::new("$B outside k")), ("Y".to_owned(), Secret::new("plain"))];
    assert_eq!(resolved.headers, expected.into());

    let broken =
        ExtensionConfig::streamable_http("x", "http://h").with_header("X", "$BROKEN").resolve(&secrets);
    let error = broken.err().context("a line break was accepted")?.to_string();
    ensure!(error.contains("the header 'X'") && !error.contains("a\nb"), "{error}");
    Ok(())
}

fn known(name: &str) -> Result<Option<Secret>, ConfigError> {
    Ok(["A", "LONG_NAME2", "_x"].contains(&name).then(|| Secret::new(format!("<{name}>"))))
}

#[test]
fn only_names_after_a_dollar_are_replaced() {
    for (text, expected) in [
        ("$A", "<A>"),
        ("${A}", "<A>"),
        ("x$A/${LONG_NAME2}y$_x.", "x<A>/<LONG_NAME2>y<_x>."),
        ("$ $5 $$ ${ ${} ${5} ${A-b} ${A $", "$ $5 $$ ${ ${} ${5} ${A-b} ${A $"),
        ("$$A", "$<A>"),
        ("${${A}}", "${<A>}"),
        ("é$Aé", "é<A>é"),
    ] {
        assert_eq!(substitute(text, known).as_deref(), Ok(expected));
    }
    assert_eq!(substitute("$AB", known), Err(ConfigError::UnknownVariable("AB".into())));
    assert_eq!(substitute("${B}", known), Err(ConfigError::UnknownVariable("B".into())));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_without_a_dollar_is_unchanged(text in "[^$]{0,40}") {
        prop_assert_eq!(substitute(&text, |_| Ok(None)), Ok(text));
    }

    #[test]
    fn lookups_are_for_names_only(text in "[$ {}A-C0-9é]{0,20}") {
        let lookup = |name: &str| {
            let good = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
            Ok(good.then(|| Secret::new("")))
        };
        prop_assert!(substitute(&text, lookup).is_ok());
    }
}
