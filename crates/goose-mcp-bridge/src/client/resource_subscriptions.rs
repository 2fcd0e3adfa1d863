//! Subscriptions to a server's resources, on either wire. All users of a connection share them: the server hears of the
//! first subscriber of a resource, and of the last one's leaving.

use std::sync::Arc;

use goose_extension::{ToolResult, adapter::unknown_resource};
use rmcp::model::SubscriptionFilter;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{connection::Connection, news};

/// The resources that are watched, each with the guard that ends its stream of news on the 2026-07-28 wire.
pub(super) type Subscriptions = goose_extension::Subscriptions<DropGuard>;

/// Adds a subscriber.
pub(super) async fn add(connection: &Connection, uri: &str) -> ToolResult<()> {
    let begin = async {
        let stream = connection.ends.child_token();
        let guard = stream.clone().drop_guard();
        if connection.is_new_wire() {
            open_stream(connection, uri, stream).await?;
        } else {
            subscribe(connection, uri).await?;
        }
        Ok(guard)
    };
    connection.subscriptions.add(uri, begin).await
}

/// Removes a subscriber.
pub(super) async fn remove(connection: &Connection, uri: &str) -> ToolResult<()> {
    let end = async { if connection.is_new_wire() { Ok(()) } else { unsubscribe(connection, uri).await } };
    connection.subscriptions.remove(uri, end).await
}

async fn open_stream(connection: &Connection, uri: &str, ends: CancellationToken) -> ToolResult<()> {
    let mut filter = SubscriptionFilter::new();
    filter.resource_subscriptions = Some(vec![uri.to_owned()]);
    let opening = news::Stream::open(connection.peer().clone(), filter);
    let stream = connection.bounded("subscriptions/listen", opening).await?;
    if !stream.watches(uri) {
        return Err(unknown_resource(uri));
    }
    let news = Arc::clone(&connection.news);
    tokio::spawn(async move { ends.run_until_cancelled(stream.run(news)).await });
    Ok(())
}

#[expect(deprecated, reason = "the older wire subscribes this way")]
async fn subscribe(connection: &Connection, uri: &str) -> ToolResult<()> {
    let params = rmcp::model::SubscribeRequestParams::new(uri);
    connection.bounded("resources/subscribe", connection.peer().subscribe(params)).await
}

#[expect(deprecated, reason = "the older wire unsubscribes this way")]
async fn unsubscribe(connection: &Connection, uri: &str) -> ToolResult<()> {
    let params = rmcp::model::UnsubscribeRequestParams::new(uri);
    connection.bounded("resources/unsubscribe", connection.peer().unsubscribe(params)).await
}
