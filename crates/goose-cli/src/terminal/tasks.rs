//! The tasks of a request at the terminal: the plan, a line for each beginning and end, and a list of those that run.

use std::time::Instant;

use goose::{
    exchange::{Event, PlanDecision, TaskPlan, ToolEnd},
    session::{PlannedTask, TaskEnd, TaskFinished},
};
use goose_extension::JsonObject;

use super::{
    approval::Said,
    input::{InputEvent, Turn},
    log_entry::rendered,
    size::fitted,
    status::{Activity, dollars, seconds, tokens},
    tool_call::{self, Fold},
};
use crate::{
    escape,
    output::{BAD, FAINT, GOOD, NAME, WARNING},
};

/// Tasks that are shown in the live list.
const MAX_LIVE: usize = 8;

/// The tasks of the request under way.
#[derive(Debug, Default)]
pub(crate) struct TaskList {
    tasks: Vec<Task>,
}

#[derive(Debug)]
struct Task {
    planned: PlannedTask,
    /// While it runs.
    running: Option<(Activity, Instant)>,
    /// Its calls that run, with their arguments, and whether they have shown something.
    calls: Vec<(String, JsonObject, bool)>,
}

impl TaskList {
    /// The lines that an event is shown with; none where it only changes the live list.
    pub(crate) fn lines(&mut self, event: &Event, width: usize, is_full: bool) -> Vec<String> {
        match event {
            Event::TaskPlan(plan) => self.plan(plan, width),
            Event::TaskStarted { task, attempt, .. } => {
                self.begin(task);
                let again = if *attempt > 1 { " again" } else { "" };
                vec![format!("{WARNING}▸{WARNING:#} {} started{again}", self.name(task))]
            }
            Event::TaskProgress { task, event } => {
                let fold = if is_full { Fold::Open } else { Fold::Folded };
                let lines = self.progress(task, event, width.saturating_sub(4), fold);
                lines
                    .into_iter()
                    .map(|line| format!("{FAINT}{} │{FAINT:#} {line}", escape::line(task)))
                    .collect()
            }
            Event::TaskRetried { task, reason } => {
                let reason = gist(reason, is_full);
                vec![format!("{WARNING}! {} failed and is tried again: {reason}{WARNING:#}", self.name(task))]
            }
            Event::TaskFinished(TaskFinished { task, end, result, usage, dollars, facts }) => {
                let spent = self.end(task).map(seconds);
                let cost = (usage.total() > 0).then(|| cost(usage.total(), *dollars));
                let about: Vec<String> = spent.into_iter().chain(cost).collect();
                let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
                let name = self.name(task);
                let line = match end {
                    TaskEnd::Done => format!("{GOOD}✓{GOOD:#} {name} done{FAINT}{about}{FAINT:#}"),
                    end => {
                        format!("{BAD}✗{BAD:#} {name} {}{about}: {}", end.word(), gist(result, is_full))
                    }
                };
                let known = facts.summary();
                let known = known.map(|known| format!("  {FAINT}{}{FAINT:#}", escape::line(&known)));
                [line].into_iter().chain(known).collect()
            }
            Event::TasksFinished { usage, dollars } => {
                let count = std::mem::take(&mut self.tasks).len();
                vec![format!("{FAINT}{count} tasks: {}{FAINT:#}", cost(usage.total(), *dollars))]
            }
            _ => Vec::new(),
        }
    }

    /// The lines of what a task does: its calls, what they show, and their results, as elsewhere.
    fn progress(&mut self, id: &str, event: &Event, width: usize, fold: Fold) -> Vec<String> {
        let Some(task) = self.tasks.iter_mut().find(|task| task.planned.id == id) else { return Vec::new() };
        match event {
            Event::ToolStarted { id: call, name, arguments } => {
                let title = tool_call::title(name, arguments, width);
                task.calls.push((call.clone(), arguments.clone(), false));
                self.doing(id, &anstream::adapter::strip_str(&title).to_string());
                vec![title]
            }
            Event::Log { call, content } => {
                let call = task.calls.iter_mut().find(|(known, ..)| Some(known) == call.as_ref());
                if call.as_ref().is_some_and(|(_, arguments, _)| tool_call::repeats_title(content, arguments))
                {
                    return Vec::new();
                }
                call.into_iter().for_each(|(.., has_shown)| *has_shown = true);
                rendered(content)
            }
            Event::ToolFinished { id: call, output, end, .. } => {
                let at = task.calls.iter().position(|(known, ..)| known == call);
                let has_shown = at.map(|at| task.calls.remove(at)).is_some_and(|(.., has_shown)| has_shown);
                match has_shown && *end == ToolEnd::Ran && !output.is_error {
                    true => Vec::new(),
                    false => tool_call::result(output, *end, fold, width),
                }
            }
            _ => Vec::new(),
        }
    }

