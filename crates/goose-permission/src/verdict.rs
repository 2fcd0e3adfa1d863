//! [`Verdict`]: the decision about a call, collected from many reasons.

use std::path::PathBuf;

use goose_extension::{HostPolicy, JudgedPath};

use super::{approval_snapshot::ApprovalSnapshot, rule::Rule, shell::Access};

/// Maximum number of reasons that are shown.
const MAX_REASONS: usize = 8;

/// Maximum number of reasons that are kept; further ones are only counted.
const MAX_KEPT: usize = 64;

/// Maximum number of rules that are offered for a call.
const MAX_RULES: usize = 4;

/// Decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The call runs.
    Allow,
    /// The call does not run.
    Deny {
        /// Reason for the model and the user.
        reason: String,
    },
    /// The user decides.
    Ask {
        /// Reasons for asking.
        reasons: Vec<String>,
        /// Rules that "always" would store; empty if there are no safe ones.
        always: Vec<Rule>,
        /// Rules that "for this session" would add; empty if it can only allow exactly this call.
        session: Vec<Rule>,
        /// Scope of the approval. [`still_holds`](super::Permissions::still_holds) checks it right before the
        /// call.
        shown: ApprovalSnapshot,
    },
}

/// Outcome of judging a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Decision about the call.
    pub verdict: Verdict,
    /// Files that the decision is based on. The tool may use no other files.
    pub files: Vec<JudgedPath>,
    /// Files that the call is known to write: by a file tool, a redirection of the shell, or a command like
    /// `sed -i`.
    pub writes: Vec<PathBuf>,
    /// Hosts that a call which fetches may reach, if it runs.
    pub hosts: Option<HostPolicy>,
}

/// Collects the objections to a call.
#[derive(Debug, Default)]
pub(super) struct VerdictBuilder {
    denied: Option<String>,
    asks: Vec<Ask>,
    /// Number of reasons beyond [`MAX_KEPT`].
    more: usize,
}

#[derive(Debug)]
struct Ask {
    reason: String,
    /// Rule that would make this question unnecessary.
    rule: Option<Rule>,
    /// True if the rule is offered for all later sessions too.
    is_lasting: bool,
}

impl VerdictBuilder {
    pub(super) fn deny(&mut self, reason: impl Into<String>) {
        self.denied.get_or_insert_with(|| reason.into());
    }

    pub(super) fn ask(&mut self, reason: impl Into<String>) {
        self.ask_unless(reason, None);
    }

    /// Adds a reason to ask, with the rule that would make the question unnecessary.
    pub(super) fn ask_unless(&mut self, reason: impl Into<String>, rule: Option<Rule>) {
        self.add(Ask { reason: reason.into(), rule, is_lasting: true });
    }

    /// Like [`ask_unless`](Self::ask_unless), with a rule that is only offered for the session.
    pub(super) fn ask_unless_in_session(&mut self, reason: impl Into<String>, rule: Option<Rule>) {
        self.add(Ask { reason: reason.into(), rule, is_lasting: false });
    }

    fn add(&mut self, ask: Ask) {
        match self.asks.len() < MAX_KEPT {
            _ if self.asks.iter().any(|other| other.reason == ask.reason) => {}
            true => self.asks.push(ask),
            false => self.more += 1,
        }
    }

    pub(super) fn verdict(self, shown: impl FnOnce() -> ApprovalSnapshot) -> Verdict {
        if let Some(reason) = self.denied {
            return Verdict::Deny { reason };
        }
        if self.asks.is_empty() {
            return Verdict::Allow;
        }
        let session = self.rules();
        let is_lasting = self.asks.iter().all(|ask| ask.is_lasting);
        let always = if is_lasting { session.clone() } else { Vec::new() };
        let left = self.asks.len().saturating_sub(MAX_REASONS) + self.more;
        let mut reasons: Vec<String> =
            self.asks.into_iter().map(|ask| ask.reason).take(MAX_REASONS).collect();
        if left > 0 {
            reasons.push(format!("and {left} more reasons"));
        }
        Verdict::Ask { reasons, always, session, shown: shown() }
    }

    /// Returns the rules that together would answer all questions; empty if there are none, or too many to
    /// read.
    fn rules(&self) -> Vec<Rule> {
        let mut rules: Vec<Rule> = Vec::new();
        for ask in &self.asks {
            match &ask.rule {
                Some(rule) if rules.contains(rule) => {}
                Some(rule) if rules.len() < MAX_RULES && self.more == 0 => rules.push(rule.clone()),
                _ => return Vec::new(),
            }
        }
        // With a command, a rule about files would allow more than the user has in view.
        let is_about_files =
            |rule: &Rule| [Access::Read, Access::Write].iter().any(|it| rule.is_about_access(*it));
        let is_mixed = rules.len() > 1 && rules.iter().any(is_about_files);
        if is_mixed && self.asks.iter().any(|ask| ask.is_lasting) { Vec::new() } else { rules }
    }
}
