//! [`Explanation`]: the verdict about a command in each mode, with its reasons.
//!
//! `goose permissions` prints it. The verdicts are those of [`Permissions::judge`]; everything else explains
//! them and has no effect on them.

use std::path::Path;

use goose_extension::{JsonObject, Tool, ToolAction};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    Mode,
    call::{CallToJudge, Origin},
    matching::Certainty,
    permissions::Permissions,
    rule::{Effect, Rule},
    shell::{self, Access, Coverage, Form, Segment},
    verdict::Verdict,
};
use goose_config::ConfigError;

/// Tools that rules may name without their extension: the shell, kinds of access to files, and access to hosts.
const KINDS: [&str; 5] = ["shell", "read", "write", "edit", "fetch"];

/// Explanation of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// Verdict in each mode.
    pub verdicts: Vec<ModeVerdict>,
    /// Commands in the command line.
    pub segments: Vec<ExplainedSegment>,
    /// Files that redirections use.
    pub files: Vec<ExplainedFile>,
    /// Parts that were not understood.
    pub not_understood: Vec<String>,
}

/// Verdict in one mode.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModeVerdict {
    /// Mode that the verdict applies to.
    pub mode: Mode,
    /// Decision about the command.
    pub effect: Effect,
    /// Reasons for the decision; at least one.
    pub reasons: Vec<String>,
    /// Rules that "always" would store.
    pub always: Vec<Rule>,
}

/// One command of the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExplainedSegment {
    /// Words of the command, with `…` for words that are only known at run time.
    pub command: String,
    /// Commands that the command runs: `rm x` for `sudo rm x`.
    pub runs: Vec<String>,
    /// Variables that are set for the command.
    pub variables: Vec<String>,
    /// True if the command is known to change nothing.
    pub reads_only: bool,
    /// Rules that apply to the command. They are serialized as texts.
    #[serde(serialize_with = "as_texts")]
    pub rules: Vec<Rule>,
}

fn as_texts<S: Serializer>(rules: &[Rule], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rules.iter().map(ToString::to_string))
}

/// A file that a redirection uses.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainedFile {
    /// Path as written in the command line.
    pub path: String,
    /// True if the file is written, false if it is read.
    pub is_written: bool,
}

impl Explanation {
    /// Returns the verdict in a mode.
    pub fn verdict(&self, mode: Mode) -> Option<&ModeVerdict> {
        self.verdicts.iter().find(|verdict| verdict.mode == mode)
    }
}

impl Permissions {
    /// Explains the verdict about a command that the shell tool would run in a folder, or about a URL that a tool
    /// would fetch. Nothing is run. `tool` is that tool under its name in a session, `developer__shell`.
    pub fn explain(&self, tool: &Tool, command: &str, working_dir: &Path) -> Explanation {
        let argument = match tool.action() {
            Some(ToolAction::Command(argument) | ToolAction::Fetches(argument)) => argument.as_ref(),
            _ => "command",
        };
        let arguments = JsonObject::from_iter([(argument.to_owned(), Value::from(command))]);
        let call = CallToJudge {
            tool,
            bare_name: tool.name().rsplit("__").next().unwrap_or_default(),
            origin: Origin::Own,
            arguments: &arguments,
            working_dir,
            concern: None,
        };
        let text = if call.fetches() { "" } else { command };
        let script = shell::read(text, &shell::KnownValues::default());
        let rules = self.rules().unwrap_or_default();
        let segments: Vec<_> = script.segments.iter().map(|it| segment(it, &rules, &call)).collect();
        let file = |file: &shell::FileUse| ExplainedFile {
            path: file.path.clone().unwrap_or_else(|| file.source.clone()),
            is_written: file.access == Access::Write,
        };
        let launches = script.segments.iter().filter_map(|segment| {
            let command = segment.forms.first().map(line).unwrap_or_default();
            segment.opaque_reason.map(|reason| format!("`{command}` {reason}"))
        });
        let doubts = script.doubts.iter().cloned();
        Explanation {
            verdicts: Mode::ALL.map(|mode| self.in_mode(mode).mode_verdict(&call, &segments)).into(),
            segments,
            files: script.files.iter().map(file).collect(),
            not_understood: doubts.chain(script.unread.map(str::to_owned)).chain(launches).collect(),
        }
    }

    fn mode_verdict(&self, call: &CallToJudge<'_>, segments: &[ExplainedSegment]) -> ModeVerdict {
        let mode = self.mode();
        let (effect, reasons, always) = match self.judge(call) {
            Verdict::Allow if call.fetches() => (Effect::Allow, self.fetched_because(call), Vec::new()),
            Verdict::Allow => (Effect::Allow, allowed_because(mode, segments), Vec::new()),
            Verdict::Deny { reason } => (Effect::Deny, vec![reason], Vec::new()),
            Verdict::Ask { reasons, always, .. } => (Effect::Ask, reasons, always),
        };
        ModeVerdict { mode, effect, reasons, always }
    }

