//! The guard around every tool function: time, cancellation, panics, size. One door, so that a direct call
//! and a served one end the same way.

use std::{any::Any, panic::AssertUnwindSafe};

use futures::FutureExt as _;

use crate::{
    context::CallContext,
    error::{ToolError, ToolResult},
    output::ToolOutput,
    tool::Tool,
};

/// Runs `call` within the tool's time limit until it ends or the caller cancels.
pub(crate) async fn run(
    tool: &Tool,
    context: &CallContext,
    call: impl Future<Output = ToolResult<ToolOutput>>,
) -> ToolResult<ToolOutput> {
    let call = AssertUnwindSafe(call).catch_unwind();
    let timed = async {
        match tool.timeout() {
            None => call.await,
            Some(limit) => tokio::time::timeout(limit, call).await.unwrap_or_else(|_| {
                Ok(Err(ToolError::Timeout(format!(
                    "Tool `{}` did not finish within {limit:?} and was stopped. Ask for less work in one call.",
                    tool.name()
                ))))
            }),
        }
    };
    let ended = match context.cancellation() {
        None => timed.await,
        Some(token) => match token.run_until_cancelled(timed).await {
            Some(ended) => ended,
            None => return Err(cancelled(tool.name())),
        },
    };
    match ended {
        Ok(Ok(output)) => Ok(output.within_cap()),
        Ok(Err(error)) => ToolOutput::from_error(error),
        Err(panic) => ToolOutput::from_error(panicked(tool.name(), panic.as_ref())),
    }
}

/// Runs a part of an extension that is not a tool; a panic becomes an error.
///
/// # Errors
///
/// Those of the call, and one for a panic.
pub async fn catch<T>(what: &str, call: impl Future<Output = ToolResult<T>>) -> ToolResult<T> {
    let ended = AssertUnwindSafe(call).catch_unwind().await;
    ended.unwrap_or_else(|panic| Err(panicked(what, panic.as_ref())))
}

/// The error for a call that the caller cancelled.
pub fn cancelled(name: &str) -> ToolError {
    ToolError::Cancelled(format!("The call of `{name}` was cancelled."))
}

fn panicked(name: &str, payload: &(dyn Any + Send)) -> ToolError {
    let reason = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown reason");
    tracing::error!(tool = name, reason, "tool panicked");
    ToolError::ExecutionError(format!(
        "`{name}` failed because of a bug in it ({reason}). Try other arguments or another tool."
    ))
}
