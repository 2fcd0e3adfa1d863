//! Every configuration survives writing and reading, in YAML and in JSON.

use goose_config::{ExtensionConfig, ExtensionKind, OAuthConfig, Values};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

/// Texts that YAML could read as something else.
const AWKWARD: &[&str] = &[
    "", " ", "null", "~", "yes", "No", "true", "1.10", "0x1F", "007", "1e3", ".inf", "-", "- a", "a: b",
    "#x", " #x", "'", "\"", "\\", "a\nb", "\n", "a\n", "\t", "{a}", "[a]", "&a", "*a", "!a", "|", ">", "%",
    "@", "`", "---", "...", "<<", "?", "é", "日本", "🪿", "a ", "\u{7f}", "\u{85}", "\u{feff}", "\u{2028}",
    "\r\n", "=",
];

fn text() -> impl Strategy<Value = String> + Clone {
    prop_oneof![select(AWKWARD).prop_map(str::to_owned), "[ -~]{0,20}", "\\PC{0,12}"]
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..4)
}

fn values() -> impl Strategy<Value = Values> {
    vec((text(), text()), 0..4).prop_map(Values::from_iter)
}

fn oauth() -> impl Strategy<Value = OAuthConfig> {
    let words = (option::of(text()), option::of(text()), option::of(text()));
    (words, texts(), any::<Option<u16>>()).prop_map(
        |((client_id, client_secret_key, issuer), scopes, redirect_port)| OAuthConfig {
            client_id,
            client_secret_key,
            issuer,
            scopes,
            redirect_port,
        },
    )
}

fn tool() -> impl Strategy<Value = Value> {
    (text(), text(), any::<i64>(), any::<Option<bool>>()).prop_map(|(name, word, number, flag)| {
        let property = json!({"enum": [word, number, flag, 0.5]});
        json!({"name": name, "inputSchema": {"type": "object", "properties": {word: property}}})
    })
}

fn kind() -> impl Strategy<Value = ExtensionKind> {
    prop_oneof![
        texts().prop_map(|env_keys| ExtensionKind::Builtin { env_keys }),
        Just(ExtensionKind::Platform),
        (text(), texts(), values(), texts()).prop_map(|(cmd, args, envs, env_keys)| ExtensionKind::Stdio {
            cmd,
            args,
            envs,
            env_keys
        }),
        (text(), values(), values(), texts(), option::of(oauth())).prop_map(
            |(uri, headers, envs, env_keys, oauth)| {
                ExtensionKind::StreamableHttp { uri, headers, envs, env_keys, oauth }
            }
        ),
        (vec(tool(), 0..3), option::of(text()))
            .prop_map(|(tools, instructions)| ExtensionKind::Frontend { tools, instructions }),
        (text(), texts()).prop_map(|(code, dependencies)| ExtensionKind::InlinePython { code, dependencies }),
        option::of(text()).prop_map(|uri| ExtensionKind::Sse { uri }),
    ]
}

fn config() -> impl Strategy<Value = ExtensionConfig> {
    let common = (text(), text(), option::of(text()), any::<Option<u64>>(), any::<Option<bool>>(), texts());
    (common, kind()).prop_map(
        |((name, description, display_name, timeout_secs, bundled, available_tools), kind)| ExtensionConfig {
            name,
            description,
            display_name,
            timeout_secs,
            bundled,
            available_tools,
            kind,
        },
    )
}

fn failure(error: impl ToString) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn yaml_round_trip(config in config()) {
        let written = serde_saphyr::to_string(&config).map_err(failure)?;
        let read: Result<ExtensionConfig, _> = serde_saphyr::from_str(&written);
        let read = read.map_err(|error| failure(format!("{written}\n{error}")))?;
        prop_assert_eq!(read, config, "{}", written);
    }

    #[test]
    fn json_round_trip(config in config()) {
        let written = serde_json::to_string(&config).map_err(failure)?;
        let read: Result<ExtensionConfig, _> = serde_json::from_str(&written);
        prop_assert_eq!(read.map_err(|error| failure(format!("{written}\n{error}")))?, config);
    }
}
