//! Tool lists of a server: pagination, and validation of each tool.
//!
//! A tool is dropped, with a reason, if its name, schema or size would break the agent or the model's
//! provider.

use std::{collections::HashSet, sync::Arc};

use goose_extension::{
    JsonObject, Tool, ToolError, ToolResult,
    adapter::{Validator, allows_object, json_len},
};
use rmcp::{
    Peer, RoleClient, ServiceError, model as mcp,
    model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{errors::failure, options::ConnectOptions, sanitize};

/// A server's self-description and tools at one point in time.
pub(super) struct Listing {
    pub(super) description: String,
    pub(super) version: String,
    pub(super) instructions: String,
    pub(super) tools: Vec<Tool>,
    pub(super) dropped: Vec<DroppedTool>,
}

impl Listing {
    pub(super) async fn read(
        peer: &Peer<RoleClient>,
        name: &str,
        mut validation: ToolValidation,
    ) -> ToolResult<Self> {
        let info = peer.peer_info();
        let server = info.as_ref().and_then(|info| info.server_info.clone());
        if info.as_ref().is_none_or(|info| info.capabilities.tools.is_some()) {
            for found in list_tools(peer, name).await? {
                validation.take(found);
                // Validation is slow: let time limits take effect between tools.
                tokio::task::yield_now().await;
            }
        }
        let (tools, dropped) = validation.finish();
        let prose = |text: Option<String>| sanitize::prose(text.unwrap_or_default());
        Ok(Self {
            description: prose(server.as_ref().and_then(|server| server.description.clone())),
            version: prose(server.map(|server| server.version)),
            instructions: prose(info.and_then(|info| info.instructions.clone())),
            tools,
            dropped,
        })
    }
}

async fn list_tools(peer: &Peer<RoleClient>, name: &str) -> ToolResult<Vec<ListedTool>> {
    all("tools", async |page| {
        page_of_tools(peer, page).await.map_err(|error| failure(name, "tools/list", error))
    })
    .await
}

/// Reads one page. If it cannot be parsed as a whole, it is requested again and parsed tool by tool.
async fn page_of_tools(
    peer: &Peer<RoleClient>,
    page: Option<PaginatedRequestParams>,
) -> Result<(Vec<ListedTool>, Option<String>), ServiceError> {
    match peer.list_tools(page.clone()).await {
        Ok(result) => {
            let tools = result.tools.into_iter().map(|tool| ListedTool::Readable(Box::new(tool))).collect();
            Ok((tools, result.next_cursor))
        }
        Err(ServiceError::UnexpectedResponse) => page_tool_by_tool(peer, page).await,
        Err(error) => Err(error),
    }
}

async fn page_tool_by_tool(
    peer: &Peer<RoleClient>,
    page: Option<PaginatedRequestParams>,
) -> Result<(Vec<ListedTool>, Option<String>), ServiceError> {
    let request = ListToolsRequest { params: page, ..ListToolsRequest::default() };
    let result = peer.send_request(ClientRequest::ListToolsRequest(request)).await?;
    let ServerResult::CustomResult(mut result) = result else { return Err(ServiceError::UnexpectedResponse) };
    let Some(Value::Array(tools)) = result.0.get_mut("tools").map(Value::take) else {
        return Err(ServiceError::UnexpectedResponse);
    };
    let next = result.0.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Ok((tools.into_iter().map(ListedTool::read).collect(), next))
}

/// Maximum pages of a list.
const MAX_PAGES: usize = 200;

/// Maximum items of a list.
const MAX_ITEMS: usize = 10_000;

/// Maximum size of a list, as JSON.
const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;

/// Maximum length of a cursor; the cursors of a list are kept to detect cycles.
const MAX_CURSOR_BYTES: usize = 64 * 1024;

/// Reads all pages of a list. `fetch` returns the items of a page and the next cursor.
pub(super) async fn all<T, F>(
    what: &str,
    mut fetch: impl FnMut(Option<PaginatedRequestParams>) -> F,
) -> ToolResult<Vec<T>>
where
    T: Serialize,
    F: Future<Output = ToolResult<(Vec<T>, Option<String>)>>,
{
    let (mut items, mut bytes) = (Vec::new(), 0);
    let mut seen: HashSet<String> = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let request = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let (page, next) = fetch(request).await?;
        bytes += json_len(&page);
        items.extend(page);
        if items.len() > MAX_ITEMS {
            return Err(endless(what, &format!("more than {MAX_ITEMS} items")));
        }
        if bytes > MAX_LIST_BYTES {
            return Err(endless(what, &format!("more than {} MiB", MAX_LIST_BYTES >> 20)));
        }
        let Some(next) = next else { return Ok(items) };
        if next.len() > MAX_CURSOR_BYTES {
            return Err(endless(what, &format!("a cursor of {} bytes", next.len())));
        }
        if !seen.insert(next.clone()) {
            return Err(endless(what, "the same cursor again"));
        }
        cursor = Some(next);
    }
    Err(endless(what, &format!("more than {MAX_PAGES} pages")))
}

