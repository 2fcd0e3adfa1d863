use super::*;

#[test]
fn a_reply_that_names_no_goal_is_no_leave_to_change() {
    assert_eq!(Goal::from_reply(" create"), Goal::Create);
    assert_eq!(Goal::from_reply("run\n"), Goal::Run);
    for reply in ["answer", "", "I would change", "\"change\""] {
        let goal = Goal::from_reply(reply);
        assert!(!goal.allows(Does::Edit) && !goal.allows(Does::Write), "{reply}");
    }
}

#[test]
fn every_goal_has_examples_and_every_example_a_goal() {
    let opening = opening();
    assert_eq!(opening.len(), 1 + 2 * EXAMPLES.lines().count());
    let replies = opening[1..].iter().filter(|turn| turn.speaker == Speaker::Model);
    let mut counts = [0; Goal::ALL.len()];
    for reply in replies {
        let goal = Goal::ALL.iter().position(|(_, name)| *name == reply.text);
        counts[goal.unwrap_or_else(|| panic!("{}", reply.text))] += 1;
    }
    assert!(counts.iter().all(|count| *count >= 3), "{counts:?}");
}

#[test]
fn a_call_tells_its_goal() {
    for (goal, _) in Goal::ALL {
        assert_eq!(Goal::from_id(&goal.in_id("local-1a-2")), Some(goal));
    }
    assert_eq!(Goal::from_id("local-1a-2"), None);
}
