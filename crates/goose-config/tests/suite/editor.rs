//! Edits of `config.yaml` and `secrets.yaml` change one place and keep everything else.

use std::{fs, path::PathBuf, sync::Arc, thread};

use anyhow::{Context, Result, ensure};
use goose_config::{ConfigEditor, ConfigError, ConfigFile, ExtensionConfig, Paths, Secret, Switch};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

const FILE: &str = "\
# My configuration.

GOOSE_PROVIDER: openai   # the usual one
GOOSE_MODEL: 'gpt \"4\"'
\"GOOSE_MODE\": \"auto\"
empty:
note: |
  some lines
    of text

folded: plain
  continued
list: [a, b,]  # flow
flow: {a: 1, b: {c: 2}, }

extensions:
  # about notes
  notes:
    enabled: true # for now
    type: stdio
    name: notes
    cmd: npx
    args:
      - -y   # yes
      - \"@example/notes\"
    future_field: {kept: true}
  remote: {enabled: false, type: streamable_http, uri: 'https://example.com/mcp'}
  # more about remote

last: 1 # no line break follows";

struct TestFile {
    _folder: TempDir,
    path: PathBuf,
}

impl TestFile {
    fn new(text: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("config.yaml");
        fs::write(&path, text)?;
        Ok(Self { _folder: folder, path })
    }

    fn editor(&self) -> ConfigEditor {
        ConfigEditor::new(&self.path)
    }

    fn text(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.path)?)
    }
}

/// Returns the text after an edit.
fn edited(text: &str, change: impl FnOnce(&ConfigEditor) -> Result<bool, ConfigError>) -> Result<String> {
    let file = TestFile::new(text)?;
    change(&file.editor())?;
    file.text()
}

/// Returns the file with one part replaced.
fn with(old: &str, new: &str) -> String {
    assert_eq!(FILE.matches(old).count(), 1, "{old}");
    FILE.replace(old, new)
}

#[test]
fn values_change_in_place() -> Result<()> {
    for (key, value, old, new) in [
        ("GOOSE_PROVIDER", json!("anthropic"), "openai   #", "anthropic   #"),
        ("GOOSE_MODEL", json!("it's"), "'gpt \"4\"'", "'it''s'"),
        ("GOOSE_MODE", json!("chat"), "\"auto\"", "\"chat\""),
        ("GOOSE_MODE", json!(5), "\"auto\"", "5"),
        ("empty", json!("full"), "empty:", "empty: full"),
        ("empty", json!(["a"]), "empty:", "empty:\n- a"),
        ("note", json!("short"), "note: |\n  some lines\n    of text\n", "note: short\n"),
        ("folded", json!(0.5), "plain\n  continued", "0.5"),
        ("list", json!("x y"), "[a, b,]", "\"x y\""),
        ("list", json!(["true", "c d"]), "list: [a, b,]  # flow", "list:  # flow\n- \"true\"\n- \"c d\""),
        ("flow", json!({"a": 1, "b": {"c": 3}}), "{c: 2}", "{c: 3}"),
        ("flow", json!({"b": {"c": 2}}), "{a: 1, b", "{b"),
        ("last", json!(null), "last: 1 #", "last: null #"),
        ("new key", json!("v: 1"), "follows", "follows\n\"new key\": \"v: 1\"\n"),
        ("deep", json!({"a": {"b": []}}), "follows", "follows\ndeep:\n  a:\n    b: []\n"),
    ] {
        let found =
            edited(FILE, |editor| editor.set(key, &value)).with_context(|| format!("{key} {value}"))?;
        pretty_eq(&found, &with(old, new), key);
    }
    Ok(())
}

fn pretty_eq(found: &str, expected: &str, what: &str) {
    assert!(found == expected, "{what}:\n{found}\n--- instead of:\n{expected}");
}

#[test]
fn removed_keys_take_their_lines_and_leave_comments() -> Result<()> {
    for (key, old) in [
        ("GOOSE_PROVIDER", "GOOSE_PROVIDER: openai   # the usual one\n"),
        ("GOOSE_MODE", "\"GOOSE_MODE\": \"auto\"\n"),
        ("empty", "empty:\n"),
        ("note", "note: |\n  some lines\n    of text\n"),
        ("folded", "folded: plain\n  continued\n"),
        ("last", "last: 1 # no line break follows"),
    ] {
        let found = edited(FILE, |editor| editor.unset(key)).context(key)?;
        pretty_eq(&found, &with(old, ""), key);
    }
    let file = TestFile::new(FILE)?;
    ensure!(!file.editor().unset("not there")?);
    ensure!(!file.editor().set("last", &json!(1))?);
    pretty_eq(&file.text()?, FILE, "unchanged");
    Ok(())
}

