//! The help texts of all commands, as snapshots, of a goose with the feature `local`: `goose models` is one of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use crate::support::{Home, Run};

/// The width that help is wrapped to.
const COLUMNS: &str = "100";

/// The help of every command by its name, found from that of `goose` itself.
pub(crate) fn all() -> anyhow::Result<BTreeMap<String, String>> {
    let home = Home::new()?;
    let (mut commands, mut texts) = (vec!["goose".to_owned()], BTreeMap::new());
    while let Some(command) = commands.pop() {
        let help = help(&home, &command)?;
        commands.extend(subcommands(&help).map(|name| format!("{command} {name}")));
        texts.insert(command, help);
    }
    Ok(texts)
}

/// A snapshot of a command that is gone is an error.
#[test]
fn every_command_has_its_help() -> anyhow::Result<()> {
    let mut expected = BTreeSet::new();
    for (command, help) in all()? {
        let snapshot = command.replace(' ', "_");
        insta::assert_snapshot!(snapshot.clone(), help);
        expected.insert(format!("suite__help_texts__{snapshot}.snap"));
    }
    let files = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/snapshots"))?;
    let names = files.map(|file| Ok(file?.file_name().to_string_lossy().into_owned()));
    let names: BTreeSet<String> = names.collect::<anyhow::Result<_>>()?;
    let is_help = |name: &&String| name.starts_with("suite__help_texts__") && name.ends_with(".snap");
    assert_eq!(names.iter().filter(is_help).collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
    Ok(())
}

/// The help of a command, without the blanks that clap leaves at the ends of lines.
fn help(home: &Home, command: &str) -> anyhow::Result<String> {
    let arguments: Vec<&str> = command.split(' ').skip(1).chain(["--help"]).collect();
    let run: Run = home.goose(&arguments).env("COLUMNS", COLUMNS).output()?.try_into()?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{command}");
    Ok(run.stdout.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"))
}

/// The names under `Commands:`. Further lines of a description are indented more.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let listed = help.split_once("\nCommands:\n").map(|(_, rest)| rest).unwrap_or_default();
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help")
}
