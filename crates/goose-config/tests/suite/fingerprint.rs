//! Fingerprints of extensions.

use std::{path::Path, time::Duration};

use anyhow::Result;
use goose_config::{EnvSecrets, ExtensionConfig};
use serde_json::json;

fn stdio(args: &[&str]) -> ExtensionConfig {
    ExtensionConfig::stdio("x", "run", args.iter().copied())
}

fn running(config: &ExtensionConfig, token: &str) -> Result<String> {
    let resolved = config.resolve(&EnvSecrets::from_iter([("TOKEN", token)]))?;
    Ok(config.running_fingerprint(&resolved, None))
}

/// These hashes are on users' disks: a change invalidates every cached list of tools, and needs a new `FORM`.
#[test]
fn hashes_are_stable_between_versions() -> Result<()> {
    let config = stdio(&["-y", "pkg"]).with_env("A", "b").with_env_key("TOKEN");
    assert_eq!(
        config.listing_fingerprint(None),
        "c841063bdfbf94e904e2774d840dfdcba8d0ff90d41d809217fa30b0a526c201"
    );
    assert_eq!(running(&config, "t")?, "aad33afaa2f7d047998b4d101458620e37f4bc1aa51d709cb3c169e0c30acf32");
    Ok(())
}

#[test]
fn different_programs_have_different_hashes() -> Result<()> {
    let http = |uri: &str| ExtensionConfig::streamable_http("x", uri);
    let oauth = |id: &str| -> Result<ExtensionConfig> {
        let text = format!("{{type: streamable_http, name: x, uri: 'http://h', oauth: {{client_id: {id}}}}}");
        Ok(serde_saphyr::from_str(&text)?)
    };
    let different = [
        stdio(&[]),
        stdio(&[""]),
        stdio(&["ab", "c"]),
        stdio(&["a", "bc"]),
        stdio(&["abc"]),
        ExtensionConfig::stdio("x", "runab", ["c"]),
        stdio(&[]).with_env("A", ""),
        stdio(&[]).with_env("B", ""),
        http("http://h"),
        http("http://h/"),
        http("http://h").with_header("A", ""),
        http("http://h").with_env("A", ""),
        oauth("a")?,
        oauth("b")?,
        oauth("b, issuer: 'https://l'")?,
        ExtensionConfig::builtin("x"),
        ExtensionConfig::builtin("y"),
        ExtensionConfig::platform("x"),
        ExtensionConfig::inline_python("x", "1"),
        ExtensionConfig::inline_python("x", "2"),
        ExtensionConfig::frontend("x", vec![]),
        ExtensionConfig::frontend("x", vec![json!({"a": 1, "b": [2]})]),
        ExtensionConfig::frontend("x", vec![json!({"a": 1, "b": 2})]),
    ];
    for (index, one) in different.iter().enumerate() {
        for other in different.iter().skip(index + 1) {
            assert_ne!(one.listing_fingerprint(None), other.listing_fingerprint(None), "{one:?} {other:?}");
            assert_ne!(running(one, "t")?, running(other, "t")?, "{one:?} {other:?}");
        }
    }
    Ok(())
}

#[test]
fn names_and_limits_do_not_change_the_hash() -> Result<()> {
    let config = stdio(&["a"]).with_env("A", "1").with_env_key("TOKEN");
    let renamed = ExtensionConfig { name: "other".into(), bundled: Some(true), ..config.clone() }
        .with_description("new")
        .with_timeout(Duration::from_secs(1))
        .with_available_tools(["one"]);
    assert_eq!(config.listing_fingerprint(None), renamed.listing_fingerprint(None));
    assert_eq!(running(&config, "t")?, running(&renamed, "t")?);
    assert_eq!(
        config.clone().with_env_key("TOKEN").listing_fingerprint(None),
        config.listing_fingerprint(None)
    );
    Ok(())
}

#[test]
fn secrets_and_folder_change_only_the_running_fingerprint() -> Result<()> {
    let config = stdio(&[]).with_env("A", "1").with_env_key("TOKEN");
    assert_ne!(running(&config, "old")?, running(&config, "new")?);
    let changed = stdio(&[]).with_env("A", "2").with_env_key("TOKEN");
    assert_ne!(config.listing_fingerprint(None), changed.listing_fingerprint(None));
    assert_ne!(running(&config, "t")?, running(&changed, "t")?);

    let header = ExtensionConfig::streamable_http("x", "http://h").with_header("A", "$TOKEN");
    assert_ne!(running(&header, "old")?, running(&header, "new")?);

    let resolved = config.resolve(&EnvSecrets::from_iter([("TOKEN", "t")]))?;
    let at = |folder: &str| config.running_fingerprint(&resolved, Some(Path::new(folder)));
    assert_ne!(at("/a"), at("/b"));
    assert_ne!(at(""), config.running_fingerprint(&resolved, None));
    Ok(())
}

#[test]
fn listing_fingerprint_of_a_relative_command_depends_on_the_folder() {
    let differs = |config: ExtensionConfig| {
        let at = |folder: &str| config.listing_fingerprint(Some(Path::new(folder)));
        at("/a") != at("/b")
    };
    assert!(differs(ExtensionConfig::stdio("x", "./server", ["-v"])));
    assert!(differs(ExtensionConfig::stdio("x", "python", ["tools/server.py"])));
    assert!(differs(ExtensionConfig::stdio("x", "node", ["."])));
    assert!(!differs(ExtensionConfig::stdio("x", "npx", ["-y", "@scope/package"])));
    assert!(!differs(ExtensionConfig::stdio("x", "/usr/bin/server", ["/etc/x", "http://h/p"])));
    assert!(!differs(ExtensionConfig::streamable_http("x", "http://h")));
}
