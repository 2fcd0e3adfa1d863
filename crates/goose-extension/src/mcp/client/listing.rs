//! What a server says about itself, and its lists: all pages of them, within caps.

use rmcp::{Peer, RoleClient, model::PaginatedRequestParams};

use super::request::failure;
use crate::{
    error::{ToolError, ToolResult},
    tool::Tool,
};

/// What a server said about itself at some time.
pub(super) struct Listing {
    pub(super) description: String,
    pub(super) version: String,
    pub(super) instructions: String,
    pub(super) tools: Vec<Tool>,
}

impl Listing {
    pub(super) async fn read(peer: &Peer<RoleClient>, name: &str) -> ToolResult<Self> {
        let info = peer.peer_info();
        let server = info.as_ref().and_then(|info| info.server_info.clone());
        let offers_tools = info.as_ref().is_none_or(|info| info.capabilities.tools.is_some());
        let tools = if offers_tools { list_tools(peer, name).await? } else { Vec::new() };
        Ok(Self {
            description: server.as_ref().and_then(|server| server.description.clone()).unwrap_or_default(),
            version: server.map(|server| server.version).unwrap_or_default(),
            instructions: info.and_then(|info| info.instructions.clone()).unwrap_or_default(),
            tools,
        })
    }
}

async fn list_tools(peer: &Peer<RoleClient>, name: &str) -> ToolResult<Vec<Tool>> {
    let tools = all("tools", async |page| {
        let result = peer.list_tools(page).await.map_err(|error| failure(name, "tools/list", error))?;
        Ok((result.tools, result.next_cursor))
    });
    Ok(tools.await?.into_iter().map(Tool::from_mcp).collect())
}

/// How many pages of a list are read.
const MAX_PAGES: usize = 200;

/// How many items of a list are kept.
const MAX_ITEMS: usize = 20_000;

/// Reads pages until there is no next one. `fetch` gives the items and the next cursor.
pub(super) async fn all<T, F>(
    what: &str,
    mut fetch: impl FnMut(Option<PaginatedRequestParams>) -> F,
) -> ToolResult<Vec<T>>
where
    F: Future<Output = ToolResult<(Vec<T>, Option<String>)>>,
{
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let request =
            cursor.clone().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let (page, next) = fetch(request).await?;
        items.extend(page);
        if items.len() > MAX_ITEMS {
            return Err(endless(what, &format!("more than {MAX_ITEMS} items")));
        }
        match next {
            None => return Ok(items),
            Some(next) if cursor.as_ref() == Some(&next) => {
                return Err(endless(what, "the same cursor again"));
            }
            next => cursor = next,
        }
    }
    Err(endless(what, &format!("more than {MAX_PAGES} pages")))
}

fn endless(what: &str, reason: &str) -> ToolError {
    ToolError::ExecutionError(format!(
        "The server's list of {what} does not end ({reason}); it was not used."
    ))
}
