//! llama.cpp, through the Python package `xllamacpp`, installed in a fixed version under `target`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::run::{CONTEXT, DECODE, Figures, PROMPT};
use crate::{Failure, Options};

const VERSION: &str = "2026.10.11549";
const SCRIPT: &str = include_str!("peer.py");

/// Creates the virtual environment, unless it exists, and returns its Python.
pub(crate) fn install() -> Result<PathBuf, Failure> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let folder = target.join("peers-venv");
    let python = folder.join("bin/python");
    let check = format!("import importlib.metadata as m; assert m.version('xllamacpp') == '{VERSION}'");
    let is_there = Command::new(&python).args(["-c", &check]).stderr(Stdio::null()).status();
    if !is_there.is_ok_and(|status| status.success()) {
        run_program(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let package = format!("xllamacpp=={VERSION}");
        run_program(Command::new(&python).args(["-m", "pip", "install", "--quiet", &package]))?;
    }
    Ok(python)
}

fn run_program(command: &mut Command) -> Result<(), Failure> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed").into()) }
}

/// Measures the peer in a separate process.
pub(crate) fn run(python: &Path, options: &Options) -> Result<Figures, Failure> {
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .arg(&options.model)
        .args([options.threads, CONTEXT, DECODE].map(|number| number.to_string()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(PROMPT.as_bytes())?;
    }
    Figures::from_output(&child.wait_with_output()?.stdout)
}
