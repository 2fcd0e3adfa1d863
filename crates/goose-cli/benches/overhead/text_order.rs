//! Writes `text_order.ld`, which places functions side by side that every run executes: `--text-order`. Needs valgrind
//! and nm.
//!
//! The kernel maps a program's code in windows of 64 KB. What a run executes is a seventh of the code, but spread over
//! most windows, so the linker script gathers it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
    process::Command,
};

use anyhow::{Context as _, ensure};

use crate::{
    program::{Home, Program, server},
    report::note,
};

/// The calls of the shell in the runs that are looked at.
const CALLS: usize = 5;

/// The bytes of other functions that a pattern may bring along. Names of generic functions lack their types, so that a
/// pattern can match hundreds.
const UNUSED: u64 = 16_000;

const HEAD: &str = "/* The functions that every run executes, then all others: side by side, they share windows of memory.\n   \
                    A name that is gone does no harm. Written by `just text-order`. */\n\
                    SECTIONS\n{\n  .text :\n  {\n";
const TAIL: &str = "    *(.text .text.*)\n  }\n}\nINSERT AFTER .eh_frame;\n";

/// The bytes of all functions that a pattern matches, and of those that are executed.
#[derive(Default)]
struct Matched {
    bytes: u64,
    executed: u64,
}

pub(crate) fn write(goose: &Program) -> anyhow::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("text_order.ld");
    let executed = executed(goose)?;
    let functions = functions(&goose.path)?;
    let mut patterns = BTreeMap::<String, Matched>::new();
    for (name, bytes) in &functions {
        let matched = patterns.entry(pattern(name)).or_default();
        matched.bytes += bytes;
        matched.executed += if executed.contains(name) { *bytes } else { 0 };
    }
    let place = |name: &String| {
        let pattern = pattern(name);
        let matched = &patterns[&pattern];
        if matched.bytes - matched.executed > UNUSED { name.clone() } else { pattern }
    };
    let places: BTreeSet<String> =
        functions.keys().filter(|name| executed.contains(*name)).map(place).collect();
    let mut script = HEAD.to_owned();
    for place in &places {
        // The second section is that of functions which are marked as rarely called.
        writeln!(script, "    *(.text.{place} .text.unlikely.{place})")?;
    }
    fs::write(&file, script + TAIL)?;
    note(&format!("{}: {} of {} functions", file.display(), places.len(), functions.len()));
    Ok(())
}

/// A name without the hash at the end of Rust's names, which changes with each version and each set of features.
fn pattern(name: &str) -> String {
    const HASH: usize = "17h0123456789abcdefE".len();
    let end = name.find("17h").filter(|at| name.len() >= at + HASH && name.starts_with("_ZN"));
    end.map_or_else(|| name.to_owned(), |at| format!("{}17h*", &name[..at]))
}

/// The names of the functions that a run executes, the first in a home or a later one.
fn executed(goose: &Program) -> anyhow::Result<BTreeSet<String>> {
    let home = Home::new()?;
    let mut names = executed_in(goose, &home)?;
    names.extend(executed_in(goose, &home)?);
    Ok(names)
}

fn executed_in(goose: &Program, home: &Home) -> anyhow::Result<BTreeSet<String>> {
    let server = server(CALLS)?;
    let found = tempfile::NamedTempFile::new()?;
    let mut arguments: Vec<String> =
        ["--tool=callgrind", "--trace-children=no", "--demangle=no"].map(String::from).to_vec();
    arguments.push(format!("--callgrind-out-file={}", found.path().display()));
    arguments.push(goose.path.display().to_string());
    arguments.extend(goose.arguments.iter().cloned());
    let valgrind = Program {
        name: "valgrind",
        path: "valgrind".into(),
        arguments,
        environment: goose.environment.clone(),
        files: Vec::new(),
        input: "",
    };
    let status = valgrind.start(home, &server)?.child.wait()?;
    home.check(&valgrind, status)?;
    // `fn=(1) name` or `cfn=(1) name` defines a number, which other lines refer to; `name'2` is a recursion.
    let text = fs::read_to_string(found.path())?;
    let lines = text.lines().filter_map(|line| line.trim_start_matches('c').strip_prefix("fn=("));
    let names = lines.filter_map(|line| line.split_once(") ")?.1.split('\'').next());
    Ok(names.map(str::to_owned).collect())
}

/// The functions of a program and their size in bytes.
fn functions(program: &Path) -> anyhow::Result<BTreeMap<String, u64>> {
    let output = Command::new("nm").args(["--defined-only", "--print-size"]).arg(program).output()?;
    ensure!(output.status.success(), "nm failed: {}", String::from_utf8_lossy(&output.stderr));
    let mut functions = BTreeMap::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        if let [_, bytes, "t" | "T" | "W", name] = line.split(' ').collect::<Vec<_>>().as_slice() {
            *functions.entry((*name).to_owned()).or_default() +=
                u64::from_str_radix(bytes, 16).context("a size")?;
        }
    }
    Ok(functions)
}
