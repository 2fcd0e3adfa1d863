//! [`TaskGraph`]: the tasks of a request, and their state.

use std::sync::Arc;

use goose_providers::Usage;

use crate::{
    exchange::{TaskState, TaskWrites},
    session::{Facts, PlannedTask, SessionId, TaskEnd},
};

/// Maximum number of attempts at a task.
const MAX_ATTEMPTS: u32 = 2;

/// The tasks of a request. Each comes after the tasks that it depends on.
#[derive(Debug)]
pub(crate) struct TaskGraph {
    pub(super) tasks: Vec<GraphTask>,
    /// Reason why no more tasks are started.
    pub(super) stopped: Option<String>,
    /// Files that the running tasks have changed.
    pub(super) writes: Arc<TaskWrites>,
}

/// A task and its state.
#[derive(Debug)]
pub(super) struct GraphTask {
    pub(super) planned: PlannedTask,
    pub(super) state: TaskState,
    /// Result once it is over, or the reason why there is none.
    pub(super) result: String,
    /// Number of attempts that were started.
    pub(super) attempts: u32,
    /// Reason why the last attempt failed.
    pub(super) failure: Option<String>,
    /// Session of the last attempt.
    pub(super) session: Option<SessionId>,
    /// True if that session is resumed, because goose ended during the task.
    pub(super) is_resumed: bool,
    /// Tokens of all attempts.
    pub(super) usage: Usage,
    /// Price of all attempts, if it is known.
    pub(super) dollars: Option<f64>,
    /// Facts of all attempts.
    pub(super) facts: Facts,
}

impl GraphTask {
    fn new(planned: PlannedTask) -> Self {
        Self {
            planned,
            state: TaskState::Waiting,
            result: String::new(),
            attempts: 0,
            failure: None,
            session: None,
            is_resumed: false,
            usage: Usage::default(),
            dollars: Some(0.0),
            facts: Facts::default(),
        }
    }

    /// Returns how the task ended and its result, once it is over.
    pub(super) fn ended(&self) -> Option<(TaskEnd, &str)> {
        match self.state {
            TaskState::Over(end) => Some((end, &self.result)),
            _ => None,
        }
    }

    /// Returns the result, if the task is done.
    pub(super) fn result(&self) -> Option<&str> {
        self.ended().filter(|(end, _)| *end == TaskEnd::Done).map(|(_, result)| result)
    }

    pub(super) fn may_be_tried_again(&self) -> bool {
        self.attempts < MAX_ATTEMPTS
    }

    /// Adds the usage of an attempt.
    pub(super) fn spend(&mut self, usage: Usage, dollars: Option<f64>) {
        self.usage += usage;
        self.dollars = self.dollars.zip(dollars).map(|(sum, more)| sum + more);
    }
}

impl TaskGraph {
    pub(super) fn new(tasks: Vec<PlannedTask>) -> Self {
        Self { tasks: tasks.into_iter().map(GraphTask::new).collect(), stopped: None, writes: Arc::default() }
    }

    pub(super) fn find(&self, id: &str) -> Option<&GraphTask> {
        self.tasks.iter().find(|task| task.planned.id == id)
    }

    /// Returns the tasks that are over.
    pub(super) fn over(&self) -> impl Iterator<Item = &GraphTask> {
        self.tasks.iter().filter(|task| task.ended().is_some())
    }

    /// Returns the position of a task that can start now.
    pub(super) fn ready(&self) -> Option<usize> {
        self.tasks.iter().position(|task| {
            let mut before = task.planned.needs.iter().chain(&task.planned.after);
            let is_over = |id: &String| self.find(id).is_none_or(|task| task.ended().is_some());
            task.state == TaskState::Waiting && self.stopped.is_none() && before.all(is_over)
        })
    }

    /// Returns the position of a task that cannot run any more, and the reason.
    pub(super) fn hopeless(&self) -> Option<(usize, String)> {
        self.tasks.iter().enumerate().find_map(|(at, task)| {
            if task.state != TaskState::Waiting {
                return None;
            }
            let missing = |id: &String| {
                let (end, _) = self.find(id)?.ended().filter(|(end, _)| *end != TaskEnd::Done)?;
                Some(format!("It needs the result of task {id}, which is {}.", end.word()))
            };
            let reason = task.planned.needs.iter().find_map(missing);
            Some((at, reason.or_else(|| self.stopped.clone())?))
        })
    }

    /// Returns the tokens of all tasks, and their price if it is known.
    pub(super) fn spent(&self) -> (Usage, Option<f64>) {
        self.tasks.iter().fold((Usage::default(), Some(0.0)), |(mut usage, dollars), task| {
            usage += task.usage;
            (usage, dollars.zip(task.dollars).map(|(sum, more)| sum + more))
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn planned(id: &str, needs: &[&str], after: &[&str]) -> PlannedTask {
        let owned = |ids: &[&str]| ids.iter().map(|&id| id.to_owned()).collect();
        PlannedTask {
            id: id.to_owned(),
            agent: "goose-agent".to_owned(),
            mode: "assistant".to_owned(),
            text: format!("Do {id}"),
            needs: owned(needs),
            after: owned(after),
        }
    }

    fn end(graph: &mut TaskGraph, at: usize, end: TaskEnd) {
        graph.tasks[at].state = TaskState::Over(end);
    }

    #[test]
    fn a_task_waits_for_those_before_it_and_needs_their_results() {
        let mut graph = TaskGraph::new(vec![
            planned("1", &[], &[]),
            planned("2", &["1"], &[]),
            planned("3", &[], &["1"]),
            planned("4", &["2"], &[]),
        ]);
        assert_eq!(graph.ready(), Some(0));
        graph.tasks[0].state = TaskState::Running;
        assert_eq!((graph.ready(), graph.hopeless()), (None, None));
        end(&mut graph, 0, TaskEnd::Failed);
        let (at, reason) = graph.hopeless().unwrap();
        assert_eq!((at, reason.as_str()), (1, "It needs the result of task 1, which is failed."));
        end(&mut graph, 1, TaskEnd::NotRun);
        assert_eq!(graph.hopeless().unwrap().0, 3, "what needs a task that was not run is not run");
        end(&mut graph, 3, TaskEnd::NotRun);
        assert_eq!(graph.ready(), Some(2), "a task that only waits runs whatever the end");
        graph.stopped = Some("Enough.".to_owned());
        assert_eq!((graph.ready(), graph.hopeless()), (None, Some((2, "Enough.".to_owned()))));
    }
}
