//! Several at once: tasks, processes, and one that hangs. Nothing is lost, and no call waits for ever.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::Path,
    process::{Child, Command},
    time::{Duration, Instant},
};

use goose_extension::{CallContext, Extension};
use goose_mcp::Memory;
use serde_json::{Value, json};

use crate::support::{Home, data};

const WRITERS: usize = 8;
const WRITES: usize = 25;

/// Tells a child that it is one, and where the memory is.
const CHILD_DIR: &str = "GOOSE_MCP_TEST_CHILD_DIR";
const CHILD_NAME: &str = "GOOSE_MCP_TEST_CHILD_NAME";

/// Remembers, and forgets every fifth again.
async fn write_many(memory: &Memory, writer: &str) {
    for index in 0..WRITES {
        let text = format!("{writer} wrote {index}\n\n# second paragraph");
        let call = |tool: &'static str, arguments: Value| async move {
            let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
            memory.call(tool, arguments, &CallContext::new()).await.unwrap().into_value().unwrap();
        };
        call(
            "remember_memory",
            json!({ "category": "shared", "data": text, "tags": [writer], "is_global": true }),
        )
        .await;
        if index % 5 == 0 {
            let arguments = json!({ "category": "shared", "memory_content": text, "is_global": true });
            call("remove_specific_memory", arguments).await;
        }
    }
}

fn expected(writers: impl Iterator<Item = String>) -> BTreeSet<String> {
    let texts = writers.flat_map(|writer| {
        (0..WRITES)
            .filter(|index| index % 5 != 0)
            .map(move |index| format!("{writer} wrote {index}\n\n# second paragraph"))
    });
    texts.collect()
}

async fn remembered(home: &Home) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    loop {
        let arguments =
            json!({ "category": "shared", "is_global": true, "limit": 500, "offset": texts.len() });
        let page = home.ok("retrieve_memories", arguments).await;
        texts.extend(data(&page).into_iter().map(str::to_owned));
        if page["more"] == 0 {
            return texts;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_lose_nothing() {
    let home = Home::new();
    let tasks: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let memory = home.memory.clone();
            tokio::spawn(async move { write_many(&memory, &format!("task{writer}")).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(remembered(&home).await, expected((0..WRITERS).map(|writer| format!("task{writer}"))));
    assert_eq!(home.files(true), ["shared.txt"], "no temporary file is left behind");
}

/// Not a test of its own: what the processes of the next one run.
#[tokio::test]
async fn child_writes_many() {
    let (Some(dir), Ok(name)) = (std::env::var_os(CHILD_DIR), std::env::var(CHILD_NAME)) else { return };
    write_many(&Memory::new(dir.into()), &name).await;
}

fn start_child(dir: &Path, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory_concurrency::child_writes_many"])
        .env(CHILD_DIR, dir)
        .env(CHILD_NAME, name)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn processes_lose_nothing() {
    let home = Home::new();
    let children: Vec<Child> =
        (0..WRITERS).map(|writer| start_child(&home.folder(true), &format!("process{writer}"))).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(remembered(&home).await, expected((0..WRITERS).map(|writer| format!("process{writer}"))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_never_see_half_a_file() {
    let home = Home::new();
    let text = "x".repeat(10_000);
    home.remember("a", &text, &[], true).await;
    let writer = {
        let (memory, text) = (home.memory.clone(), text.clone());
        tokio::spawn(async move {
            for index in 0..50 {
                let data = format!("{index}{text}");
                let arguments = json!({ "category": "a", "data": data, "is_global": true });
                let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
                memory.call("remember_memory", arguments, &CallContext::new()).await.unwrap();
            }
        })
    };
    while !writer.is_finished() {
        let file = fs::read(home.folder(true).join("a.txt")).unwrap();
        assert!(file.ends_with(b"x\n\n"));
        assert_eq!(data(&home.retrieve("a", true).await)[0], text);
    }
    writer.await.unwrap();
}

#[tokio::test]
async fn a_lock_that_stays_is_an_error_and_reading_goes_on() {
    let home = Home::new();
    home.remember("a", "x", &[], true).await;
    let lock = File::open(home.folder(true).join(".lock")).unwrap();
    lock.lock().unwrap();
    let start = Instant::now();
    let message =
        home.err("remember_memory", json!({ "category": "a", "data": "y", "is_global": true })).await;
    assert!(message.contains("Another process has kept"), "{message}");
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(data(&home.retrieve("a", true).await), ["x"]);
    drop(lock);
    home.remember("a", "y", &[], true).await;
}
