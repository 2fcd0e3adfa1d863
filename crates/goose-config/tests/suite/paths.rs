//! The folders of goose.

use std::{collections::BTreeMap, ffi::OsString, path::Path};

use anyhow::Result;
use goose_config::{ConfigError, Paths};

fn paths(variables: &[(&str, &str)]) -> Result<Paths, ConfigError> {
    Paths::from_variables(lookup(variables))
}

fn lookup(variables: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
    let variables: BTreeMap<String, OsString> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    move |name| variables.get(name).cloned()
}

fn expected(config: &str, data: &str, state: &str) -> Paths {
    let cache = Path::new(state).join("cache");
    Paths { config: config.into(), data: data.into(), state: state.into(), cache }
}

#[test]
fn root_takes_precedence_over_xdg_and_home() -> Result<()> {
    let home = expected("/h/.config/goose", "/h/.local/share/goose", "/h/.local/state/goose");
    assert_eq!(paths(&[("HOME", "/h")])?, home);
    assert_eq!(paths(&[("HOME", "/h"), ("XDG_DATA_HOME", "relative"), ("GOOSE_PATH_ROOT", "")])?, home);

    let xdg = [("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "/d"), ("XDG_STATE_HOME", "/s")];
    assert_eq!(paths(&xdg)?, expected("/c/goose", "/d/goose", "/s/goose"));

    let root = [xdg.as_slice(), &[("GOOSE_PATH_ROOT", "/r")]].concat();
    let moved = paths(&root)?;
    assert_eq!(moved, expected("/r/config", "/r/data", "/r/state"));
    assert_eq!(moved.config_file(), Path::new("/r/config/config.yaml"));
    assert_eq!(moved.secrets_file(), Path::new("/r/config/secrets.yaml"));
    Ok(())
}

#[test]
fn missing_variables_are_an_error() {
    assert_eq!(paths(&[("XDG_CONFIG_HOME", "/c")]), Err(ConfigError::NoHome));
    assert_eq!(paths(&[]), Err(ConfigError::NoHome));
}

#[test]
fn built_in_services_use_the_same_config_folder() -> Result<()> {
    let choices = [None, Some(""), Some("relative"), Some("/absolute")];
    for (root, xdg) in choices.iter().flat_map(|root| choices.iter().map(move |xdg| (*root, *xdg))) {
        let set = [("GOOSE_PATH_ROOT", root), ("XDG_CONFIG_HOME", xdg), ("HOME", Some("/h"))];
        let variables: Vec<_> = set.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        assert_eq!(
            Some(paths(&variables)?.config),
            goose_mcp::paths::config_dir(lookup(&variables)),
            "{variables:?}"
        );
    }
    Ok(())
}
