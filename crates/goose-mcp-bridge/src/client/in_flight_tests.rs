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
fn calls_without_a_caller_are_told_apart_by_their_session_and_listener() {
    let (one, two): (Arc<dyn Notifier>, Arc<dyn Notifier>) = (Arc::new(Listener), Arc::new(Listener));
    let heard =
        |by: &Arc<dyn Notifier>| Owner::from_context(&CallContext::new().with_notifier(Arc::clone(by)));
    // Values without a size may share an address; these two are boxed by an `Arc`, which has one.
    assert!(heard(&one).is_one_with(&heard(&one), MessageKind::Tell));
    assert!(!heard(&one).is_one_with(&heard(&two), MessageKind::Tell));
    assert!(heard(&one).is_one_with(&heard(&two), MessageKind::Ask));
    assert!(owner("a").is_one_with(&owner("a"), MessageKind::Tell));
    assert!(!owner("a").is_one_with(&owner("b"), MessageKind::Ask));
}

#[test]
fn a_ghost_of_another_stays_in_the_way_until_it_is_answered() {
    let mut cancelled = CancelledCalls::default();
    cancelled.add(RequestId::Number(1), owner("a"));
    assert!(cancelled.are_all_of(&owner("a"), MessageKind::Ask));
    assert!(!cancelled.are_all_of(&owner("b"), MessageKind::Ask));
    cancelled.settle(&RequestId::Number(1));
    assert!(cancelled.are_all_of(&owner("b"), MessageKind::Ask));
}

#[test]
fn ghosts_that_are_too_many_stay_in_the_way_of_others_only() {
    let mut cancelled = CancelledCalls::default();
    let last = i64::try_from(MAX_CANCELLED).unwrap_or_default() + 1;
    (1..=last).for_each(|id| cancelled.add(RequestId::Number(id), owner("a")));
    (1..=last).for_each(|id| cancelled.settle(&RequestId::Number(id)));
    assert!(cancelled.known.is_empty());
    assert!(cancelled.are_all_of(&owner("a"), MessageKind::Ask));
    assert!(!cancelled.are_all_of(&owner("b"), MessageKind::Ask));
    (1..=last).for_each(|id| cancelled.add(RequestId::Number(id), owner("b")));
    (1..=last).for_each(|id| cancelled.settle(&RequestId::Number(id)));
    assert!(!cancelled.are_all_of(&owner("a"), MessageKind::Ask));
}