    fn plan(&mut self, plan: &TaskPlan, width: usize) -> Vec<String> {
        self.tasks = plan
            .tasks
            .iter()
            .map(|task| Task { planned: task.clone(), running: None, calls: Vec::new() })
            .collect();
        let count = plan.tasks.len();
        let about = match plan.is_question {
            true => format!(
                "{NAME}This can run as {count} tasks, side by side.{NAME:#} {FAINT}--split, --no-split or orchestrator.split decide \
                 it without a question.{FAINT:#}"
            ),
            false => format!("{NAME}The request has {count} tasks:{NAME:#}"),
        };
        let mut lines = vec![about];
        for task in &plan.tasks {
            let before: Vec<&str> = task.needs.iter().chain(&task.after).map(String::as_str).collect();
            let mut about = task.agent_id();
            if plan.finished.contains(&task.id) {
                about.push_str(", done before");
            } else if !before.is_empty() {
                about = format!("{about}, after {}", before.join(" and "));
            }
            let about = escape::line(&about).into_owned();
            let id = escape::line(&task.id).into_owned();
            let room = width.saturating_sub(about.chars().count() + id.len() + 8);
            let text = fitted(&one_line(&task.text), room.max(20));
            lines.push(format!("  {id}. {text}  {FAINT}({about}){FAINT:#}"));
        }
        lines
    }

    /// The lines of the live list: the tasks that run, if there are any.
    pub(crate) fn live(&self, now: Instant, width: usize) -> Vec<String> {
        let running = self.tasks.iter().filter_map(|task| task.running.as_ref());
        running.take(MAX_LIVE).map(|(activity, _)| activity.line(now, width)).collect()
    }

    /// Returns true if a task runs.
    pub(crate) fn is_running(&self) -> bool {
        self.tasks.iter().any(|task| task.running.is_some())
    }

    /// The task that asks something, if it is one of these.
    pub(crate) fn asker(&self, id: &str) -> Option<String> {
        self.find(id).map(|_| format!("{WARNING}{} asks:{WARNING:#}", self.name(id)))
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.tasks.clear();
    }

    fn find(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.planned.id == id)
    }

    fn name(&self, id: &str) -> String {
        let agent = self.find(id).map(|task| format!(" ({})", task.planned.agent_id())).unwrap_or_default();
        escape::line(&format!("Task {id}{agent}")).into_owned()
    }

    fn begin(&mut self, id: &str) {
        let now = Instant::now();
        if let Some(task) = self.tasks.iter_mut().find(|task| task.planned.id == id) {
            let what = format!("{id}. {}", one_line(&task.planned.text));
            task.running = Some((Activity::new(what, now), now));
        }
    }

    fn doing(&mut self, id: &str, what: &str) {
        if let Some(task) = self.tasks.iter_mut().find(|task| task.planned.id == id)
            && let Some((activity, _)) = &mut task.running
        {
            activity.rename(format!("{id}. {} {what}", task.planned.mode));
        }
    }

    /// Ends a task, and says how long it took.
    fn end(&mut self, id: &str) -> Option<std::time::Duration> {
        let task = self.tasks.iter_mut().find(|task| task.planned.id == id)?;
        task.running.take().map(|(_, since)| since.elapsed())
    }
}

/// The tasks to cancel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    All,
    One(String),
    None,
}

/// Asks whether a request is split into tasks. Enter leaves it as one.
pub(crate) async fn ask_plan(turn: &Turn) -> Said {
    loop {
        let decision = match turn.answer("Run as (t)asks, as (O)ne request, or (c)ancel? ").await {
            InputEvent::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
                "t" | "tasks" | "y" | "yes" => PlanDecision::Run,
                "" | "o" | "one" => PlanDecision::AsOne,
                "c" | "cancel" | "n" | "no" => PlanDecision::Cancel,
                _ => continue,
            },
            InputEvent::Ended | InputEvent::Lost => PlanDecision::Cancel,
            InputEvent::Interrupted | InputEvent::Dropped => return Said::Cancel,
        };
        return Said::Answer(decision.into());
    }
}

