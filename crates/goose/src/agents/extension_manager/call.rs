//! From a name to a result.

use std::{pin::pin, sync::Arc};

use goose_extension::{CallContext, JsonObject, ToolError, ToolOutput, ToolResult};

use super::{ExtensionManager, Inner, Owned, Parameters, bound::Bound, catalog::Entry, names};

impl ExtensionManager {
    /// Calls a tool by its full name, or by its bare name where only one extension has it.
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

    /// Calls a tool with a context: who is asked back, who hears of progress, in which folder and session.
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

    /// Where a tool is: its extension, and what that one calls it. Starts nothing.
    ///
    /// # Errors
    ///
    /// [`ToolError::NotFound`] where no tool that is known now has the name, or several have it.
    pub fn locate(&self, name: &str) -> ToolResult<Owned<String>> {
        let catalog = self.inner.catalog();
        let Entry { bound, tool } = catalog.find(name)?;
        Ok(Owned { extension: bound.name().to_owned(), item: tool.clone() })
    }
}

impl Inner {
    async fn call(&self, name: &str, arguments: JsonObject, context: &CallContext) -> ToolResult<ToolOutput> {
        let Entry { bound, tool } = self.resolve(name).await?;
        let context = self.surround(bound.name(), context);
        let _in_use = bound.in_use();
        bound.service.call(&tool, arguments, &context).await
    }

    /// Finds a tool. An extension that is still starting may be the one that has it, or one whose list is of another day.
    async fn resolve(&self, name: &str) -> ToolResult<Entry> {
        if let Ok(entry) = self.catalog().find(name) {
            return Ok(entry.clone());
        }
        let extension = name.split_once(names::SEPARATOR).map(|(extension, _)| extension);
        self.settle(|bound| extension.is_none_or(|extension| bound.name().starts_with(extension))).await;
        let Some(owner) = self.owner(name) else { return self.catalog().find(name).cloned() };
        if self.catalog().find(name).is_err() && owner.service.is_remembered() {
            self.patiently(owner.service.ready()).await;
        }
        self.catalog().find(name).cloned().map_err(|error| match owner.service.reason() {
            Some(reason) => ToolError::NotFound(format!(
                "There is no tool `{name}` now: the extension `{}` is not available. {reason}",
                owner.name()
            )),
            None => error,
        })
    }

    /// The extension that a full name begins with.
    fn owner(&self, name: &str) -> Option<Arc<Bound>> {
        self.bounds().iter().find(|bound| name.starts_with(&names::plain(bound.name(), ""))).cloned()
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
