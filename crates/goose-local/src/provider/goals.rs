//! [`Goals`]: what requests asked for, as the model said with its first calls.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use super::tools::Goal;

/// The most calls that are remembered. Whoever comes back after so many is asked again.
const MAX_REMEMBERED: usize = 10_000;

/// The goals by the ids of the calls that stated them. They last as long as the process: without one the model states it again.
#[derive(Debug, Clone, Default)]
pub(super) struct Goals(Arc<Mutex<HashMap<String, Goal>>>);

impl Goals {
    pub(super) fn get(&self, call: &str) -> Option<Goal> {
        self.0.lock().get(call).copied()
    }

    pub(super) fn set(&self, call: &str, goal: Goal) {
        let mut goals = self.0.lock();
        if goals.len() >= MAX_REMEMBERED {
            goals.clear();
        }
        goals.insert(call.to_owned(), goal);
    }
}
