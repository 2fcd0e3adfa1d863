//! Project files that are used only if the user trusts them. This is the one list of them, so that all code
//! that asks for trust asks for the same files.

use std::path::Path;

use crate::{
    agents::catalog::project_agents,
    config::{ConfigError, ProjectFile},
    hooks::project_hooks,
    platform::project_skill_files,
    recipe::project_recipes,
};

/// Purpose of a project file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProjectFileKind {
    /// `.goose/config.yaml`.
    Configuration,
    /// A file with one or more agents.
    Agent,
    /// A skill, or a file in its folder.
    Skill,
    /// A recipe.
    Recipe,
    /// `.claude/settings.json` or `.claude/settings.local.json` with hooks, which run commands.
    Hooks,
}

/// Returns the files of the project around a folder, trusted or not. Agents, skills, recipes and hooks that cannot
/// be read are left out, because they cannot be used either.
///
/// # Errors
///
/// Fails if the configuration cannot be read.
pub fn find(working_dir: &Path) -> Result<Vec<(ProjectFileKind, ProjectFile)>, ConfigError> {
    let configuration = ProjectFile::find(working_dir)?.into_iter();
    let agents = project_agents(working_dir).unwrap_or_default().into_iter();
    let skills = project_skill_files(working_dir).into_iter();
    let recipes = project_recipes(working_dir).into_iter();
    let hooks = project_hooks(working_dir).into_iter();
    let all = configuration
        .map(|file| (ProjectFileKind::Configuration, file))
        .chain(agents.map(|file| (ProjectFileKind::Agent, file)))
        .chain(skills.map(|file| (ProjectFileKind::Skill, file)))
        .chain(recipes.map(|file| (ProjectFileKind::Recipe, file)))
        .chain(hooks.map(|file| (ProjectFileKind::Hooks, file)));
    Ok(all.collect())
}
