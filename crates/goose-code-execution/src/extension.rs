//! [`CodeExecution`]: the extension, with its three tools.

use std::sync::{Arc, LazyLock};

use goose_extension::{ToolAction, prelude::*};

use crate::{
    functions::{Function, Functions},
    limits::{
        MAX_CODE_BYTES, MAX_DETAIL_BYTES, MAX_DETAILS, MAX_GRAPH_CHARS, MAX_GRAPH_NODES, MAX_LIST_BYTES,
    },
    run, typescript,
};

const INSTRUCTIONS: &str = "\
For many tool calls, loops, or results to filter, write one program for execute_typescript instead of \
calling tools one by one. Look up functions first.";

/// Tools, with the actions that permissions are based on.
static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let declared = |tool: &Tool| match tool.name() {
        "execute_typescript" => tool.clone().with_action(ToolAction::CallsTools),
        _ => tool.clone(),
    };
    CodeExecution::tool_registry().tools().iter().map(declared).collect()
});

/// The `code_execution` extension of one agent.
pub struct CodeExecution {
    tools: Box<dyn Fn() -> Arc<[Tool]> + Send + Sync>,
}

impl CodeExecution {
    /// Creates an extension whose programs call the tools that `tools` returns: those that the agent has at
    /// the time of the call, under the names that the model sees (`developer__shell`). Its own tools among
    /// them are left out.
    pub fn new(tools: impl Fn() -> Arc<[Tool]> + Send + Sync + 'static) -> Self {
        Self { tools: Box::new(tools) }
    }

    fn functions(&self) -> Functions {
        Functions::new(&(self.tools)())
    }
}

/// Call that a program plans, for display.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GraphNode {
    tool: String,
    description: String,
    depends_on: Vec<usize>,
}

#[extension(
    name = "code_execution",
    description = "Tool calls from TypeScript: many calls, one result",
    instructions = INSTRUCTIONS
)]
impl Extension for CodeExecution {
    fn tools(&self) -> &[Tool] {
        &TOOLS
    }

    /// List the functions that programs can call. Returns their signatures, or only names if there are
    /// many. Never fails.
    #[tool(title = "List functions", read_only, idempotent, open_world = false)]
    async fn list_functions(&self) -> String {
        let functions = self.functions();
        let lines: Vec<String> = functions.iter().map(typescript::listed).collect();
        if lines.is_empty() {
            return "There are no functions: the agent has no tools.".to_owned();
        }
        let list = lines.join("\n");
        if list.len() <= MAX_LIST_BYTES { list } else { names(&functions) }
    }

    /// Show functions in full. Returns their TypeScript declarations. Fails if all names are unknown.
    #[tool(title = "Show functions", read_only, idempotent, open_world = false)]
    async fn get_function_details(
        &self,
        /// `extension.tool`, or `extension` for all of its tools
        #[arg(max_items = MAX_DETAILS)]
        functions: Vec<String>,
    ) -> ToolResult<String> {
        if functions.is_empty() {
            return Err("Name at least one function.".into());
        }
        let known = self.functions();
        let (mut found, mut unknown): (Vec<&Function>, Vec<String>) = (Vec::new(), Vec::new());
        for name in &functions {
            let meant = known.find(name.trim());
            if meant.is_empty() {
                unknown.push(known.unknown(name));
            }
            for function in meant {
                if !found.iter().any(|other| std::ptr::eq(*other, function)) {
                    found.push(function);
                }
            }
        }
        if found.is_empty() {
            return Err(unknown.join("\n").into());
        }
        let text = goose_fs::truncate_lines(typescript::declarations(found), MAX_DETAIL_BYTES, |_| {
            "// More is not shown. Ask for fewer functions.\n".to_owned()
        });
        let unknown: String = unknown.iter().map(|unknown| format!("// {unknown}\n")).collect();
        Ok(text + &unknown)
    }

    /// Run TypeScript that calls functions: `await developer.shell({command})`, loops, Promise.all. No
    /// imports, files or network. Returns what console.log printed and the last value. Fails if it throws,
    /// does not compile or takes too long.
    #[tool(title = "Run TypeScript", destructive = false, open_world = false)]
    async fn execute_typescript(
        &self,
        /// The program; top-level await works
        code: String,
        /// The planned calls, for display: `{tool, description, depends_on: indices}`, default none
        tool_graph: Option<Vec<Value>>,
        context: &CallContext,
    ) -> ToolResult<String> {
        if code.len() > MAX_CODE_BYTES {
            return Err(ToolError::ExecutionError(format!(
                "The program has {} bytes; the limit is {MAX_CODE_BYTES}. Read data with a function \
                 instead of writing it into the program.",
                code.len()
            )));
        }
        if code.contains('\0') {
            return Err("The program contains a NUL character. Write it as \\0.".into());
        }
        if let Some(graph) = tool_graph.filter(|graph| !graph.is_empty()) {
            context.log(plan(graph));
        }
        run::execute(code, self.functions(), context).await
    }
}

/// Returns the names of all functions, if their signatures are too long to list.
fn names(functions: &Functions) -> String {
    let mut text = "Names only; see get_function_details.\n".to_owned();
    for (namespace, functions) in Functions::by_namespace(functions.iter()) {
        let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
        text.push_str(&format!("{namespace}: {}\n", names.join(", ")));
    }
    goose_fs::truncate_lines(text, MAX_LIST_BYTES, |_| "… and more".to_owned())
}

/// Returns the planned calls as a list. Nodes of another form are ignored.
fn plan(graph: Vec<Value>) -> String {
    let nodes = graph.into_iter().take(MAX_GRAPH_NODES);
    let nodes = nodes.filter_map(|node| serde_json::from_value::<GraphNode>(node).ok());
    let short = |text: &str| goose_fs::truncate_chars(text, MAX_GRAPH_CHARS).replace('\n', " ");
    let lines = nodes.enumerate().map(|(index, node)| {
        let before = node.depends_on.iter().take(MAX_GRAPH_NODES);
        let before: Vec<String> = before.map(|before| before.saturating_add(1).to_string()).collect();
        let after = if before.is_empty() { String::new() } else { format!(" (after {})", before.join(", ")) };
        format!("{}. {}: {}{after}", index + 1, short(&node.tool), short(&node.description))
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl std::fmt::Debug for CodeExecution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeExecution").field("functions", &self.functions().iter().len()).finish()
    }
}

#[cfg(test)]
#[path = "extension_tests.rs"]
mod tests;
