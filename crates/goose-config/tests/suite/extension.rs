//! Reading and checking one extension.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use goose_config::{DEFAULT_TIMEOUT, ExtensionConfig, ExtensionKind, MAX_TIMEOUT, OAuthConfig, Values};
use serde_json::json;

fn from_yaml(text: &str) -> Result<ExtensionConfig> {
    Ok(serde_saphyr::from_str(text)?)
}

fn check_error(config: &ExtensionConfig) -> Result<String> {
    Ok(config.check().err().with_context(|| format!("{config:?} passed"))?.to_string())
}

#[test]
fn every_type_is_read_with_all_its_fields() -> Result<()> {
    let stdio = from_yaml(
        "{enabled: true, type: stdio, name: Git Hub, description: Issues, timeout: 60, bundled: false,
          available_tools: [list, get], cmd: npx, args: [-y, '@x/github'], envs: {HOST: example.com},
          env_keys: [GH_TOKEN]}",
    )?;
    let expected = ExtensionConfig::stdio("Git Hub", "npx", ["-y", "@x/github"])
        .with_description("Issues")
        .with_timeout(Duration::from_secs(60))
        .with_available_tools(["list", "get"])
        .with_env("HOST", "example.com")
        .with_env_key("GH_TOKEN");
    assert_eq!(stdio, ExtensionConfig { bundled: Some(false), ..expected });
    assert_eq!((stdio.key(), stdio.timeout()), ("github".to_owned(), Duration::from_secs(60)));

    let http = from_yaml(
        "{type: streamable_http, name: docs, uri: 'https://example.com/mcp',
          headers: {Authorization: Bearer $DOCS}, envs: {A: b}, env_keys: [DOCS],
          oauth: {client_id: goose, client_secret_key: DOCS_SECRET, scopes: [read],
          issuer: 'https://login.example.com', redirect_port: 8123}}",
    )?;
    let kind = ExtensionKind::StreamableHttp {
        uri: "https://example.com/mcp".into(),
        headers: Values::from_iter([("Authorization", "Bearer $DOCS")]),
        envs: Values::from_iter([("A", "b")]),
        env_keys: vec!["DOCS".into()],
        oauth: Some(OAuthConfig {
            client_id: Some("goose".into()),
            client_secret_key: Some("DOCS_SECRET".into()),
            issuer: Some("https://login.example.com".into()),
            scopes: vec!["read".into()],
            redirect_port: Some(8123),
        }),
    };
    assert_eq!(http, ExtensionConfig::new("docs", kind));

    let builtin = from_yaml("{type: builtin, name: memory, display_name: Memory, bundled: true}")?;
    let expected = ExtensionConfig::builtin("memory");
    assert_eq!(
        builtin,
        ExtensionConfig { display_name: Some("Memory".into()), bundled: Some(true), ..expected }
    );
    assert_eq!(from_yaml("{type: platform, name: todo}")?, ExtensionConfig::platform("todo"));

    let frontend = from_yaml(
        "{type: frontend, name: ui, tools: [{name: pick, inputSchema: {type: object}}], instructions: Ask.}",
    )?;
    let tools = vec![json!({"name": "pick", "inputSchema": {"type": "object"}})];
    let kind = ExtensionKind::Frontend { tools, instructions: Some("Ask.".into()) };
    assert_eq!(frontend, ExtensionConfig::new("ui", kind));

    let python = from_yaml("type: inline_python\nname: py\ndependencies: [httpx]\ncode: |\n  print(1)\n")?;
    let kind = ExtensionKind::InlinePython { code: "print(1)\n".into(), dependencies: vec!["httpx".into()] };
    assert_eq!(python, ExtensionConfig::new("py", kind));
    Ok(())
}

#[test]
fn missing_null_and_unknown_fields_are_accepted() -> Result<()> {
    let bare = from_yaml("{type: stdio, name: x, cmd: run}")?;
    let nulls = from_yaml(
        "{type: stdio, name: x, cmd: run, args: null, envs: ~, env_keys: null, description: null,
          timeout: null, bundled: null, available_tools: null, display_name: null, future_field: {a: [1]}}",
    )?;
    assert_eq!(bare, nulls);
    assert_eq!(bare, ExtensionConfig::stdio("x", "run", [""; 0]));
    assert_eq!((bare.timeout(), bare.available_tools()), (DEFAULT_TIMEOUT, None));
    assert_eq!(from_yaml("{type: stdio, name: x, cmd: run, available_tools: []}")?.available_tools(), None);
    Ok(())
}

#[test]
fn scalars_are_read_as_written() -> Result<()> {
    let config = from_yaml(
        "{type: stdio, name: x, cmd: run, args: [-p, 8080, 1.10, yes],
          envs: {PORT: 8080, VERSION: 1.10, DEBUG: yes, MASK: 0x1F, EMPTY: '', NOTHING: , ZEROS: 007}}",
    )?;
    let ExtensionKind::Stdio { args, envs, .. } = config.kind else { anyhow::bail!("not stdio") };
    assert_eq!(args, ["-p", "8080", "1.10", "yes"]);
    let expected = [
        ("PORT", "8080"),
        ("VERSION", "1.10"),
        ("DEBUG", "yes"),
        ("MASK", "0x1F"),
        ("EMPTY", ""),
        ("NOTHING", ""),
        ("ZEROS", "007"),
    ];
    assert_eq!(*envs, *Values::from_iter(expected));
    Ok(())
}