fn endless(what: &str, reason: &str) -> ToolError {
    ToolError::ExecutionError(format!(
        "The server's list of {what} does not end ({reason}); it was not used."
    ))
}

/// Maximum length of a tool's name.
const MAX_NAME_BYTES: usize = 128;

/// Maximum size of a tool's schema, as JSON.
const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// Maximum depth of a tool's schema.
const MAX_SCHEMA_DEPTH: usize = 64;

/// Distinct patterns of a server that are compiled, because a hostile pattern can be expensive. Later ones
/// are assumed to be valid; at worst, a call fails.
const MAX_PATTERNS: usize = 128;

/// Dropped tools that are listed; further ones are only counted.
const MAX_DROPPED: usize = 100;

/// Characters of a dropped tool's name and reason that are kept.
const MAX_SHOWN_NAME_CHARS: usize = 80;
const MAX_REASON_CHARS: usize = 300;

/// A tool of a server that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedTool {
    /// Name of the tool, printable and shortened.
    pub name: String,
    /// Reason why the tool cannot be used.
    pub reason: String,
}

impl DroppedTool {
    pub(super) fn new(name: &str, reason: &str) -> Self {
        let name = name.escape_debug().take(MAX_SHOWN_NAME_CHARS).collect();
        let printable = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
        Self { name, reason: reason.chars().take(MAX_REASON_CHARS).map(printable).collect() }
    }
}

/// Entry of a tool list, parsed if possible.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ListedTool {
    Readable(Box<mcp::Tool>),
    Unreadable(DroppedTool),
}

impl ListedTool {
    /// Parses one entry.
    pub(super) fn read(value: Value) -> Self {
        match serde_json::from_value(value.clone()) {
            Ok(tool) => Self::Readable(Box::new(tool)),
            Err(error) => {
                let name = value.get("name").and_then(Value::as_str).unwrap_or("(no name)");
                Self::Unreadable(DroppedTool::new(name, &format!("its description cannot be read: {error}")))
            }
        }
    }
}

/// Collects the usable and the unusable tools of a server.
#[derive(Default)]
pub(super) struct ToolValidation {
    trust_groups: bool,
    names: HashSet<String>,
    /// Patterns that are known to be valid.
    patterns: HashSet<String>,
    tools: Vec<Tool>,
    dropped: Vec<DroppedTool>,
    more_dropped: usize,
}

impl ToolValidation {
    pub(super) fn new(options: &ConnectOptions) -> Self {
        Self { trust_groups: options.trust_groups, ..Self::default() }
    }

    pub(super) fn take(&mut self, found: ListedTool) {
        match found {
            ListedTool::Unreadable(dropped) => self.drop_tool(dropped),
            ListedTool::Readable(tool) => match self.fault_of(&tool) {
                Some(reason) => self.drop_tool(DroppedTool::new(&tool.name, &reason)),
                None => self.keep(*tool),
            },
        }
    }

    /// Returns the usable and the unusable tools.
    pub(super) fn finish(mut self) -> (Vec<Tool>, Vec<DroppedTool>) {
        if self.more_dropped > 0 {
            let reason = format!("and {} more tools that cannot be used", self.more_dropped);
            self.dropped.push(DroppedTool::new("…", &reason));
        }
        (self.tools, self.dropped)
    }

    fn keep(&mut self, mut tool: mcp::Tool) {
        self.names.insert(tool.name.to_string());
        tool.description = tool.description.map(|text| sanitize::prose(text.into_owned()).into());
        tool.title = tool.title.map(sanitize::prose);
        sanitize::make_schema_visible(Arc::make_mut(&mut tool.input_schema));
        tool.output_schema = tool.output_schema.filter(|schema| fault_of_size(schema).is_none());
        let tool = Tool::from(tool);
        self.tools.push(if self.trust_groups { tool } else { tool.with_groups([]) });
    }

    fn drop_tool(&mut self, dropped: DroppedTool) {
        if self.dropped.len() < MAX_DROPPED {
            tracing::warn!(
                tool = dropped.name,
                reason = dropped.reason,
                "a tool cannot be used and was dropped"
            );
            self.dropped.push(dropped);
        } else {
            self.more_dropped += 1;
        }
    }

    /// Returns why a tool cannot be used.
    fn fault_of(&mut self, tool: &mcp::Tool) -> Option<String> {
        fault_of_name(&tool.name)
            .or_else(|| self.names.contains(&*tool.name).then(|| "another tool has the same name".to_owned()))
            .or_else(|| fault_of_size(&tool.input_schema))
            .or_else(|| self.fault_of_schema(&tool.input_schema))
    }

