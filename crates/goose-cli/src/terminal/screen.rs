//! [`Screen`]: the events of a reply at a terminal. The answer goes to standard output, everything else to standard
//! error.

mod calls;

use std::{io, time::Instant};

use goose::exchange::{Cost, Event, Facts, Outcome, ResultCheck};
use goose_extension::JsonObject;

use self::calls::Call;
use super::{
    answer::Answer,
    outcome::problem,
    reasoning::Reasoning,
    size,
    status::{Activity, seconds, tokens},
    tasks::TaskList,
    tool_call::Tail,
};
use crate::{
    commands::route::tier,
    escape,
    output::{BAD, FAINT, GOOD, WARNING},
    stderr,
};

/// Width of lines in files and pipes.
const FILE_COLUMNS: usize = 200;

/// A view of the events of a reply.
pub(crate) trait View {
    /// Shows an event.
    ///
    /// # Errors
    ///
    /// If it cannot be written. The reply is cancelled then.
    fn event(&mut self, event: &Event) -> io::Result<()>;

    /// Sets the lines that show what the user types meanwhile.
    fn set_typed(&mut self, _lines: Vec<String>) {}

    /// Advances what moves.
    fn tick(&mut self, _now: Instant) {}

    /// Returns true if the screen is animated and [`tick`](Self::tick) must be called.
    fn is_moving(&self) -> bool {
        false
    }

    /// Completes the screen before a question is shown, which a task may ask.
    fn before_question(&mut self, _task: Option<&str>) -> io::Result<()> {
        Ok(())
    }
}

/// The amount of detail besides the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Also the arguments and results of tools, in full.
    Full,
    /// Tools, notices and the current activity, at a terminal.
    Usual,
    /// The answer alone, and errors.
    Quiet,
}

/// Part of a reply that is shown as the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerKind {
    Text,
    /// A JSON value, and not the text.
    Structured,
    /// Nothing: the caller shows it.
    Hidden,
}

/// The terminal, or a file or pipe in its place.
#[derive(Debug)]
pub(crate) struct Screen {
    answer: Answer,
    detail: Detail,
    /// Set if decisions are shown with their reasons.
    explains: bool,
    /// Set if a change of the agent is shown.
    announces: bool,
    answer_kind: AnswerKind,
    /// True if standard error is a terminal.
    is_seen: bool,
    activity: Option<Activity>,
    tail: Tail,
    reasoning: Reasoning,
    calls: Vec<Call>,
    /// Ids and arguments of the calls in the last answer of the model.
    asked: Vec<(String, JsonObject)>,
    tasks: TaskList,
    cost: Option<Cost>,
    facts: Facts,
    /// Lines that show what the user types meanwhile.
    typed: Vec<String>,
}

impl Screen {
    /// Creates a screen for this process's terminal.
    pub(crate) fn new(detail: Detail) -> Self {
        Self {
            answer: Answer::new(),
            detail,
            explains: false,
            announces: true,
            answer_kind: AnswerKind::Text,
            is_seen: stderr::is_seen(),
            activity: None,
            tail: Tail::default(),
            reasoning: Reasoning::default(),
            calls: Vec::new(),
            asked: Vec::new(),
            tasks: TaskList::default(),
            cost: None,
            facts: Facts::default(),
            typed: Vec::new(),
        }
    }

    /// Shows decisions with their reasons, at a terminal or not.
    pub(crate) fn explaining(mut self, explains: bool) -> Self {
        self.explains = explains;
        self
    }

    /// Shows the structured answer in place of the text.
    pub(crate) fn structured(mut self, is_structured: bool) -> Self {
        self.answer_kind = if is_structured { AnswerKind::Structured } else { AnswerKind::Text };
        self
    }

    /// Leaves the answer to the caller.
    pub(crate) fn without_answer(mut self) -> Self {
        self.answer_kind = AnswerKind::Hidden;
        self
    }

    /// The last reported cost of the conversation.
    pub(crate) fn cost(&self) -> Option<&Cost> {
        self.cost.as_ref()
    }

    /// The model's reasoning of the last reply.
    pub(crate) fn reasoning(&self) -> &str {
        self.reasoning.text()
    }

    /// Sets whether a change of the agent is shown.
    pub(crate) fn set_announcing(&mut self, announces: bool) {
        self.announces = announces;
    }

    /// The amount of detail.
    pub(crate) fn detail(&self) -> Detail {
        self.detail
    }

    /// Sets the amount of detail.
    pub(crate) fn set_detail(&mut self, detail: Detail) {
        self.detail = detail;
    }

    /// Returns true if details are shown: at a terminal, and as plain lines in files and pipes.
    fn shows(&self) -> bool {
        self.detail != Detail::Quiet
    }

    /// Returns the width of a line. A file has no width.
    fn columns(&self) -> usize {
        if self.is_seen { size::columns() } else { FILE_COLUMNS }
    }

    /// Returns true if tasks and verdicts are shown with their reasons and progress.
    fn gives_reasons(&self) -> bool {
        self.explains || self.detail == Detail::Full
    }

