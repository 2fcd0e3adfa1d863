//! [`Report`]: the findings of a review, their schema, and what is printed.

use std::{collections::BTreeMap, io, process::ExitCode};

use anstyle::Style;
use anyhow::Context as _;
use goose::session::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::change::{Change, LeftOut};
use crate::{
    args::JsonArgs,
    escape,
    output::{self, BAD, FAINT, GOOD, NAME, Output, WARNING, counted},
};

/// Maximum number of findings.
const MAX_FINDINGS: usize = 100;

/// Maximum length of a title, and of other texts of the model.
const MAX_TITLE: usize = 200;
const MAX_TEXT: usize = 4_000;

/// Subject of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "scope", content = "range")]
pub(super) enum Scope {
    /// Everything that is not committed.
    WorkingTree,
    /// Staged changes.
    Staged,
    /// A range of commits, or the working tree compared with a revision.
    Range(String),
}

impl Scope {
    /// Returns the words for the change.
    pub(super) fn words(&self) -> String {
        match self {
            Self::WorkingTree => "the uncommitted changes".to_owned(),
            Self::Staged => "the staged changes".to_owned(),
            Self::Range(range) => format!("the changes of {}", escape::line(range)),
        }
    }

    /// Says that there is nothing to review.
    fn nothing(&self) -> String {
        match self {
            Self::WorkingTree => "Nothing to review: there are no uncommitted changes.".to_owned(),
            Self::Staged => "Nothing to review: nothing is staged.".to_owned(),
            Self::Range(range) => format!("Nothing to review: {} has no changes.", escape::line(range)),
        }
    }
}

/// The severity of a finding, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Critical,
    High,
    Medium,
    Low,
}

impl Severity {
    const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Medium, Self::Low];

    fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Critical | Self::High => BAD,
            Self::Medium => WARNING,
            Self::Low => FAINT,
        }
    }
}

/// A defect that the model reports.
#[derive(Debug, Serialize, Deserialize)]
struct Finding {
    file: String,
    line: u64,
    severity: Severity,
    title: String,
    explanation: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suggestion: Option<String>,
    /// True if the line changed.
    #[serde(default)]
    in_change: bool,
}

/// The answer of the model.
#[derive(Debug, Default, Deserialize)]
struct Review {
    findings: Vec<Finding>,
    summary: String,
}

/// The result of a review.
#[derive(Debug)]
pub(super) struct Report {
    scope: Scope,
    change: Change,
    review: Review,
    session: Option<SessionId>,
}

/// The document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    scope: &'a Scope,
    files: Vec<&'a str>,
    findings: &'a [Finding],
    summary: &'a str,
    left_out: &'a [LeftOut],
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a SessionId>,
}

/// Returns the schema of the answer. A finding about a file that is not in the change does not fit it, so the model has
/// to correct it.
pub(super) fn schema(change: &Change) -> Value {
    let files: Vec<&str> = change.files.iter().map(|file| file.path.as_str()).collect();
    let text = |description: &str, max: usize| json!({"type": "string", "description": description, "minLength": 1, "maxLength": max});
    let finding = json!({
        "type": "object",
        "properties": {
            "file": {"type": "string", "enum": files, "description": "File of the change"},
            "line": {"type": "integer", "minimum": 1, "description": "Line of the change that is wrong, by its number there"},
            "severity": {"type": "string", "enum": Severity::ALL},
            "title": text("The defect in one line", MAX_TITLE),
            "explanation": text("When it happens, and what goes wrong then", MAX_TEXT),
            "suggestion": text("The fix, if it is short", MAX_TEXT),
        },
        "required": ["file", "line", "severity", "title", "explanation"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "findings": {"type": "array", "items": finding, "maxItems": MAX_FINDINGS},
            "summary": {"type": "string", "description": "The verdict in one sentence", "maxLength": MAX_TEXT},
        },
        "required": ["findings", "summary"],
        "additionalProperties": false,
    })
}