    /// Returns why a schema cannot be used. Much cheaper than compiling it.
    fn fault_of_schema(&mut self, schema: &JsonObject) -> Option<String> {
        let value = Value::Object(schema.clone());
        if let Some(reason) = fault_of_shape(schema, &value) {
            return Some(reason);
        }
        let parts = SchemaParts::new(&value);
        if let Some(target) = parts.dangling(&value) {
            return Some(format!("its schema is not valid: it refers to `#{target}`, which is not there"));
        }
        let pattern = parts.patterns.into_iter().find(|pattern| !self.knows_pattern(pattern))?;
        Some(format!("its schema is not valid: `{pattern}` is not a regular expression"))
    }

    /// Returns whether a pattern is valid. Tools of one server often share patterns, so results are kept.
    fn knows_pattern(&mut self, text: &str) -> bool {
        if self.patterns.len() >= MAX_PATTERNS || self.patterns.contains(text) {
            return true;
        }
        let is_pattern = is_pattern(text);
        if is_pattern {
            self.patterns.insert(text.to_owned());
        }
        is_pattern
    }
}

fn fault_of_name(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("it has no name".to_owned());
    }
    if name.len() > MAX_NAME_BYTES {
        return Some(format!("its name has {} bytes, at most {MAX_NAME_BYTES} are allowed", name.len()));
    }
    let odd = name.chars().find(|c| c.is_control() || c.is_whitespace())?;
    Some(format!("its name contains {odd:?}"))
}

fn fault_of_size(schema: &JsonObject) -> Option<String> {
    if schema.values().any(|value| is_deeper(value, MAX_SCHEMA_DEPTH - 1)) {
        return Some(format!("its schema nests deeper than {MAX_SCHEMA_DEPTH} levels"));
    }
    let bytes = json_len(schema);
    (bytes > MAX_SCHEMA_BYTES)
        .then(|| format!("its schema has {bytes} bytes, at most {MAX_SCHEMA_BYTES} are allowed"))
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| is_deeper(item, levels - 1)),
        Value::Object(map) => levels == 0 || map.values().any(|item| is_deeper(item, levels - 1)),
        _ => false,
    }
}

/// Returns why a schema is not one for arguments.
fn fault_of_shape(schema: &JsonObject, value: &Value) -> Option<String> {
    if schema.get("type").is_some_and(|declared| !allows_object(declared)) {
        return Some("its schema is not that of an object".to_owned());
    }
    if is_older_dialect(schema) && jsonschema::draft7::meta::is_valid(value) {
        return None;
    }
    let error = jsonschema::draft202012::meta::validate(value).err()?;
    let place = error.instance_path().to_string();
    Some(format!("its schema is not valid at `{place}`: {}", error.masked_with("the value")))
}

/// Returns whether a schema declares a dialect before 2019-09.
fn is_older_dialect(schema: &JsonObject) -> bool {
    let dialect = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    ["draft-04", "draft-06", "draft-07"].iter().any(|older| dialect.contains(older))
}

/// Parts of a schema that the meta-schema does not check: patterns and local references. Other references are
/// never followed, so they are not checked.
#[derive(Default)]
struct SchemaParts<'a> {
    patterns: Vec<&'a str>,
    references: Vec<&'a str>,
}

impl<'a> SchemaParts<'a> {
    fn new(schema: &'a Value) -> Self {
        let mut parts = Self::default();
        parts.visit(schema);
        parts
    }

    fn visit(&mut self, value: &'a Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.visit(item)),
            Value::Object(map) => map.iter().for_each(|(key, item)| {
                self.note(key, item);
                self.visit(item);
            }),
            _ => {}
        }
    }

    fn note(&mut self, key: &str, value: &'a Value) {
        match (key, value) {
            ("pattern", Value::String(pattern)) => self.patterns.push(pattern),
            ("patternProperties", Value::Object(map)) => self.patterns.extend(map.keys().map(String::as_str)),
            ("$ref", Value::String(target)) => self.references.extend(target.strip_prefix('#')),
            _ => {}
        }
    }

    /// Returns the first local JSON pointer without a target. Anchors and escaped pointers are assumed to be
    /// valid.
    fn dangling(&self, schema: &Value) -> Option<&'a str> {
        let is_place = |target: &&&str| target.starts_with('/') && !target.contains('%');
        self.references.iter().filter(is_place).find(|target| schema.pointer(target).is_none()).copied()
    }
}

fn is_pattern(text: &str) -> bool {
    let schema = json!({ "pattern": text });
    schema.as_object().is_some_and(|schema| Validator::compile(schema).fault().is_none())
}