    /// Shows a line besides the answer, where details are shown.
    fn line(&mut self, line: &str) -> io::Result<()> {
        if self.shows() { self.say(line) } else { Ok(()) }
    }

    /// Shows a line besides the answer.
    fn say(&mut self, line: &str) -> io::Result<()> {
        self.end_line()?;
        stderr::line(line);
        for call in &mut self.calls {
            call.is_last = false;
        }
        Ok(())
    }

    /// Shows a decision: its reason where that is wanted, otherwise only what changes.
    fn decision(&mut self, words: &str, reason: &str, is_change: bool) -> io::Result<()> {
        let words = escape::line(words);
        match (self.explains, is_change) {
            (true, _) => self.say(&format!("{FAINT}{words}: {}{FAINT:#}", escape::line(reason))),
            (false, true) => self.line(&format!("{FAINT}{words}.{FAINT:#}")),
            (false, false) => Ok(()),
        }
    }

    /// Returns true if lines that change may be shown now.
    fn can_move(&self) -> bool {
        self.is_seen && self.shows() && self.answer.is_at_terminal() && !self.answer.is_in_the_way()
    }

    fn end_line(&mut self) -> io::Result<()> {
        if self.answer.is_in_the_way() { self.answer.end() } else { Ok(()) }
    }

    fn begin(&mut self, what: impl Into<String>) {
        self.activity = Some(Activity::new(what, Instant::now()));
        self.tail = Tail::default();
        self.reasoning.pause();
        self.tick(Instant::now());
    }

    fn stop(&mut self) {
        self.activity = None;
        if self.is_seen {
            stderr::end_status();
        }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.activity = None;
        self.answer.push(text)?;
        self.show_typed_below();
        Ok(())
    }

    /// Shows what the user types below an incomplete line of the answer.
    fn show_typed_below(&self) {
        if let Some(column) = self.answer.column().filter(|_| self.is_seen && self.shows()) {
            let width = size::columns() - 1;
            let lines = self.typed.iter().map(|line| size::fitted(line, width));
            stderr::status_below(&lines.collect::<Vec<_>>(), width, column);
        }
    }

    /// Shows an event of a task. In pipes as well: it says who works, and at what.
    fn task(&mut self, event: &Event) -> io::Result<()> {
        let lines = self.tasks.lines(event, size::columns(), self.gives_reasons());
        if self.detail != Detail::Quiet {
            for line in lines {
                self.say(&line)?;
            }
        }
        match (self.tasks.is_running(), self.activity.is_some()) {
            (true, false) => self.begin("working on the tasks"),
            (false, true) => self.stop(),
            _ => {}
        }
        Ok(())
    }

    /// Shows the verdict on a result.
    fn checked(&mut self, judgement: &ResultCheck) -> io::Result<()> {
        if self.detail == Detail::Quiet {
            return Ok(());
        }
        let reasons = escape::line(&judgement.reasons.join(" ")).into_owned();
        match judgement.pass {
            true if self.gives_reasons() => self.say(&format!("{GOOD}✓{GOOD:#} Check passed. {reasons}")),
            true => self.say(&format!("{GOOD}✓{GOOD:#} Check passed.")),
            false => self.say(&format!("{BAD}✗{BAD:#} Check failed: {reasons}")),
        }
    }

    fn finished(&mut self, outcome: &Outcome) -> io::Result<()> {
        self.stop();
        self.calls.clear();
        self.tasks.clear();
        self.answer.end()?;
        if let Some(problem) = problem(outcome) {
            stderr::error(&problem);
        }
        self.tell_facts(outcome)?;
        if let Outcome::Done { structured: Some(value) } = outcome
            && self.answer_kind == AnswerKind::Structured
        {
            let json = serde_json::to_string_pretty(value)?;
            self.answer.write_plainly(&escape::json(&json))?;
        }
        Ok(())
    }

    /// Says what goose knows, after what the model says. Where details are shown, changes and refused calls were seen
    /// already.
    fn tell_facts(&mut self, outcome: &Outcome) -> io::Result<()> {
        let facts = std::mem::take(&mut self.facts);
        if self.detail == Detail::Quiet || *outcome == Outcome::Cancelled {
            return Ok(());
        }
        if self.is_seen
            && let Some(line) = facts.nothing_was_run()
        {
            self.say(&format!("{FAINT}{line}{FAINT:#}"))?;
        }
        match if self.is_seen { facts.failure() } else { facts.summary() } {
            Some(line) => self.say(&format!("{WARNING}{}{WARNING:#}", escape::line(&line))),
            None => Ok(()),
        }
    }

