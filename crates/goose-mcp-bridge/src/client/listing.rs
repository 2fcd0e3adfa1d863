//! What a server says about itself, and its lists: all pages of them, within caps.

use std::collections::HashSet;

use goose_extension::{Tool, ToolError, ToolResult, adapter::json_len};
use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    request::failure,
    strangers,
    vetting::{DroppedTool, Found, Vetting},
};

/// What a server said about itself at some time.
pub(super) struct Listing {
    pub(super) description: String,
    pub(super) version: String,
    pub(super) instructions: String,
    pub(super) tools: Vec<Tool>,
    pub(super) dropped: Vec<DroppedTool>,
}

impl Listing {
    pub(super) async fn read(peer: &Peer<RoleClient>, name: &str, mut vetting: Vetting) -> ToolResult<Self> {
        let info = peer.peer_info();
        let server = info.as_ref().and_then(|info| info.server_info.clone());
        if info.as_ref().is_none_or(|info| info.capabilities.tools.is_some()) {
            for found in list_tools(peer, name).await? {
                vetting.take(found);
                // Whoever limits the time gets to look at the clock.
                tokio::task::yield_now().await;
            }
        }
        let (tools, dropped) = vetting.finish();
        let prose = |text: Option<String>| strangers::prose(text.unwrap_or_default());
        Ok(Self {
            description: prose(server.as_ref().and_then(|server| server.description.clone())),
            version: prose(server.map(|server| server.version)),
            instructions: prose(info.and_then(|info| info.instructions.clone())),
            tools,
            dropped,
        })
    }
}

async fn list_tools(peer: &Peer<RoleClient>, name: &str) -> ToolResult<Vec<Found>> {
    all("tools", async |page| {
        page_of_tools(peer, page).await.map_err(|error| failure(name, "tools/list", error))
    })
    .await
}

/// One page. Where it cannot be read as a whole, it is asked for again and read tool by tool.
async fn page_of_tools(
    peer: &Peer<RoleClient>,
    page: Option<PaginatedRequestParams>,
) -> Result<(Vec<Found>, Option<String>), ServiceError> {
    match peer.list_tools(page.clone()).await {
        Ok(result) => {
            let tools = result.tools.into_iter().map(|tool| Found::Readable(Box::new(tool))).collect();
            Ok((tools, result.next_cursor))
        }
        Err(ServiceError::UnexpectedResponse) => page_tool_by_tool(peer, page).await,
        Err(error) => Err(error),
    }
}

async fn page_tool_by_tool(
    peer: &Peer<RoleClient>,
    page: Option<PaginatedRequestParams>,
) -> Result<(Vec<Found>, Option<String>), ServiceError> {
    let request = ListToolsRequest { params: page, ..ListToolsRequest::default() };
    let result = peer.send_request(ClientRequest::ListToolsRequest(request)).await?;
    let ServerResult::CustomResult(mut result) = result else { return Err(ServiceError::UnexpectedResponse) };
    let Some(Value::Array(tools)) = result.0.get_mut("tools").map(Value::take) else {
        return Err(ServiceError::UnexpectedResponse);
    };
    let next = result.0.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Ok((tools.into_iter().map(Found::read).collect(), next))
}

/// How many pages of a list are read.
const MAX_PAGES: usize = 200;

/// How many items of a list are kept.
const MAX_ITEMS: usize = 10_000;

/// How large a list may be, as JSON.
const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;

/// How long a cursor may be; all of a list are remembered.
const MAX_CURSOR_BYTES: usize = 64 * 1024;

/// Reads pages until there is no next one. `fetch` gives the items and the next cursor.
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
