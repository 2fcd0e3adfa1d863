//! Texts for models: the prompt of a task, the results to join, and the answer if no model joins them.

use std::{fmt::Write as _, sync::Arc};

use goose_extension::Message;

use super::graph::{GraphTask, TaskGraph};
use crate::{
    context::{Handover, handover::cut},
    session::TaskEnd,
};

/// Maximum size of a result in the prompt of another task or of the final answer.
const MAX_RESULT_BYTES: usize = 16_000;

/// Minimum size of a result, even if the context is small.
const MIN_RESULT_BYTES: usize = 500;

/// Divisor of the context limit that gives the share for all results together.
const RESULT_SHARE: u64 = 3;

/// Maximum size of a failure reason in the prompt of a second attempt.
const MAX_REASON_BYTES: usize = 4_000;

/// Approximate number of bytes per token.
const TOKEN_BYTES: u64 = 4;

/// Request for one answer.
const JOIN: &str = "Write one answer to the request from these results. Say which agent did what. Name what failed, was \
                    cancelled or was not run, with the reason. Do not repeat the work, and do not claim more than the \
                    results say.";

/// Returns the prompt of a task: its words, marked within the complete request, the conversation before it,
/// the results of its dependencies, and the reason why an earlier attempt failed.
pub(super) fn prompt(graph: &TaskGraph, task: &GraphTask, messages: &[Arc<Message>]) -> Handover {
    let text = task.planned.text.as_str();
    let mut prompt = Handover::new(text).with_session(messages, Some(text));
    let needed = task.planned.needs.iter().chain(&task.planned.after).filter_map(|id| graph.find(id));
    for (needed, result) in needed.filter_map(|needed| Some((needed, needed.result()?))) {
        let heading = format!("\nResult of the earlier task \"{}\":\n\n", needed.planned.text);
        prompt = prompt.with(heading, result.trim_end(), MAX_RESULT_BYTES);
    }
    if let Some(failure) = &task.failure {
        let heading = "\nAn earlier attempt at this task failed. Its error:\n\n";
        prompt = prompt.with(heading, failure.trim_end(), MAX_REASON_BYTES);
    }
    prompt
}

/// Returns the message that asks for one answer.
pub(super) fn join_prompt(graph: &TaskGraph, context_limit: u64) -> String {
    format!(
        "The request was split into tasks, which have finished.\n\n{}{JOIN}",
        results(graph, context_limit)
    )
}

/// Returns the message about interrupted tasks that are not resumed, or `None` if they have done nothing.
pub(super) fn interrupted_report(graph: &TaskGraph) -> Option<String> {
    let has_worked = |task: &GraphTask| {
        task.ended().is_some_and(|(end, _)| matches!(end, TaskEnd::Done | TaskEnd::Failed))
    };
    let results = graph.over().any(has_worked).then(|| results(graph, u64::MAX))?;
    Some(format!(
        "An earlier request was split into tasks, and interrupted before all were over.\n\n{results}"
    ))
}

/// Returns the results of the tasks under headings, cut to fit.
pub(super) fn results(graph: &TaskGraph, context_limit: u64) -> String {
    let limit = result_limit(graph.over().count(), context_limit);
    let mut text = String::new();
    for task in &graph.tasks {
        let (end, result) = task.ended().map_or(("not finished", ""), |(end, result)| (end.word(), result));
        let (id, agent) = (&task.planned.id, task.planned.agent_id());
        let _ = write!(text, "## Task {id} ({agent}): {end}\n\n{}\n\n", task.planned.text);
        let _ = write!(text, "Result:\n\n{}\n\n", cut(result.trim_end(), limit));
    }
    text
}

/// Returns the answer if no model joins the results.
pub(super) fn headings(graph: &TaskGraph) -> String {
    let parts = graph.tasks.iter().map(|task| {
        let (end, result) = task.ended().unwrap_or((TaskEnd::NotRun, ""));
        let (id, agent, text) = (&task.planned.id, task.planned.agent_id(), &task.planned.text);
        format!("## {id}. {text} ({agent}: {})\n\n{}\n", end.word(), result.trim_end())
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// Returns the maximum size of each result for a number of results.
fn result_limit(count: usize, context_limit: u64) -> usize {
    let room = (context_limit / RESULT_SHARE).saturating_mul(TOKEN_BYTES) / count.max(1) as u64;
    usize::try_from(room).unwrap_or(usize::MAX).clamp(MIN_RESULT_BYTES, MAX_RESULT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::{super::graph::tests::planned, *};
    use crate::exchange::TaskState;

    fn graph(result: &str) -> TaskGraph {
        let mut graph = TaskGraph::new(vec![
            planned("1", &[], &[]),
            planned("2", &["1"], &[]),
            planned("3", &[], &["1"]),
        ]);
        (graph.tasks[0].state, graph.tasks[0].result) = (TaskState::Over(TaskEnd::Done), result.to_owned());
        graph
    }

    #[test]
    fn a_task_is_told_its_words_within_the_whole_and_the_results_that_it_waits_for() {
        let graph = graph("One is done.");
        let session = [
            Message::user("Use tabs."),
            Message::assistant("I will."),
            Message::user("Keep the style:\n- Do 1\n- Do 2\n- Do 3"),
        ];
        let session: Vec<_> = session.into_iter().map(Arc::new).collect();
        let told = prompt(&graph, &graph.tasks[1], &session).text();
        assert!(told.starts_with("Your task:\n\nDo 2\n"), "{told}");
        for expected in [
            "Keep the style:\n- Do 1\n- >>> Do 2 <<<\n- Do 3",
            "User: Use tabs.\nAssistant: I will.",
            "Result of the earlier task \"Do 1\":\n\nOne is done.\n",
        ] {
            assert!(told.contains(expected), "{told}");
        }
        let after = prompt(&graph, &graph.tasks[2], &[]).text();
        assert!(after.contains("One is done."), "it waits for the same file: {after}");
    }

    #[test]
    fn results_are_capped() {
        let graph = graph(&"A line of the result.\n".repeat(2_000));
        let prompt = prompt(&graph, &graph.tasks[1], &[]).text();
        assert!(prompt.len() < MAX_RESULT_BYTES + 200 && prompt.contains("(Cut here;"), "{}", prompt.len());
        let small = results(&graph, 2_000);
        assert!((small.len() as u64) < 2_000 / RESULT_SHARE * TOKEN_BYTES + 300, "{}", small.len());
    }
}
