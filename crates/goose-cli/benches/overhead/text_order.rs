//! Writes `text_order.ld`, which places functions side by side that every run executes: `--text-order`. Needs valgrind
//! and nm.
//!
//! The kernel maps a program's code in windows of 64 KB. Most windows that a run maps have much in them that it
//! executes; others have a few small functions in the middle of a crate that it does not use. The linker script moves
//! those.

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

/// The bits of an address within one window.
const WINDOW_BITS: u32 = 16;

/// A window with fewer bytes of executed functions is emptied.
const SPARSE: u64 = 12_000;

/// The calls of the shell in the run that is looked at.
const CALLS: usize = 5;

const HEAD: &str = "/* The small functions that every run executes in the middle of code that it does not: side by side, they share\n   \
                    windows of memory. A name that is gone does no harm. Written by `just text-order`. */\n\
                    SECTIONS\n{\n  .text.used :\n  {\n";
const TAIL: &str = "  }\n}\nINSERT BEFORE .text;\n";

/// A function of the program.
struct Function {
    address: u64,
    bytes: u64,
    name: String,
}

pub(crate) fn write(goose: &Program) -> anyhow::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("text_order.ld");
    let before = fs::read_to_string(&file).unwrap_or_default();
    let executed = executed(goose)?;
    let functions: Vec<Function> =
        functions(&goose.path)?.into_iter().filter(|function| executed.contains(&function.name)).collect();
    let mut windows = BTreeMap::<u64, u64>::new();
    for function in &functions {
        *windows.entry(function.address >> WINDOW_BITS).or_default() += function.bytes;
    }
    // Those that were moved before have full windows now.
    let is_moved = |function: &Function| {
        windows[&(function.address >> WINDOW_BITS)] < SPARSE || before.contains(&section(&function.name))
    };
    let sections: BTreeSet<String> =
        functions.iter().filter(|it| is_moved(it)).map(|it| section(&it.name)).collect();
    let mut script = HEAD.to_owned();
    for section in &sections {
        writeln!(script, "    *({section})")?;
    }
    fs::write(&file, script + TAIL)?;
    note(&format!("{}: {} of {} executed functions", file.display(), sections.len(), functions.len()));
    Ok(())
}

/// The pattern for the section of a function. The hash at the end of a Rust name changes with every version.
fn section(name: &str) -> String {
    const HASH: usize = "17h0123456789abcdefE".len();
    let end = name.find("17h").filter(|at| name.len() >= at + HASH && name.starts_with("_ZN"));
    match end {
        Some(at) => format!(".text.{}17h*", &name[..at]),
        None => format!(".text.{name}"),
    }
}

/// The names of the functions that a run executes.
fn executed(goose: &Program) -> anyhow::Result<BTreeSet<String>> {
    let home = Home::new()?;
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
    let status = valgrind.start(&home, &server)?.child.wait()?;
    home.check(&valgrind, status)?;
    // `fn=(1) name` or `cfn=(1) name` defines a number, which other lines refer to; `name'2` is a recursion.
    let text = fs::read_to_string(found.path())?;
    let lines = text.lines().filter_map(|line| line.trim_start_matches('c').strip_prefix("fn=("));
    let names = lines.filter_map(|line| line.split_once(") ")?.1.split('\'').next());
    Ok(names.map(str::to_owned).collect())
}

fn functions(program: &Path) -> anyhow::Result<Vec<Function>> {
    let output = Command::new("nm").args(["--defined-only", "--print-size"]).arg(program).output()?;
    ensure!(output.status.success(), "nm failed: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let functions = lines.filter_map(|fields| match fields.as_slice() {
        [address, bytes, "t" | "T", name] => Some((*address, *bytes, *name)),
        _ => None,
    });
    let number = |text: &str| u64::from_str_radix(text, 16).context("an address");
    functions
        .map(|(address, bytes, name)| {
            Ok(Function { address: number(address)?, bytes: number(bytes)?, name: name.to_owned() })
        })
        .collect()
}
