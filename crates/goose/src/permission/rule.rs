//! [`Rule`]: one line about what may be done. The grammar is in the [module's page](super).

use std::{fmt, sync::Arc};

use super::{
    call::{CallToJudge, Origin},
    glob::Glob,
    matching::CommandPattern,
    paths::PathPattern,
    pin::ToolPin,
    shell::Access,
};

/// The longest rule.
const MAX_RULE_BYTES: usize = 4096;

/// What a rule does. Later ones win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It runs.
    Allow,
    /// A person is asked, whatever the mode.
    Ask,
    /// It does not run.
    Deny,
}

impl Effect {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A rule: what it does, for which tool, and for which of its calls. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Rule(Arc<Said>);

#[derive(Debug, Clone)]
struct Said {
    effect: Effect,
    /// The tool, as it is written: `shell`, `github__*`.
    subject: Glob,
    /// The whole text: tool and pattern.
    text: String,
    pattern: Option<Pattern>,
    /// What the tool was when the rule was made.
    pin: Option<Arc<ToolPin>>,
}

/// Which calls are meant. What it means depends on the tool, so it is read in every way that makes sense.
#[derive(Debug, Clone)]
struct Pattern {
    command: Result<CommandPattern, String>,
    path: Result<PathPattern, String>,
    named: Option<Vec<(String, Glob)>>,
}

/// Two rules are the same where they say the same.
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
    /// A rule from what stands behind `allow:`, `ask:` or `deny:`.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it.
    pub fn parse(effect: Effect, text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() > MAX_RULE_BYTES || text.chars().any(char::is_control) {
            return Err("a rule is one line of at most 4 KiB".into());
        }
        let (subject, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let is_name = |c: char| c.is_alphanumeric() || "_-.*:/".contains(c);
        if subject.is_empty() || !subject.chars().all(is_name) {
            return Err(format!(
                "`{subject}` is no tool; write `shell`, `write`, or a name such as `github__*`"
            ));
        }
        let rest = rest.trim();
        let pattern = (!rest.is_empty() && rest != "*").then(|| Pattern::read(rest));
        if let Some(pattern) = &pattern {
            pattern.check(last_name(subject))?;
        }
        let (subject, text) = (Glob::new(subject), text.to_owned());
        Ok(Self(Arc::new(Said { effect, subject, text, pattern, pin: None })))
    }

    /// The same rule, for the tool as it is now.
    pub(super) fn pinned(mut self, pin: Arc<ToolPin>) -> Self {
        Arc::make_mut(&mut self.0).pin = Some(pin);
        self
    }

    /// What the rule does.
    pub fn effect(&self) -> Effect {
        self.0.effect
    }

    /// What stands behind the effect.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    pub(super) fn pin(&self) -> Option<&Arc<ToolPin>> {
        self.0.pin.as_ref()
    }

    /// What the tool was when the rule was made, where that is kept.
    pub fn fingerprint(&self) -> Option<&str> {
        self.0.pin.as_deref().map(ToolPin::fingerprint)
    }

    pub(super) fn restricts(&self) -> bool {
        self.0.effect != Effect::Allow
    }

    /// Whether it is about all calls of its tool.
    pub(super) fn is_whole(&self) -> bool {
        self.0.pattern.is_none()
    }

    /// Whether the tool of this call is meant. A bare name allows only what belongs to goose: any server may call a tool
    /// `shell`.
    pub(super) fn is_about(&self, call: &CallToJudge<'_>) -> bool {
        if self.0.subject.matches(call.name()) {
            return true;
        }
        let bare = self.0.subject.matches(call.bare_name) && (self.restricts() || call.origin == Origin::Own);
        bare || call.access().is_some_and(|access| self.is_about_access(access))
    }

    /// Returns true if one of these is a name that the rule's tool stands for.
    pub(super) fn names_any<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> bool {
        names.into_iter().any(|name| self.0.subject.matches(name.as_ref()))
    }

    /// Whether it can be about a tool with one of these names, as the model sees them.
    pub(super) fn is_about_any<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        let is_about_files =
            [Access::Read, Access::Write].into_iter().any(|access| self.is_about_access(access));
        let subject = &self.0.subject;
        is_about_files || names.any(|name| subject.matches(name) || subject.matches(last_name(name)))
    }

    /// Whether it is about reading or writing files, by whatever means.
    pub(super) fn is_about_access(&self, access: Access) -> bool {
        let subject = self.0.text.split_whitespace().next().unwrap_or_default();
        let subject = if self.restricts() { last_name(subject) } else { subject };
        match access {
            Access::Read => subject == "read",
            Access::Write => matches!(subject, "write" | "edit"),
        }
    }

    /// The pattern as one of a command; a restriction that is none may mean anything.
    pub(super) fn command(&self) -> Option<&CommandPattern> {
        self.0.pattern.as_ref()?.command.as_ref().ok()
    }

    /// The pattern as one of a path.
    pub(super) fn path(&self) -> Option<&PathPattern> {
        self.0.pattern.as_ref()?.path.as_ref().ok()
    }

    /// The pattern as one of arguments by name.
    pub(super) fn named(&self) -> Option<&[(String, Glob)]> {
        self.0.pattern.as_ref()?.named.as_deref()
    }
}

impl Pattern {
    fn read(text: &str) -> Self {
        Self { command: CommandPattern::parse(text), path: PathPattern::parse(text), named: named(text) }
    }

    /// What can be told before it is used.
    fn check(&self, tool: &str) -> Result<(), String> {
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

/// `owner=ada repo=*`.
fn named(text: &str) -> Option<Vec<(String, Glob)>> {
    let word = |word: &str| {
        let (name, value) = word.split_once('=')?;
        (!name.is_empty()).then(|| (name.to_owned(), Glob::new(value)))
    };
    text.split_whitespace().map(word).collect()
}
