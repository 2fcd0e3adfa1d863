//! Calls: from a name or a handle to a result.

use std::{collections::HashMap, pin::pin, sync::Arc};

use goose_extension::{
    CallContext, CheckedArguments, JsonObject, ToolError, ToolOutput, ToolResult, adapter::json_kind,
};
use serde_json::Value;

use super::{ExtensionManager, Inner};
use crate::{
    agents::{bound_service::BoundService, tool_index::ToolHandle, tool_names as names},
    services::{DefinitionChanged, ToolCallRequest},
};

/// The number of times that a call by name follows a tool whose definition changes under it.
const MAX_CHANGES: usize = 3;

/// The arguments of a call, in one of several forms.
pub trait Parameters {
    /// The arguments as a JSON object.
    ///
    /// # Errors
    ///
    /// [`ToolError::InvalidParameters`] where they are not an object.
    fn into_object(self) -> ToolResult<JsonObject>;
}

impl Parameters for JsonObject {
    fn into_object(self) -> ToolResult<JsonObject> {
        Ok(self)
    }
}

impl Parameters for HashMap<String, Value> {
    fn into_object(self) -> ToolResult<JsonObject> {
        Ok(self.into_iter().collect())
    }
}

impl Parameters for Value {
    fn into_object(self) -> ToolResult<JsonObject> {
        match self {
            Self::Object(object) => Ok(object),
            Self::Null => Ok(JsonObject::new()),
            other => Err(ToolError::InvalidParameters(format!(
                "The arguments of a tool are a JSON object, such as {{\"path\": \"a.txt\"}}; got {}.",
                json_kind(&other)
            ))),
        }
    }
}

impl ExtensionManager {
    /// Calls a tool by its full name, or by its bare name where only one extension has it. Permissions are not asked:
    /// this is for programs; the loop dispatches what it has checked.
    ///
    /// A tool that ran and failed, or whose service is gone, is an output with `is_error`; an error means that nothing
    /// was run.
    ///
    /// # Errors
    ///
    /// See [the table of errors](goose_extension::error).
    pub async fn call_tool(&self, name: &str, parameters: impl Parameters) -> ToolResult<ToolOutput> {
        self.call_tool_with(name, parameters, &CallContext::new()).await
    }

    /// Calls a tool with a context: the caller to ask back, the folder and the session.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool).
    pub async fn call_tool_with(
        &self,
        name: &str,
        parameters: impl Parameters,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let arguments = parameters.into_object()?;
        self.inner.unless_cancelled(name, context, self.inner.call(name, arguments, context)).await
    }

    /// Runs a tool that was resolved and checked before.
    ///
    /// # Errors
    ///
    /// Fails if the tool's definition no longer matches the handle. Nothing was run then: the call must be checked again.
    pub(crate) async fn dispatch(
        &self,
        handle: &ToolHandle,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> Result<ToolResult<ToolOutput>, DefinitionChanged> {
        let call = async { Ok(self.inner.dispatch(handle, arguments, context).await) };
        match self.inner.unless_cancelled(handle.tool.name(), context, call).await {
            Ok(result) => result,
            Err(cancelled) => Ok(Err(cancelled)),
        }
    }

    /// The tool of a name. Starts nothing.
    ///
    /// # Errors
    ///
    /// [`ToolError::NotFound`] where no tool that is known now has the name, or several have it.
    pub fn locate(&self, name: &str) -> ToolResult<Arc<ToolHandle>> {
        Ok(self.inner.index().find(name).cloned()?)
    }
}

impl Inner {
    async fn call(&self, name: &str, arguments: JsonObject, context: &CallContext) -> ToolResult<ToolOutput> {
        for _ in 0..MAX_CHANGES {
            let handle = self.resolve(name).await?;
            let arguments = handle.tool.validate(arguments.clone())?;
            if let Ok(result) = self.dispatch(&handle, arguments, context).await {
                return result;
            }
        }
        ToolOutput::from_error(ToolError::Disconnected(format!(
            "The definition of `{name}` keeps changing. Try again later, or do without it."
        )))
    }

    async fn dispatch(
        &self,
        handle: &ToolHandle,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> Result<ToolResult<ToolOutput>, DefinitionChanged> {
        let bound = &handle.service;
        let changed = || DefinitionChanged { tool: handle.tool.name().to_owned() };
        // Held during the call, so that the service is not stopped under it.
        let _in_use = bound.in_use().ok_or_else(changed)?;
        let context = self.context_for(bound.name(), context);
        let request = ToolCallRequest {
            tool: &handle.bare_name,
            position: handle.position,
            fingerprint: handle.fingerprint(),
            arguments,
        };
        bound.service.call(request, &context).await.map_err(|_| changed())
    }

    /// Finds a tool. An extension that is still starting may have it, or one whose listing is from an earlier run.
    async fn resolve(&self, name: &str) -> ToolResult<Arc<ToolHandle>> {
        if let Ok(handle) = self.index().find(name) {
            return Ok(Arc::clone(handle));
        }
        let extension = name.split_once(names::SEPARATOR).map(|(extension, _)| extension);
        self.settle(|bound| extension.is_none_or(|extension| bound.name().starts_with(extension))).await;
        let found = || self.index().find(name).cloned();
        let Some(owner) = self.owner(name) else { return Ok(found()?) };
        if found().is_err() && owner.service.is_remembered() {
            self.with_timeout(owner.service.ready()).await;
        }
        found().map_err(|error| match owner.service.reason() {
            Some(reason) => ToolError::NotFound(format!(
                "There is no tool `{name}` now: the extension `{}` is not available. {reason}",
                owner.name()
            )),
            None => error.into(),
        })
    }

    /// The extension that a full name begins with.
    fn owner(&self, name: &str) -> Option<Arc<BoundService>> {
        self.services().iter().find(|bound| name.starts_with(&names::plain(bound.name(), ""))).cloned()
    }

    /// Ends early where the call or the whole manager is cancelled.
    pub(super) async fn unless_cancelled<T>(
        &self,
        what: &str,
        context: &CallContext,
        work: impl Future<Output = ToolResult<T>>,
    ) -> ToolResult<T> {
        let cancelled = || Err(ToolError::Cancelled(format!("The call of `{what}` was cancelled.")));
        // Pinned, so that a pointer is moved and not the whole future.
        let work = pin!(work);
        let work = self.cancellation.run_until_cancelled(work);
        let ended = match context.cancellation() {
            Some(token) => token.run_until_cancelled(work).await.flatten(),
            None => work.await,
        };
        ended.unwrap_or_else(cancelled)
    }
}
