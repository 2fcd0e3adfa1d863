//! [`ToolRegistry`]: the tools of one extension type and the methods behind them.

use std::{any::Any, collections::HashMap, sync::Arc};

use futures::future::BoxFuture;
use serde_json::Value;

use crate::{
    context::CallContext,
    error::{ToolError, ToolResult},
    guard,
    output::ToolOutput,
    tool::{CheckedArguments, JsonObject, Tool},
};

/// A tool's method, called with the instance, the checked arguments and the context.
pub type ToolMethod<T> =
    for<'a> fn(&'a T, JsonObject, &'a CallContext) -> BoxFuture<'a, ToolResult<ToolOutput>>;

/// A tool with its method. `#[tool] fn name(…)` adds a function `name_tool()` that returns it.
pub struct ToolDef<T> {
    tool: Tool,
    method: ToolMethod<T>,
}

impl<T> ToolDef<T> {
    /// Joins a description and a method.
    pub fn new(tool: Tool, method: ToolMethod<T>) -> Self {
        Self { tool, method }
    }

    /// The same method, described in another way.
    pub fn map_tool(self, change: impl FnOnce(Tool) -> Tool) -> Self {
        Self { tool: change(self.tool), method: self.method }
    }
}

type Instance = dyn Any + Send + Sync;
type Handler = Box<
    dyn for<'a> Fn(&'a Instance, JsonObject, &'a CallContext) -> BoxFuture<'a, ToolResult<ToolOutput>>
        + Send
        + Sync,
>;

/// Tools by name, with their methods. The order of registration is the order of [`tools`](Self::tools).
///
/// `#[extension]` keeps one for you, and so does [`RegistryExtension`](crate::RegistryExtension).
#[derive(Default)]
pub struct ToolRegistry {
    tools: Vec<Tool>,
    handlers: Vec<Handler>,
    index: HashMap<String, usize>,
}

impl ToolRegistry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. A tool of the same name is replaced.
    pub fn with<T: Send + Sync + 'static>(mut self, def: ToolDef<T>) -> Self {
        let ToolDef { tool, method } = def;
        self.insert(
            tool,
            Box::new(move |instance, arguments, context| match instance.downcast_ref::<T>() {
                Some(instance) => method(instance, arguments, context),
                None => Box::pin(std::future::ready(Err(wrong_owner::<T>()))),
            }),
        );
        self
    }

    /// Adds a tool whose method is called on `owner`, and not on the instance of a call.
    pub(crate) fn with_owned<T: Send + Sync + 'static>(mut self, owner: &Arc<T>, def: ToolDef<T>) -> Self {
        let (ToolDef { tool, method }, owner) = (def, Arc::clone(owner));
        self.insert(
            tool,
            Box::new(move |_, arguments, context| {
                let owner = Arc::clone(&owner);
                Box::pin(async move { method(&owner, arguments, context).await })
            }),
        );
        self
    }

    fn insert(&mut self, mut tool: Tool, handler: Handler) {
        match self.index.get(tool.name()) {
            Some(&position) => {
                tool.position = Some(position);
                self.tools[position] = tool;
                self.handlers[position] = handler;
            }
            None => {
                tool.position = Some(self.tools.len());
                self.index.insert(tool.name().to_owned(), self.tools.len());
                self.tools.push(tool);
                self.handlers.push(handler);
            }
        }
    }

    /// The tools, in the order they were added.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Calls a tool's method on `owner`, with everything that surrounds a call.
    ///
    /// # Errors
    ///
    /// See [the table of errors](crate::error).
    pub async fn call<T: Send + Sync + 'static>(
        &self,
        owner: &T,
        tool_name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let position = self.position(tool_name)?;
        let arguments = self.tools[position].check(arguments)?;
        self.enter(owner, position, arguments, context).await
    }

    /// As [`call`](Self::call), with arguments that were checked before. They are checked again only where that was for
    /// another schema.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn call_checked<T: Send + Sync + 'static>(
        &self,
        owner: &T,
        tool_name: &str,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let is_called = |at: &usize| self.tools.get(*at).is_some_and(|tool| tool.name() == tool_name);
        let known = arguments.position().filter(is_called);
        let position = known.map_or_else(|| self.position(tool_name), Ok)?;
        let arguments = self.tools[position].accept(arguments)?;
        self.enter(owner, position, arguments, context).await
    }

    fn position(&self, tool_name: &str) -> ToolResult<usize> {
        self.index.get(tool_name).copied().ok_or_else(|| unknown_tool(tool_name, &self.tools))
    }

    async fn enter<T: Send + Sync + 'static>(
        &self,
        owner: &T,
        position: usize,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let call = (self.handlers[position])(owner, arguments, context);
        guard::run(&self.tools[position], context, call).await
    }

    /// Calls a tool's method on `owner` and returns its result as one value, as
    /// [`Extension::call_tool`](crate::Extension::call_tool) does.
    ///
    /// # Errors
    ///
    /// See [the table of errors](crate::error).
    pub async fn call_tool<T: Send + Sync + 'static>(
        &self,
        owner: &T,
        tool_name: &str,
        parameters: HashMap<String, Value>,
    ) -> ToolResult<Value> {
        let arguments = parameters.into_iter().collect();
        self.call(owner, tool_name, arguments, &CallContext::new()).await?.into_value()
    }
}

fn wrong_owner<T>() -> ToolError {
    ToolError::ExecutionError(format!(
        "This tool belongs to `{}`, but its registry was used by another type.",
        std::any::type_name::<T>()
    ))
}

/// The error for a tool that is not there, with the names that are.
pub fn unknown_tool(name: &str, tools: &[Tool]) -> ToolError {
    const MAX_NAMES: usize = 30;
    let name: String = name.chars().take(128).collect();
    let mut names: Vec<&str> = tools.iter().take(MAX_NAMES).map(Tool::name).collect();
    if tools.len() > MAX_NAMES {
        names.push("…");
    }
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    ToolError::NotFound(format!("There is no tool `{name}`. Available tools: {known}."))
}

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tools.iter().map(Tool::name)).finish()
    }
}
