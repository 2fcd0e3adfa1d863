//! [`AgentCatalog`]: all agents that can be chosen by name: built-in agents, the user's, and those of a
//! trusted project.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use goose_router::Router;
use thiserror::Error;

use super::{
    agent_file, builtin_mode, connection, goose_agent,
    manifest::{AgentManifest, AgentMode, InvalidManifest},
};
use crate::config::{
    ConfigError, MAX_CONFIG_BYTES, PROJECT_CONFIG, Paths, ProjectFile, Trust, TrustStore, UnknownKey,
    is_ours, project_levels, read_capped,
};

/// Folder with agents, in the config folder and in `.goose` of a project.
const AGENTS: &str = "agents";

/// Folder with the agents of a project.
const PROJECT_AGENTS: &str = ".goose/agents";

/// Maximum size of an agent file.
const MAX_AGENT_BYTES: u64 = 1024 * 1024;

/// Similarity of two names above which one counts as a misspelling of the other.
const SIMILAR: f64 = 0.85;

/// Maximum number of agent files in a folder.
const MAX_FILES: usize = 1_000;

/// Source of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOrigin {
    /// Part of goose.
    Builtin,
    /// File in the user's config folder: an agent file, or `config.yaml`.
    User(PathBuf),
    /// File of a trusted project: an agent file, or its configuration.
    Project(PathBuf),
}

/// An agent that can be chosen.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    /// Manifest of the agent.
    pub manifest: Arc<AgentManifest>,
    /// Source of the agent.
    pub origin: AgentOrigin,
}

/// All agents that can be chosen by name.
#[derive(Debug, Clone, Default)]
pub struct AgentCatalog {
    /// Agents. If two have the same name, the project's wins over the user's, and the user's over the
    /// built-in one.
    pub agents: Vec<CatalogEntry>,
    /// Files that cannot be used, each with the reason.
    pub problems: Vec<(PathBuf, String)>,
    /// Files of the project that the user has not trusted.
    pub untrusted: Vec<ProjectFile>,
    /// Built-in agents that a file replaced by another agent of the same name, each with that file.
    pub replaced: Vec<(String, PathBuf)>,
    router: KeptRouter,
}

/// Router to the agents of a catalog, created for the first request. A copy of a catalog may be changed, so
/// it gets another one.
#[derive(Debug, Default)]
struct KeptRouter(OnceLock<Router>);

impl Clone for KeptRouter {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Error for a name that does not identify an agent and a mode.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnknownAgent {
    /// No agent has the name.
    #[error("there is no agent '{name}'. There are: {known}")]
    Agent {
        /// Name that was looked up.
        name: String,
        /// Names of the known agents.
        known: String,
    },
    /// The agent has no such mode.
    #[error("the agent '{agent}' has no mode '{name}'. It has: {known}")]
    Mode {
        /// Name of the agent.
        agent: String,
        /// Name of the mode.
        name: String,
        /// Modes of the agent.
        known: String,
    },
    /// Several agents have a mode of this name.
    #[error("several agents have a mode '{name}': {known}. Write AGENT/MODE")]
    Ambiguous {
        /// Name of the mode.
        name: String,
        /// Agents with such a mode.
        known: String,
    },
}

impl CatalogEntry {
    /// Returns true for the orchestrator's agent. It works for goose itself: it is not served, and other
    /// agents cannot call it.
    pub fn is_internal(&self) -> bool {
        self.origin == AgentOrigin::Builtin && self.manifest.name == builtin_mode::ORCHESTRATOR
    }
}

impl AgentCatalog {
    /// Returns the router to the agents.
    pub(crate) fn router(&self, create: impl FnOnce(&[CatalogEntry]) -> Router) -> &Router {
        self.router.0.get_or_init(|| create(&self.agents))
    }

    /// Returns the agents that come with goose.
    pub fn builtin() -> Self {
        let agents = builtin_mode::manifests()
            .map(|manifest| CatalogEntry { manifest: Arc::new(manifest), origin: AgentOrigin::Builtin });
        Self { agents: agents.collect(), ..Self::default() }
    }

