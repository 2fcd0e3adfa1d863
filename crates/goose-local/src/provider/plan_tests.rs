use super::*;

#[test]
fn a_reply_without_a_goal_allows_no_changes() {
    assert_eq!(Plan::new(" create").goal(), Goal::Create);
    assert_eq!(Plan::new("run\n").goal(), Goal::Run);
    for reply in ["answer", "", "I would change", "\"change\""] {
        assert_eq!(Plan::new(reply).goal(), Goal::Answer, "{reply}");
    }
}

#[test]
fn every_goal_has_examples_and_every_example_a_goal() {
    let opening = opening();
    assert_eq!(opening.len(), 1 + 2 * EXAMPLES.lines().count());
    let replies = opening[1..].iter().filter(|turn| turn.speaker == Speaker::Model);
    let mut counts = [0; GOALS.len()];
    for reply in replies {
        let named = |(_, name): &(Goal, &str)| reply.text.split(' ').next() == Some(*name);
        let goal = GOALS.iter().position(named);
        counts[goal.unwrap_or_else(|| panic!("{}", reply.text))] += 1;
    }
    assert!(counts.iter().all(|count| *count >= 3), "{counts:?}");
}

#[test]
fn a_call_carries_the_plan() {
    let plan = Plan::new("change a.md, docs/b.md\n");
    assert_eq!(plan.files().collect::<Vec<_>>(), ["a.md", "docs/b.md"]);
    assert_eq!(Plan::from_call(Some(&plan.in_call())), Some(plan));
    let other = Opaque { wire: "anthropic".to_owned(), data: "change".into() };
    assert_eq!(Plan::from_call(Some(&other)), None);
    assert_eq!(Plan::from_call(None), None);
}
