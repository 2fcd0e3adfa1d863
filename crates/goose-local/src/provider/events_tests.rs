use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt as _;
use goose_providers::Reply;

use super::*;

/// Returns an answer of `pieces` texts, and the number of texts that were sent.
fn answer(pieces: usize) -> (ReplyStream, Arc<AtomicUsize>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let stream = reply_stream(|events| async move {
        for piece in 0..pieces {
            if events.send(ReplyEvent::Text(format!("{piece} "))).await.is_break() {
                return Ok(());
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
        let _ = events.send(ReplyEvent::Finished(StopReason::EndTurn)).await;
        Ok(())
    });
    (stream, sent)
}

/// Lets other tasks run until they wait.
async fn settle() {
    for _ in 0..10 * MAX_EVENTS {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_slow_reader_holds_up_the_answer_and_misses_nothing() -> anyhow::Result<()> {
    let (stream, sent) = answer(3 * MAX_EVENTS);
    settle().await;
    assert_eq!(sent.load(Ordering::Relaxed), MAX_EVENTS);
    let text = Reply::collect(stream).await?.message.text();
    assert_eq!(text.split_whitespace().count(), 3 * MAX_EVENTS);
    Ok(())
}

#[tokio::test]
async fn a_dropped_stream_ends_an_answer_that_waits() {
    let (mut stream, sent) = answer(usize::MAX);
    assert!(stream.next().await.is_some());
    settle().await;
    drop(stream);
    settle().await;
    assert_eq!(Arc::strong_count(&sent), 1, "the task is gone");
}

#[tokio::test]
async fn a_status_that_does_not_fit_is_dropped() {
    let mut stream = reply_stream(|events| async move {
        let report = events.reporter();
        (0..2 * MAX_EVENTS).for_each(|number| report(number.to_string()));
        let _ = events.send(ReplyEvent::Finished(StopReason::EndTurn)).await;
        Ok(())
    });
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    assert_eq!(events.len(), MAX_EVENTS + 1);
    assert!(matches!(events.last(), Some(Ok(ReplyEvent::Finished(_)))), "{events:?}");
}