    /// Returns the reasons why a URL may be fetched.
    fn fetched_because(&self, call: &CallToJudge<'_>) -> Vec<String> {
        let rules = self.rules().unwrap_or_default();
        let allows = |rule: &&Rule| {
            let is_met =
                rule.is_whole() || call.host().zip(rule.host()).is_some_and(|(host, it)| it.matches(&host));
            rule.effect() == Effect::Allow && rule.is_about(call) && is_met
        };
        vec![match rules.iter().find(allows) {
            Some(rule) => format!("the rule `{rule}` allows it"),
            None => "no rule restricts it, and the host is on the internet".to_owned(),
        }]
    }

    /// Returns the rules that name no possible tool, because of a typing error or a removed extension.
    /// `extensions` are the names of the configured extensions, `own_tools` the full names of the tools that
    /// come with goose.
    ///
    /// # Errors
    ///
    /// Fails if the rules cannot be read.
    pub fn rules_without_tool<E: AsRef<str>>(
        &self,
        extensions: &[E],
        own_tools: &[String],
    ) -> Result<Vec<Rule>, ConfigError> {
        let delegate = ["summon__delegate", "delegate"];
        let parts = |tool: &String| {
            tool.split_once("__").map(|(extension, bare)| (extension.to_owned(), bare.to_owned()))
        };
        let own: Vec<(String, String)> = own_tools.iter().filter_map(parts).collect();
        let is_own = |extension: &str| own.iter().any(|(it, _)| it == extension);
        let names_own = |rule: &Rule| {
            let mut names =
                own_tools.iter().zip(&own).map(|(full, (_, bare))| [full.as_str(), bare.as_str()]);
            rule.names_any(delegate) || names.any(|names| rule.names_any(names))
        };
        let has_foreign = extensions.iter().any(|name| !is_own(name.as_ref()));
        let is_known = |rule: &&Rule| {
            let subject = rule.text().split_whitespace().next().unwrap_or_default();
            match subject.split_once("__") {
                // The tools of a server are only known once it runs.
                Some((extension, _))
                    if !extension.contains('*') && !is_own(extension) && !rule.names_any(delegate) =>
                {
                    extensions.iter().any(|name| name.as_ref() == extension)
                }
                _ => has_foreign || rule.names_any(KINDS) || names_own(rule),
            }
        };
        Ok(self.rules()?.iter().filter(|rule| !is_known(rule)).cloned().collect())
    }
}

fn segment(segment: &Segment, rules: &[Rule], call: &CallToJudge<'_>) -> ExplainedSegment {
    let mut forms = segment.forms.iter().map(line);
    let speaks = |rule: &&Rule| {
        rule.is_about(call) && (rule.is_whole() || segment.forms.iter().any(|form| is_meant(rule, form)))
    };
    ExplainedSegment {
        command: forms.next().unwrap_or_default(),
        runs: forms.collect(),
        variables: segment.variables.clone(),
        reads_only: segment.forms.iter().any(|form| form.coverage == Coverage::Segment && form.reads_only),
        rules: rules.iter().filter(speaks).cloned().collect(),
    }
}

fn is_meant(rule: &Rule, form: &Form) -> bool {
    match (rule.command(), rule.effect()) {
        (Some(pattern), Effect::Allow) => form.coverage == Coverage::Segment && pattern.allows(&form.words),
        (Some(pattern), _) => pattern.restricts(form) != Certainty::No,
        (None, effect) => effect != Effect::Allow,
    }
}

fn line(form: &Form) -> String {
    let words: Vec<&str> = form.words.iter().map(|word| word.text.as_deref().unwrap_or("…")).collect();
    words.join(" ")
}

/// Returns the reasons why a command is allowed.
fn allowed_because(mode: Mode, segments: &[ExplainedSegment]) -> Vec<String> {
    let allows = |rule: &&Rule| rule.effect() == Effect::Allow;
    let reason = |segment: &ExplainedSegment| {
        let rule = segment.rules.iter().find(allows);
        match rule {
            Some(rule) => Some(format!("the rule `{rule}` allows `{}`", segment.command)),
            None if mode == Mode::SmartApprove && segment.reads_only => {
                Some(format!("`{}` only reads", segment.command))
            }
            None => None,
        }
    };
    let reasons: Vec<String> = segments.iter().filter_map(reason).collect();
    match (mode, reasons.is_empty()) {
        (Mode::Auto, _) => vec!["no rule or protected file restricts it".to_owned()],
        (_, true) => vec!["it changes nothing".to_owned()],
        (_, false) => reasons,
    }
}
