//! What happens to the extensions of a manager.

use std::sync::Weak;

use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::Inner;
use crate::services::ServiceEvent;

/// Events of one manager's extensions, and of nobody else's.
pub struct Events {
    pub(super) events: Receiver<ServiceEvent>,
    pub(super) manager: Weak<Inner>,
}

impl Events {
    /// The next event; `None` when the manager is gone. A reader that falls far behind loses some, never the newest.
    pub async fn recv(&mut self) -> Option<ServiceEvent> {
        loop {
            let event = match self.events.recv().await {
                Ok(event) => event,
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => return None,
            };
            let bounds = self.manager.upgrade()?.bounds();
            if bounds.iter().any(|bound| bound.service.id() == event.id) {
                return Some(event);
            }
        }
    }
}