    /// Shows a decision of the orchestrator before the model is asked.
    fn orchestrated(&mut self, event: &Event) -> io::Result<()> {
        let line = match event {
            Event::Routed { agent, mode, confidence, by, reason, is_switch } => {
                let reason = format!("{reason} ({})", tier(*by, *confidence));
                let is_change = *is_switch && self.announces;
                return self.decision(&format!("{agent}/{mode} answers"), &reason, is_change);
            }
            Event::HandedBack { agent, mode, reason } => {
                format!("{FAINT}{agent}/{mode} hands back: {}{FAINT:#}", escape::line(reason))
            }
            Event::Recalled { sessions, bytes } => {
                let sessions: Vec<String> = sessions.iter().map(ToString::to_string).collect();
                let sessions = escape::line(&sessions.join(", ")).into_owned();
                format!("{FAINT}The model also gets {bytes} bytes from session {sessions}.{FAINT:#}")
            }
            _ => return Ok(()),
        };
        if self.explains { self.say(&line) } else { self.line(&line) }
    }
}

impl View for Screen {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        event.add_to(&mut self.facts);
        match event {
            Event::Routed { .. } | Event::HandedBack { .. } | Event::Recalled { .. } => {
                self.orchestrated(event)?;
            }
            Event::Asking { turn } => {
                if *turn <= 1 {
                    self.reasoning.clear();
                }
                self.begin("thinking");
            }
            Event::Text(_) if self.answer_kind != AnswerKind::Text => {}
            Event::Text(text) => self.text(text)?,
            Event::Thinking(text) => self.reasoning.push(text),
            Event::Retrying { reason, delay, attempt } => {
                let (reason, delay) = (escape::line(reason).into_owned(), seconds(*delay));
                self.line(&format!("{WARNING}{reason}; retrying in {delay} (attempt {attempt}){WARNING:#}"))?;
                self.begin("waiting");
            }
            Event::Restarted => {
                self.answer.end()?;
                self.line(&format!("{FAINT}(The answer was interrupted and starts again:){FAINT:#}"))?;
            }
            Event::Answered(message) => self.answered(message)?,
            Event::ToolStarted { id, name, arguments } => self.tool_started(id, name, arguments)?,
            Event::ToolProgress { message, .. } => self.tail.push_report(message),
            Event::Log { call, content } => self.log(call.as_deref(), content)?,
            Event::Status { call, message } => self.status(call.as_deref(), message),
            Event::ToolFinished { id, name, output, end } => self.tool_finished(id, name, output, *end)?,
            Event::Cost(cost) => self.cost = Some(*cost),
            Event::Compacted { before, after } => {
                let (before, after) = (tokens(*before), tokens(*after));
                self.line(&format!("{FAINT}Compacted older messages: {before} → {after} tokens.{FAINT:#}"))?;
            }
            Event::Notice(notice) if self.detail != Detail::Quiet => {
                self.say(&format!("{WARNING}{}{WARNING:#}", escape::text(notice)))?;
            }
            Event::Lagged { missed } => {
                self.line(&format!("{FAINT}({missed} events came too fast to be shown.){FAINT:#}"))?;
            }
            Event::TaskPlan(_)
            | Event::TaskStarted { .. }
            | Event::TaskProgress { .. }
            | Event::TaskRetried { .. }
            | Event::TaskFinished(_)
            | Event::TasksFinished { .. } => self.task(event)?,
            Event::Checked(judgement) => self.checked(judgement)?,
            Event::Finished(outcome) => self.finished(outcome)?,
            _ => {}
        }
        Ok(())
    }

    fn tick(&mut self, now: Instant) {
        let width = size::columns() - 1;
        let typed = self.typed.iter().map(|line| size::fitted(line, width));
        let Some(activity) = self.activity.as_ref().filter(|_| self.is_moving()) else {
            match self.can_move() {
                _ if self.typed.is_empty() => {}
                true => stderr::status_lines(&typed.collect::<Vec<_>>(), width),
                false => self.show_typed_below(),
            }
            return;
        };
        let shown = self.reasoning.newest_lines(width.saturating_sub(2)).into_iter();
        let shown = shown.chain(self.tail.lines().into_iter().map(str::to_owned));
        let tail: Vec<String> =
            shown.map(|line| size::fitted(&format!("  {}", escape::line(&line)), width)).collect();
        let live = self.tasks.live(now, width);
        if !live.is_empty() {
            return stderr::status_lines(&live.into_iter().chain(typed).collect::<Vec<_>>(), width);
        }
        let now = activity.line(now, width);
        stderr::status_lines(&tail.into_iter().chain([now]).chain(typed).collect::<Vec<_>>(), width);
    }

    fn set_typed(&mut self, lines: Vec<String>) {
        if lines.is_empty() && !self.typed.is_empty() {
            stderr::end_status();
        }
        self.typed = lines;
    }

    /// Nothing moves where the answer goes through a pipe, which may end at the same terminal: it would erase what the
    /// other program writes.
    fn is_moving(&self) -> bool {
        self.activity.is_some() && self.can_move()
    }

    fn before_question(&mut self, task: Option<&str>) -> io::Result<()> {
        self.stop();
        if let Some(asker) = task.and_then(|task| self.tasks.asker(task)) {
            self.say(&asker)?;
        }
        self.answer.end()
    }
}
