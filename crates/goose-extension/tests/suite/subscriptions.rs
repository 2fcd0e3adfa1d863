//! Counting subscribers: the provider is asked once, and never for the wrong one.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::join;
use goose_extension::{Subscriptions, ToolError, ToolResult};
use tokio::sync::Notify;

fn refused() -> ToolResult<()> {
    Err(ToolError::execution("no"))
}

#[tokio::test]
async fn a_failed_first_subscriber_does_not_unsubscribe_the_second() {
    let subscriptions = Subscriptions::default();
    let (asked, calls) = (Notify::new(), AtomicUsize::new(0));
    let first = subscriptions.add("a", async {
        asked.notified().await;
        refused()
    });
    let second = async {
        let adding = subscriptions.add("a", async {
            calls.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        asked.notify_one();
        adding.await
    };
    let (first, second) = join!(first, second);
    assert!(first.is_err());
    assert_eq!(second, Ok(()));
    assert_eq!(calls.load(Ordering::Relaxed), 1, "the second one asks itself");
    assert_eq!(subscriptions.uris(), ["a"]);
}

#[tokio::test]
async fn the_provider_hears_of_the_first_and_of_the_last() {
    let subscriptions = Subscriptions::default();
    let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let count = async |counter: &AtomicUsize| {
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    for _ in 0..3 {
        subscriptions.add("a", count(&begun)).await.unwrap();
    }
    for left in [2, 1, 0] {
        assert_eq!(ended.load(Ordering::Relaxed), 0, "{} are left", left + 1);
        subscriptions.remove("a", count(&ended)).await.unwrap();
    }
    assert_eq!((begun.into_inner(), ended.into_inner()), (1, 1));
    assert!(subscriptions.uris().is_empty());
}

#[tokio::test]
async fn a_resource_that_hangs_holds_up_no_other() {
    let subscriptions = Subscriptions::default();
    let mut hangs = Box::pin(subscriptions.add("hangs", std::future::pending()));
    assert!(futures::poll!(&mut hangs).is_pending());
    let other = subscriptions.add("other", async { Ok(()) });
    tokio::time::timeout(std::time::Duration::from_secs(10), other).await.unwrap().unwrap();
    drop(hangs);
    subscriptions.add("hangs", async { Ok(()) }).await.unwrap();
}

#[tokio::test]
async fn a_subscriber_that_hangs_holds_up_no_other_of_the_same_resource() {
    let limit = std::time::Duration::from_secs(10);
    let subscriptions = Subscriptions::default();
    let mut hangs = Box::pin(subscriptions.add("a", std::future::pending()));
    assert!(futures::poll!(&mut hangs).is_pending());
    let asked = AtomicUsize::new(0);
    let ask = async || {
        asked.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    tokio::time::timeout(limit, subscriptions.add("a", ask())).await.unwrap().unwrap();
    tokio::time::timeout(limit, subscriptions.add("a", ask())).await.unwrap().unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 1, "there is a subscriber");
    for _ in 0..2 {
        subscriptions.remove("a", async { refused() }).await.unwrap();
    }
    assert_eq!(subscriptions.uris(), ["a"], "one still asks, so the provider is not told");
    drop(hangs);
    assert!(subscriptions.uris().is_empty());
}

#[tokio::test]
async fn a_new_subscriber_waits_until_the_provider_knows_that_the_last_one_left() {
    let subscriptions = Subscriptions::default();
    subscriptions.add("a", async { Ok(()) }).await.unwrap();
    let (told, asked) = (Notify::new(), AtomicUsize::new(0));
    let leaving = subscriptions.remove("a", async {
        told.notified().await;
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        Ok(())
    });
    let coming = async {
        let mut adding = Box::pin(subscriptions.add("a", async {
            asked.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }));
        assert!(futures::poll!(&mut adding).is_pending());
        told.notify_one();
        adding.await
    };
    let (left, came) = join!(leaving, coming);
    assert_eq!((left, came, asked.into_inner()), (Ok(()), Ok(()), 1));
    assert_eq!(subscriptions.uris(), ["a"]);
}
