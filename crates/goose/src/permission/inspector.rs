//! [`Inspector`]: somebody else who looks at a call before it runs. It can object; it can never allow.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::call::CallToJudge;

/// What an inspector says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// Nothing against it. The rules and the mode decide.
    None,
    /// A person should be asked, and why.
    Ask(String),
    /// It must not run, and why.
    Deny(String),
}

/// Looks at every call before it runs.
pub trait Inspector: Send + Sync {
    /// What people know it by.
    fn name(&self) -> &str;

    /// Looks at a call. Must not wait for long: the call waits for it.
    ///
    /// # Errors
    ///
    /// Where it cannot tell, and why. A person is asked then.
    fn inspect(&self, call: &CallToJudge<'_>) -> Result<Objection, String>;
}

/// What an inspector says; one that fails wants a person to be asked.
pub(super) fn ask(inspector: &dyn Inspector, call: &CallToJudge<'_>) -> Objection {
    let name = inspector.name();
    match catch_unwind(AssertUnwindSafe(|| inspector.inspect(call))) {
        Ok(Ok(objection)) => objection,
        Ok(Err(reason)) => Objection::Ask(format!("the inspector `{name}` could not tell: {reason}")),
        Err(_) => Objection::Ask(format!("the inspector `{name}` failed")),
    }
}
