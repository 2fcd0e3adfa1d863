//! Rules for the dependencies of the workspace: one registry, one version of each package, permissive licences.
//!
//! Sources and versions come from `Cargo.lock`, which is the same on all platforms. Licences are only in the packages
//! themselves, and `cargo test` downloads those of its platform: each platform checks its own.

#![expect(clippy::disallowed_methods, reason = "the test runs cargo by itself")]

#[path = "dependencies/licence.rs"]
mod licence;
#[path = "dependencies/lock_file.rs"]
mod lock_file;

use std::{collections::BTreeSet, path::Path, process::Command};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use self::lock_file::{LockedPackage, line_of};

/// Licences that a package may have. A package with a choice of licences needs only one of them here.
const LICENCES: &[&str] = &["Apache-2.0", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "Unicode-3.0", "Zlib"];

/// Older versions of packages beside the newest one, and the packages of others that still need them. Once those are
/// updated, the older version can go.
const KNOWN_DUPLICATES: &[(&str, &str, &[&str])] = &[
    ("base64", "0.22", &["oauth2", "sqlx-core"]),
    ("bitflags", "1", &["defmt"]),
    ("block-buffer", "0.10", &["digest"]),
    ("cpufeatures", "0.2", &["sha2"]),
    ("crypto-common", "0.1", &["digest"]),
    ("digest", "0.10", &["sha2"]),
    ("fancy-regex", "0.16", &["syntect"]),
    ("getrandom", "0.2", &["oauth2", "rand_core", "ring"]),
    ("getrandom", "0.3", &["ahash", "jsonschema", "referencing"]),
    ("hashbrown", "0.16", &["hashlink", "sqlx-core"]),
    ("r-efi", "5", &["getrandom"]),
    ("rand", "0.8", &["oauth2"]),
    ("rand", "0.9", &["tungstenite"]),
    ("rand_chacha", "0.3", &["rand"]),
    ("rand_core", "0.6", &["rand", "rand_chacha"]),
    ("rand_core", "0.9", &["rand", "rand_chacha"]),
    ("sha2", "0.10", &["oauth2", "sqlx-core", "sqlx-macros-core"]),
    ("similar", "2", &["insta"]),
    ("syn", "2", &["sqlx-macros-core", "strum_macros", "thiserror-impl", "tracing-attributes"]),
    ("thiserror", "1", &["oauth2"]),
    ("thiserror-impl", "1", &["thiserror"]),
    ("windows-sys", "0.52", &["ring"]),
];

#[test]
fn packages_come_from_the_workspace_or_one_registry() -> anyhow::Result<()> {
    let members = workspace_members()?;
    let mut registries = BTreeSet::new();
    let mut problems = Vec::new();
    for package in lock_file::read()? {
        match &package.source {
            Some(source) if source.starts_with("registry+") => {
                registries.insert(source.clone());
            }
            Some(source) => problems.push(format!("{package} comes from {source}")),
            None if members.contains(&package.name) => {}
            None => problems.push(format!("{package} is a folder outside of the workspace")),
        }
    }
    ensure!(registries.len() <= 1, "there are several registries: {registries:?}");
    report(problems, "Use a version from the registry, or make the folder a member of the workspace.")
}

#[test]
fn older_versions_of_a_package_are_known() -> anyhow::Result<()> {
    let packages = lock_file::read()?;
    let known = |package: &LockedPackage| {
        let version = line_of(&package.version);
        KNOWN_DUPLICATES.iter().any(|(name, line, _)| package.name == *name && version == *line)
    };
    let unknown = lock_file::older_versions(&packages).filter(|package| !known(package));
    let problems = unknown.map(|package| {
        let dependants: Vec<&str> = package.dependants(&packages).collect();
        format!("{package} is there beside a newer version, because of {}", dependants.join(", "))
    });
    report(problems.collect(), "Use one version, or name the duplicate and who keeps it in KNOWN_DUPLICATES.")
}

#[test]
fn known_duplicates_are_there_and_kept_by_those_named() -> anyhow::Result<()> {
    let packages = lock_file::read()?;
    let mut problems = Vec::new();
    for (name, line, keepers) in KNOWN_DUPLICATES.iter().copied() {
        let mut older = lock_file::older_versions(&packages);
        let Some(package) = older.find(|it| it.name == name && line_of(&it.version) == line) else {
            problems.push(format!("{name} {line} is no longer a duplicate"));
            continue;
        };
        let dependants: BTreeSet<&str> = package.dependants(&packages).collect();
        let gone = keepers.iter().filter(|keeper| !dependants.contains(*keeper));
        problems.extend(gone.map(|keeper| format!("{keeper} no longer needs {name} {line}")));
    }
    report(problems, "Remove what is no longer true from KNOWN_DUPLICATES.")
}

#[test]
fn licences_are_permissive() -> anyhow::Result<()> {
    let refused = licences()?.into_iter().filter(|(_, licence)| !licence::is_met(licence, LICENCES));
    let problems = refused.map(|(package, licence)| format!("{package} has the licence '{licence}'"));
    report(problems.collect(), "Use another package, or add the licence to LICENCES if it is permissive.")
}

#[test]
fn every_allowed_licence_is_needed() -> anyhow::Result<()> {
    let licences = licences()?;
    let is_needed = |licence: &str| {
        let others: Vec<&str> = LICENCES.iter().copied().filter(|other| *other != licence).collect();
        licences.iter().any(|(_, it)| licence::is_met(it, LICENCES) && !licence::is_met(it, &others))
    };
    let unneeded = LICENCES.iter().filter(|licence| !is_needed(licence));
    let problems = unneeded.map(|licence| format!("no package needs the licence {licence}"));
    report(problems.collect(), "Remove it from LICENCES.")
}

/// Fails with all problems and the way out of them.
fn report(problems: Vec<String>, fix: &str) -> anyhow::Result<()> {
    if problems.is_empty() { Ok(()) } else { bail!("{}\n{fix}", problems.join("\n")) }
}

/// Names and licence expressions of all packages that are built on this platform. A package without an expression has
/// an empty one.
fn licences() -> anyhow::Result<Vec<(String, String)>> {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().context("cargo lists packages")?;
    let licence = |package: &Value| {
        let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        (format!("{} {}", text("name"), text("version")), text("license"))
    };
    Ok(packages.iter().map(licence).collect())
}

fn workspace_members() -> anyhow::Result<BTreeSet<String>> {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().context("cargo lists packages")?;
    let members = metadata["workspace_members"].as_array().context("cargo lists members")?;
    let members = packages.iter().filter(|package| members.contains(&package["id"]));
    Ok(members.filter_map(|package| package["name"].as_str()).map(str::to_owned).collect())
}

/// The packages of this platform as cargo describes them. Offline: the build of this test has downloaded them.
fn metadata() -> anyhow::Result<Value> {
    let about = cargo(&["-vV"])?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).context("cargo names the host")?;
    let arguments = ["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host];
    Ok(serde_json::from_str(&cargo(&arguments)?)?)
}

fn cargo(arguments: &[&str]) -> anyhow::Result<String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(Path::new(env!("CARGO_MANIFEST_DIR"))).output()?;
    ensure!(
        output.status.success(),
        "cargo {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
