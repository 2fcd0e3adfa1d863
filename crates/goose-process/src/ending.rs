//! Ending a tree gently, without holding up the runtime.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::tree::Tree;

/// How long those who are asked to end may take.
const TERM_TIME: Duration = Duration::from_secs(1);

/// How long those who were killed may take; the kernel may have much to clean up.
const KILL_TIME: Duration = Duration::from_secs(5);

/// How often we look whether they are gone.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Asks everybody in the tree to end, then kills. When this returns, nobody is left, but for those that even the
/// kernel cannot end.
pub(crate) async fn end(tree: Tree) {
    let tree = in_background(tree, |mut tree| {
        let members = tree.search();
        tree.terminate(&members);
        (tree, members.is_empty())
    });
    let (tree, is_empty) = tree.await;
    if is_empty {
        return;
    }
    gone(&tree, TERM_TIME).await;
    let tree = in_background(tree, |mut tree| {
        tree.kill();
        tree
    });
    if !gone(&tree.await, KILL_TIME).await {
        tracing::warn!("a process could not be ended");
    }
}

/// Waits until everybody who was seen is gone; `false` where that takes too long.
async fn gone(tree: &Tree, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    let mut pause = FIRST_LOOK;
    while tree.is_seen_alive() {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    true
}

/// Does work that reads many files on a thread where it may block; here, where the runtime is going away.
async fn in_background<T: Send + 'static>(tree: Tree, work: fn(Tree) -> T) -> T {
    let copy = tree.clone();
    match tokio::task::spawn_blocking(move || work(copy)).await {
        Ok(done) => done,
        Err(_) => work(tree),
    }
}
