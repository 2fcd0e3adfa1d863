//! The interrupted tasks of a session, read from its steps.

use tokio_util::sync::CancellationToken;

use super::{board::TaskBoard, graph::TaskGraph};
use crate::{
    exchange::{CANCELLED_REPLY, TaskState},
    session::{Step, TaskFinished},
};

impl TaskGraph {
    /// Reads the tasks of the last request from the steps of a session. Returns `None` if no tasks were
    /// interrupted.
    pub(crate) fn from_steps<'a>(steps: impl Iterator<Item = &'a Step>) -> Option<Self> {
        steps.fold(None, Self::after)
    }

    /// Applies one more step. A message, from the user or with the results, ends an earlier plan.
    fn after(graph: Option<Self>, step: &Step) -> Option<Self> {
        let mut graph = match step {
            Step::TaskPlan { tasks } => return (!tasks.is_empty()).then(|| Self::new(tasks.clone())),
            Step::Message { .. } | Step::ReplyEnded { .. } => return None,
            Step::Compacted { messages, .. } if messages.is_empty() => return None,
            Step::Compacted { rewound_to: Some(_), .. } => return None,
            Step::Interrupted { reason } if reason == CANCELLED_REPLY => return None,
            _ => graph?,
        };
        graph.apply(step);
        Some(graph)
    }

    fn apply(&mut self, step: &Step) {
        let (Step::TaskStarted { task: id, .. } | Step::TaskFinished(TaskFinished { task: id, .. })) = step
        else {
            return;
        };
        let Some(task) = self.tasks.iter_mut().find(|task| task.planned.id == *id) else { return };
        match step {
            Step::TaskStarted { session, attempt, .. } => {
                // The attempt is resumed, so it does not count yet.
                task.attempts = attempt.saturating_sub(1);
                task.session = Some(session.clone());
                task.is_resumed = true;
            }
            Step::TaskFinished(TaskFinished { end, result, usage, dollars, facts, .. }) => {
                (task.state, task.result) = (TaskState::Over(*end), result.clone());
                (task.usage, task.dollars, task.facts) = (*usage, *dollars, facts.clone());
            }
            _ => {}
        }
    }

    /// Returns a board that shows the tasks. They cannot be cancelled before they are resumed.
    pub(in crate::agents::orchestrator_agent) fn board(&self) -> TaskBoard {
        let (board, ended) = (TaskBoard::default(), CancellationToken::new());
        ended.cancel();
        board.begin(self, &ended);
        board
    }
}

#[cfg(test)]
mod tests {
    use goose_extension::Message;
    use goose_providers::Usage;

    use super::{super::graph::tests::planned, *};
    use crate::session::{Facts, TaskEnd};

    fn plan() -> Step {
        Step::TaskPlan { tasks: vec![planned("1", &[], &[]), planned("2", &["1"], &[])] }
    }

    fn interrupted(reason: &str) -> Step {
        Step::Interrupted { reason: reason.to_owned() }
    }

    #[test]
    fn what_was_done_before_goose_was_ended_is_kept() {
        let steps = [
            Step::Message { message: Message::user("Do both") },
            plan(),
            Step::TaskStarted { task: "1".to_owned(), session: "20261115_2".parse().unwrap(), attempt: 1 },
            Step::TaskFinished(TaskFinished {
                task: "1".to_owned(),
                end: TaskEnd::Done,
                result: "One.".to_owned(),
                usage: Usage { input: 3, ..Usage::default() },
                dollars: None,
                facts: Facts::default(),
            }),
            Step::TaskStarted { task: "2".to_owned(), session: "20261115_3".parse().unwrap(), attempt: 2 },
            interrupted("goose was ended"),
        ];
        let graph = TaskGraph::from_steps(steps.iter()).unwrap();
        assert_eq!(graph.tasks[0].result(), Some("One."));
        assert_eq!(graph.spent(), (Usage { input: 3, ..Usage::default() }, None));
        assert_eq!(graph.ready(), Some(1));
        assert_eq!(graph.tasks[1].attempts, 1);
        assert_eq!(graph.tasks[1].session, Some("20261115_3".parse().unwrap()));
        assert!(graph.tasks[1].is_resumed);
    }

    #[test]
    fn a_plan_is_over_when_it_was_answered_cancelled_or_dropped() {
        let ends = [
            Step::Message { message: Message::user("Something else") },
            Step::ReplyEnded { outcome: "done".to_owned() },
            interrupted(CANCELLED_REPLY),
            Step::compacted(Vec::new()),
            Step::TaskPlan { tasks: Vec::new() },
        ];
        for end in ends {
            assert!(TaskGraph::from_steps([&plan(), &end].into_iter()).is_none(), "{end:?}");
        }
        assert!(TaskGraph::from_steps([&plan()].into_iter()).is_some());
    }
}
