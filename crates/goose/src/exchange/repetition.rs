//! [`Repetition`]: detects a model that makes the same call again and again.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use serde_json::Value;

/// Default number of times that the same call may be made in a row.
pub(super) const DEFAULT_MAX_REPETITIONS: u32 = 5;

/// Further attempts of a call that is no longer run, before the reply ends.
const MAX_IGNORED: u32 = 3;

/// Counts of the calls of the last two turns, in a row.
#[derive(Debug)]
pub(super) struct Repetition {
    most: u32,
    last_turn: HashMap<u64, u32>,
    this_turn: HashMap<u64, u32>,
}

/// The verdict about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeated {
    /// It may be made.
    Fine,
    /// It was made too often.
    TooOften(u32),
    /// The model repeats it although it was told.
    Hopeless(u32),
}

impl Repetition {
    pub(super) fn new(most: u32) -> Self {
        Self { most, last_turn: HashMap::new(), this_turn: HashMap::new() }
    }

    /// Starts the next answer. Calls that it does not contain are forgotten.
    pub(super) fn next_turn(&mut self) {
        self.last_turn = std::mem::take(&mut self.this_turn);
    }

    /// Counts a call.
    pub(super) fn count(&mut self, tool: &str, arguments: &Value) -> Repeated {
        let mut hasher = DefaultHasher::new();
        (tool, arguments).hash(&mut hasher);
        let call = hasher.finish();
        let before = self.last_turn.get(&call).copied().unwrap_or(0);
        let times = self.this_turn.entry(call).or_insert(before);
        *times = times.saturating_add(1);
        match *times {
            times if times <= self.most => Repeated::Fine,
            times if times <= self.most.saturating_add(MAX_IGNORED) => Repeated::TooOften(times),
            times => Repeated::Hopeless(times),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn turns(repetition: &mut Repetition, turns: &[&[(&str, Value)]]) -> Vec<Repeated> {
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
        assert_eq!(turns(&mut repetition, &[call, call]), [Repeated::Fine]);
        assert_eq!(turns(&mut repetition, &[call]), [Repeated::TooOften(3)]);
        assert_eq!(turns(&mut repetition, &[call, call, call]), [Repeated::Hopeless(6)]);
    }

    #[test]
    fn something_else_in_between_makes_it_a_new_call() {
        let mut repetition = Repetition::new(1);
        let (a, b): (&[_], &[_]) = (&[("shell", json!({"a": 1}))], &[("shell", json!({"a": 2}))]);
        assert_eq!(turns(&mut repetition, &[a, b, a, b, a]), [Repeated::Fine]);
    }

    #[test]
    fn company_does_not_hide_a_repeated_call() {
        let mut repetition = Repetition::new(2);
        let pair: &[_] = &[("one", json!({})), ("two", json!({}))];
        assert_eq!(turns(&mut repetition, &[pair, pair, pair]), [Repeated::TooOften(3); 2]);
    }

    #[test]
    fn the_same_call_side_by_side_counts_each_time() {
        let mut repetition = Repetition::new(2);
        let thrice: &[_] = &[("one", json!({})), ("one", json!({})), ("one", json!({}))];
        assert_eq!(
            turns(&mut repetition, &[thrice]),
            [Repeated::Fine, Repeated::Fine, Repeated::TooOften(3)]
        );
    }
}
