//! Checks of the files that goose reads besides the settings: rules, profiles, agents, hints; and of keys that are
//! probably misspelled.

use std::{collections::BTreeMap, env, fs, path::Path};

use goose::{
    agents::{
        catalog::{AgentCatalog, AgentOrigin, CatalogEntry, unknown_agent_keys},
        connection::ConnectionKind,
    },
    config::{ConfigFile, Paths, Settings, UnknownKey, read_capped, unknown_profile_keys},
    context::hints::{self, Places, ProjectHints},
    permission::{Mode, PermissionOptions, Permissions},
};
use serde::de::IgnoredAny;

use super::{Check, machine::in_path};

/// Largest profile that is looked at.
const MAX_PROFILE_BYTES: u64 = 1024 * 1024;

const CORRECT: &str = "correct that line";

pub(super) fn check(paths: &Paths, settings: &Settings) -> Vec<Check> {
    let files = settings.project_file().into_iter().chain([settings.user_file()]);
    let mut unknown: Vec<UnknownKey> = files.flat_map(ConfigFile::unknown_keys).collect();
    let mut checks = Vec::new();
    checks.extend(permissions(paths));
    checks.extend(profiles(paths, settings, &mut unknown));
    if let Ok(folder) = env::current_dir() {
        checks.extend(agents(paths, &folder, &mut unknown));
        checks.extend(hints(paths, settings, &folder));
    }
    let keys = unknown.into_iter().map(|key| Check::warning("unknown key", key.to_string(), CORRECT));
    checks.extend(keys);
    checks
}

fn permissions(paths: &Paths) -> Option<Check> {
    let problem = Permissions::new(PermissionOptions::new(Mode::default()).with_paths(paths)).problem()?;
    Some(Check::bad("permission.yaml", problem, CORRECT))
}

/// Checks the profiles of the configuration and of their folder.
fn profiles(paths: &Paths, settings: &Settings, unknown: &mut Vec<UnknownKey>) -> Vec<Check> {
    let files = fs::read_dir(paths.config.join("profiles")).into_iter().flatten().flatten();
    let mut names = Vec::new();
    for path in files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|it| it == "yaml")) {
        let text = read_capped(&path, MAX_PROFILE_BYTES).ok().flatten().unwrap_or_default();
        unknown.extend(unknown_profile_keys(&path, &text));
        names.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
    }
    for file in settings.project_file().into_iter().chain([settings.user_file()]) {
        let listed = file.get::<BTreeMap<String, IgnoredAny>>("profiles").ok().flatten();
        names.extend(listed.unwrap_or_default().into_keys());
    }
    names.sort();
    names.dedup();
    let broken =
        names.iter().filter_map(|name| settings.profile(Some(name)).err().map(|error| (name, error)));
    broken.map(|(name, error)| Check::bad(format!("profile {name}"), error.to_string(), CORRECT)).collect()
}

/// Checks the files and entries of agents, and the programs of external ones.
fn agents(paths: &Paths, folder: &Path, unknown: &mut Vec<UnknownKey>) -> Vec<Check> {
    let catalog = AgentCatalog::load(paths, folder);
    let problem = |(path, reason): &(_, String)| {
        let path: &std::path::PathBuf = path;
        Check::bad("agents", format!("{}: {reason}", path.display()), "correct it, or remove the agent")
    };
    let mut checks: Vec<Check> = catalog.problems.iter().map(problem).collect();
    checks.extend(catalog.agents.iter().filter_map(missing_program));
    for entry in &catalog.agents {
        if let AgentOrigin::User(path) | AgentOrigin::Project(path) = &entry.origin
            && *path != paths.config_file()
            && entry.manifest.connection.is_none()
        {
            unknown.extend(unknown_agent_keys(path));
        }
    }
    checks
}

fn missing_program(entry: &CatalogEntry) -> Option<Check> {
    let connection = entry.manifest.connection.as_ref().filter(|it| it.kind == ConnectionKind::Acp)?;
    let program = connection.command.as_deref().filter(|program| in_path(program).is_none())?;
    Some(Check::bad(
        format!("agent {}", entry.manifest.name),
        format!("the program '{program}' was not found"),
        "install it, correct 'command', or set 'enabled: false'",
    ))
}

fn hints(paths: &Paths, settings: &Settings, folder: &Path) -> Vec<Check> {
    let home = settings.variable("HOME").map(Path::new);
    let places = Places { config_dir: &paths.config, working_dir: folder, home, project: ProjectHints::Used };
    let found = match settings.get::<Vec<String>>("CONTEXT_FILE_NAMES") {
        Ok(Some(names)) => hints::load(places, &names),
        Ok(None) => hints::load(places, hints::DEFAULT_NAMES),
        Err(error) => return vec![Check::bad("hints", error.to_string(), CORRECT)],
    };
    found
        .problems
        .iter()
        .map(|problem| Check::warning("hints", problem, "correct or remove that file"))
        .collect()
}
