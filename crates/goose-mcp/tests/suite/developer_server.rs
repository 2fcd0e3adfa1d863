//! The developer in a process of its own: what large outputs cost it, and what a full disk does.

use std::{
    fs,
    io::{BufRead as _, BufReader, Lines, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::example::PROGRAM;

/// Maximum growth of the process's memory by a call.
const MAX_GROWTH_KB: u64 = 20 * 1024;

/// `examples/mcp.rs developer`, ready to be asked.
pub(crate) struct Server {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl Server {
    /// Starts it in a folder; `wrapper` may be a shell script that runs it as `"$@"`.
    pub(crate) fn start(folder: &Path, wrapper: &str) -> Self {
        Self::start_service("developer", folder, wrapper)
    }

    /// Starts another service in the same way.
    pub(crate) fn start_service(service: &str, folder: &Path, wrapper: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", wrapper, "sh"]).arg(PROGRAM.as_path()).arg(service);
        command.env("GOOSE_PATH_ROOT", folder.join("root")).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut server = Self { child, stdin, lines, asked: 0 };
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        server.ask("initialize", &params);
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answers = self.lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let mut answers = answers.filter(|answer| answer["id"] == id);
        answers.next().unwrap()["result"].take()
    }

    /// The text of a call's result, and whether it failed.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let result = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        (text, result["isError"] == true)
    }

    /// The most memory that it has used so far, in KB.
    pub(crate) fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn end(self) {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}

/// Endless output, 100 MB of it, and one line of 150 MB.
#[test]
fn large_outputs_cost_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), "exec \"$@\"");
    server.call("shell", &json!({ "command": "echo first" }));
    let before = server.peak();
    let table = [
        (json!({ "command": "yes", "timeout_secs": 1 }), "y\ny\n", "its first 100 MB are in", true),
        (
            json!({ "command": "yes 0123456789abcde | head -c 100000000" }),
            "0123456789abcde\n",
            "all of it is in",
            false,
        ),
        (json!({ "command": "head -c 150000000 /dev/zero | tr '\\0' a" }), "aaaa", "0 lines left out", false),
    ];
    for (arguments, start, marker, is_error) in table {
        let (text, failed) = server.call("shell", &arguments);
        assert!(text.starts_with(start) && text.len() < 64 * 1024, "{arguments}: {} bytes", text.len());
        assert_eq!(failed, is_error, "{arguments}");
        // How much `yes` writes in a second depends on the machine.
        let is_marked = text.contains(marker) || is_error && text.contains("all of it is in");
        assert!(is_marked, "{arguments}: {:?}", text.lines().find(|line| line.starts_with("[…")));
    }
    let growth = server.peak() - before;
    assert!(growth < MAX_GROWTH_KB, "{growth} KB more");
    server.end();
}

/// A disk with no room for it, played by a limit on the size of files. The file stays, and so does the server.
#[test]
fn a_write_that_does_not_fit_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("kept"), "old content\n").unwrap();
    // In blocks of 512 bytes. The signal for it would end the process.
    let mut server = Server::start(folder.path(), "trap '' XFSZ; ulimit -f 64; exec \"$@\"");
    let large = "x".repeat(100_000);
    server.call("read", &json!({ "path": "kept" }));
    let table = [
        ("write", json!({ "path": "kept", "content": large })),
        ("edit", json!({ "path": "kept", "before": "old", "after": large })),
        ("write", json!({ "path": "new", "content": large })),
    ];
    for (tool, arguments) in table {
        let (text, failed) = server.call(tool, &arguments);
        assert!(failed && text.contains("Could not write") && text.contains("Nothing was changed"), "{text}");
    }
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["kept"], "nothing is left beside it");
    assert_eq!(fs::read_to_string(folder.path().join("kept")).unwrap(), "old content\n");
    let (text, failed) = server.call("write", &json!({ "path": "kept", "content": "small\n" }));
    assert!(!failed, "{text}");
    // The file for the whole of a long output does not fit either; the command's result is there all the same.
    let (text, failed) = server.call("shell", &json!({ "command": "seq 1 100000" }));
    assert!(!failed && text.contains("it could not be kept") && text.ends_with("100000"), "{}", text.len());
    server.end();
}
