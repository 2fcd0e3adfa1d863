//! [`Rule`]: one permission rule. The [module documentation](super) has the grammar.

use std::{fmt, sync::Arc};

use goose_extension::HostPattern;

use super::{
    call::{CallToJudge, Origin},
    glob::Glob,
    matching::CommandPattern,
    paths::PathPattern,
    shell::Access,
    tool_fingerprint::ToolFingerprint,
};

/// Maximum length of a rule.
const MAX_RULE_BYTES: usize = 4096;

/// Subject of rules about commands, and about hosts.
pub(super) const SHELL: &str = "shell";
pub(super) const FETCH: &str = "fetch";

/// Effect of a rule. Later variants win over earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The call runs.
    Allow,
    /// The call needs approval in every mode.
    Ask,
    /// The call does not run.
    Deny,
}

impl Effect {
    /// Returns the key in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// An error in the text of a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The text is too long or has control characters.
    #[error("a rule is one line of at most 4 KiB")]
    NotOneLine,
    /// The first word is not the name of a tool.
    #[error("`{0}` is not a tool; write `shell`, `write`, or a name such as `github__*`")]
    NotATool(String),
    /// A command has an operator outside of quotes.
    #[error("`{0}` needs quotes; a rule is about one command, so write one for each")]
    UnquotedOperator(char),
    /// A quote in a command is not closed.
    #[error("a quote is not closed")]
    UnclosedQuote,
    /// A command has no words.
    #[error("there is no command")]
    NoCommand,
    /// A host has other parts of an address with it.
    #[error("`{0}` is not a host; write `docs.rs`, `*.example.com` or `localhost:3000`")]
    NotAHost(String),
    /// A path starts with the home folder of another user.
    #[error("write `~/…` for your home, or the whole path")]
    OtherHome,
    /// A path contains `..`.
    #[error("write the path without `..`")]
    ParentFolder,
}

/// A rule: its effect, its tool, and the calls that it matches. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Rule(Arc<RuleData>);

#[derive(Debug, Clone)]
struct RuleData {
    effect: Effect,
    /// Tool as written: `shell`, `github__*`.
    subject: Glob,
    /// Whole text: tool and pattern.
    text: String,
    pattern: Option<Pattern>,
    /// Fingerprint of the tool when the rule was stored.
    fingerprint: Option<Arc<ToolFingerprint>>,
}

/// Pattern of a rule. Its meaning depends on the tool, so it is parsed in every possible way.
#[derive(Debug, Clone)]
struct Pattern {
    command: Result<CommandPattern, RuleError>,
    path: Result<PathPattern, RuleError>,
    named: Option<Vec<(String, Glob)>>,
    host: Option<HostPattern>,
}

/// Rules are equal if their texts and tools are.
impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        (self.0.effect, &self.0.text, self.fingerprint())
            == (other.0.effect, &other.0.text, other.fingerprint())
    }
}

impl Eq for Rule {}

/// `allow: shell cargo test *`
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.effect.as_str(), self.0.text)
    }
}

impl Rule {
    /// Parses the text after `allow:`, `ask:` or `deny:`.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a rule.
    pub fn parse(effect: Effect, text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        if text.len() > MAX_RULE_BYTES || text.chars().any(char::is_control) {
            return Err(RuleError::NotOneLine);
        }
        let (subject, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let is_name = |c: char| c.is_alphanumeric() || "_-.*:/".contains(c);
        if subject.is_empty() || !subject.chars().all(is_name) {
            return Err(RuleError::NotATool(subject.to_owned()));
        }
        let rest = rest.trim();
        let pattern = (!rest.is_empty() && rest != "*").then(|| Pattern::read(rest));
        if let Some(pattern) = &pattern {
            pattern.check(last_name(subject))?;
            if subject == FETCH && pattern.host.is_none() {
                return Err(RuleError::NotAHost(rest.to_owned()));
            }
        }
        let (subject, text) = (Glob::new(subject), text.to_owned());
        Ok(Self(Arc::new(RuleData { effect, subject, text, pattern, fingerprint: None })))
    }

    /// Limits the rule to the tool with this fingerprint.
    pub(super) fn with_tool_fingerprint(mut self, fingerprint: Arc<ToolFingerprint>) -> Self {
        Arc::make_mut(&mut self.0).fingerprint = Some(fingerprint);
        self
    }

    /// Returns the effect of the rule.
    pub fn effect(&self) -> Effect {
        self.0.effect
    }

    /// Returns the tool and the pattern.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    pub(super) fn tool_fingerprint(&self) -> Option<&Arc<ToolFingerprint>> {
        self.0.fingerprint.as_ref()
    }

