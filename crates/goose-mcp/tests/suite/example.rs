//! `examples/mcp.rs` as a process: MCP on standard output and nothing else.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::LazyLock,
};

use serde_json::{Value, json};

/// The program, built when it is missing or old.
pub(crate) static PROGRAM: LazyLock<PathBuf> =
    LazyLock::new(|| goose_test_support::example(env!("CARGO_PKG_NAME"), "mcp").unwrap());

fn program(root: &Path, arguments: &[&str]) -> Command {
    program_at(&PROGRAM, root, arguments)
}

fn program_at(program: &Path, root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env("GOOSE_PATH_ROOT", root).env("RUST_LOG", "trace").current_dir(root);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Sends requests one after the other, and returns their results.
fn converse(root: &Path, arguments: &[&str], requests: &[(&str, Value)]) -> Vec<Value> {
    converse_with(program(root, arguments), requests)
}

fn converse_with(mut program: Command, requests: &[(&str, Value)]) -> Vec<Value> {
    let mut child = program.stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let initialize = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let mut results = Vec::new();
    for (id, (method, params)) in [("initialize", initialize)].iter().chain(requests).enumerate() {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(stdin, "{request}").unwrap();
        let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        results.push(answer["result"].clone());
        if id == 0 {
            writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
                .unwrap();
        }
    }
    drop(stdin);
    assert!(lines.next().is_none());
    assert!(child.wait().unwrap().success());
    results
}

#[test]
fn memory_is_served_by_default() {
    let root = tempfile::tempdir().unwrap();
    let remember = json!({
        "name": "remember_memory",
        "arguments": { "category": "a", "data": "over the wire", "is_global": true },
    });
    let search = json!({ "name": "search_memories", "arguments": { "query": "wire" } });
    let remember_here = json!({
        "name": "remember_memory",
        "arguments": { "category": "b", "data": "here", "is_global": false },
    });
    let requests = [
        ("tools/list", json!({})),
        ("tools/call", remember),
        ("tools/call", search),
        ("tools/call", remember_here),
    ];
    let results = converse(root.path(), &[], &requests);
    assert_eq!(results[0]["serverInfo"]["name"], "memory");
    assert!(results[0]["instructions"].as_str().unwrap().contains("The global memory is empty."));
    assert_eq!(results[1]["tools"].as_array().unwrap().len(), 5);
    assert_eq!(results[3]["structuredContent"]["memories"][0]["data"], "over the wire");
    let read = |path: &str| std::fs::read_to_string(root.path().join(path)).unwrap();
    assert_eq!(read("config/memory/a.txt"), "over the wire\n\n");
    assert_eq!(read(".goose/memory/b.txt"), "here\n\n");
}

#[test]
fn tutorial_is_served_by_name() {
    let root = tempfile::tempdir().unwrap();
    let requests =
        [("resources/list", json!({})), ("resources/read", json!({ "uri": "tutorial://first-game" }))];
    let results = converse(root.path(), &["tutorial"], &requests);
    assert_eq!(results[1]["resources"].as_array().unwrap().len(), 4);
    assert!(results[2]["contents"][0]["text"].as_str().unwrap().starts_with("# A first game"));
}

#[test]
fn an_unknown_name_lists_the_known_ones_and_exits_with_2() {
    let root = tempfile::tempdir().unwrap();
    for arguments in [&["nope"][..], &["memory", "tutorial"][..]] {
        let Output { status, stdout, stderr } = program(root.path(), arguments).output().unwrap();
        let stderr = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), stdout.as_slice()), (Some(2), &b""[..]), "{stderr}");
        assert!(stderr.contains("memory ") && stderr.contains("tutorial "), "{stderr}");
    }
}

/// The README and a page of the documentation show this program as it is. It needs no crate but those that it names,
/// and stays in its folder.
#[test]
fn extension_of_the_readme_reads_only_below_its_folder() {
    let source = include_str!("../../examples/files.rs");
    let code = source.split_once("\n\n").unwrap().1;
    for page in
        [include_str!("../../../../README.md"), include_str!("../../../../docs/writing-extensions.md")]
    {
        assert!(
            page.contains(&format!("```rust,no_run\n{code}```")),
            "put examples/files.rs into it: {page}"
        );
    }
    for other in ["anyhow::", "serde_json::"] {
        assert!(!code.contains(other), "the README names no such dependency: {other}");
    }

    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("inside.txt"), "inside").unwrap();
    std::fs::write(root.path().join("outside.txt"), "outside").unwrap();
    let read = |path: &str| json!({ "name": "read_file", "arguments": { "path": path } });
    let files = goose_test_support::example(env!("CARGO_PKG_NAME"), "files").unwrap();
    let requests = ["inside.txt", "../outside.txt", "/etc/hostname"].map(|path| ("tools/call", read(path)));
    let results = converse_with(program_at(&files, &folder, &[]), &requests);
    assert!(results[1].to_string().contains("inside"), "{results:?}");
    for refused in &results[2..] {
        assert!(refused["isError"] == true && refused.to_string().contains("not below"), "{refused}");
    }
}
