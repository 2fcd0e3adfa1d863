//! [`Tool`]: what an agent may call. A name, a description, a schema, and how careful to be with it.
//!
//! A tool describes; it does not run. Running is the business of [`ToolRegistry`](crate::ToolRegistry) or of
//! an [`Extension`](crate::Extension) written by hand.

use std::{borrow::Cow, fmt, str::FromStr, sync::Arc, sync::OnceLock, time::Duration};

use rmcp::model::MetaObject;
pub use rmcp::model::{JsonObject, ToolAnnotations};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{arguments, error::ToolResult, output::WRAPPED, schema::announced_output};

/// The `_meta` key under which a tool's groups cross the wire.
const GROUPS_META: &str = "goose/groups";

/// The kind of work that a tool does. Agents are given tools by these words (and by extension name).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ToolGroup {
    /// Lists, searches and shows; changes nothing and starts no program.
    Read,
    /// Writes or changes files.
    Edit,
    /// Runs programs.
    Command,
    /// Gets something from the network.
    Fetch,
    /// Operates a browser or a screen.
    Browser,
}

impl ToolGroup {
    /// Every group, in the order they are documented.
    pub const ALL: [Self; 5] = [Self::Read, Self::Edit, Self::Command, Self::Fetch, Self::Browser];

    /// The group's name in manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Command => "command",
            Self::Fetch => "fetch",
            Self::Browser => "browser",
        }
    }
}

impl fmt::Display for ToolGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ToolGroup {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|group| group.as_str() == name)
            .ok_or_else(|| format!("unknown tool group `{name}`: use read, edit, command, fetch or browser"))
    }
}

/// The effect of a call, read from its arguments. The permissions judge a call by it; only tools of goose's own declare
/// one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolAction {
    /// Runs the shell command line in an argument.
    Command(Cow<'static, str>),
    /// Reads the files or folders that these arguments name.
    Reads(Vec<Cow<'static, str>>),
    /// Writes the files or folders that these arguments name.
    Writes(Vec<Cow<'static, str>>),
    /// Fetches the URL in an argument.
    Fetches(Cow<'static, str>),
    /// Runs a script in the language that an argument names.
    Script {
        /// Argument with the language.
        language: Cow<'static, str>,
        /// Argument with the script.
        script: Cow<'static, str>,
    },
    /// Reads or writes files, as one of the arguments says.
    ByOperation(ByOperation),
    /// Only calls other tools, each of which is judged by itself.
    CallsTools,
    /// Gives a task to another agent, whose calls are judged by themselves.
    Delegates,
    /// Keeps the plan of the session. Not offered to a mode that has the task list.
    KeepsPlan,
    /// Loads knowledge for the model. A mode with services has it, whoever owns the extension.
    LoadsKnowledge,
    /// Lists or reads resources of MCP servers. A mode has it with the first server that has resources.
    ReadsResources,
}

/// The effect of a tool that reads with some operations and writes with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByOperation {
    /// Argument that names the operation.
    pub argument: &'static str,
    /// Operations that write. All others read.
    pub writing: &'static [&'static str],
    /// Arguments that name the files. Without any, the tool keeps its data by itself.
    pub paths: &'static [&'static str],
    /// Arguments that name further files, which are only read.
    pub sources: &'static [&'static str],
}

impl ByOperation {
    /// Returns true if a call only reads.
    pub fn only_reads(&self, arguments: &JsonObject) -> bool {
        let operation = arguments.get(self.argument).and_then(Value::as_str);
        operation.is_some_and(|operation| !self.writing.contains(&operation))
    }
}

impl ToolAction {
    /// Runs the command line in this argument.
    pub fn command(argument: &'static str) -> Self {
        Self::Command(argument.into())
    }

    /// Reads the path in this argument.
    pub fn reads(argument: &'static str) -> Self {
        Self::Reads(vec![argument.into()])
    }

    /// Writes the path in this argument.
    pub fn writes(argument: &'static str) -> Self {
        Self::Writes(vec![argument.into()])
    }

    /// Fetches the URL in this argument.
    pub fn fetches(argument: &'static str) -> Self {
        Self::Fetches(argument.into())
    }
}

