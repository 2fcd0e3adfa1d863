//! Changes on their way to clients: `list_changed` and `resources/updated`, on either wire.

use goose_extension::Change;
use rmcp::{
    Peer, RoleServer, ServiceError,
    model::{ResourceUpdatedNotificationParam, SubscriptionFilter},
    service::{SubscriptionContext, SubscriptionSendError},
};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::sync::CancellationToken;

use super::subscriptions::Watching;

/// The next changes; where some were missed, everything counts as changed, the `watched` resources too.
async fn next(feed: &mut Receiver<Change>, watched: impl FnOnce() -> Vec<String>) -> Option<Vec<Change>> {
    match feed.recv().await {
        Ok(change) => Some(vec![change]),
        Err(RecvError::Lagged(_)) => {
            let lists = [Change::Tools, Change::Resources, Change::Prompts];
            Some(lists.into_iter().chain(watched().into_iter().map(Change::ResourceUpdated)).collect())
        }
        Err(RecvError::Closed) => None,
    }
}

/// Tells a client of the older wire about changes, until `session` ends.
pub(super) async fn forward(
    mut feed: Receiver<Change>,
    peer: Peer<RoleServer>,
    watching: Watching,
    session: CancellationToken,
) {
    while let Some(Some(changes)) = session.run_until_cancelled(next(&mut feed, || watching.uris())).await {
        for change in changes {
            if tell(&peer, &watching, change).await.is_err() {
                return;
            }
        }
    }
}

async fn tell(peer: &Peer<RoleServer>, watching: &Watching, change: Change) -> Result<(), ServiceError> {
    match change {
        Change::Tools => peer.notify_tool_list_changed().await,
        Change::Resources => peer.notify_resource_list_changed().await,
        Change::Prompts => peer.notify_prompt_list_changed().await,
        Change::ResourceUpdated(uri) if watching.contains(&uri) => {
            peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
        }
        Change::ResourceUpdated(_) => Ok(()),
    }
}

/// Serves one `subscriptions/listen` of the 2026-07-28 wire, until it is cancelled.
pub(super) async fn listen(mut feed: Receiver<Change>, context: SubscriptionContext) {
    loop {
        let watched = || context.accepted().resource_subscriptions.clone().unwrap_or_default();
        let changes = tokio::select! {
            changes = next(&mut feed, watched) => changes,
            () = context.cancelled() => None,
        };
        let Some(changes) = changes else { return };
        for change in changes {
            if send(&context, change).await.is_err() {
                return;
            }
        }
    }
}

async fn send(context: &SubscriptionContext, change: Change) -> Result<(), SubscriptionSendError> {
    let (sink, accepted) = (context.sink(), context.accepted());
    match change {
        Change::Tools if accepted.tools_list_changed == Some(true) => sink.notify_tool_list_changed().await,
        Change::Resources if accepted.resources_list_changed == Some(true) => {
            sink.notify_resource_list_changed().await
        }
        Change::Prompts if accepted.prompts_list_changed == Some(true) => {
            sink.notify_prompt_list_changed().await
        }
        Change::ResourceUpdated(uri) if watches(accepted, &uri) => sink.notify_resource_updated(uri).await,
        _ => Ok(()),
    }
}

fn watches(filter: &SubscriptionFilter, uri: &str) -> bool {
    filter.resource_subscriptions.as_ref().is_some_and(|uris| uris.iter().any(|watched| watched == uri))
}