    /// Returns the stored fingerprint of the tool.
    pub fn fingerprint(&self) -> Option<&str> {
        self.0.fingerprint.as_deref().map(ToolFingerprint::digest)
    }

    pub(super) fn restricts(&self) -> bool {
        self.0.effect != Effect::Allow
    }

    /// Returns true if the rule matches all calls of its tool.
    pub(super) fn is_whole(&self) -> bool {
        self.0.pattern.is_none()
    }

    /// Returns true if the rule matches the tool of this call. In an allow rule, a bare name matches only
    /// goose's own tools: any server may call a tool `shell`.
    pub(super) fn is_about(&self, call: &CallToJudge<'_>) -> bool {
        if self.0.subject.matches(call.name()) {
            return true;
        }
        let bare = self.0.subject.matches(call.bare_name) && (self.restricts() || call.origin == Origin::Own);
        // Rules with the earlier name of `delegate` still restrict it.
        let earlier = self.restricts() && call.delegates() && self.0.subject.matches("summon__delegate");
        // Tools that run scripts and tools that fetch are judged by what they do, whatever they are called.
        let kind = match (call.fetches(), call.runs_script()) {
            (true, _) => self.0.subject.matches(FETCH),
            (_, true) => self.0.subject.matches(SHELL),
            _ => false,
        };
        bare || earlier || kind || call.access().is_some_and(|access| self.is_about_access(access))
    }

    /// Returns true if the rule's tool matches one of these names.
    pub(super) fn names_any<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> bool {
        names.into_iter().any(|name| self.0.subject.matches(name.as_ref()))
    }

    /// Returns true if the rule can match a tool with one of these names, as the model sees them.
    pub(super) fn is_about_any<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        let is_about_kind =
            [Access::Read, Access::Write].into_iter().any(|access| self.is_about_access(access))
                || self.0.subject.matches(FETCH);
        let subject = &self.0.subject;
        is_about_kind || names.any(|name| subject.matches(name) || subject.matches(last_name(name)))
    }

    /// Returns true if the rule is about this kind of access to files, with any tool.
    pub(super) fn is_about_access(&self, access: Access) -> bool {
        let subject = self.0.text.split_whitespace().next().unwrap_or_default();
        let subject = if self.restricts() { last_name(subject) } else { subject };
        match access {
            Access::Read => subject == "read",
            Access::Write => matches!(subject, "write" | "edit"),
        }
    }

    /// Returns the pattern as a command. A restricting rule whose pattern is not a command may match any
    /// command.
    pub(super) fn command(&self) -> Option<&CommandPattern> {
        self.0.pattern.as_ref()?.command.as_ref().ok()
    }

    /// Returns the pattern as a path.
    pub(super) fn path(&self) -> Option<&PathPattern> {
        self.0.pattern.as_ref()?.path.as_ref().ok()
    }

    /// Returns the pattern as hosts.
    pub(super) fn host(&self) -> Option<&HostPattern> {
        self.0.pattern.as_ref()?.host.as_ref()
    }

    /// Returns the pattern as named arguments.
    pub(super) fn named(&self) -> Option<&[(String, Glob)]> {
        self.0.pattern.as_ref()?.named.as_deref()
    }
}

impl Pattern {
    fn read(text: &str) -> Self {
        Self {
            command: CommandPattern::parse(text),
            path: PathPattern::parse(text),
            named: named(text),
            host: HostPattern::parse(text),
        }
    }

    /// Checks the parts of the pattern that this tool uses.
    fn check(&self, tool: &str) -> Result<(), RuleError> {
        match tool {
            "shell" => self.command.as_ref().map(drop).map_err(Clone::clone),
            "read" | "write" | "edit" => self.path.as_ref().map(drop).map_err(Clone::clone),
            _ => Ok(()),
        }
    }
}

fn last_name(subject: &str) -> &str {
    subject.rsplit("__").next().unwrap_or(subject)
}

/// Parses named arguments: `owner=ada repo=*`.
fn named(text: &str) -> Option<Vec<(String, Glob)>> {
    let word = |word: &str| {
        let (name, value) = word.split_once('=')?;
        (!name.is_empty()).then(|| (name.to_owned(), Glob::new(value)))
    };
    text.split_whitespace().map(word).collect()
}