    /// Loads the built-in agents, the user's, and those of a trusted project around the folder.
    pub fn load(paths: &Paths, working_dir: &Path) -> Self {
        let mut catalog = Self::builtin();
        let path = paths.config_file();
        match read_capped(&path, MAX_CONFIG_BYTES) {
            Ok(text) => {
                let agents = connection::configured(&path, &text.unwrap_or_default());
                catalog.add_configured(&path, agents, &AgentOrigin::User(path.clone()));
            }
            Err(error) => catalog.problems.push((path, error.to_string())),
        }
        for path in agent_files(&paths.config.join(AGENTS)) {
            match read_capped(&path, MAX_AGENT_BYTES) {
                Ok(text) => catalog.add(&path, &text.unwrap_or_default(), AgentOrigin::User(path.clone())),
                Err(error) => catalog.problems.push((path, error.to_string())),
            }
        }
        let trust = TrustStore::new(paths);
        let found =
            ProjectFile::find(working_dir).and_then(|config| Ok((config, project_agents(working_dir)?)));
        match found {
            Ok((config, files)) => {
                config.into_iter().for_each(|config| catalog.add_of_project_config(&trust, config));
                files.into_iter().for_each(|file| catalog.add_of_project(&trust, file));
            }
            Err(error) => catalog.problems.push((working_dir.to_owned(), error.to_string())),
        }
        catalog
    }

    /// Adds the external agents that a configuration lists.
    fn add_configured(
        &mut self,
        path: &Path,
        agents: Vec<Result<AgentManifest, InvalidManifest>>,
        origin: &AgentOrigin,
    ) {
        for agent in agents {
            match agent {
                Ok(manifest) => self.put(manifest, origin.clone()),
                Err(error) => self.problems.push((path.to_owned(), error.to_string())),
            }
        }
    }

    /// Adds the external agents that a project's configuration lists, if it is trusted.
    fn add_of_project_config(&mut self, trust: &TrustStore, file: ProjectFile) {
        let agents = connection::configured(file.path(), file.text());
        if !agents.is_empty() && self.is_trusted(trust, &file) {
            let path = file.path();
            self.add_configured(path, agents, &AgentOrigin::Project(path.to_owned()));
        }
    }

    fn add_of_project(&mut self, trust: &TrustStore, file: ProjectFile) {
        if self.is_trusted(trust, &file) {
            self.add(file.path(), file.text(), AgentOrigin::Project(file.path().to_owned()));
        }
    }

    /// Returns true if the user trusts the file. Untrusted files are recorded.
    fn is_trusted(&mut self, trust: &TrustStore, file: &ProjectFile) -> bool {
        match trust.check(file) {
            Ok(Trust::Trusted) => return true,
            Ok(_) => self.untrusted.push(file.clone()),
            Err(error) => self.problems.push((file.path().to_owned(), error.to_string())),
        }
        false
    }

    fn add(&mut self, path: &Path, text: &str, origin: AgentOrigin) {
        match agent_file::read(path, text) {
            Ok(agents) => {
                agents.into_iter().for_each(|manifest| self.put(manifest, origin.clone()));
            }
            Err(error) => self.problems.push((path.to_owned(), error.to_string())),
        }
    }

    fn put(&mut self, manifest: AgentManifest, origin: AgentOrigin) {
        let is_builtin = |entry: &CatalogEntry| {
            entry.origin == AgentOrigin::Builtin && entry.manifest.name == manifest.name
        };
        if let AgentOrigin::User(path) | AgentOrigin::Project(path) = &origin
            && self.agents.iter().any(is_builtin)
        {
            self.replaced.push((manifest.name.clone(), path.clone()));
        }
        self.agents.retain(|entry| entry.manifest.name != manifest.name);
        self.agents.push(CatalogEntry { manifest: Arc::new(manifest), origin });
    }

    /// Returns the agent and mode of a name: `AGENT/MODE`, `AGENT` for its first mode, or a `MODE` that only
    /// one agent has.
    ///
    /// # Errors
    ///
    /// Fails if the agent or mode does not exist. The error lists the known names.
    pub fn find(&self, name: &str) -> Result<(Arc<AgentManifest>, AgentMode), UnknownAgent> {
        let (agent, mode) = match name.split_once('/') {
            Some((agent, mode)) => (agent, Some(mode)),
            None => (name, None),
        };
        let by_name = self.agents.iter().find(|entry| entry.manifest.name == agent);
        match (by_name, mode) {
            // A manifest without modes is invalid and never reaches the catalog.
            (Some(CatalogEntry { manifest, .. }), None) => {
                Ok((Arc::clone(manifest), manifest.modes.first().cloned().unwrap_or_default()))
            }
            (Some(entry), Some(mode)) => mode_of(&entry.manifest, mode),
            (None, Some(_)) => Err(self.unknown(agent)),
            (None, None) => self.by_mode(name),
        }
    }

