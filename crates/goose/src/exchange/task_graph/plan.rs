//! The plan: tasks of a router, checked, with those one after another that name the same files.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use crate::{
    agents::{catalog::AgentCatalog, router::RoutedTask},
    session::PlannedTask,
};

/// The most tasks of one request.
const MAX_TASKS: usize = 16;

/// The groups of tools that can change files.
const WRITING_GROUPS: [&str; 4] = ["developer", "edit", "command", "mcp"];

/// The longest ending of a file name.
const MAX_ENDING: usize = 5;

/// Names of products that look like file names.
const PRODUCTS: [&str; 8] =
    ["node.js", "next.js", "vue.js", "three.js", "express.js", "nuxt.js", "asp.net", "socket.io"];

/// Makes a plan.
///
/// # Errors
///
/// Returns the reason for the user if the tasks cannot be run as they are.
pub(super) fn plan(
    tasks: Vec<RoutedTask>,
    catalog: &AgentCatalog,
    working_dir: &Path,
) -> Result<Vec<PlannedTask>, String> {
    if tasks.len() > MAX_TASKS {
        return Err(format!("it has {} parts, and {MAX_TASKS} is the most", tasks.len()));
    }
    let mut planned: Vec<PlannedTask> = Vec::with_capacity(tasks.len());
    let mut files: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for RoutedTask { id, agent, mode, text, needs } in tasks {
        let name = format!("{agent}/{mode}");
        let (_, found) = catalog.find(&name).map_err(|error| error.to_string())?;
        if files.contains_key(&id) {
            return Err(format!("two of its parts are called {id}"));
        }
        if let Some(unknown) = needs.iter().find(|need| !files.contains_key(*need)) {
            return Err(format!("part {id} needs part {unknown}, which does not come before it"));
        }
        let can_write = WRITING_GROUPS.iter().any(|group| found.has_group(group));
        let own = if can_write { named_files(&text, working_dir) } else { BTreeSet::new() };
        let before = planned.iter().filter(|earlier| !files[&earlier.id].is_disjoint(&own));
        let before: Vec<String> = before.map(|earlier| earlier.id.clone()).collect();
        let known = all_before(&planned, &needs);
        let after = before.into_iter().filter(|earlier| !known.contains(earlier)).collect();
        files.insert(id.clone(), own);
        planned.push(PlannedTask { id, agent, mode, text, needs, after });
    }
    Ok(planned)
}

/// The tasks that are over when these are.
fn all_before(planned: &[PlannedTask], ids: &[String]) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = ids.iter().cloned().collect();
    // Each task comes after those that it needs.
    for task in planned.iter().rev() {
        if found.contains(&task.id) {
            found.extend(task.needs.iter().chain(&task.after).cloned());
        }
    }
    found
}

/// The files that a text names.
fn named_files(text: &str, working_dir: &Path) -> BTreeSet<PathBuf> {
    let words = text.split(|c: char| c.is_whitespace() || "\"'`(),;<>[]{}".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':', '!', '?']).trim_start_matches("./"));
    words.filter(|word| is_file_name(word)).map(|word| working_dir.join(word)).collect()
}

fn is_file_name(word: &str) -> bool {
    if word.contains("://") || PRODUCTS.contains(&word.to_lowercase().as_str()) {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let has_stem = stem.len() > 1 || word.len() > name.len();
    let is_ending = (1..=MAX_ENDING).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic());
    has_stem && is_ending
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, mode: &str, text: &str, needs: &[&str]) -> RoutedTask {
        RoutedTask {
            id: id.to_owned(),
            agent: "coding-agent".to_owned(),
            mode: mode.to_owned(),
            text: text.to_owned(),
            needs: needs.iter().map(|&need| need.to_owned()).collect(),
        }
    }

    fn planned(tasks: Vec<RoutedTask>) -> Result<Vec<PlannedTask>, String> {
        plan(tasks, &AgentCatalog::builtin(), Path::new("/work"))
    }

    #[test]
    fn tasks_that_name_the_same_file_run_one_after_another() {
        let tasks = planned(vec![
            task("1", "backend", "Add a parser to `src/lib.rs`.", &[]),
            task("2", "backend", "Document ./src/lib.rs, for Node.js as well", &[]),
            task("3", "backend", "Use Node.js in main.ts", &[]),
            task("4", "backend", "Add tests to src/lib.rs", &["2"]),
            task("5", "security", "Review src/lib.rs", &[]),
        ]);
        let after: Vec<Vec<String>> = tasks.unwrap().into_iter().map(|task| task.after).collect();
        assert_eq!(after, [vec![], vec!["1".to_owned()], vec![], vec![], vec![]]);
    }

    #[test]
    fn tasks_that_cannot_run_are_refused_with_the_reason() {
        let cases = [
            (vec![task("1", "backend", "a", &["2"]), task("2", "backend", "b", &[])], "needs part 2"),
            (vec![task("1", "backend", "a", &[]), task("1", "backend", "b", &[])], "called 1"),
            (vec![task("1", "no_such_mode", "a", &[])], "no_such_mode"),
            ((0..17).map(|id| task(&id.to_string(), "backend", "a", &[])).collect(), "16 is the most"),
        ];
        for (tasks, expected) in cases {
            let reason = planned(tasks).unwrap_err();
            assert!(reason.contains(expected), "{reason}");
        }
    }

    #[test]
    fn files_are_told_from_other_words() {
        for word in ["src/lib.rs", "README.md", "a/b.c", "Cargo.toml", ".github/ci.yml"] {
            assert!(is_file_name(word), "{word}");
        }
        for word in ["e.g", "3.14", "v1.2", "https://x.org/a.html", "and/or", "Node.js", "end"] {
            assert!(!is_file_name(word), "{word}");
        }
    }
}
