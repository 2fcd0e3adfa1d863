//! Completion of commands, agents and file names.

use std::{env, fmt, fs, path::MAIN_SEPARATOR, sync::Arc};

use goose::{agents::catalog::AgentCatalog, config::Paths, permission::Mode};
use goose_providers::Registry;
use parking_lot::Mutex;
use rustyline::{
    Context, Helper,
    completion::{Completer, Pair},
    highlight::Highlighter,
    hint::Hinter,
    validate::Validator,
};

use crate::{builtins, commands::session::slash::COMMANDS, escape};

/// Maximum number of candidates.
const MAX_CANDIDATES: usize = 200;

/// Maximum number of folder entries that are read.
const MAX_ENTRIES: usize = 10_000;

/// Prefix of a file name in a message, and of an agent at its beginning.
const MARK: char = '@';

/// Name of the values that are resources of extensions, after [`MARK`].
pub(crate) const RESOURCES: &str = "@";

/// Command whose value is an extension of the session.
pub(crate) const REMOVE: &str = "/extension remove ";

/// Purpose of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Purpose {
    /// A message to the model, or a command.
    Message,
    /// A further line of a message.
    Continuation,
    /// An answer to a question.
    #[default]
    Answer,
}

/// Function that returns the values of a command, each with a text beside it.
type ValuesOf = dyn Fn(&str) -> Vec<(String, String)> + Send + Sync;

/// Source of the values that depend on the session. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct SessionValues(Arc<Mutex<Option<Arc<ValuesOf>>>>);

impl SessionValues {
    /// Replaces the source.
    pub(crate) fn set(&self, values: impl Fn(&str) -> Vec<(String, String)> + Send + Sync + 'static) {
        *self.0.lock() = Some(Arc::new(values));
    }

    /// Returns the values of a command that begin as typed.
    fn candidates(&self, command: &str, begin: &str) -> Option<Vec<Pair>> {
        let values = self.0.lock().clone()?(command);
        let fitting = values.into_iter().filter(|(value, _)| value.starts_with(begin)).take(MAX_CANDIDATES);
        let pairs = fitting.map(|(value, about)| match about.is_empty() {
            true => pair(&value.clone(), value),
            false => pair(&format!("{value}  {about}"), value),
        });
        Some(pairs.collect()).filter(|pairs: &Vec<Pair>| !pairs.is_empty())
    }
}

impl fmt::Debug for SessionValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionValues").finish_non_exhaustive()
    }
}

/// Callbacks of the line editor.
#[derive(Debug, Default)]
pub(crate) struct Assistant {
    pub(crate) purpose: Purpose,
    pub(crate) values: SessionValues,
}

impl Helper for Assistant {}
impl Highlighter for Assistant {}
impl Validator for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = line.get(..at).unwrap_or(line);
        Ok(match self.purpose {
            Purpose::Message => candidates(typed, &self.values),
            Purpose::Continuation => file_candidates(typed),
            Purpose::Answer => (at, Vec::new()),
        })
    }
}

/// Returns the start of the completed part, and its candidates.
fn candidates(typed: &str, session: &SessionValues) -> (usize, Vec<Pair>) {
    if typed.starts_with('/') && !typed.contains(char::is_whitespace) {
        let fitting = COMMANDS.iter().filter(|command| command.name.starts_with(typed));
        return (0, fitting.map(|command| pair(command.name, format!("{} ", command.name))).collect());
    }
    if let Some((command, value)) = typed.split_once(' ')
        && let Some(values) = values(command, value, session)
    {
        return (typed.len() - value.len(), values);
    }
    if let Some(name) = typed.strip_prefix(REMOVE)
        && let Some(values) = session.candidates(REMOVE, name)
    {
        return (REMOVE.len(), values);
    }
    let (begin, files) = file_candidates(typed);
    let agents = typed.strip_prefix(MARK).filter(|name| !name.contains(char::is_whitespace)).map(agents);
    let agents = agents.unwrap_or_default();
    let resources = match typed.get(..begin).is_some_and(|before| before.ends_with(MARK)) {
        true => session.candidates(RESOURCES, typed.get(begin..).unwrap_or_default()).unwrap_or_default(),
        false => Vec::new(),
    };
    if agents.is_empty() && resources.is_empty() {
        return (begin, files);
    }
    let all = labelled(agents, "agent").chain(labelled(files, "file")).chain(labelled(resources, "resource"));
    (begin, all.take(MAX_CANDIDATES).collect())
}

