//! Plans tasks: those that name the same files and folders run in sequence.

use std::path::{Path, PathBuf};

use goose_router::is_file_name;

use crate::{
    agents::{catalog::AgentCatalog, orchestrator_agent::RoutedTask},
    session::PlannedTask,
};

/// Names of files without an extension. A task may name such a file before it exists.
const PLAIN_NAMES: [&str; 9] = [
    "Makefile",
    "Dockerfile",
    "Justfile",
    "justfile",
    "Jenkinsfile",
    "Vagrantfile",
    "Procfile",
    "Gemfile",
    "Rakefile",
];

/// Creates the graph of the tasks.
///
/// # Errors
///
/// Returns the reason for the user if an agent does not exist any more.
pub(super) fn plan(
    tasks: Vec<RoutedTask>,
    catalog: &AgentCatalog,
    working_dir: &Path,
) -> Result<Vec<PlannedTask>, String> {
    let mut planned: Vec<PlannedTask> = Vec::with_capacity(tasks.len());
    let mut paths: Vec<Vec<PathBuf>> = Vec::with_capacity(tasks.len());
    for task in tasks {
        let (_, mode) = catalog.find(&task.agent_id()).map_err(|error| error.to_string())?;
        let RoutedTask { id, agent, mode: slug, text } = task;
        let own = if mode.can_write() { named_paths(&text, working_dir) } else { Vec::new() };
        let before = planned.iter().zip(&paths).filter(|(_, theirs)| overlap(theirs, &own));
        let after = before.map(|(earlier, _)| earlier.id.clone()).collect();
        paths.push(own);
        planned.push(PlannedTask { id, agent, mode: slug, text, needs: Vec::new(), after });
    }
    Ok(planned)
}

/// Returns the files and folders that a text names.
fn named_paths(text: &str, working_dir: &Path) -> Vec<PathBuf> {
    let words = text.split(|c: char| c.is_whitespace() || "\"'`(),;<>[]{}".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':', '!', '?']).trim_start_matches("./"));
    words.filter(|word| is_path(word, working_dir)).map(|word| working_dir.join(word)).collect()
}

/// Returns true if a word names a file or a folder. A folder needs a `/`, because its bare name is often an
/// ordinary word: `tests`, `docs`.
fn is_path(word: &str, working_dir: &Path) -> bool {
    let path = working_dir.join(word);
    let has_folder = word.contains('/') && word.contains(char::is_alphanumeric) && !word.contains("://");
    let is_folder = has_folder && (word.ends_with('/') || path.is_dir());
    is_folder || is_file_name(word) || PLAIN_NAMES.contains(&word) || path.is_file()
}

/// Returns true if a path of one list equals, contains or is inside a path of the other.
fn overlap(paths: &[PathBuf], others: &[PathBuf]) -> bool {
    let meets = |path: &PathBuf, other: &PathBuf| path.starts_with(other) || other.starts_with(path);
    paths.iter().any(|path| others.iter().any(|other| meets(path, other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, mode: &str, text: &str) -> RoutedTask {
        RoutedTask {
            id: id.to_owned(),
            agent: "coding-agent".to_owned(),
            mode: mode.to_owned(),
            text: text.to_owned(),
        }
    }

    fn planned(tasks: Vec<RoutedTask>) -> Result<Vec<PlannedTask>, String> {
        plan(tasks, &AgentCatalog::builtin(), Path::new("/work"))
    }

    #[test]
    fn tasks_that_name_the_same_file_run_one_after_another() {
        let tasks = planned(vec![
            task("1", "backend", "Add a parser to `src/lib.rs`."),
            task("2", "backend", "Document ./src/lib.rs, for Node.js as well"),
            task("3", "backend", "Use Node.js in main.ts"),
            task("4", "backend", "Add tests to src/lib.rs"),
            task("5", "security", "Review src/lib.rs"),
        ]);
        let after: Vec<Vec<String>> = tasks.unwrap().into_iter().map(|task| task.after).collect();
        assert_eq!(
            after,
            [vec![], vec!["1".to_owned()], vec![], vec!["1".to_owned(), "2".to_owned()], vec![]]
        );
    }

    #[test]
    fn an_agent_that_is_gone_is_named() {
        let reason = planned(vec![task("1", "no_such_mode", "a")]).unwrap_err();
        assert!(reason.contains("no_such_mode"), "{reason}");
    }

    #[test]
    fn paths_are_told_from_other_words() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("src/auth")).unwrap();
        std::fs::write(folder.path().join("LICENSE"), "").unwrap();
        for word in
            ["src/lib.rs", "README.md", "a/b.c", ".github/ci.yml", "Makefile", "LICENSE", "src/auth", "new/"]
        {
            assert!(is_path(word, folder.path()), "{word}");
        }
        for word in [
            "",
            "/",
            "//",
            "e.g",
            "3.14",
            "v1.2",
            "https://x.org/a.html",
            "and/or",
            "Node.js",
            "end",
            "src",
            "https://x.org/",
        ] {
            assert!(!is_path(word, folder.path()), "{word}");
        }
    }

    #[test]
    fn tasks_about_a_folder_and_what_is_in_it_run_one_after_another() {
        let tasks = planned(vec![
            task("1", "backend", "Clean up src/auth/"),
            task("2", "backend", "Add a check to src/auth/login.rs"),
            task("3", "backend", "Add a target to the Makefile"),
            task("4", "backend", "Sort the Makefile, and src/authors.rs"),
        ]);
        let after: Vec<Vec<String>> = tasks.unwrap().into_iter().map(|task| task.after).collect();
        assert_eq!(after, [vec![], vec!["1".to_owned()], vec![], vec!["3".to_owned()]]);
    }
}