/// Asks which of these tasks to cancel.
pub(crate) async fn ask_which(turn: &Turn, ids: &[&str]) -> Which {
    let prompt = format!("Cancel (a)ll, one task ({}), or none (Enter)? ", escape::line(&ids.join(", ")));
    loop {
        let text = match turn.answer(&prompt).await {
            InputEvent::Text(text) => text.trim().to_ascii_lowercase(),
            _ => return Which::All,
        };
        match text.as_str() {
            "" | "none" => return Which::None,
            "a" | "all" => return Which::All,
            id if ids.contains(&id) => return Which::One(id.to_owned()),
            _ => {}
        }
    }
}

/// The first line of a reason, or all of it.
fn gist(reason: &str, is_full: bool) -> String {
    let reason = if is_full { reason } else { reason.lines().next().unwrap_or_default() };
    escape::text(reason).into_owned()
}

fn one_line(text: &str) -> String {
    escape::line(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

/// `12.3k tokens, $0.02`
fn cost(count: u64, price: Option<f64>) -> String {
    let price = price.map(|sum| format!(", {}", dollars(sum))).unwrap_or_default();
    format!("{} tokens{price}", tokens(count))
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use goose_extension::ToolOutput;
    use serde_json::json;

    use super::*;

    fn shown(list: &mut TaskList, event: serde_json::Value) -> String {
        let event: Event = serde_json::from_value(event).unwrap();
        strip_str(&list.lines(&event, 60, false).join("\n")).to_string()
    }

    fn plan() -> serde_json::Value {
        json!({"event": "task_plan", "data": {"id": "p", "is_question": false, "finished": ["1"], "tasks": [
            {"id": "1", "agent": "coding-agent", "mode": "backend", "text": "Write\u{1b} it"},
            {"id": "2", "agent": "coding-agent", "mode": "qa", "text": "Test it", "needs": ["1"]},
            {"id": "3", "agent": "a", "mode": "b", "text": "Document it", "after": ["1", "2"]},
        ]}})
    }

    #[test]
    fn a_plan_is_a_line_for_each_task() {
        let shown = shown(&mut TaskList::default(), plan());
        assert_eq!(
            shown,
            "The request has 3 tasks:\n  1. Write\\u{1b} it  (coding-agent/backend, done before)\n  \
             2. Test it  (coding-agent/qa, after 1)\n  3. Document it  (a/b, after 1 and 2)"
        );
    }

    #[test]
    fn tasks_that_run_are_listed_and_their_ends_are_a_line_each() {
        let mut list = TaskList::default();
        shown(&mut list, plan());
        let started =
            json!({"event": "task_started", "data": {"task": "2", "session": "20261115_3", "attempt": 1}});
        assert_eq!(shown(&mut list, started), "▸ Task 2 (coding-agent/qa) started");
        assert!(list.is_running() && list.live(Instant::now(), 60)[0].ends_with("2. Test it"));
        let arguments: JsonObject = json!({"command": "cargo test"}).as_object().unwrap().clone();
        let call = |event| Event::TaskProgress { task: "2".into(), event: Box::new(event) };
        let name = "developer__shell".to_owned();
        let started = call(Event::ToolStarted { id: "c".into(), name: name.clone(), arguments });
        let lines = |list: &mut TaskList, event: &Event| {
            strip_str(&list.lines(event, 60, false).join("\n")).to_string()
        };
        assert_eq!(lines(&mut list, &started), "2 │ ▸ shell  cargo test");
        let output = ToolOutput::text("all passed");
        let finished = call(Event::ToolFinished { id: "c".into(), name, output, end: ToolEnd::Ran });
        assert!(lines(&mut list, &finished).contains("all passed"));
        assert!(list.live(Instant::now(), 60)[0].ends_with("2. qa ▸ shell  cargo test"));
        let failed = json!({"event": "task_finished", "data": {"task": "2", "end": "failed",
            "result": "It broke.\nIn detail.", "usage": {"input": 1200, "output": 34}}});
        assert_eq!(
            shown(&mut list, failed),
            "✗ Task 2 (coding-agent/qa) failed (0 s, 1.2k tokens): It broke."
        );
        assert!(!list.is_running() && list.live(Instant::now(), 60).is_empty());
        assert!(list.asker("2").is_some() && list.asker("20261115_3").is_none());
    }
}