/// The description of one tool. Cheap to clone: schemas and the compiled validator are shared.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "rmcp::model::Tool", into = "rmcp::model::Tool")]
pub struct Tool {
    name: Cow<'static, str>,
    title: Option<String>,
    description: Cow<'static, str>,
    input_schema: Arc<JsonObject>,
    output_schema: Option<Arc<JsonObject>>,
    annotations: Option<ToolAnnotations>,
    groups: Vec<ToolGroup>,
    action: Option<Arc<ToolAction>>,
    timeout: Option<Duration>,
    meta: Option<MetaObject>,
    validator: Arc<OnceLock<arguments::Validator>>,
    /// The place in the registry that runs the tool.
    pub(crate) position: Option<usize>,
}

impl Tool {
    /// A tool with a JSON Schema (2020-12) for its arguments. The schema is compiled when the tool is first
    /// called, not here.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        input_schema: impl Into<Arc<JsonObject>>,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            input_schema: input_schema.into(),
            output_schema: None,
            annotations: None,
            groups: Vec::new(),
            action: None,
            timeout: None,
            meta: None,
            validator: Arc::default(),
            position: None,
        }
    }

    /// The same tool under another name.
    pub fn with_name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = name.into();
        self
    }

    /// The same tool with another description.
    pub fn with_description(mut self, description: impl Into<Cow<'static, str>>) -> Self {
        self.description = description.into();
        self
    }

    /// The same tool with another schema for its arguments.
    pub fn with_input_schema(mut self, schema: impl Into<Arc<JsonObject>>) -> Self {
        self.input_schema = schema.into();
        self.validator = Arc::default();
        self
    }

    /// Adds a name for people.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Adds a schema that every structured result fits. It may be that of a list or a number: MCP, which wants an
    /// object, is told of the object in which such a result travels.
    pub fn with_output_schema(mut self, schema: impl Into<Arc<JsonObject>>) -> Self {
        self.output_schema = Some(schema.into());
        self
    }

    /// Adds hints about what the tool does: read-only, destructive, idempotent, open world.
    pub fn with_annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Puts the tool into semantic groups.
    pub fn with_groups(mut self, groups: impl IntoIterator<Item = ToolGroup>) -> Self {
        self.groups = groups.into_iter().collect();
        self
    }

    /// Declares the effect of a call.
    pub fn with_action(mut self, action: ToolAction) -> Self {
        self.action = Some(Arc::new(action));
        self
    }

    /// Limits how long a call may take.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The name, unique within its extension.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name for people, where there is one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The description of the tool, for the model.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The JSON Schema of the arguments.
    pub fn input_schema(&self) -> &JsonObject {
        &self.input_schema
    }

    /// The JSON Schema of structured results, where the tool promises one.
    pub fn output_schema(&self) -> Option<&JsonObject> {
        self.output_schema.as_deref()
    }

    /// Hints about the tool's effects. They are the author's claim, not a guarantee.
    pub fn annotations(&self) -> Option<&ToolAnnotations> {
        self.annotations.as_ref()
    }

    /// The semantic groups the tool declares.
    pub fn groups(&self) -> &[ToolGroup] {
        &self.groups
    }

    /// The effect of a call, where the tool declares it.
    pub fn action(&self) -> Option<&ToolAction> {
        self.action.as_deref()
    }

    /// The time limit of a call.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Protocol metadata that came with the tool, or that goes with it.
    pub fn meta(&self) -> Option<&MetaObject> {
        self.meta.as_ref()
    }

    /// Checks arguments against the caps and the schema, and returns them in the form that serde expects
    /// (`3.0` becomes `3`).
    ///
    /// # Errors
    ///
    /// [`ToolError::InvalidParameters`](crate::ToolError::InvalidParameters) that names the argument, what
    /// was expected and what came.
    pub fn check(&self, arguments: JsonObject) -> ToolResult<JsonObject> {
        self.validator().check(&self.name, &self.input_schema, arguments)
    }

    fn validator(&self) -> &arguments::Validator {
        self.validator.get_or_init(|| arguments::Validator::compile(&self.input_schema))
    }

    /// Checks arguments as [`check`](Self::check) does, and keeps that they were checked, so that the call itself need
    /// not do it again.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn validate(&self, arguments: JsonObject) -> ToolResult<CheckedArguments> {
        let object = self.check(arguments)?;
        Ok(CheckedArguments { object, validator: Arc::clone(&self.validator), position: self.position })
    }

    /// The arguments, checked here where they were checked for another tool or another schema.
    pub(crate) fn accept(&self, arguments: CheckedArguments) -> ToolResult<JsonObject> {
        match Arc::ptr_eq(&self.validator, &arguments.validator) {
            true => Ok(arguments.object),
            false => self.check(arguments.object),
        }
    }

    /// Returns how many times arguments were checked against this schema, for tests.
    #[doc(hidden)]
    pub fn times_checked(&self) -> usize {
        self.validator.get().map_or(0, arguments::Validator::times_checked)
    }

    /// Compiles the schema, which the first call does otherwise. Takes some milliseconds for the first tool of a
    /// process, and blocks; worth doing while a model thinks.
    pub fn prepare(&self) {
        self.validator();
    }

    /// The tool as MCP describes it.
    pub fn to_mcp(&self) -> rmcp::model::Tool {
        let mut tool = rmcp::model::Tool::new(
            self.name.clone(),
            self.description.clone(),
            Arc::clone(&self.input_schema),
        );
        tool.title = self.title.clone();
        tool.output_schema = self.output_schema.as_ref().map(announced);
        tool.annotations = self.annotations.clone();
        tool.meta = self.meta.clone();
        if !self.groups.is_empty() {
            let names: Vec<&str> = self.groups.iter().map(|group| group.as_str()).collect();
            tool.meta.get_or_insert_default().0.insert(GROUPS_META.to_owned(), json!(names));
        }
        tool
    }
}

