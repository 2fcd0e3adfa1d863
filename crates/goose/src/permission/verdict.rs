//! [`Verdict`]: what becomes of a call, and how it is gathered from many reasons.

use goose_extension::JudgedPath;

use super::{rule::Rule, shown::Shown};

/// How many reasons a person is shown.
const MAX_REASONS: usize = 8;

/// How many reasons are kept; more are counted.
const MAX_KEPT: usize = 64;

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// It does not run.
    Deny {
        /// Why, for the model and the person.
        reason: String,
    },
    /// A person decides.
    Ask {
        /// Why a person is asked, one reason each.
        reasons: Vec<String>,
        /// The rule that "always" would store; `None` where none is safe.
        always: Option<Rule>,
        /// What the answer is about. [`still_holds`](super::Permissions::still_holds) checks it right before the call.
        shown: Shown,
    },
}

/// The outcome of judging a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What becomes of it.
    pub verdict: Verdict,
    /// The files that it was judged by. The tool may use these and no others.
    pub files: Vec<JudgedPath>,
}

/// What speaks against a call, so far.
#[derive(Debug, Default)]
pub(super) struct Opinions {
    denied: Option<String>,
    asks: Vec<Ask>,
    /// How many more there were.
    more: usize,
}

#[derive(Debug)]
struct Ask {
    reason: String,
    /// The rule that would have spared this question.
    rule: Option<Rule>,
}

impl Opinions {
    pub(super) fn deny(&mut self, reason: impl Into<String>) {
        self.denied.get_or_insert_with(|| reason.into());
    }

    pub(super) fn ask(&mut self, reason: impl Into<String>) {
        self.ask_unless(reason, None);
    }

    /// Asks, and says which rule would make it unnecessary.
    pub(super) fn ask_unless(&mut self, reason: impl Into<String>, rule: Option<Rule>) {
        let reason = reason.into();
        match self.asks.len() < MAX_KEPT {
            _ if self.asks.iter().any(|ask| ask.reason == reason) => {}
            true => self.asks.push(Ask { reason, rule }),
            false => self.more += 1,
        }
    }

    pub(super) fn verdict(self, shown: impl FnOnce() -> Shown) -> Verdict {
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

    /// One rule that would answer everything.
    fn always(&self) -> Option<Rule> {
        let first = self.asks.first()?.rule.as_ref().filter(|_| self.more == 0)?;
        self.asks.iter().all(|ask| ask.rule.as_ref() == Some(first)).then(|| first.clone())
    }
}