    /// Returns the known name of an agent or mode that a misspelled name is close to.
    pub(crate) fn similar(&self, name: &str) -> Option<String> {
        let modes = self.agents.iter().flat_map(|entry| {
            let modes = entry.manifest.modes.iter().map(|mode| mode.slug.clone());
            modes.chain([entry.manifest.name.clone()])
        });
        let rated = modes.map(|known| (strsim::jaro_winkler(&known, name), known));
        let best = rated.max_by(|(one, _), (two, _)| one.total_cmp(two));
        best.filter(|(likeness, _)| *likeness > SIMILAR).map(|(_, known)| known)
    }

    /// Returns the agent and mode that a session starts with.
    pub fn default_agent() -> (Arc<AgentManifest>, AgentMode) {
        let manifest = builtin_mode::manifests().next().unwrap_or_default();
        let mode = manifest.mode(goose_agent::ASSISTANT).cloned().unwrap_or_default();
        (Arc::new(manifest), mode)
    }

    fn by_mode(&self, slug: &str) -> Result<(Arc<AgentManifest>, AgentMode), UnknownAgent> {
        let having: Vec<&CatalogEntry> =
            self.agents.iter().filter(|entry| entry.manifest.mode(slug).is_some()).collect();
        match having.as_slice() {
            [] => Err(self.unknown(slug)),
            [entry] => mode_of(&entry.manifest, slug),
            several => {
                let known: Vec<&str> = several.iter().map(|entry| entry.manifest.name.as_str()).collect();
                Err(UnknownAgent::Ambiguous { name: slug.to_owned(), known: known.join(", ") })
            }
        }
    }

    fn unknown(&self, name: &str) -> UnknownAgent {
        let known: Vec<&str> = self.agents.iter().map(|entry| entry.manifest.name.as_str()).collect();
        UnknownAgent::Agent { name: name.to_owned(), known: known.join(", ") }
    }
}

fn mode_of(
    manifest: &Arc<AgentManifest>,
    slug: &str,
) -> Result<(Arc<AgentManifest>, AgentMode), UnknownAgent> {
    match manifest.mode(slug) {
        Some(mode) => Ok((Arc::clone(manifest), mode.clone())),
        None => {
            let known: Vec<&str> = manifest.modes.iter().map(|mode| mode.slug.as_str()).collect();
            let (agent, name) = (manifest.name.clone(), slug.to_owned());
            Err(UnknownAgent::Mode { agent, name, known: known.join(", ") })
        }
    }
}

/// Returns the agent files of the project around a folder, trusted or not.
pub(crate) fn project_agents(working_dir: &Path) -> Result<Vec<ProjectFile>, ConfigError> {
    let mut files = ProjectFile::find_in(working_dir, PROJECT_AGENTS)?;
    files.retain(|file| agent_file::is_agent_file(file.path()));
    files.extend(ProjectFile::find_named(working_dir, agent_file::ROO_MODES)?);
    Ok(files)
}

/// Returns all files and folders that the agents of a folder come from, including those that do not exist.
pub(super) fn watched_paths(paths: &Paths, working_dir: &Path) -> Vec<PathBuf> {
    let agents = paths.config.join(AGENTS);
    let mut watched = vec![paths.config_file(), TrustStore::new(paths).path().to_owned()];
    watched.extend(agent_files(&agents));
    watched.push(agents);
    for level in project_levels(working_dir, is_ours) {
        let agents = level.join(PROJECT_AGENTS);
        watched.extend(agent_files(&agents));
        watched.extend([agents, level.join(PROJECT_CONFIG), level.join(agent_file::ROO_MODES)]);
    }
    watched
}

/// Returns the agent files in a folder, sorted by name.
fn agent_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.is_file() && agent_file::is_agent_file(path));
    files.sort();
    files.truncate(MAX_FILES);
    files
}

/// Error for a file with agents that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgentFileError {
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ConfigError),
    /// The file does not exist.
    #[error("there is no file {}", .0.display())]
    Missing(PathBuf),
    /// The file does not describe an agent.
    #[error(transparent)]
    Invalid(#[from] InvalidManifest),
}

/// Reads the agents of one file, to validate it.
///
/// # Errors
///
/// Fails if the file cannot be read or is invalid.
pub fn read_agents(path: &Path) -> Result<Vec<AgentManifest>, AgentFileError> {
    match read_capped(path, MAX_AGENT_BYTES)? {
        Some(text) => Ok(agent_file::read(path, &text)?),
        None => Err(AgentFileError::Missing(path.to_owned())),
    }
}

/// Returns the keys of a file with agents that goose does not know. A file that cannot be read has none.
pub fn unknown_agent_keys(path: &Path) -> Vec<UnknownKey> {
    let text = read_capped(path, MAX_AGENT_BYTES).ok().flatten().unwrap_or_default();
    agent_file::unknown_keys(path, &text)
}