#[test]
fn extensions_are_added_changed_switched_and_removed() -> Result<()> {
    let off = edited(FILE, |editor| editor.switch_extension("notes", Switch::Off, None))?;
    pretty_eq(&off, &with("enabled: true # for now", "enabled: false # for now"), "off");
    let on = edited(FILE, |editor| editor.switch_extension("remote", Switch::On, None))?;
    pretty_eq(&on, &with("{enabled: false,", "{enabled: true,"), "on");

    let notes = ExtensionConfig::stdio("notes", "uvx", ["-y", "@example/notes"]).with_env("A", "1");
    let changed = edited(FILE, |editor| editor.put_extension(&notes, Switch::On))?;
    let expected =
        with("cmd: npx", "cmd: uvx").replace("kept: true}\n", "kept: true}\n    envs:\n      A: \"1\"\n");
    pretty_eq(&changed, &expected, "changed");

    let added = edited(FILE, |editor| editor.put_extension(&ExtensionConfig::builtin("memory"), Switch::On))?;
    let line = "  # more about remote\n";
    let entry = format!("{line}  memory:\n    enabled: true\n    type: builtin\n    name: memory\n");
    pretty_eq(&added, &with(line, &entry), "added");

    let removed = edited(FILE, |editor| editor.remove_extension("remote"))?;
    pretty_eq(
        &removed,
        &with("  remote: {enabled: false, type: streamable_http, uri: 'https://example.com/mcp'}\n", ""),
        "removed",
    );
    let file = TestFile::new(FILE)?;
    let error = file.editor().switch_extension("unknown", Switch::On, None).err().context("it exists")?;
    ensure!(error.to_string().contains("no extension 'unknown'"), "{error}");
    Ok(())
}

#[test]
fn comments_inside_of_an_entry_are_removed_with_it() -> Result<()> {
    let text = "extensions:\n  fetch:\n    type: builtin\n    # about fetch\nlast: 1\n";
    let memory = ExtensionConfig::builtin("memory");
    let added = edited(text, |editor| editor.put_extension(&memory, Switch::On))?;
    let entry = "    # about fetch\n  memory:\n    enabled: true\n    type: builtin\n    name: memory\n";
    pretty_eq(&added, &text.replace("    # about fetch\n", entry), "added");
    let removed = edited(&added, |editor| editor.remove_extension("fetch"))?;
    ensure!(!removed.contains("fetch") && removed.contains("  memory:\n"), "{removed}");
    Ok(())
}

#[test]
fn only_the_named_extension_is_written() -> Result<()> {
    for text in ["", "# nothing\n", "extensions:\n", "extensions: {}\n", "extensions: null\n"] {
        let file = TestFile::new(text)?;
        file.editor().put_extension(&ExtensionConfig::builtin("memory"), Switch::On)?;
        let config = ConfigFile::load(&file.path)?;
        let keys: Vec<_> = config.extensions().iter().map(|it| (it.key.as_str(), it.enabled)).collect();
        assert_eq!(keys, [("memory", true)], "{text}");
        let off = TestFile::new(text)?;
        off.editor().switch_extension(
            "developer",
            Switch::Off,
            Some(&ExtensionConfig::builtin("developer")),
        )?;
        let config = ConfigFile::load(&off.path)?;
        let keys: Vec<_> = config.extensions().iter().map(|it| (it.key.as_str(), it.enabled)).collect();
        assert_eq!(keys, [("developer", false)], "{text}");
    }
    Ok(())
}

