//! Sources that can be loaded by name: skills, recipes and agents of the project, the user and goose.
//!
//! | kind | the project's, where trusted | the user's, in the config folder |
//! | --- | --- | --- |
//! | skill | `.goose/skills`, `.agents/skills`, `.claude/skills`: `NAME/SKILL.md` | `skills/`; `.agents/skills` and `.claude/skills` in the home folder |
//! | recipe | `.goose/recipes`, `.agents/recipes`: `NAME.yaml`, `.yml`, `.json` | `recipes/`, and those of [`RecipePlaces`] |
//! | agent | `.goose/agents`, `.roomodes` | `agents/`, then the built-in ones |
//!
//! The first source of a name wins, in the order of this table: by rows, then by columns. `recipe:NAME` also
//! gives the kind, and `NAME/FILE` is a file in the folder of a skill.

use std::{
    fmt::Write as _,
    fs,
    path::{Component, Path, PathBuf},
};

use goose_extension::{ToolError, ToolResult, visible};
use goose_fs::{truncate_chars, truncate_lines};

use crate::{
    agents::{
        catalog::{AgentCatalog, AgentOrigin},
        manifest::AgentManifest,
    },
    config::{Paths, ProjectFile, Trust, TrustStore, read_capped},
    platform::{DESCRIPTION_CHARS, MAX_TEXT, brief, capped},
    recipe::{RecipeFile, RecipePlaces},
};

use super::skills::{Skill, SkillPlaces};

/// Maximum size of a file.
pub(super) const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Maximum number of entries that are read from a folder.
const MAX_FILES: usize = 1_000;

/// Maximum number of files in the folder of a skill that are named.
const MAX_NAMED: usize = 50;

pub(super) const SKILL_FILE: &str = "SKILL.md";
const PROJECT_SKILLS: [&str; 3] = [".goose/skills", ".agents/skills", ".claude/skills"];

/// Kind of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Skill,
    Recipe,
    Agent,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Recipe => "recipe",
            Self::Agent => "agent",
        }
    }
}

/// A source that can be loaded.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Origin of the source, in a word.
    origin: &'static str,
    description: String,
    text: String,
    /// Folder of a skill.
    folder: Option<PathBuf>,
    /// Recipe, to be rendered for a delegate.
    pub(super) recipe: Option<RecipeFile>,
}

/// Places where sources are found.
#[derive(Debug, Clone)]
pub(super) struct SourcePlaces {
    pub(super) paths: Paths,
    pub(super) working_dir: PathBuf,
    pub(super) skills: SkillPlaces,
    pub(super) recipes: RecipePlaces,
}

/// All sources, and the untrusted files of the project.
#[derive(Debug, Default)]
pub(super) struct Sources {
    found: Vec<Source>,
    untrusted: Vec<PathBuf>,
}

impl Sources {
    /// Finds the sources in all known places. Files that cannot be read are left out.
    pub(super) fn find(places: &SourcePlaces) -> Self {
        let SourcePlaces { paths, working_dir, skills, recipes } = places;
        let mut sources = Self::default();
        for skill in skills.find() {
            sources.add_skill(skill);
        }
        for (path, file) in recipes.project().all() {
            match file {
                Ok(file) => sources.add_recipe(file, "project"),
                Err(_) => sources.untrusted.push(path.to_owned()),
            }
        }
        for file in recipes.of_user() {
            sources.add_recipe(file, "user");
        }
        let catalog = AgentCatalog::load(paths, working_dir);
        sources.untrusted.extend(catalog.untrusted.iter().map(|file| file.path().to_owned()));
        for entry in catalog.agents.iter().filter(|entry| !entry.is_internal()) {
            let origin = match entry.origin {
                AgentOrigin::Builtin => "built-in",
                AgentOrigin::User(_) => "user",
                AgentOrigin::Project(_) => "project",
            };
            sources.add(Source {
                name: entry.manifest.name.clone(),
                kind: Kind::Agent,
                origin,
                description: brief(&entry.manifest.description),
                text: agent_text(&entry.manifest),
                folder: None,
                recipe: None,
            });
        }
        sources
    }

    fn add_skill(&mut self, skill: Skill) {
        if !skill.is_trusted {
            self.untrusted.push(skill.path);
            return;
        }
        self.add(Source {
            description: brief(&skill.description),
            folder: skill.path.parent().map(Path::to_owned),
            name: skill.name,
            kind: Kind::Skill,
            origin: skill.origin,
            text: skill.text,
            recipe: None,
        });
    }

    fn add_recipe(&mut self, file: RecipeFile, origin: &'static str) {
        let description = match file.definition() {
            Ok(recipe) => recipe.description,
            Err(error) => format!("(cannot be used: {error})"),
        };
        self.add(Source {
            name: file.name().to_owned(),
            kind: Kind::Recipe,
            origin,
            description: brief(&description),
            text: file.text().to_owned(),
            folder: None,
            recipe: Some(file),
        });
    }

    /// Adds a source, unless there is one of the same kind and name.
    fn add(&mut self, source: Source) {
        let is_same = |there: &Source| there.kind == source.kind && there.name == source.name;
        if !self.found.iter().any(is_same) {
            self.found.push(source);
        }
    }

    /// Returns the list for the model.
    pub(super) fn list(&self) -> String {
        let mut list = String::new();
        for source in &self.found {
            let Source { name, kind, origin, description, .. } = source;
            let _ = writeln!(list, "- {} {name} ({origin}): {description}", kind.word());
        }
        for path in &self.untrusted {
            let _ = writeln!(list, "- not trusted, so not loaded: {}", path.display());
        }
        let list = visible(&list).into_owned();
        truncate_lines(list, MAX_TEXT, |rest| format!("(and {} more)", rest.lines().count()))
    }

