//! Modules of the core import downwards only, and no public function has a text as its error.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::ensure;

/// The modules from the bottom up. A module stands on the floor of its longest prefix.
const FLOORS: [&str; 12] = [
    "builtins",
    "checkpoints",
    "recipe",
    "services",
    "hooks",
    "context",
    "agents",
    "exchange",
    "platform",
    "project_files",
    "agents::orchestrator_agent",
    "agent_manager",
];

fn floor(module: &str) -> Option<usize> {
    let is_in = |floor: &str| module == floor || module.starts_with(&format!("{floor}::"));
    let floors = FLOORS.iter().enumerate().filter(|(_, floor)| is_in(floor));
    floors.max_by_key(|(_, floor)| floor.len()).map(|(index, _)| index)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// The module of a file below `src`.
fn module(file: &Path) -> String {
    let path = file.with_extension("").to_string_lossy().replace('/', "::");
    path.strip_suffix("::mod").unwrap_or(&path).to_owned()
}

/// The code of a file, without comments and unit tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Adds all paths that a tree of imports names: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let word: String = tree.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let path = if word.is_empty() { prefix.to_owned() } else { format!("{prefix}::{word}") };
    let Some(rest) = tree[word.len()..].strip_prefix("::") else { return found.push(path) };
    let Some(list) = rest.strip_prefix('{') else { return expand(&path, rest, found) };
    let (mut depth, mut begin) = (0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return expand(&path, list[begin..at].trim(), found),
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&path, list[begin..at].trim(), found);
                begin = at + 1;
            }
            _ => {}
        }
    }
}

/// The paths in a module that begin with `crate` or `super`, from the crate's root.
fn imports(code: &str, module: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        // `goose_extension::macros::…` and `$crate` are others.
        if !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_$:".contains(c)) {
            expand("crate", &code[at + "crate".len()..], &mut found);
        }
    }
    for (at, _) in code.match_indices("super::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c)) {
            continue;
        }
        let (mut up, mut rest) = (module.to_owned(), &code[at..]);
        while let Some(next) = rest.strip_prefix("super::") {
            up = up.rsplit_once("::").map(|(parent, _)| parent.to_owned()).unwrap_or_default();
            rest = next;
        }
        let prefix = if up.is_empty() { "crate".to_owned() } else { format!("crate::{up}") };
        let tree = rest.strip_prefix('{').map_or_else(|| rest.to_owned(), |list| format!("::{{{list}"));
        expand(&prefix, &tree, &mut found);
    }
    found.iter().filter_map(|path| path.strip_prefix("crate::").map(str::to_owned)).collect()
}

/// Every import that leads to a higher floor, as `from -> to`.
fn upward_imports() -> anyhow::Result<Vec<String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut found, mut upward) = (Vec::new(), Vec::new());
    files(&source, &mut found)?;
    for file in found {
        let from = module(file.strip_prefix(&source)?);
        if from == "lib" {
            continue;
        }
        let Some(own) = floor(&from) else { anyhow::bail!("`{from}` stands on no floor; add it to FLOORS") };
        for to in imports(&code(&fs::read_to_string(&file)?), &from) {
            if floor(&to).is_some_and(|to| to > own) {
                upward.push(format!("{from} -> {to}"));
            }
        }
    }
    Ok(upward)
}

#[test]
fn modules_import_downwards_only() -> anyhow::Result<()> {
    let upward = upward_imports()?;
    ensure!(upward.is_empty(), "these import a module above them:\n{}", upward.join("\n"));
    Ok(())
}

#[test]
fn lib_lists_modules_from_the_bottom_up() -> anyhow::Result<()> {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"))?;
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let expected = FLOORS.into_iter().filter(|floor| !floor.contains("::"));
    ensure!(modules.eq(expected), "the order of modules in lib.rs differs from the floors");
    Ok(())
}

/// The signatures of public functions whose errors are texts.
fn untyped_errors(code: &str) -> Vec<&str> {
    let starts = code.match_indices("pub fn ").chain(code.match_indices("pub async fn "));
    let signatures = starts.filter_map(|(at, _)| code[at..].split(['{', ';']).next());
    let is_untyped = |signature: &&str| {
        let returned = signature.rsplit_once("-> ").map_or("", |(_, returned)| returned);
        let returned = returned.split("where").next().unwrap_or_default().trim_end();
        returned.starts_with("Result<") && returned.ends_with(", String>")
    };
    signatures.filter(is_untyped).collect()
}

#[test]
fn public_functions_return_error_types() -> anyhow::Result<()> {
    assert_eq!(untyped_errors("pub async fn a(b: &str) -> Result<u8, String> {}").len(), 1);
    assert_eq!(untyped_errors("pub fn a() -> Result<String, Error>\nwhere A: B {}").len(), 0);
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for package in fs::read_dir(crates)? {
        let (package, mut found) = (package?.path(), Vec::new());
        files(&package.join("src"), &mut found)?;
        for file in found {
            let code = code(&fs::read_to_string(&file)?);
            let untyped = untyped_errors(&code);
            ensure!(untyped.is_empty(), "{} has {untyped:?}", file.display());
        }
    }
    Ok(())
}

#[test]
fn imports_are_read_in_every_form() {
    let code = "use crate::{agents::{agent::Agent, catalog}, exchange::Event};\nuse super::{a, b::c};\nsuper::super::d();";
    let expected =
        ["agents::agent::Agent", "agents::catalog", "exchange::Event", "x::y::a", "x::y::b::c", "x::d"];
    assert_eq!(imports(code, "x::y::z"), expected);
    assert!(floor("agents::orchestrator_agent::route") > floor("platform::tom"));
    assert!(floor("agents::agent") < floor("exchange::handle"));
}