/// Says what the candidates are, where several kinds are possible.
fn labelled(found: Vec<Pair>, kind: &str) -> impl Iterator<Item = Pair> {
    found.into_iter().map(move |Pair { display, replacement }| Pair {
        display: if display.ends_with(MAIN_SEPARATOR) { display } else { format!("{display} ({kind})") },
        replacement,
    })
}

/// Returns the values of a command that begin as typed; none if the command has no known values.
fn values(command: &str, begin: &str, session: &SessionValues) -> Option<Vec<Pair>> {
    if begin.contains(char::is_whitespace) {
        return None;
    }
    let names: Vec<String> = match command {
        "/agent" => return Some(agents(begin)),
        "/mode" => Mode::ALL.iter().map(ToString::to_string).collect(),
        "/model" => {
            let listed = session.candidates(command, begin).unwrap_or_default();
            let known = models().into_iter().filter(|name| name.starts_with(begin));
            let known = known.filter(|name| !listed.iter().any(|pair| pair.replacement == *name));
            let known: Vec<Pair> = known.map(|name| pair(&name.clone(), name)).collect();
            return Some(listed.into_iter().chain(known).take(MAX_CANDIDATES).collect());
        }
        "/builtin" => builtins::names().split(", ").map(str::to_owned).collect(),
        "/export" | "/recipe" | "/diff" => return Some(files(begin)),
        _ => return session.candidates(command, begin),
    };
    let fitting = names.into_iter().filter(|name| name.starts_with(begin)).take(MAX_CANDIDATES);
    Some(fitting.map(|name| pair(&name.clone(), name)).collect())
}

/// Returns the models that are known by name, with their providers.
fn models() -> Vec<String> {
    let known = Registry::default();
    let models = known
        .known()
        .iter()
        .flat_map(|provider| provider.default_model.iter().map(|model| format!("{}:{model}", provider.name)));
    models.collect()
}

/// Returns the agents and modes whose names have this prefix. They are read anew each time, as files are.
fn agents(begin: &str) -> Vec<Pair> {
    let (Ok(paths), Ok(folder)) = (Paths::from_env(), env::current_dir()) else { return Vec::new() };
    mentions(&AgentCatalog::load(&paths, &folder), begin)
}

/// Agents, modes that only one agent has, and after the name of an agent all of its modes.
fn mentions(catalog: &AgentCatalog, begin: &str) -> Vec<Pair> {
    let manifests = || catalog.agents.iter().map(|entry| &entry.manifest);
    let mut names: Vec<String> = match begin.split_once('/') {
        Some((agent, _)) => manifests()
            .filter(|manifest| manifest.name == agent)
            .flat_map(|manifest| manifest.modes.iter().map(move |mode| format!("{agent}/{}", mode.slug)))
            .collect(),
        None => {
            let slugs = manifests().flat_map(|manifest| &manifest.modes).map(|mode| mode.slug.clone());
            let is_clear = |slug: &String| catalog.find(slug).is_ok();
            manifests().map(|manifest| manifest.name.clone()).chain(slugs.filter(is_clear)).collect()
        }
    };
    names.retain(|name| name.starts_with(begin));
    names.sort();
    names.dedup();
    names.truncate(MAX_CANDIDATES);
    names.into_iter().map(|name| pair(&name.clone(), name)).collect()
}

/// Returns the start of a file name, and its candidates. Blanks in it are escaped.
fn file_candidates(typed: &str) -> (usize, Vec<Pair>) {
    let is_end = |&(at, letter): &(usize, char)| letter.is_whitespace() && !typed[..at].ends_with('\\');
    let blank = typed.char_indices().rfind(is_end);
    let begin = blank.map_or(0, |(at, letter)| at + letter.len_utf8());
    match typed[begin..].strip_prefix(MARK) {
        Some(path) => (begin + MARK.len_utf8(), files(path)),
        None => (typed.len(), Vec::new()),
    }
}