impl From<Tool> for rmcp::model::Tool {
    fn from(tool: Tool) -> Self {
        tool.to_mcp()
    }
}

/// A tool as an MCP server described it.
impl From<rmcp::model::Tool> for Tool {
    fn from(mut tool: rmcp::model::Tool) -> Self {
        let groups = tool.meta.as_mut().and_then(|meta| meta.0.remove(GROUPS_META));
        Self {
            title: tool.title,
            output_schema: tool.output_schema,
            annotations: tool.annotations,
            groups: groups.as_ref().map(parse_groups).unwrap_or_default(),
            meta: tool.meta.filter(|meta| !meta.0.is_empty()),
            ..Self::new(tool.name, tool.description.unwrap_or_default(), tool.input_schema)
        }
    }
}

/// Arguments that fit a tool's schema. Made by [`Tool::validate`].
#[derive(Clone)]
pub struct CheckedArguments {
    object: JsonObject,
    /// The schema that they were checked with, by identity.
    validator: Arc<OnceLock<arguments::Validator>>,
    position: Option<usize>,
}

impl CheckedArguments {
    /// The arguments.
    pub fn as_object(&self) -> &JsonObject {
        &self.object
    }

    /// Returns the tool's place in its registry, so that the call needs no second lookup by name.
    pub(crate) fn position(&self) -> Option<usize> {
        self.position
    }

    /// The arguments, which may be changed from here on and so count as unchecked.
    pub fn into_object(self) -> JsonObject {
        self.object
    }
}

impl fmt::Debug for CheckedArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

fn announced(schema: &Arc<JsonObject>) -> Arc<JsonObject> {
    match schema.get("type") {
        Some(kind) if kind == "object" => Arc::clone(schema),
        _ => Arc::new(announced_output(schema, WRAPPED)),
    }
}

fn parse_groups(value: &Value) -> Vec<ToolGroup> {
    let names = value.as_array().map(Vec::as_slice).unwrap_or_default();
    names.iter().filter_map(|name| name.as_str()?.parse().ok()).collect()
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).field("groups", &self.groups).finish_non_exhaustive()
    }
}

/// Two tools are equal when an agent could not tell them apart.
impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        self.to_mcp() == other.to_mcp()
    }
}
