//! Looking after a running service: its news, and its end.

use std::sync::{Arc, PoisonError, Weak};

use goose_extension::Change;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::task::AbortOnDropHandle;

use super::{phase::ServiceChange, running::Running, service::Service};

/// Begins to follow; it ends with the running service.
pub(super) fn follow(service: &Arc<Service>, running: &Arc<Running>) {
    let mut followers = Vec::new();
    if let Some(feed) = running.extension().changes() {
        let news = follow_news(feed.subscribe(), Arc::downgrade(service), Arc::downgrade(running));
        followers.push(AbortOnDropHandle::new(tokio::spawn(news)));
        // What changed before we listened.
        if running.renew() {
            service.renew(running);
        }
    }
    if let Some(remote) = &running.remote {
        let end = follow_end(remote.closed(), Arc::downgrade(service), Arc::downgrade(running));
        followers.push(AbortOnDropHandle::new(tokio::spawn(end)));
    }
    *running.followers.write().unwrap_or_else(PoisonError::into_inner) = followers;
}

async fn follow_news(mut news: Receiver<Change>, service: Weak<Service>, running: Weak<Running>) {
    loop {
        let change = match news.recv().await {
            Ok(change) => change,
            // Whatever was missed, the newest list is what counts.
            Err(RecvError::Lagged(_)) => Change::Tools,
            Err(RecvError::Closed) => return,
        };
        let (Some(service), Some(running)) = (service.upgrade(), running.upgrade()) else { return };
        match change {
            Change::Tools => {
                running.renew();
                service.renew(&running);
            }
            Change::Resources => service.announce(ServiceChange::Resources),
            Change::Prompts => service.announce(ServiceChange::Prompts),
            Change::ResourceUpdated(uri) => service.announce(ServiceChange::ResourceUpdated(uri)),
        }
    }
}

async fn follow_end(closed: impl Future<Output = ()>, service: Weak<Service>, running: Weak<Running>) {
    closed.await;
    let Some(running) = running.upgrade() else { return };
    // The exit code and the last words arrive a moment after the stream has ended.
    let exit_report = match &running.remote {
        Some(remote) => remote.exit_report().await,
        None => String::new(),
    };
    if let Some(service) = service.upgrade() {
        service.lost(&running, exit_report);
    }
}
