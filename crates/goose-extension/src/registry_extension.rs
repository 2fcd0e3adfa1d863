//! [`RegistryExtension`]: an extension that is put together at run time, from tools and the instances that they belong
//! to.
//!
//! For tools that differ between instances of one type; `#[extension]` is shorter where they do not.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    context::CallContext,
    error::{AnyhowResult, ToolResult},
    extension::Extension,
    output::ToolOutput,
    registry::{ToolDef, ToolRegistry},
    tool::{CheckedArguments, Tool},
};

type Status = Box<dyn Fn() -> HashMap<String, Value> + Send + Sync>;

/// An extension of some tools, each with the instance that its method is called on.
///
/// ```
/// # use std::sync::Arc;
/// # use goose_extension::{RegistryExtension, prelude::*};
/// struct Clock;
///
/// impl Clock {
///     /// Says what time it is.
///     #[tool(group = "read")]
///     async fn now(&self, context: &CallContext) -> String {
///         context.status("looking at the clock");
///         "noon".to_owned()
///     }
/// }
///
/// let now = Clock::now_tool().map_tool(|tool| tool.with_name("clock_now"));
/// let clock = RegistryExtension::new("clock", "Knows the time").with_tool(&Arc::new(Clock), now);
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main_of(clock: RegistryExtension) {
/// # assert_eq!(clock.call_tool("clock_now", HashMap::new()).await, Ok(json!("noon")));
/// # }
/// # main_of(clock);
/// ```
pub struct RegistryExtension {
    name: String,
    description: String,
    instructions: String,
    registry: ToolRegistry,
    status: Status,
}

impl RegistryExtension {
    /// An extension without tools.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            instructions: String::new(),
            registry: ToolRegistry::new(),
            status: Box::new(HashMap::new),
        }
    }

    /// With instructions for the model.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = instructions.into();
        self
    }

    /// With a state for people.
    #[must_use]
    pub fn with_status(
        mut self,
        status: impl Fn() -> HashMap<String, Value> + Send + Sync + 'static,
    ) -> Self {
        self.status = Box::new(status);
        self
    }

    /// With a tool whose method is called on `owner`. A tool of the same name is replaced.
    #[must_use]
    pub fn with_tool<T: Send + Sync + 'static>(mut self, owner: &Arc<T>, tool: ToolDef<T>) -> Self {
        self.registry = self.registry.with_owned(owner, tool);
        self
    }
}

#[async_trait]
impl Extension for RegistryExtension {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn instructions(&self) -> &str {
        &self.instructions
    }

    fn tools(&self) -> &[Tool] {
        self.registry.tools()
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok((self.status)())
    }

    async fn call_tool(&self, tool_name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
        self.registry.call_tool(self, tool_name, parameters).await
    }

    async fn call_checked(
        &self,
        tool_name: &str,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        self.registry.call_checked(self, tool_name, arguments, context).await
    }
}
