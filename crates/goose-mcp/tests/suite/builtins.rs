//! The list of built-ins, and where the configuration is.

use std::{ffi::OsString, path::PathBuf};

use goose_mcp::{BUILTINS, Settings, builtin, paths};
use serde_json::json;

#[tokio::test]
async fn every_builtin_is_made_by_its_name() {
    let settings = Settings::new("/nowhere/config");
    for known in BUILTINS {
        let extension = builtin(known.name, &settings).unwrap();
        assert_eq!(extension.name(), known.name);
        assert!(!extension.tools().is_empty() && !extension.description().is_empty());
    }
    assert!(builtin("Memory", &settings).is_none());
    assert!(builtin("", &settings).is_none());
}

#[tokio::test]
async fn settings_say_where_memories_are() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings::new(dir.path().join("config")).with_working_dir(dir.path().join("project"));
    let memory = builtin("memory", &settings).unwrap();
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
