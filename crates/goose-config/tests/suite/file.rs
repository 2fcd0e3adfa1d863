//! Reading `config.yaml`.

use std::fs;

use anyhow::{Context, Result, ensure};
use goose_config::{
    ConfigError, ConfigFile, ConfiguredExtension, ExtensionConfig, MAX_CONFIG_BYTES, MAX_ENTRIES,
};

/// File with an extension of each type, and keys that other parts of goose use.
const EVERYTHING: &str = include_str!("../fixtures/config.yaml");

fn load(text: impl AsRef<[u8]>) -> Result<ConfigFile, ConfigError> {
    let file = tempfile::NamedTempFile::new().and_then(|file| fs::write(file.path(), text).map(|()| file));
    let file = file.map_err(|error| ConfigError::CommandLine(error.to_string()))?;
    ConfigFile::load(file.path())
}

fn failure(text: impl AsRef<[u8]>) -> Result<(Option<(u64, u64)>, String)> {
    match load(&text).err().with_context(|| format!("{} was read", String::from_utf8_lossy(text.as_ref())))? {
        ConfigError::Malformed { place, message } => Ok((place.position, message)),
        other => anyhow::bail!("{other:?}"),
    }
}

fn entry_failure(entry: &ConfiguredExtension) -> Result<(Option<(u64, u64)>, String)> {
    match entry.checked().err().with_context(|| format!("{} is good", entry.key))? {
        ConfigError::Malformed { place, message } => Ok((place.position, message)),
        other => anyhow::bail!("{other:?}"),
    }
}

#[test]
fn entries_keep_the_order_of_the_file() -> Result<()> {
    let file = load(EVERYTHING)?;
    let found: Vec<_> = file.extensions().iter().map(|entry| (entry.key.as_str(), entry.enabled)).collect();
    let expected = [
        ("memory", true),
        ("developer", false),
        ("todo", true),
        ("github", true),
        ("docs", true),
        ("picker", true),
        ("numbers", true),
        ("oldserver", true),
    ];
    assert_eq!(found, expected);
    for entry in file.extensions().iter().filter(|entry| entry.key != "oldserver") {
        entry.checked()?;
    }
    let sse = file.extensions().last().context("no last entry")?;
    ensure!(sse.config.is_ok(), "{sse:?}");
    ensure!(entry_failure(sse)?.1.contains("streamable_http"));
    Ok(())
}

#[test]
fn keys_are_read_as_the_requested_type() -> Result<()> {
    let file = load(EVERYTHING)?;
    assert_eq!(file.get::<String>("GOOSE_MODEL")?.as_deref(), Some("4.10"));
    assert_eq!(file.get::<f64>("GOOSE_AUTO_COMPACT_THRESHOLD")?, Some(0.8));
    assert_eq!(file.get::<bool>("GOOSE_DISABLE_KEYRING")?, Some(true));
    let commands: Option<serde_json::Value> = file.get("slash_commands")?;
    assert_eq!(commands, Some(serde_json::json!([{"command": "review", "recipe_path": "review.yaml"}])));
    assert_eq!(file.get::<String>("MISSING")?, None);
    assert_eq!(file.get::<String>("GOOSE_PLANNER_MODEL")?, None);
    let error = file.get::<u64>("GOOSE_PROVIDER").err().context("a word is a number")?.to_string();
    ensure!(error.contains(":3:17: 'GOOSE_PROVIDER': expected a whole number"), "{error}");
    Ok(())
}

#[test]
fn missing_and_empty_files_are_an_empty_configuration() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("config.yaml");
    let absent = ConfigFile::load(&path)?;
    assert_eq!(
        (absent.extensions().len(), absent.get::<String>("A")?, absent.path()),
        (0, None, path.as_path())
    );
    ensure!(!path.exists());
    for text in
        ["", "# nothing\n", "null", "---\n", "A: b\n", "extensions:\n", "extensions: {}\n", "\u{feff}A: b"]
    {
        ensure!(load(text)?.extensions().is_empty(), "{text}");
    }
    Ok(())
}

#[test]
fn unreadable_file_is_reported_with_position_and_unchanged() -> Result<()> {
    for (text, position, expected) in [
        ("A: 1\nB: [1\nC: 2\n", (3, 2), "':'"),
        ("A: 1\nA: 2\n", (2, 1), "the key 'A' is here a second time"),
        (
            "extensions:\n  a: {type: builtin}\n  a: {type: builtin}\n",
            (3, 3),
            "the key 'a' is here a second time",
        ),
        ("- A\n", (1, 1), "expected a mapping"),
        ("extensions: [a]\n", (1, 13), "expected a mapping"),
        ("A: 1\n---\nB: 2\n", (3, 1), "second document"),
        ("extensions:\n  a: {type: builtin\n", (2, 6), "unclosed bracket"),
    ] {
        let (found, message) = failure(text)?;
        ensure!(found == Some(position) && message.contains(expected), "{text}: {found:?} {message}");
    }
    assert_eq!(failure(b"A: 1\nB: \xc3\xa4\xff\n")?.0, Some((2, 5)));

    let folder = tempfile::tempdir()?;
    let path = folder.path().join("config.yaml");
    fs::write(&path, "A: [")?;
    let error = ConfigFile::load(&path).err().context("read")?.to_string();
    ensure!(error.contains("config.yaml:"), "{error}");
    assert_eq!(fs::read_to_string(&path)?, "A: [");
    ensure!(matches!(ConfigFile::load(folder.path()), Err(ConfigError::Unreadable { .. })));
    Ok(())
}

