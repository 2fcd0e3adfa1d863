//! Owners of messages after calls were cancelled.

use super::*;

struct Listener;

impl Notifier for Listener {
    fn log(&self, _content: goose_extension::RichRenderable) {}
    fn status(&self, _message: String) {}
}

fn owner(session: &str) -> Owner {
    Owner::from_context(&CallContext::new().with_session_id(session))
}

#[test]
fn calls_without_a_caller_differ_by_session_and_notifier() {
    let (one, two): (Arc<dyn Notifier>, Arc<dyn Notifier>) = (Arc::new(Listener), Arc::new(Listener));
    let heard =
        |by: &Arc<dyn Notifier>| Owner::from_context(&CallContext::new().with_notifier(Arc::clone(by)));
    // Values without a size may share an address; these two are boxed by an `Arc`, which has one.
    assert!(heard(&one).is_same(&heard(&one), MessageKind::Tell));
    assert!(!heard(&one).is_same(&heard(&two), MessageKind::Tell));
    assert!(heard(&one).is_same(&heard(&two), MessageKind::Ask));
    assert!(owner("a").is_same(&owner("a"), MessageKind::Tell));
    assert!(!owner("a").is_same(&owner("b"), MessageKind::Ask));
}

#[test]
fn a_cancelled_call_of_another_owner_counts_until_its_response() {
    let mut cancelled = CancelledCalls::default();
    cancelled.add(RequestId::Number(1), owner("a"));
    assert!(cancelled.all_belong_to(&owner("a"), MessageKind::Ask));
    assert!(!cancelled.all_belong_to(&owner("b"), MessageKind::Ask));
    cancelled.remove(&RequestId::Number(1));
    assert!(cancelled.all_belong_to(&owner("b"), MessageKind::Ask));
}

#[test]
fn evicted_cancelled_calls_keep_their_owner() {
    let mut cancelled = CancelledCalls::default();
    let last = i64::try_from(MAX_CANCELLED).unwrap_or_default() + 1;
    (1..=last).for_each(|id| cancelled.add(RequestId::Number(id), owner("a")));
    (1..=last).for_each(|id| cancelled.remove(&RequestId::Number(id)));
    assert!(cancelled.known.is_empty());
    assert!(cancelled.all_belong_to(&owner("a"), MessageKind::Ask));
    assert!(!cancelled.all_belong_to(&owner("b"), MessageKind::Ask));
    (1..=last).for_each(|id| cancelled.add(RequestId::Number(id), owner("b")));
    (1..=last).for_each(|id| cancelled.remove(&RequestId::Number(id)));
    assert!(!cancelled.all_belong_to(&owner("a"), MessageKind::Ask));
}
