//! Tool calls: from a name or a handle to a result.

use std::{collections::HashMap, pin::pin, sync::Arc};

use goose_extension::{
    CallContext, CheckedArguments, JsonObject, RichRenderable, ToolError, ToolOutput, ToolResult,
    adapter::json_kind,
};
use serde_json::Value;

use super::{ExtensionManager, Inner};
use crate::{
    agents::{bound_service::BoundService, tool_index::ToolHandle, tool_names as names},
    services::{DefinitionChanged, ToolCallRequest},
};

/// Maximum number of times that a call by name is repeated because the tool's definition changed.
const MAX_CHANGES: usize = 3;

/// Arguments of a call, in one of several forms.
pub trait Parameters {
    /// Converts the arguments to a JSON object.
    ///
    /// # Errors
    ///
    /// Returns [`ToolError::InvalidParameters`] if they are not an object.
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
    /// Calls a tool by its full name, or by its bare name if only one extension has it. Permissions are not
    /// checked: this is for programs; the loop dispatches calls that it has checked.
    ///
    /// A tool that ran and failed, or whose service has ended, returns an output with `is_error`. An error
    /// means that nothing was run.
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
    /// See [`call_tool`](Self::call_tool).
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
    /// Fails if the tool's definition no longer matches the handle. In that case nothing was run, and the
    /// call must be checked again.
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

    /// Returns what a call would change, if its tool can tell. Nothing is changed.
    pub(crate) async fn preview(
        &self,
        handle: &ToolHandle,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> Option<RichRenderable> {
        let bound = &handle.service;
        let _in_use = bound.in_use()?;
        let context = self.inner.context_for(bound.name(), context);
        bound.service.preview(handle.request(arguments), &context).await
    }

    /// Returns the tool of a name. Does not start any extension.
    ///
    /// # Errors
    ///
    /// Returns [`ToolError::NotFound`] if no known tool has the name, or if several have it.
    pub fn locate(&self, name: &str) -> ToolResult<Arc<ToolHandle>> {
        Ok(self.inner.index().find(name).cloned()?)
    }
}

impl ToolHandle {
    fn request(&self, arguments: CheckedArguments) -> ToolCallRequest<'_> {
        ToolCallRequest {
            tool: &self.bare_name,
            position: self.position,
            fingerprint: self.fingerprint(),
            arguments,
        }
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
        // Held during the call, so that the service is not stopped meanwhile.
        let _in_use = bound.in_use().ok_or_else(changed)?;
        let context = self.context_for(bound.name(), context);
        bound.service.call(handle.request(arguments), &context).await.map_err(|_| changed())
    }

    /// Finds a tool. Also waits for extensions that are starting or whose listing is from an earlier run,
    /// because they may have it.
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

    /// Returns the extension whose name is the prefix of a full tool name.
    fn owner(&self, name: &str) -> Option<Arc<BoundService>> {
        self.services().iter().find(|bound| name.starts_with(&names::plain(bound.name(), ""))).cloned()
    }

    /// Runs work until the call or the manager is cancelled.
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
