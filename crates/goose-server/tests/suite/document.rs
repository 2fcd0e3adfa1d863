//! The OpenAPI document.

use anyhow::ensure;

use crate::support::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn the_document_describes_all_routes() -> anyhow::Result<()> {
    let document = goose_server::openapi_document();
    let server = TestServer::new([]).await?;
    ensure!(server.get("/openapi.json").await? == document);
    let mut document = document;
    document["info"]["version"] = "VERSION".into();
    insta::assert_json_snapshot!(document);
    Ok(())
}