#[test]
fn json_is_read_and_written_too() -> Result<()> {
    let value =
        json!({"type": "stdio", "name": "x", "cmd": "run", "args": ["a"], "timeout": 9, "bundled": null});
    let config: ExtensionConfig = serde_json::from_value(value)?;
    assert_eq!(config, ExtensionConfig::stdio("x", "run", ["a"]).with_timeout(Duration::from_secs(9)));
    let written =
        json!({"type": "stdio", "name": "x", "description": "", "cmd": "run", "args": ["a"], "timeout": 9});
    assert_eq!(serde_json::to_value(&config)?, written);
    Ok(())
}

#[test]
fn unreadable_extension_says_what_to_write() -> Result<()> {
    for (text, expected) in [
        (
            "{type: http, name: x}",
            "there is no type 'http'; use one of builtin, platform, stdio, streamable_http, frontend",
        ),
        ("{name: x}", "it has no type; add 'type: …'"),
        ("{type: builtin}", "it has no name"),
        ("{type: stdio, name: x}", "an extension of type stdio needs 'cmd'"),
        ("{type: streamable_http, name: x}", "needs 'uri'"),
        ("{type: inline_python, name: x}", "needs 'code'"),
    ] {
        let error = from_yaml(text).err().with_context(|| format!("{text} was read"))?.to_string();
        ensure!(error.contains(expected), "{text}: {error}");
    }
    Ok(())
}

#[test]
fn check_names_what_to_change() -> Result<()> {
    let http = |uri: &str| ExtensionConfig::streamable_http("x", uri);
    let good = http("https://example.com/mcp");
    for (config, expected) in [
        (ExtensionConfig::builtin("  "), "its name is empty"),
        (ExtensionConfig::builtin("日本"), "no letter a–z or digit"),
        (ExtensionConfig::builtin("x").with_timeout(Duration::ZERO), "a timeout of 0"),
        (ExtensionConfig::stdio("x", " ", [""; 0]), "'cmd' is empty"),
        (ExtensionConfig::stdio("x", "a\0b", [""; 0]), "'cmd' contains a NUL"),
        (ExtensionConfig::stdio("x", "a", ["b\0"]), "'args' contains a NUL"),
        (ExtensionConfig::stdio("x", "a", [""; 0]).with_env("A=B", "c"), "'A=B' in 'envs'"),
        (ExtensionConfig::stdio("x", "a", [""; 0]).with_env("A", "\0"), "'envs' contains a NUL"),
        (ExtensionConfig::stdio("x", "a", [""; 0]).with_env_key(""), "'' in 'env_keys'"),
        (http("example.com/mcp"), "not an address"),
        (http("http://"), "not an address"),
        (http("file:///etc/passwd"), "only http and https"),
        (good.clone().with_header("A B", "c"), "'A B' is not a header name"),
        (good.clone().with_header("A", "b\r\nC: d"), "the header 'A' contains a line break"),
        (
            from_yaml("{type: streamable_http, name: x, uri: 'http://h', oauth: {client_secret_key: K}}")?,
            "no client_id",
        ),
        (
            ExtensionConfig::frontend("x", vec![json!({"name": "a"}), json!({})]),
            "tool 2 in 'tools' has no name",
        ),
        (ExtensionConfig::inline_python("x", "\n"), "'code' is empty"),
        (from_yaml("{type: sse, name: x, uri: 'https://h/sse'}")?, "'type: streamable_http'"),
        (from_yaml("{type: sse, name: x, uri: 'https://h/sse'}")?, "https://h/sse"),
    ] {
        let error = check_error(&config)?;
        ensure!(error.contains(expected), "{config:?}: {error}");
    }
    good.with_header("X-Key", "$KEY").check()?;
    ExtensionConfig::stdio("x", "/bin/with space", ["", "-"]).with_env("A", "").check()?;
    Ok(())
}

#[test]
fn keys_are_derived_from_names_and_timeouts_are_limited() {
    for (name, key) in
        [("Memory", "memory"), ("My Tool 2", "mytool2"), ("a-b_c", "a-b_c"), ("@x/y.z", "_x_y_z")]
    {
        assert_eq!(ExtensionConfig::builtin(name).key(), key);
    }
    let with = |secs| ExtensionConfig { timeout_secs: Some(secs), ..ExtensionConfig::builtin("x") }.timeout();
    assert_eq!((with(5), with(u64::MAX)), (Duration::from_secs(5), MAX_TIMEOUT));
    let short = ExtensionConfig::builtin("x").with_timeout(Duration::from_millis(1)).timeout();
    assert_eq!(short, Duration::from_secs(1));
}

#[test]
fn debug_output_hides_values() {
    let config =
        ExtensionConfig::streamable_http("x", "http://h").with_env("NAME", "hush").with_header("H", "hush");
    let printed = format!("{config:?}");
    assert!(printed.contains("NAME") && !printed.contains("hush"), "{printed}");
}
