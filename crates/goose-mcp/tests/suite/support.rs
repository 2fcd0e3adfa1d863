//! [`Home`]: a memory in a folder of its own, with a project beside it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use goose_extension::{CallContext, Extension, ToolError, ToolOutput};
use goose_mcp::Memory;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Home {
    dir: TempDir,
    pub(crate) memory: Memory,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("project")).unwrap();
        let memory = Memory::new(dir.path().join("config/memory")).with_project(dir.path().join("project"));
        Self { dir, memory }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    /// The memory folder: the person's, or the project's.
    pub(crate) fn folder(&self, is_global: bool) -> PathBuf {
        self.dir.path().join(if is_global { "config/memory" } else { "project/.goose/memory" })
    }

    /// Puts a file into a memory folder.
    pub(crate) fn put(&self, is_global: bool, file: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder(is_global).join(file);
        fs::create_dir_all(self.folder(is_global)).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The names in a memory folder that are not hidden.
    pub(crate) fn files(&self, is_global: bool) -> Vec<String> {
        let Ok(files) = fs::read_dir(self.folder(is_global)) else { return Vec::new() };
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != ".lock").collect();
        names.sort();
        names
    }

    pub(crate) fn context(&self) -> CallContext {
        CallContext::new().with_working_dir(self.project())
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        self.memory.call(tool, arguments, &self.context()).await.unwrap()
    }

    /// Calls a tool that works.
    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments).await.into_value().unwrap()
    }

    /// Calls a tool that fails, and returns its message.
    pub(crate) async fn err(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await;
        assert!(output.is_error, "{output:?}");
        output.as_text()
    }

    /// Makes a call whose arguments the schema refuses, and returns the message.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> String {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        match self.memory.call(tool, arguments, &self.context()).await {
            Err(ToolError::InvalidParameters(message)) => message,
            answer => panic!("{answer:?}"),
        }
    }

    pub(crate) async fn remember(&self, category: &str, data: &str, tags: &[&str], is_global: bool) -> Value {
        let arguments = json!({ "category": category, "data": data, "tags": tags, "is_global": is_global });
        self.ok("remember_memory", arguments).await
    }

    pub(crate) async fn retrieve(&self, category: &str, is_global: bool) -> Value {
        self.ok("retrieve_memories", json!({ "category": category, "is_global": is_global })).await
    }

    pub(crate) async fn search(&self, arguments: Value) -> Value {
        self.ok("search_memories", arguments).await
    }
}

/// The texts of a page.
pub(crate) fn data(page: &Value) -> Vec<&str> {
    page["memories"].as_array().unwrap().iter().map(|memory| memory["data"].as_str().unwrap()).collect()
}
