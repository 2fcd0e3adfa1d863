//! A browser for a login page that asks nothing: it goes where the page sends it.

use async_trait::async_trait;
use goose_extension::{ToolError, ToolResult};
use goose_mcp_bridge::Browser;
use reqwest::{Client, header::LOCATION, redirect::Policy};
use url::Url;

/// Opens pages without a person.
pub(crate) struct Visitor;

#[async_trait]
impl Browser for Visitor {
    async fn open(&self, _server: &str, url: &Url) -> ToolResult<()> {
        let client = Client::builder().redirect(Policy::none()).build().map_err(ToolError::execution)?;
        let page = client.get(url.clone()).send().await.map_err(ToolError::execution)?;
        let location = page.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        let location = location.ok_or("The login page leads nowhere.")?;
        let back = url.join(location).map_err(ToolError::execution)?;
        client.get(back).send().await.map_err(ToolError::execution)?;
        Ok(())
    }
}
