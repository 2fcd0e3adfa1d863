//! Whose a message is when calls were withdrawn.

use super::*;

struct Listener;

impl Notifier for Listener {
    fn log(&self, _content: goose_extension::RichRenderable) {}
    fn status(&self, _message: String) {}
}

fn owner(session: &str) -> Owner {
    Owner::of(&CallContext::new().with_session_id(session))
}

#[test]
fn calls_without_a_caller_are_told_apart_by_their_session_and_listener() {
    let (one, two): (Arc<dyn Notifier>, Arc<dyn Notifier>) = (Arc::new(Listener), Arc::new(Listener));
    let heard = |by: &Arc<dyn Notifier>| Owner::of(&CallContext::new().with_notifier(Arc::clone(by)));
    // Values without a size may share an address; these two are boxed by an `Arc`, which has one.
    assert!(heard(&one).is_one_with(&heard(&one), Purpose::Tell));
    assert!(!heard(&one).is_one_with(&heard(&two), Purpose::Tell));
    assert!(heard(&one).is_one_with(&heard(&two), Purpose::Ask));
    assert!(owner("a").is_one_with(&owner("a"), Purpose::Tell));
    assert!(!owner("a").is_one_with(&owner("b"), Purpose::Ask));
}

#[test]
fn a_ghost_of_another_stays_in_the_way_until_it_is_answered() {
    let mut ghosts = Ghosts::default();
    ghosts.add(RequestId::Number(1), owner("a"));
    assert!(ghosts.are_all_of(&owner("a"), Purpose::Ask));
    assert!(!ghosts.are_all_of(&owner("b"), Purpose::Ask));
    ghosts.settle(&RequestId::Number(1));
    assert!(ghosts.are_all_of(&owner("b"), Purpose::Ask));
}

#[test]
fn ghosts_that_are_too_many_stay_in_the_way_of_others_only() {
    let mut ghosts = Ghosts::default();
    let last = i64::try_from(MAX_GHOSTS).unwrap_or_default() + 1;
    (1..=last).for_each(|id| ghosts.add(RequestId::Number(id), owner("a")));
    (1..=last).for_each(|id| ghosts.settle(&RequestId::Number(id)));
    assert!(ghosts.known.is_empty());
    assert!(ghosts.are_all_of(&owner("a"), Purpose::Ask));
    assert!(!ghosts.are_all_of(&owner("b"), Purpose::Ask));
    (1..=last).for_each(|id| ghosts.add(RequestId::Number(id), owner("b")));
    (1..=last).for_each(|id| ghosts.settle(&RequestId::Number(id)));
    assert!(!ghosts.are_all_of(&owner("a"), Purpose::Ask));
}
