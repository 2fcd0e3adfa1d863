//! [`Inspector`]: an additional check before a call runs. It can object to a call but never allow one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::call::CallToJudge;

/// An inspector's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// No objection. The rules and the mode decide.
    None,
    /// The call needs approval, for this reason.
    Ask(String),
    /// The call must not run, for this reason.
    Deny(String),
}

/// Checks every call before it runs.
pub trait Inspector: Send + Sync {
    /// Returns the name that is shown to the user.
    fn name(&self) -> &str;

    /// Checks a call. Must return quickly: the call waits for it.
    ///
    /// # Errors
    ///
    /// The reason why it cannot decide. The call needs approval then.
    fn inspect(&self, call: &CallToJudge<'_>) -> Result<Objection, String>;
}

/// Runs an inspector. If it fails or panics, the call needs approval.
pub(super) fn ask(inspector: &dyn Inspector, call: &CallToJudge<'_>) -> Objection {
    let name = inspector.name();
    match catch_unwind(AssertUnwindSafe(|| inspector.inspect(call))) {
        Ok(Ok(objection)) => objection,
        Ok(Err(reason)) => Objection::Ask(format!("the inspector `{name}` could not decide: {reason}")),
        Err(_) => Objection::Ask(format!("the inspector `{name}` failed")),
    }
}
