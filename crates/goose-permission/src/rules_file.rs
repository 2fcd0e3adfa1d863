//! Reads `permission.yaml`, with positions in errors, and adds rules without changing existing text.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use goose_fs::{AtomicFile, FileLock, create_private_dir};
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::{
    append,
    rule::{Effect, Rule},
    tool_fingerprint::ToolFingerprint,
};
use goose_config::{ConfigError, Place};

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Longest wait for another process that is adding a rule.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of rules in a file.
const MAX_RULES: usize = 2000;

/// Start of a new file.
const HEADER: &str = "\
# Tool calls that goose allows, asks about or denies. deny wins over ask, and ask over allow.
#   - allow: shell cargo test *
#   - ask: shell git push *
#   - deny: write ~/.ssh/**
";

/// Content of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    user: Option<Lists>,
    /// Decisions that other versions of goose derived themselves. Ignored: the user did not make them.
    #[serde(rename = "smart_approve")]
    _smart_approve: Option<serde::de::IgnoredAny>,
    rules: Option<Vec<Entry>>,
}

/// Rules about whole tools, in the format of earlier versions.
#[derive(Deserialize, Default)]
struct Lists {
    always_allow: Option<Vec<Spanned<String>>>,
    ask_before: Option<Vec<Spanned<String>>>,
    never_allow: Option<Vec<Spanned<String>>>,
}

/// One rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    allow: Option<Spanned<String>>,
    ask: Option<Spanned<String>>,
    deny: Option<Spanned<String>>,
    tool: Option<Spanned<String>>,
}

/// `permission.yaml` at a path.
#[derive(Debug)]
pub(super) struct RulesFile {
    path: PathBuf,
}

/// Identifies the state of a file, to detect changes since it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp(Option<(Option<SystemTime>, u64, u64)>);

impl RulesFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn stamp(&self) -> Stamp {
        Stamp(fs::metadata(&self.path).ok().map(|it| (it.modified().ok(), it.len(), it.ino())))
    }

    /// Returns the rules in the file; none if the file does not exist.
    pub(super) fn read(&self) -> Result<Vec<Rule>, ConfigError> {
        parse(&self.text()?, &self.path)
    }

    fn text(&self) -> Result<String, ConfigError> {
        let unreadable =
            |error: io::Error| ConfigError::Unreadable { path: self.path.clone(), reason: error.to_string() };
        // Reading from a pipe would block forever.
        if fs::metadata(&self.path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(unreadable(io::Error::other(
                "it is not a regular file; remove it, or put one there",
            )));
        }
        let mut bytes = Vec::new();
        match File::open(&self.path) {
            Ok(file) => {
                let mut file = io::Read::take(file, MAX_FILE_BYTES + 1);
                io::Read::read_to_end(&mut file, &mut bytes).map_err(unreadable)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(error)),
        }
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(ConfigError::TooLarge { path: self.path.clone(), limit: MAX_FILE_BYTES });
        }
        String::from_utf8(bytes).map_err(|_| malformed(&self.path, None, "this is not UTF-8 text"))
    }

    /// Adds a rule at the end of the list and leaves all other text unchanged. If that is not possible, the
    /// file is left unchanged.
    pub(super) fn add(&self, rule: &Rule) -> Result<(), ConfigError> {
        let failed = |error: io::Error| ConfigError::Unreadable {
            path: self.path.clone(),
            reason: format!("the rule could not be stored: {error}"),
        };
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder = path.parent().unwrap_or(Path::new("."));
        create_private_dir(folder).map_err(failed)?;
        // Serializes processes that add rules at the same time.
        let folder = File::open(folder).map_err(failed)?;
        let _lock = FileLock::wait(folder, LOCK_TIMEOUT).map_err(failed)?;
        let text = self.text()?;
        let before = parse(&text, &self.path)?;
        if before.contains(rule) {
            return Ok(());
        }
        let changed = append::rule(if text.is_empty() { HEADER } else { &text }, rule);
        let changed = changed.filter(|changed| {
            parse(changed, &self.path).is_ok_and(|after| {
                after.len() == before.len() + 1 && after.last() == Some(rule) && after.starts_with(&before)
            })
        });
        let changed = changed.ok_or_else(|| {
            malformed(
                &self.path,
                None,
                &format!("there is no safe way to add to this file; add `- {rule}` to `rules:`"),
            )
        })?;
        // A new file is readable by its owner only.
        AtomicFile::new(&path).keep_permissions().synced().write(changed.as_bytes()).map_err(failed)
    }
}

fn parse(text: &str, path: &Path) -> Result<Vec<Rule>, ConfigError> {
    let options = serde_saphyr::options! { with_snippet: false };
    let document: Option<Document> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| not_yaml(path, &error))?;
    let Some(document) = document else { return Ok(Vec::new()) };
    let mut rules = Vec::new();
    let lists = document.user.unwrap_or_default();
    let lists = [
        (Effect::Allow, lists.always_allow),
        (Effect::Ask, lists.ask_before),
        (Effect::Deny, lists.never_allow),
    ];
    for (effect, names) in lists {
        for name in names.unwrap_or_default() {
            rules.push(rule(effect, &name, path)?);
        }
    }
    for entry in document.rules.unwrap_or_default() {
        rules.push(entry.rule(path)?);
    }
    match rules.len() > MAX_RULES {
        true => Err(malformed(path, None, &format!("there are more than {MAX_RULES} rules; remove some"))),
        false => Ok(rules),
    }
}

fn rule(effect: Effect, text: &Spanned<String>, path: &Path) -> Result<Rule, ConfigError> {
    Rule::parse(effect, &text.value).map_err(|error| {
        let at = text.referenced;
        malformed(path, Some((at.line(), at.column())), &error.to_string())
    })
}

impl Entry {
    fn rule(self, path: &Path) -> Result<Rule, ConfigError> {
        let effects = [(Effect::Allow, self.allow), (Effect::Ask, self.ask), (Effect::Deny, self.deny)];
        let mut given = effects.into_iter().filter_map(|(effect, text)| Some((effect, text?)));
        let (Some((effect, text)), None) = (given.next(), given.next()) else {
            return Err(malformed(path, None, "a rule has exactly one of `allow`, `ask` and `deny`"));
        };
        let rule = rule(effect, &text, path)?;
        let Some(tool) = self.tool else { return Ok(rule) };
        let at = tool.referenced;
        let fingerprint = ToolFingerprint::from_digest(&tool.value).ok_or_else(|| {
            malformed(
                path,
                Some((at.line(), at.column())),
                "`tool` is not the 64 hex digits that goose wrote",
            )
        })?;
        Ok(rule.with_tool_fingerprint(Arc::new(fingerprint)))
    }
}

fn not_yaml(path: &Path, error: &serde_saphyr::Error) -> ConfigError {
    let position = error.location().map(|location| (location.line(), location.column()));
    let message = error.to_string();
    malformed(path, position, message.lines().next().unwrap_or_default())
}

fn malformed(path: &Path, position: Option<(u64, u64)>, message: &str) -> ConfigError {
    ConfigError::Malformed { place: Place { path: path.to_owned(), position }, message: message.to_owned() }
}
