//! [`Verdict`]: the decision about a call, collected from many reasons.

use std::path::PathBuf;

use goose_extension::JudgedPath;

use super::{approval_snapshot::ApprovalSnapshot, rule::Rule};

/// Maximum number of reasons that are shown.
const MAX_REASONS: usize = 8;

/// Maximum number of reasons that are kept; further ones are only counted.
const MAX_KEPT: usize = 64;

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
        /// Rule that "always" would store; `None` if no rule is safe.
        always: Option<Rule>,
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
        let reason = reason.into();
        match self.asks.len() < MAX_KEPT {
            _ if self.asks.iter().any(|ask| ask.reason == reason) => {}
            true => self.asks.push(Ask { reason, rule }),
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
        let always = self.always();
        let left = self.asks.len().saturating_sub(MAX_REASONS) + self.more;
        let mut reasons: Vec<String> =
            self.asks.into_iter().map(|ask| ask.reason).take(MAX_REASONS).collect();
        if left > 0 {
            reasons.push(format!("and {left} more reasons"));
        }
        Verdict::Ask { reasons, always, shown: shown() }
    }

    /// Returns the rule that would answer all questions, if a single one does.
    fn always(&self) -> Option<Rule> {
        let first = self.asks.first()?.rule.as_ref().filter(|_| self.more == 0)?;
        self.asks.iter().all(|ask| ask.rule.as_ref() == Some(first)).then(|| first.clone())
    }
}