impl Report {
    /// Returns the report of a scope without changes.
    pub(super) fn empty(scope: Scope) -> Self {
        Self { scope, change: Change::default(), review: Review::default(), session: None }
    }

    /// Reads the answer of the model, which fits the schema. The worst findings come first.
    ///
    /// # Errors
    ///
    /// Fails if the answer is not what the schema describes.
    pub(super) fn new(
        scope: Scope,
        change: Change,
        answer: Value,
        session: Option<SessionId>,
    ) -> anyhow::Result<Self> {
        let mut review: Review = serde_json::from_value(answer).context("the findings cannot be read")?;
        for finding in &mut review.findings {
            let file = change.files.iter().find(|file| file.path == finding.file);
            finding.in_change = file.is_some_and(|file| file.lines.contains(&finding.line));
        }
        review.findings.sort_by(|a, b| (a.severity, &a.file, a.line).cmp(&(b.severity, &b.file, b.line)));
        Ok(Self { scope, change, review, session })
    }

    /// Prints the report, and returns the exit code: failure if there are findings.
    pub(super) fn print(&self, form: &JsonArgs) -> anyhow::Result<ExitCode> {
        output::print(form, || self.document(), |out| self.lines(out))?;
        Ok(if self.review.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn document(&self) -> Document<'_> {
        Document {
            scope: &self.scope,
            files: self.change.files.iter().map(|file| file.path.as_str()).collect(),
            findings: &self.review.findings,
            summary: &self.review.summary,
            left_out: &self.change.left_out,
            session_id: self.session.as_ref(),
        }
    }

    fn lines(&self, out: &mut Output) -> io::Result<()> {
        if self.change.files.is_empty() {
            return out.line(self.scope.nothing());
        }
        for finding in &self.review.findings {
            finding.lines(out)?;
        }
        for LeftOut { file, reason } in &self.change.left_out {
            let line = format!("Not reviewed: {file} ({})", escape::line(reason));
            out.indented(0, WARNING, &line)?;
        }
        let verdict = out.paint(if self.review.findings.is_empty() { GOOD } else { NAME }, self.verdict());
        out.line(verdict)?;
        out.indented(0, Style::new(), &self.review.summary)
    }

    /// Counts the findings by severity.
    fn verdict(&self) -> String {
        let files = counted(self.change.files.len() as u64, "file");
        let mut counts = BTreeMap::<Severity, usize>::new();
        for finding in &self.review.findings {
            *counts.entry(finding.severity).or_default() += 1;
        }
        let counts: Vec<String> =
            counts.iter().map(|(severity, count)| format!("{count} {}", severity.as_str())).collect();
        match self.review.findings.len() {
            0 => format!("No findings in {files}."),
            count => {
                format!("{} in {files}: {}.", counted(count as u64, "finding"), counts.join(", "))
            }
        }
    }
}

impl Finding {
    /// Writes `FILE:LINE: SEVERITY: TITLE`, as compilers do, and below it the explanation.
    fn lines(&self, out: &mut Output) -> io::Result<()> {
        let (place, severity) = (format!("{}:{}:", self.file, self.line), self.severity.as_str());
        let title = escape::line(&self.title);
        let has_room = out.has_room(place.chars().count() + severity.len() + 3, &title);
        let begin = format!(
            "{} {}",
            out.paint(NAME, place),
            out.paint(self.severity.style(), format_args!("{severity}:"))
        );
        if has_room {
            out.line(format_args!("{begin} {title}"))?;
        } else {
            out.line(begin)?;
            out.indented(2, NAME, &title)?;
        }
        out.indented(2, Style::new(), &self.explanation)?;
        if let Some(suggestion) = &self.suggestion {
            out.indented(2, Style::new(), &format!("Suggestion: {suggestion}"))?;
        }
        if !self.in_change {
            out.indented(2, FAINT, "This line is not in the change.")?;
        }
        out.line("")
    }
}