#[test]
fn invalid_entry_does_not_affect_the_others() -> Result<()> {
    let file = load(
        "extensions:
  first: {type: builtin}
  timeless: {type: builtin, enabled: false, timeout: soon}
  unknown: {type: carrier_pigeon}
  nothing:
  switched: {type: builtin, enabled: maybe}
  words: some words
  broken: {type: stdio, cmd: run, args: [a, [b]]}
  empty: {type: stdio, cmd: ''}
  last: {type: stdio, cmd: run, envs: {V: 1.10}}
",
    )?;
    let entries = file.extensions();
    assert_eq!(entries.len(), 9);
    let good: Vec<_> = entries.iter().filter_map(|entry| entry.checked().ok()).cloned().collect();
    let last = ExtensionConfig::stdio("last", "run", [""; 0]).with_env("V", "1.10");
    assert_eq!(good, [ExtensionConfig::builtin("first"), last]);
    let bad = [
        ("timeless", (3, 54), "extension 'timeless': expected a whole number"),
        ("unknown", (4, 3), "extension 'unknown': there is no type 'carrier_pigeon'"),
        ("nothing", (5, 3), "extension 'nothing': it has no type"),
        ("switched", (6, 38), "extension 'switched': expected true or false"),
        ("words", (7, 10), "extension 'words': expected a mapping"),
        ("broken", (8, 45), "extension 'broken': expected text"),
        ("empty", (9, 3), "extension 'empty': 'cmd' is empty"),
    ];
    for (key, position, expected) in bad {
        let entry = entries.iter().find(|entry| entry.key == key).context(key)?;
        let (found, message) = entry_failure(entry)?;
        ensure!(found == Some(position) && message.starts_with(expected), "{key}: {found:?} {message}");
        assert_eq!(entry.enabled, key != "timeless", "{key}");
    }
    Ok(())
}

#[test]
fn name_defaults_to_the_key_and_duplicates_are_refused() -> Result<()> {
    let file = load(
        "extensions:
  notes: {type: builtin, name: Other Name}
  othername: {type: builtin}
  off: {type: builtin, name: Shared, enabled: false}
  on: {type: builtin, name: shared}
",
    )?;
    let [notes, second, off, on] = file.extensions() else { anyhow::bail!("{file:?}") };
    assert_eq!(notes.checked()?.key(), "othername");
    let (position, message) = entry_failure(second)?;
    assert_eq!(position, Some((3, 3)));
    ensure!(message.contains("the same name as 'notes'"), "{message}");
    ensure!(off.config.is_ok() && on.config.is_ok());
    Ok(())
}

#[test]
fn anchors_and_merges_are_resolved() -> Result<()> {
    let file = load(
        "common: &common {type: stdio, cmd: run, envs: {V: 1.10}}
extensions:
  a: {<<: *common, name: A}
  b: *common
",
    )?;
    let expected = |name: &str| ExtensionConfig::stdio(name, "run", [""; 0]).with_env("V", "1.10");
    let found: Vec<_> = file.extensions().iter().filter_map(|entry| entry.checked().ok()).cloned().collect();
    assert_eq!(found, [expected("A"), expected("b")]);
    Ok(())
}

#[test]
fn size_and_number_of_entries_are_limited() -> Result<()> {
    let large = format!("A: {}\n", "x".repeat(usize::try_from(MAX_CONFIG_BYTES)?));
    ensure!(matches!(load(large), Err(ConfigError::TooLarge { limit: MAX_CONFIG_BYTES, .. })));
    let entries = |count: usize| {
        (0..count).fold(String::from("extensions:\n"), |text, n| format!("{text}  e{n}: {{type: builtin}}\n"))
    };
    assert_eq!(load(entries(MAX_ENTRIES))?.extensions().len(), MAX_ENTRIES);
    ensure!(failure(entries(MAX_ENTRIES + 1))?.1.contains("more than 256 extensions"));
    Ok(())
}

#[test]
fn debug_output_hides_values() -> Result<()> {
    let file = load("OPENAI_API_KEY: hush\nextensions:\n  a: {type: stdio, cmd: run, envs: {T: hush}}\n")?;
    ensure!(!format!("{file:?}").contains("hush"), "{file:?}");
    Ok(())
}
