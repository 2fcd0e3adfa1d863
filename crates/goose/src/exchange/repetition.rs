//! [`Repetition`]: detects a model that repeats the same call.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use serde_json::Value;

/// Number of further attempts at a call that is no longer run, before the reply ends.
const MAX_IGNORED: u32 = 3;

/// Number of times in a row of each call of the last two turns.
#[derive(Debug)]
pub(super) struct Repetition {
    most: u32,
    last_turn: HashMap<u64, u32>,
    this_turn: HashMap<u64, u32>,
}

/// Verdict about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RepetitionVerdict {
    /// The call may run.
    Fine,
    /// The call was made too often and is not run.
    TooOften(u32),
    /// The model keeps repeating the call after it was refused.
    Hopeless(u32),
}

impl Repetition {
    pub(super) fn new(most: u32) -> Self {
        Self { most, last_turn: HashMap::new(), this_turn: HashMap::new() }
    }

    /// Starts the next answer. Calls that are not in the previous one are forgotten.
    pub(super) fn next_turn(&mut self) {
        self.last_turn = std::mem::take(&mut self.this_turn);
    }

    /// Counts a call. Returns the verdict on it.
    pub(super) fn count(&mut self, tool: &str, arguments: &Value) -> RepetitionVerdict {
        let mut hasher = DefaultHasher::new();
        (tool, arguments).hash(&mut hasher);
        let call = hasher.finish();
        let before = self.last_turn.get(&call).copied().unwrap_or(0);
        let times = self.this_turn.entry(call).or_insert(before);
        *times = times.saturating_add(1);
        match *times {
            times if times <= self.most => RepetitionVerdict::Fine,
            times if times <= self.most.saturating_add(MAX_IGNORED) => RepetitionVerdict::TooOften(times),
            times => RepetitionVerdict::Hopeless(times),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn turns(repetition: &mut Repetition, turns: &[&[(&str, Value)]]) -> Vec<RepetitionVerdict> {
        let mut last = Vec::new();
        for turn in turns {
            repetition.next_turn();
            last = turn.iter().map(|(tool, arguments)| repetition.count(tool, arguments)).collect();
        }
        last
    }

    #[test]
    fn the_same_call_in_a_row_is_stopped_then_hopeless() {
        let mut repetition = Repetition::new(2);
        let call: &[(&str, Value)] = &[("shell", json!({"command": "ls"}))];
        assert_eq!(turns(&mut repetition, &[call, call]), [RepetitionVerdict::Fine]);
        assert_eq!(turns(&mut repetition, &[call]), [RepetitionVerdict::TooOften(3)]);
        assert_eq!(turns(&mut repetition, &[call, call, call]), [RepetitionVerdict::Hopeless(6)]);
    }

    #[test]
    fn something_else_in_between_makes_it_a_new_call() {
        let mut repetition = Repetition::new(1);
        let (a, b): (&[_], &[_]) = (&[("shell", json!({"a": 1}))], &[("shell", json!({"a": 2}))]);
        assert_eq!(turns(&mut repetition, &[a, b, a, b, a]), [RepetitionVerdict::Fine]);
    }

    #[test]
    fn company_does_not_hide_a_repeated_call() {
        let mut repetition = Repetition::new(2);
        let pair: &[_] = &[("one", json!({})), ("two", json!({}))];
        assert_eq!(turns(&mut repetition, &[pair, pair, pair]), [RepetitionVerdict::TooOften(3); 2]);
    }

    #[test]
    fn the_same_call_side_by_side_counts_each_time() {
        let mut repetition = Repetition::new(2);
        let thrice: &[_] = &[("one", json!({})), ("one", json!({})), ("one", json!({}))];
        assert_eq!(
            turns(&mut repetition, &[thrice]),
            [RepetitionVerdict::Fine, RepetitionVerdict::Fine, RepetitionVerdict::TooOften(3)]
        );
    }
}