    /// Returns the source of a name: `NAME` or `KIND:NAME`.
    pub(super) fn named(&self, name: &str) -> Option<&Source> {
        let kind = name.split_once(':').and_then(|(kind, name)| {
            let kind = [Kind::Skill, Kind::Recipe, Kind::Agent].into_iter().find(|it| it.word() == kind)?;
            Some((kind, name))
        });
        self.found.iter().find(|source| match kind {
            Some((kind, name)) => source.kind == kind && source.name == name,
            None => source.name == name,
        })
    }

    /// Returns the text of a source, or of a file in the folder of a skill.
    pub(super) fn load(&self, name: &str, trust: &TrustStore, working_dir: &Path) -> ToolResult<String> {
        if let Some(source) = self.named(name) {
            return Ok(source.render());
        }
        let beside = name.split_once('/').and_then(|(skill, file)| Some((self.named(skill)?, file)));
        if let Some((source, file)) = beside
            && let Some(folder) = &source.folder
        {
            return source.read_beside(folder, file, trust, working_dir);
        }
        Err(self.unknown(name))
    }

    pub(super) fn unknown(&self, name: &str) -> ToolError {
        let known: Vec<&str> = self.found.iter().map(|source| source.name.as_str()).take(MAX_NAMED).collect();
        let untrusted = self.untrusted.iter().find(|path| path.to_string_lossy().contains(name));
        let hint = untrusted.map(|path| {
            format!(" {} is not trusted; the user can run `goose configure trust`.", path.display())
        });
        ToolError::execution(format!(
            "There is no source or background task `{}`. There are: {}.{}",
            visible(&truncate_chars(name, DESCRIPTION_CHARS)),
            visible(&known.join(", ")),
            hint.unwrap_or_default()
        ))
    }
}

impl Source {
    /// Returns the text for the model.
    pub(super) fn render(&self) -> String {
        let mut text = capped(&self.text);
        if let Some(files) = self.folder.as_deref().map(files_beside).filter(|files| !files.is_empty()) {
            let _ =
                write!(text, "\n\nFiles of this skill, loaded as `{}/FILE`: {}", self.name, files.join(", "));
        }
        text
    }

    fn read_beside(
        &self,
        folder: &Path,
        file: &str,
        trust: &TrustStore,
        working_dir: &Path,
    ) -> ToolResult<String> {
        let missing = || {
            let files = files_beside(folder).join(", ");
            ToolError::execution(format!("`{}` has no file `{}`. It has: {files}.", self.name, visible(file)))
        };
        if !Path::new(file).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(missing());
        }
        if self.origin == "project" {
            let name =
                PROJECT_SKILLS.iter().find(|skills| folder.parent().is_some_and(|it| it.ends_with(skills)));
            let name = format!("{}/{}/{file}", name.ok_or_else(missing)?, self.name);
            let found = ProjectFile::find_named(working_dir, &name).ok().flatten().ok_or_else(missing)?;
            return match trust.check(&found) {
                Ok(Trust::Trusted) => Ok(capped(found.text())),
                _ => Err(ToolError::execution(format!(
                    "{} is not trusted; the user can run `goose configure trust`. Continue without it.",
                    found.path().display()
                ))),
            };
        }
        // A link out of the folder is not followed.
        let path = folder.join(file).canonicalize().map_err(|_| missing())?;
        let is_inside = folder.canonicalize().is_ok_and(|folder| path.starts_with(folder));
        match read_capped(&path, MAX_FILE_BYTES) {
            Ok(Some(text)) if is_inside => Ok(capped(&text)),
            Err(error) if is_inside => Err(ToolError::execution(error.to_string())),
            _ => Err(missing()),
        }
    }
}

/// Returns the skills of the project around a folder, trusted or not.
pub(super) fn project_skills(working_dir: &Path) -> Vec<ProjectFile> {
    let found = PROJECT_SKILLS.iter().map(|skills| ProjectFile::find_nested(working_dir, skills, SKILL_FILE));
    found.flat_map(Result::unwrap_or_default).collect()
}

/// Returns the skills of the project around a folder with the other files in their folders, trusted or not.
/// Files that are not text are left out.
pub(crate) fn project_skill_files(working_dir: &Path) -> Vec<ProjectFile> {
    let with_beside = |skill: ProjectFile| {
        let names = skill.path().parent().map(files_beside).unwrap_or_default();
        let beside: Vec<_> = names.iter().filter_map(|name| skill.beside(name).ok().flatten()).collect();
        std::iter::once(skill).chain(beside)
    };
    project_skills(working_dir).into_iter().flat_map(with_beside).collect()
}

/// Returns the names of the other files in the folder of a skill.
fn files_beside(folder: &Path) -> Vec<String> {
    let names = folder_entries(folder).into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        (path.is_file() && name != SKILL_FILE).then(|| visible(&name).into_owned())
    });
    names.take(MAX_NAMED).collect()
}

/// Returns the entries of a folder, sorted by name.
pub(super) fn folder_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.take(MAX_FILES).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Describes an agent as text.
fn agent_text(manifest: &AgentManifest) -> String {
    let mut text = format!("# {}\n\n{}\n", manifest.name, manifest.description);
    if !manifest.instructions.is_empty() {
        let _ = write!(text, "\n{}\n", manifest.instructions);
    }
    for mode in &manifest.modes {
        let _ = write!(text, "\n## {}/{}\n\n{}\n", manifest.name, mode.slug, mode.instructions);
    }
    text
}