/// Returns the files whose paths have this prefix.
fn files(path: &str) -> Vec<Pair> {
    let path = path.replace("\\ ", " ");
    let (folder, begin) = match path.rfind(MAIN_SEPARATOR) {
        Some(at) => path.split_at(at + 1),
        None => ("", path.as_str()),
    };
    let home = folder.strip_prefix("~/").zip(env::home_dir()).map(|(rest, home)| home.join(rest));
    let place = home.unwrap_or_else(|| if folder.is_empty() { ".".into() } else { folder.into() });
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for entry in entries.take(MAX_ENTRIES).flatten() {
        let Ok(mut name) = entry.file_name().into_string() else { continue };
        let is_hidden = name.starts_with('.') && !begin.starts_with('.');
        if name.starts_with(begin) && !is_hidden {
            if entry.path().is_dir() {
                name.push(MAIN_SEPARATOR);
            }
            names.push(name);
        }
    }
    names.sort();
    names.truncate(MAX_CANDIDATES);
    names.iter().map(|name| pair(name, format!("{folder}{name}").replace(' ', "\\ "))).collect()
}

fn pair(display: &str, replacement: String) -> Pair {
    Pair { display: escape::line(display).into_owned(), replacement }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(typed: &str) -> (usize, Vec<String>) {
        let session = SessionValues::default();
        session.set(|command| match command {
            "/resume" => vec![("20261115_1".to_owned(), "ports".to_owned())],
            REMOVE => vec![("notes".to_owned(), String::new())],
            RESOURCES => vec![("notes:note://1".to_owned(), String::new())],
            _ => Vec::new(),
        });
        let (begin, pairs) = candidates(typed, &session);
        (begin, pairs.into_iter().map(|pair| pair.replacement).collect())
    }

    #[test]
    fn commands_and_files_are_completed() {
        assert_eq!(completed("/exi"), (0, vec!["/exit ".to_owned()]));
        assert_eq!(completed("look at @src/mai"), (9, vec!["src/main.rs".to_owned()]));
        assert_eq!(completed("@src/terminal/mark"), (1, vec!["src/terminal/markdown/".to_owned()]));
        assert_eq!(completed("/agent coding-agent/se"), (7, vec!["coding-agent/security".to_owned()]));
        assert_eq!(completed("/mode ap"), (6, vec!["approve".to_owned()]));
        assert_eq!(completed("/model openai:").0, 7);
        assert!(!completed("/model openai:").1.is_empty());
        assert_eq!(completed("/builtin mem"), (9, vec!["memory".to_owned()]));
        assert_eq!(completed("/resume 2026"), (8, vec!["20261115_1".to_owned()]));
        assert_eq!(completed("/extension remove n"), (18, vec!["notes".to_owned()]));
        assert_eq!(completed("/export src/mai"), (8, vec!["src/main.rs".to_owned()]));
        assert_eq!(completed("/diff src/mai"), (6, vec!["src/main.rs".to_owned()]));
        assert_eq!(completed("read @not"), (6, vec!["notes:note://1".to_owned()]));
        assert_eq!(completed("/init src"), (9, vec![]));
        assert_eq!(completed("plain words"), (11, vec![]));
        assert_eq!(completed("@nothing/here"), (1, vec![]));
        assert_eq!(completed("look\u{3000}@src/mai"), (8, vec!["src/main.rs".to_owned()]));
        assert_eq!(completed("look\u{a0}"), (6, vec![]));
        let (begin, found) = candidates("@s", &SessionValues::default());
        assert_eq!(begin, 1);
        let shown: Vec<&str> = found.iter().map(|pair| pair.display.as_str()).collect();
        assert!(shown.contains(&"security (agent)") && shown.contains(&"src/"), "{shown:?}");
    }

    #[test]
    fn agents_and_modes_are_completed() {
        let names = |begin: &str| -> Vec<String> {
            mentions(&AgentCatalog::builtin(), begin).into_iter().map(|pair| pair.replacement).collect()
        };
        assert_eq!(names("sec"), ["security"]);
        assert_eq!(names("coding"), ["coding-agent"]);
        assert_eq!(names("coding-agent/se"), ["coding-agent/security"]);
        assert_eq!(names("orch"), ["orchestrator"]);
        assert_eq!(names("./"), Vec::<String>::new());
        assert!(names("").len() > 15, "{:?}", names(""));
    }
}
