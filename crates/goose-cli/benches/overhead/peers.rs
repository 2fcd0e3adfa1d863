//! Other agents, where npm can be reached.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::program::{Program, URL, openai};

const GOOSE: &str = "@aaif/goose-binary-linux-x64@1.52.0";
const CODEX: &str = "@openai/codex@0.166.0";

const CODEX_CONFIG: &str = r#"model = "gpt-5.1-codex"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
"#;

/// The peers that could be installed.
pub(crate) fn install() -> Vec<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    [goose(&folder), codex(&folder)].into_iter().flatten().collect()
}

fn goose(folder: &Path) -> Option<Program> {
    let package = npm(&folder.join("goose"), GOOSE, "node_modules/@aaif/goose-binary-linux-x64")?;
    let mut environment = openai();
    environment.push(("GOOSE_TELEMETRY_ENABLED", "false".into()));
    environment.push(("GOOSE_TELEMETRY_OFF", "1".into()));
    Some(Program {
        name: "goose 1.52.0",
        path: binary(&package, "goose")?,
        arguments: ["run", "-t", "Say hi using the shell."].map(String::from).to_vec(),
        environment,
        files: Vec::new(),
        input: "",
    })
}

fn codex(folder: &Path) -> Option<Program> {
    let package = npm(&folder.join("codex"), CODEX, "node_modules/@openai")?;
    Some(Program {
        name: "codex",
        path: binary(&package, "codex")?,
        arguments: [
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "Say hi using the shell.",
        ]
        .map(String::from)
        .to_vec(),
        environment: vec![("SCRIPTED_KEY", "x".into())],
        files: vec![(".codex/config.toml", CODEX_CONFIG.replace("{url}", URL))],
        input: "",
    })
}

/// A package, installed now or before.
fn npm(folder: &Path, package: &str, place: &str) -> Option<PathBuf> {
    let installed = folder.join(place);
    if !installed.exists() {
        std::fs::create_dir_all(folder).ok()?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"]).arg(folder).arg(package);
        let status = npm.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            crate::report::note(&format!("{package} cannot be installed here and is not measured."));
            return None;
        }
    }
    Some(installed)
}

/// The executable of that name and of some size: no script that starts it.
fn binary(folder: &Path, name: &str) -> Option<PathBuf> {
    const NO_SCRIPT: u64 = 1_000_000;
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if entry.file_name() == name && entry.metadata().is_ok_and(|it| it.len() > NO_SCRIPT) {
                return Some(path);
            }
        }
    }
    None
}
