//! Skills: folders with a `SKILL.md`, whose front matter has a name and a description.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use goose_extension::visible;
use goose_fs::truncate_chars;
use serde::Deserialize;

use super::sources::{MAX_FILE_BYTES, SKILL_FILE, folder_entries, project_skills};
use crate::{
    agents::agent_file::front_matter,
    config::{Paths, Trust, TrustStore, read_capped, read_yaml_as},
    platform::brief,
};

/// Folders with skills in the home folder, which other agents use, too.
const HOME_FOLDERS: [&str; 2] = [".agents/skills", ".claude/skills"];

/// Maximum size of the announcement, in bytes. It is a part of every request.
const MAX_ANNOUNCEMENT: usize = 4_000;

/// Maximum number of characters of a skill's name.
const MAX_NAME: usize = 64;

/// Maximum number of characters of a skill's description.
const MAX_DESCRIPTION: usize = 1_024;

/// Places of skills.
#[derive(Debug, Clone)]
pub struct SkillPlaces {
    paths: Paths,
    working_dir: PathBuf,
    home: Option<PathBuf>,
}

/// A skill.
#[derive(Debug, Clone)]
pub struct Skill {
    /// Name to load it by: that of its folder.
    pub name: String,
    /// Purpose, on one line.
    pub description: String,
    /// Path of its `SKILL.md`.
    pub path: PathBuf,
    /// `project` or `user`.
    pub origin: &'static str,
    /// False for a skill of the project that the user does not trust. It is not used.
    pub is_trusted: bool,
    /// Text of the file.
    pub text: String,
}

/// Front matter of a skill.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    name: Option<String>,
    description: Option<String>,
}

impl SkillPlaces {
    /// Returns the places for a working folder.
    pub fn new(paths: &Paths, working_dir: &Path, home: Option<&Path>) -> Self {
        Self { paths: paths.clone(), working_dir: working_dir.to_owned(), home: home.map(Path::to_owned) }
    }

    /// Returns the skills: the project's, then the user's. The first of a name counts. Files that cannot be
    /// read are left out.
    pub fn find(&self) -> Vec<Skill> {
        let trust = TrustStore::new(&self.paths);
        let mut found: Vec<Skill> = Vec::new();
        for file in project_skills(&self.working_dir) {
            let is_trusted = matches!(trust.check(&file), Ok(Trust::Trusted));
            found.extend(Skill::new(file.path(), file.text().to_owned(), "project", is_trusted));
        }
        let home = self.home.iter().flat_map(|home| HOME_FOLDERS.map(|folder| home.join(folder)));
        for folder in [self.paths.config.join("skills")].into_iter().chain(home) {
            for path in folder_entries(&folder).into_iter().map(|entry| entry.join(SKILL_FILE)) {
                if let Ok(Some(text)) = read_capped(&path, MAX_FILE_BYTES) {
                    found.extend(Skill::new(&path, text, "user", true));
                }
            }
        }
        let mut names = BTreeSet::new();
        found.retain(|skill| !skill.is_trusted || names.insert(skill.name.clone()));
        found
    }

    /// Returns the text that tells a model about the skills; `None` if there are none.
    pub(crate) fn announcement(&self) -> Option<String> {
        let skills: Vec<Skill> = self.find().into_iter().filter(|skill| skill.is_trusted).collect();
        if skills.is_empty() {
            return None;
        }
        let mut text =
            "Skills: before a task that one of these is about, load it with `summon__load`.\n".to_owned();
        for (index, skill) in skills.iter().enumerate() {
            let line = format!("- {}: {}\n", visible(&skill.name), visible(&brief(&skill.description)));
            if text.len() + line.len() > MAX_ANNOUNCEMENT {
                // Writing into a string cannot fail.
                let _ = writeln!(
                    text,
                    "({} more; `summon__load` without a source lists them)",
                    skills.len() - index
                );
                break;
            }
            text.push_str(&line);
        }
        Some(text)
    }
}

impl Skill {
    fn new(path: &Path, text: String, origin: &'static str, is_trusted: bool) -> Option<Self> {
        let name = path.parent()?.file_name()?.to_str()?.to_owned();
        let description = head(path, &text).ok().and_then(|head| head.description).unwrap_or_default();
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(Self { name, description, path: path.to_owned(), origin, is_trusted, text })
    }

    /// Reads the skill in a folder, or a `SKILL.md`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn open(path: &Path) -> Result<Self, crate::config::ConfigError> {
        let path = if path.is_dir() { path.join(SKILL_FILE) } else { path.to_owned() };
        let path = fs::canonicalize(&path).unwrap_or(path);
        let absent = || crate::config::ConfigError::Absent(path.clone());
        let text = read_capped(&path, MAX_FILE_BYTES)?.ok_or_else(absent)?;
        Self::new(&path, text, "user", true).ok_or_else(absent)
    }

    /// Returns what is wrong with the skill.
    pub fn problems(&self) -> Vec<String> {
        let head = match head(&self.path, &self.text) {
            Ok(head) => head,
            Err(problem) => return vec![problem],
        };
        let mut problems = Vec::new();
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        match head.name {
            None => problems.push("it has no 'name'; add it to the front matter".to_owned()),
            Some(name) if name != self.name => problems.push(format!(
                "its name is '{}', but its folder is '{}', which is what it is loaded by; use one name",
                truncate_chars(&name, MAX_NAME),
                self.name
            )),
            Some(_) => {}
        }
        if !self.name.chars().all(is_plain) || self.name.chars().count() > MAX_NAME {
            problems.push(format!(
                "its name has other characters than a-z, 0-9 and '-', or more than {MAX_NAME}"
            ));
        }
        match head.description.map(|text| text.trim().chars().count()) {
            None | Some(0) => {
                problems.push("it has no 'description', by which a model chooses it; add it".to_owned())
            }
            Some(length) if length > MAX_DESCRIPTION => {
                problems
                    .push(format!("its description has {length} characters, more than {MAX_DESCRIPTION}"));
            }
            Some(_) => {}
        }
        let body = front_matter(&self.text).map(|(_, body)| body);
        if body.is_none_or(|body| body.trim().is_empty()) {
            problems.push("it has no text after the front matter".to_owned());
        }
        problems
    }
}

fn head(path: &Path, text: &str) -> Result<Head, String> {
    let (head, _) = front_matter(text)
        .ok_or("it begins with no front matter between two lines '---', with 'name' and 'description'")?;
    // The line before it counts.
    let head = read_yaml_as::<Option<Head>>(path, &format!("\n{head}")).map_err(|error| error.to_string())?;
    Ok(head.unwrap_or_default())
}
