//! Packages in `Cargo.lock`.

use std::{fmt, fs};

use anyhow::Context as _;

/// A package in one version.
#[derive(Debug)]
pub(crate) struct LockedPackage {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Origin of the package. `None` for a folder on this machine.
    pub(crate) source: Option<String>,
    /// Entries such as `syn`, or `syn 2.0.119` if there are several versions.
    dependencies: Vec<String>,
}

impl LockedPackage {
    /// Returns the names of the packages that depend on this version, if there are several versions of it.
    pub(crate) fn dependants<'a>(&self, packages: &'a [Self]) -> impl Iterator<Item = &'a str> {
        let entry = self.to_string();
        let dependants = packages.iter().filter(move |package| package.dependencies.contains(&entry));
        dependants.map(|package| package.name.as_str())
    }
}

impl fmt::Display for LockedPackage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.name, self.version)
    }
}

/// Reads the lock file of the workspace.
pub(crate) fn read() -> anyhow::Result<Vec<LockedPackage>> {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"))?;
    text.split("[[package]]").skip(1).map(|block| parse(block).context(block.to_owned())).collect()
}

/// Reads one block. Cargo writes each value and each dependency on a line of its own.
fn parse(block: &str) -> Option<LockedPackage> {
    let value = |key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
        Some(line.trim_matches('"').to_owned())
    };
    let dependency = |line: &str| Some(line.strip_prefix(" \"")?.strip_suffix("\",")?.to_owned());
    Some(LockedPackage {
        name: value("name")?,
        version: value("version")?,
        source: value("source"),
        dependencies: block.lines().filter_map(dependency).collect(),
    })
}

/// Returns the packages of which there is a newer version as well.
pub(crate) fn older_versions(packages: &[LockedPackage]) -> impl Iterator<Item = &LockedPackage> {
    let is_older = |one: &LockedPackage, other: &LockedPackage| {
        one.name == other.name && numbers(&one.version) < numbers(&other.version)
    };
    packages.iter().filter(move |package| packages.iter().any(|other| is_older(package, other)))
}

/// Returns the part of a version that stays the same in compatible updates: `2` of `2.0.119`, `0.22` of `0.22.1`.
pub(crate) fn line_of(version: &str) -> &str {
    let mut end = 0;
    for part in version.split('.') {
        end += part.len();
        if part != "0" {
            break;
        }
        end += 1;
    }
    &version[..end.min(version.len())]
}

fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

#[test]
fn the_line_of_a_version_ends_with_its_first_number() {
    let lines = ["2.0.119", "0.22.1", "0.0.3", "0.0.0"].map(line_of);
    assert_eq!(lines, ["2", "0.22", "0.0.3", "0.0.0"]);
}
