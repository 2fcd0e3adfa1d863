//! Who watches which resource of a server, on either wire. All who share a connection share its subscriptions: the
//! server hears of the first watcher of a resource, and of the last one's leaving.

use std::{collections::HashMap, sync::Arc};

use goose_extension::{ToolResult, adapter::unknown_resource};
use rmcp::model::SubscriptionFilter;
use tokio::sync::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{connection::Connection, news};

/// The resources that are watched. The lock is held while the server is told, so that a first watcher and a last one's
/// leaving cannot cross.
#[derive(Default)]
pub(super) struct Watches(Mutex<HashMap<String, Watch>>);

struct Watch {
    watchers: usize,
    /// Ends the stream of news on the 2026-07-28 wire.
    _stream: DropGuard,
}

/// Begins to watch a resource, once more.
pub(super) async fn begin(connection: &Connection, uri: &str) -> ToolResult<()> {
    let mut watches = connection.watches.0.lock().await;
    if let Some(watch) = watches.get_mut(uri) {
        watch.watchers += 1;
        return Ok(());
    }
    let stream = connection.ends.child_token();
    if connection.is_new_wire() {
        open_stream(connection, uri, stream.clone()).await?;
    } else {
        subscribe(connection, uri).await?;
    }
    watches.insert(uri.to_owned(), Watch { watchers: 1, _stream: stream.drop_guard() });
    Ok(())
}

/// Ends it for one of those who watch.
pub(super) async fn end(connection: &Connection, uri: &str) -> ToolResult<()> {
    let mut watches = connection.watches.0.lock().await;
    if let Some(watch) = watches.get_mut(uri).filter(|watch| watch.watchers > 1) {
        watch.watchers -= 1;
        return Ok(());
    }
    watches.remove(uri);
    if connection.is_new_wire() { Ok(()) } else { unsubscribe(connection, uri).await }
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