#[test]
fn line_ends_and_byte_order_mark_are_kept() -> Result<()> {
    for (text, expected) in [
        ("A: 1\r\nB: 2\r\n", "A: 1\r\nB: 2\r\nW:\r\n  x: 1\r\n"),
        ("A: 1", "A: 1\nW:\n  x: 1\n"),
        ("\u{feff}A: 1\n", "\u{feff}A: 1\nW:\n  x: 1\n"),
        ("---\nA: 1\n", "---\nA: 1\nW:\n  x: 1\n"),
        ("{A: 1}\n", "{A: 1, W: {x: 1}}\n"),
        ("{}\n", "{W: {x: 1}}\n"),
        ("# only words\n", "# only words\nW:\n  x: 1\n"),
        ("  A: 1\n  B: 2\n", "  A: 1\n  B: 2\n  W:\n    x: 1\n"),
        ("A:\n- 1\n- 2\n# end\n", "A:\n- 1\n- 2\n# end\nW:\n  x: 1\n"),
    ] {
        let found = edited(text, |editor| editor.set("W", &json!({"x": 1})))?;
        assert_eq!(found, expected);
    }
    Ok(())
}

#[test]
fn unsafe_edits_are_refused_and_change_nothing() -> Result<()> {
    for (text, key, value, expected) in [
        ("A: [1\nB: 2\n", "B", json!(3), "config.yaml:2:"),
        ("A: 1\nA: 2\n", "A", json!(3), "config.yaml:2:1: the key 'A' is here a second time"),
        ("- a\n", "A", json!(1), "expected a mapping"),
        ("A: 1\n---\nB: 1\n", "B", json!(2), "second document"),
        ("A: &x 1\nB: *x\n", "A", json!(2), "change it by hand"),
        ("A: &x {y: 1}\nB: *x\n", "A", json!({"y": 2}), "change it by hand"),
        ("A: !!str 1\n", "A", json!(2), "change it by hand"),
        ("? A\n: 1\n", "A", json!([2]), "change it by hand"),
        ("just words", "A", json!(1), "expected a mapping"),
    ] {
        let file = TestFile::new(text)?;
        let error = file.editor().set(key, &value).err().with_context(|| format!("changed: {text}"))?;
        ensure!(error.to_string().contains(expected), "{text}: {error}");
        assert_eq!(file.text()?, text);
    }
    let file = TestFile::new("")?;
    fs::write(&file.path, b"A: \xff\n")?;
    ensure!(file.editor().set("A", &json!(1)).is_err());
    assert_eq!(fs::read(&file.path)?, b"A: \xff\n");
    Ok(())
}

#[cfg(unix)]
#[test]
fn permissions_and_links_are_kept_and_secrets_are_private() -> Result<()> {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let mode =
        |path: &std::path::Path| -> Result<u32> { Ok(fs::metadata(path)?.permissions().mode() & 0o777) };
    let file = TestFile::new("A: 1\n")?;
    fs::set_permissions(&file.path, fs::Permissions::from_mode(0o640))?;
    let link = file.path.with_file_name("link.yaml");
    symlink("config.yaml", &link)?;
    ConfigEditor::new(&link).set("A", &json!(2))?;
    ensure!(link.is_symlink());
    assert_eq!((file.text()?.as_str(), mode(&file.path)?), ("A: 2\n", 0o640));

    fs::set_permissions(&file.path, fs::Permissions::from_mode(0o400))?;
    let error = file.editor().set("A", &json!(3)).err().context("changed")?;
    ensure!(error.to_string().contains("write-protected"), "{error}");

    let home = tempfile::tempdir()?;
    let paths = Paths::under(home.path());
    let secrets = ConfigEditor::secrets(&paths);
    secrets.set_secret("KEY", &Secret::new("hush # hush"))?;
    assert_eq!(mode(secrets.path())?, 0o600);
    fs::write(secrets.path(), "# mine\nKEY: old\nOTHER: 'x'\n")?;
    fs::set_permissions(secrets.path(), fs::Permissions::from_mode(0o644))?;
    secrets.set_secret("KEY", &Secret::new("hush # hush"))?;
    assert_eq!(fs::read_to_string(secrets.path())?, "# mine\nKEY: \"hush # hush\"\nOTHER: 'x'\n");
    assert_eq!(mode(secrets.path())?, 0o600);
    Ok(())
}

