//! A call waits until we listen.
//!
//! On the older wire a server may ask its questions on a stream of its own, which is opened beside the first requests.
//! A question that comes before it is open is lost in most servers, and the call with it.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

/// How long a call waits for a server that takes its time to open the stream. It waits only once.
const PATIENCE: Duration = Duration::from_secs(1);

/// The session that we listen to.
pub(super) struct Listening(watch::Sender<Option<Arc<str>>>);

impl Default for Listening {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Listening {
    /// The server opened the stream of a session, or said that it has none.
    pub(super) fn began(&self, session: Arc<str>) {
        self.0.send_replace(Some(session));
    }

    /// Waits until we listen to a session.
    pub(super) async fn wait(&self, session: &Arc<str>) {
        let mut state = self.0.subscribe();
        let began = state.wait_for(|current| current.as_ref() == Some(session));
        let in_time = tokio::time::timeout(PATIENCE, began).await.is_ok();
        if !in_time {
            self.began(Arc::clone(session));
        }
    }
}
