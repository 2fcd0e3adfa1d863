//! Everyday requests: what must not be split, what an agent needs for them, and whose work they clearly are.

use std::{fs, path::Path};

use anyhow::Context as _;
use goose::agents::{
    manifest::AgentMode,
    orchestrator_agent::{Route, SessionAgent},
};
use serde::Deserialize;

use crate::{Bar, Bench, DEFAULT, Report, share};

/// A request with what is right for it.
#[derive(Deserialize)]
struct Case {
    text: String,
    /// Requests of the session before it.
    #[serde(default)]
    before: Vec<String>,
    needs: Vec<Need>,
    /// Count of independent jobs in an explicit list; else 1.
    tasks: usize,
    /// The mode whose work it clearly is, or `none`.
    specialist: String,
    /// It names the specialist in its own words.
    #[serde(default)]
    named: bool,
}

/// Something that an agent must be able to do.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Need {
    Look,
    Documents,
    Edit,
    Run,
    Fetch,
}

impl Need {
    /// Returns true if a mode can do it, by its groups in the README's table.
    fn is_met(self, mode: &AgentMode) -> bool {
        let has = |group: &str| mode.has_group(group) || mode.has_group("developer");
        let edits_all =
            mode.tool_groups.iter().any(|access| access.group == "edit" && access.files.is_none());
        match self {
            Self::Look => has("read"),
            Self::Documents => has("edit"),
            Self::Edit => edits_all || mode.has_group("developer"),
            Self::Run => has("command"),
            Self::Fetch => has("command") || mode.has_group("fetch"),
        }
    }
}

/// Counts over a set.
#[derive(Default)]
pub(crate) struct Everyday {
    requests: usize,
    split: usize,
    unable: usize,
    lists: usize,
    offered: usize,
    specialists: usize,
    right: usize,
    wrong: usize,
    named: usize,
    reached: usize,
}

impl Everyday {
    /// Routes the requests of a set.
    pub(crate) fn run(&mut self, bench: &mut Bench<'_>, path: &Path) -> anyhow::Result<()> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let cases: Vec<Case> =
            serde_saphyr::from_str(&text).with_context(|| format!("cannot read {}", path.display()))?;
        let mut counts = Self::default();
        for case in &cases {
            counts.add(bench, case)?;
        }
        println!(
            "{} requests of {}: {} split, {} beyond their agent, {} of {} lists offered",
            cases.len(),
            path.display(),
            counts.split,
            counts.unable,
            counts.offered,
            counts.lists
        );
        self.requests += counts.requests;
        self.split += counts.split;
        self.unable += counts.unable;
        self.lists += counts.lists;
        self.offered += counts.offered;
        self.specialists += counts.specialists;
        self.right += counts.right;
        self.wrong += counts.wrong;
        self.named += counts.named;
        self.reached += counts.reached;
        Ok(())
    }

    /// Judges all sets together.
    pub(crate) fn judge(&self, report: &mut Report) {
        let all = self.requests;
        report.judge("split that should not be", share(self.split, all), "%", Bar::Below(1.01));
        report.judge("answered by a mode that can", 100.0 - share(self.unable, all), "%", Bar::AtLeast(99.0));
        report.judge("lists offered as tasks", share(self.offered, self.lists), "%", Bar::AtLeast(70.0));
        let chosen = self.right + self.wrong;
        report.judge("specialists that are right", share(self.right, chosen), "%", Bar::AtLeast(90.0));
        report.note("work of a specialist that reaches it", share(self.right, self.specialists), "%");
        report.note("named specialists that are reached", share(self.reached, self.named), "%");
    }

    fn add(&mut self, bench: &mut Bench<'_>, case: &Case) -> anyhow::Result<()> {
        let route = replay(bench, case)?;
        let (_, mode) = bench.catalog.find(&route.id())?;
        self.requests += 1;
        let is_split = route.tasks.len() > 1;
        if case.tasks == 1 && is_split {
            self.split += 1;
            bench.miss(&case.text, "one task", &format!("{} tasks", route.tasks.len()));
        }
        if case.tasks > 1 {
            self.lists += 1;
            self.offered += usize::from(route.tasks.len() == case.tasks);
            if route.tasks.len() != case.tasks {
                bench.miss(&case.text, &format!("{} tasks", case.tasks), &route.tasks.len().to_string());
            }
        } else if !case.needs.iter().all(|need| need.is_met(&mode) || is_met_by_step(*need, &route)) {
            self.unable += 1;
            bench.miss(&case.text, "a mode that can", &route.id());
        }
        if case.specialist == "none" || case.tasks > 1 {
            return Ok(());
        }
        let is_right = route.mode == case.specialist;
        if case.named {
            self.named += 1;
            self.reached += usize::from(is_right);
        } else if case.before.is_empty() {
            self.specialists += 1;
            self.right += usize::from(is_right);
            self.wrong += usize::from(!is_right && route.id() != DEFAULT);
        }
        if !is_right {
            bench.miss(&case.text, &case.specialist, &format!("{} ({})", route.id(), route.reason));
        }
        Ok(())
    }
}

/// Returns true for a need that another step of the request meets: an agent looks around before a plan is written, and
/// the session's agent goes on after the orchestrator.
fn is_met_by_step(need: Need, route: &Route) -> bool {
    match route.mode.as_str() {
        "planner" => matches!(need, Need::Look),
        "orchestrator" => route.is_once,
        _ => false,
    }
}

/// The route of a request after those before it in its session.
fn replay(bench: &mut Bench<'_>, case: &Case) -> anyhow::Result<Route> {
    let mut session: Option<SessionAgent> = None;
    for text in &case.before {
        let route = bench.route_in(session.as_ref(), text)?;
        let kept = if route.is_once { None } else { Some(route.id()) };
        if session.is_none() || kept.is_some() {
            let (manifest, mode) = bench.catalog.find(kept.as_deref().unwrap_or(DEFAULT))?;
            session = Some(SessionAgent::new(&manifest, &mode));
        }
    }
    bench.route_in(session.as_ref(), case.text.trim_end())
}