#[test]
fn concurrent_edits_are_all_made() -> Result<()> {
    let file = Arc::new(TestFile::new("# shared\n")?);
    let threads: Vec<_> = (0..4)
        .map(|thread_number| {
            let file = Arc::clone(&file);
            thread::spawn(move || -> Result<(), ConfigError> {
                for number in 0..10 {
                    file.editor().set(&format!("K{thread_number}_{number}"), &json!(number))?;
                }
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
    }
    let config = ConfigFile::load(&file.path)?;
    assert_eq!(config.keys().count(), 40);
    Ok(())
}

/// Texts after a key and its colon.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" # nothing yet".to_owned()),
        "[a-z0-9.]{1,8}".prop_map(|word| format!(" {word}")),
        "[a-z ']{0,8}".prop_map(|text| format!(" \"{text}\"   # said")),
        "[a-y]{1,5}".prop_map(|text| format!(" '{text} # no comment'")),
        "[a-y]{1,5}".prop_map(|text| format!(" |\n  {text}\n\n  more")),
        "[a-y]{1,5}".prop_map(|text| format!(" >-\n  {text}\n  more # text")),
        "[a-y]{1,5}".prop_map(|text| format!(" [{text}, 'b',\n  c] # list")),
        "[a-y]{1,5}".prop_map(|text| format!(" {{{text}: 1, zz: {{y: 2}}}}")),
        "[a-y]{1,5}".prop_map(|text| format!("\n  # inside\n  {text}: 1\n  zz:\n    - 1\n    - {{q: 2}}")),
        "[a-y]{1,5}".prop_map(|text| format!("\n- {text} # first\n- zz: 1\n  yy: 2")),
        "[a-y]{1,5}".prop_map(|text| format!(" {text}\n  continued")),
    ]
}

fn new_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z]{0,6}".prop_map(Value::from),
        Just(Value::Null),
        prop::collection::vec("[a-z :#]{0,6}", 0..3).prop_map(Value::from),
        prop::collection::btree_map("[a-z]{1,4}", "[a-z'\"-]{0,4}", 0..3).prop_map(|map| json!(map)),
    ]
}

/// Returns whether all lines occur in the text, in this order.
fn is_subsequence(lines: &[&str], of: &str) -> bool {
    let mut rest = of.lines();
    lines.iter().all(|line| rest.any(|other| other == *line))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is set or removed, the lines of all other keys and all comments between them stay byte for
    /// byte, and the other values stay the same.
    #[test]
    fn other_lines_are_unchanged(
        pieces in prop::collection::btree_map("[A-Z][A-Z_]{0,6}", piece(), 0..6),
        chosen in any::<prop::sample::Index>(),
        is_new in any::<bool>(),
        value in prop::option::of(new_value()),
        crlf in any::<bool>(),
    ) {
        let part = |(key, body): (&String, &String)| format!("# before {key}\n{key}:{body}\n\n");
        let parts: Vec<String> = pieces.iter().map(part).collect();
        let keys: Vec<&String> = pieces.keys().collect();
        let target = (!is_new && !keys.is_empty()).then(|| chosen.index(keys.len()));
        let key = target.map_or("new_key", |index| keys[index].as_str());
        let line_end = |text: &str| if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        let text = line_end(&parts.concat());
        let file = TestFile::new(&text).expect("a file");
        let before: Value = values(&file);
        let result = match &value {
            Some(value) => file.editor().set(key, value),
            None => file.editor().unset(key),
        };
        let after = file.text().expect("the file");
        prop_assert!(result.is_ok(), "{result:?} for {key} = {value:?} in:\n{text}");

        let mut expected = before;
        let mapping = expected.as_object_mut().expect("a mapping");
        match &value {
            Some(value) => drop(mapping.insert(key.to_owned(), value.clone())),
            None => drop(mapping.remove(key)),
        }
        prop_assert_eq!(values(&file), expected, "{}", after);

        let mut others: Vec<&str> = Vec::new();
        let texts: Vec<String> = parts.iter().map(|part| line_end(part)).collect();
        for (index, part) in texts.iter().enumerate() {
            if Some(index) == target {
                others.extend(part.lines().next());
            } else {
                others.extend(part.lines());
            }
        }
        prop_assert!(is_subsequence(&others, &after), "{text}\n--- became:\n{after}");
        if crlf && !text.is_empty() {
            prop_assert!(!after.replace("\r\n", "").contains('\n'), "{after:?}");
        }
    }
}

/// Reads the file through the public interface.
#[expect(clippy::expect_used, reason = "a test fails by panicking")]
fn values(file: &TestFile) -> Value {
    let config = ConfigFile::load(&file.path).expect("a readable file");
    let get = |key: &str| config.get::<Value>(key).expect("a value").unwrap_or_default();
    Value::Object(config.keys().map(|key| (key.to_owned(), get(key))).collect())
}
