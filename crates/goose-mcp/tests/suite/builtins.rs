//! The list of built-ins, and where the configuration is.

use std::{ffi::OsString, path::PathBuf};

use goose_extension::Tool;
use goose_mcp::{BUILTINS, BuiltinOptions, builtin, paths};
use goose_test_support::description_problems;
use serde_json::json;

#[tokio::test]
async fn every_builtin_is_made_by_its_name() {
    let options = BuiltinOptions::new("/nowhere/config");
    for known in BUILTINS {
        let extension = builtin(known.name, &options).unwrap();
        assert_eq!(extension.name(), known.name);
        assert!(!extension.tools().is_empty() && !extension.description().is_empty());
    }
    assert!(builtin("Memory", &options).is_none());
    assert!(builtin("", &options).is_none());
}

#[tokio::test]
async fn settings_say_where_memories_are() {
    let dir = tempfile::tempdir().unwrap();
    let options = BuiltinOptions::new(dir.path().join("config")).with_working_dir(dir.path().join("project"));
    let memory = builtin("memory", &options).unwrap();
    let status = memory.status().await.unwrap();
    assert_eq!(status["global"]["folder"], json!(dir.path().join("config/memory")));
    assert_eq!(status["project"]["folder"], json!(dir.path().join("project/.goose/memory")));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "looking makes no folders");
}

#[test]
fn the_config_folder_follows_the_environment() {
    type Variables = &'static [(&'static str, &'static str)];
    let table: [(Variables, Option<&str>); 7] = [
        (&[("GOOSE_PATH_ROOT", "/r"), ("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")], Some("/r/config")),
        (&[("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")], Some("/x/goose")),
        (&[("XDG_CONFIG_HOME", "relative"), ("HOME", "/h")], Some("/h/.config/goose")),
        (&[("HOME", "/h")], Some("/h/.config/goose")),
        (&[("GOOSE_PATH_ROOT", ""), ("XDG_CONFIG_HOME", ""), ("HOME", "/h")], Some("/h/.config/goose")),
        (&[("HOME", "")], None),
        (&[], None),
    ];
    for (environment, expected) in table {
        let get = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        assert_eq!(paths::config_dir(get), expected.map(PathBuf::from), "{environment:?}");
    }
}

fn problems(tool: &Tool) -> Vec<String> {
    let mut found = description_problems(tool);
    let hints = tool.annotations().cloned().unwrap_or_default();
    let has_effect = hints.read_only_hint.is_some() || hints.destructive_hint.is_some();
    let checks = [
        ("it has no group", !tool.groups().is_empty()),
        ("it has no hint: read-only or destructive", has_effect),
        ("it has no hint: open world", hints.open_world_hint.is_some()),
    ];
    found.extend(checks.into_iter().filter(|(_, holds)| !holds).map(|(what, _)| what.to_owned()));
    found
}

#[test]
fn every_tool_has_full_descriptions_a_group_and_hints() {
    let options = BuiltinOptions::new("/nowhere/config");
    let mut found = Vec::new();
    for known in BUILTINS {
        for tool in builtin(known.name, &options).unwrap().tools() {
            found.extend(problems(tool).iter().map(|it| format!("{}__{}: {it}", known.name, tool.name())));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
