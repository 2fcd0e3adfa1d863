//! Lists of a server, all pages of them, within caps.

use rmcp::model::PaginatedRequestParams;

use crate::error::{ToolError, ToolResult};

/// How many pages of a list are read.
const MAX_PAGES: usize = 200;

/// How many items of a list are kept.
pub(super) const MAX_ITEMS: usize = 20_000;

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
