//! Resources of the extensions of a manager.

use std::sync::Arc;

use futures::future::join_all;
use goose_extension::{
    CallContext, CompleteRequestParams, CompletionInfo, Extension, Features, Resource, ResourceContents,
    ResourceTemplate, ToolError, ToolResult,
};

use super::{ExtensionManager, Inner, bound::Bound};

/// Something of an extension.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Owned<T> {
    /// Whose it is.
    pub extension: String,
    /// What it is.
    pub item: T,
}

/// What several extensions gave, and what kept others from giving.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Gathered<T> {
    /// What came, in the order of the extensions.
    pub items: Vec<Owned<T>>,
    /// The extensions that could not answer, and why.
    pub problems: Vec<(String, ToolError)>,
}

impl ExtensionManager {
    /// The resources of one extension, or of all. What one of them cannot tell does not hide the others'.
    ///
    /// # Errors
    ///
    /// Where there is no extension of that name.
    pub async fn list_resources(&self, extension: Option<&str>) -> ToolResult<Gathered<Resource>> {
        let wanted = |features: Features| features.resources;
        self.inner.gather(extension, wanted, async |extension| extension.list_resources().await).await
    }

    /// The resource templates of one extension, or of all.
    ///
    /// # Errors
    ///
    /// Where there is no extension of that name.
    pub async fn list_resource_templates(
        &self,
        extension: Option<&str>,
    ) -> ToolResult<Gathered<ResourceTemplate>> {
        let wanted = |features: Features| features.resources;
        self.inner
            .gather(extension, wanted, async |extension| extension.list_resource_templates().await)
            .await
    }

    /// Reads a resource of one extension, or of the first that has it.
    ///
    /// # Errors
    ///
    /// [`ToolError::ResourceNotFound`] where nobody has it; the error of the extension that failed otherwise.
    pub async fn read_resource(
        &self,
        uri: &str,
        extension: Option<&str>,
        context: &CallContext,
    ) -> ToolResult<Vec<ResourceContents>> {
        let reading = async {
            let mut failed = None;
            for bound in self.inner.having(extension, |features| features.resources).await? {
                let context = self.inner.surround(bound.name(), context);
                let read = async { bound.service.ready().await?.read_resource(uri, &context).await };
                match read.await {
                    Ok(contents) => return Ok(contents),
                    Err(ToolError::ResourceNotFound(_)) => {}
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            Err(failed.unwrap_or_else(|| unknown(uri)))
        };
        self.inner.unless_cancelled(uri, context, reading).await
    }

    /// Asks to hear of changes of a resource, as [`ServiceChange::ResourceUpdated`](crate::services::ServiceChange).
    ///
    /// # Errors
    ///
    /// Where the extension or the resource is not there.
    pub async fn subscribe(&self, extension: &str, uri: &str) -> ToolResult<()> {
        self.inner.running(extension).await?.subscribe(uri).await
    }

    /// Takes back [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    ///
    /// Where the extension is not there.
    pub async fn unsubscribe(&self, extension: &str, uri: &str) -> ToolResult<()> {
        self.inner.running(extension).await?.unsubscribe(uri).await
    }

    /// Completes an argument of a prompt or resource template of an extension.
    ///
    /// # Errors
    ///
    /// Where the extension, the prompt or the template is not there.
    pub async fn complete(
        &self,
        extension: &str,
        request: CompleteRequestParams,
    ) -> ToolResult<CompletionInfo> {
        self.inner.running(extension).await?.complete(request).await
    }
}

fn unknown(uri: &str) -> ToolError {
    ToolError::ResourceNotFound(format!(
        "No extension has a resource `{uri}`. List the resources to see them."
    ))
}

impl Inner {
    pub(super) async fn running(&self, extension: &str) -> ToolResult<Arc<dyn Extension>> {
        let bound = self.find(extension).map_err(|error| ToolError::NotFound(error.to_string()))?;
        bound.service.ready().await
    }

    /// The extensions (one, or all) that have something.
    pub(super) async fn having(
        &self,
        extension: Option<&str>,
        wanted: impl Fn(Features) -> bool,
    ) -> ToolResult<Vec<Arc<Bound>>> {
        let bounds = match extension {
            Some(name) => vec![self.find(name).map_err(|error| ToolError::NotFound(error.to_string()))?],
            None => self.bounds().to_vec(),
        };
        self.settle(|bound| extension.is_none_or(|name| bound.name() == name)).await;
        let has =
            |bound: &Arc<Bound>| bound.service.listing().is_some_and(|listing| wanted(listing.features));
        Ok(bounds.into_iter().filter(has).collect())
    }

    /// Asks several extensions side by side.
    pub(super) async fn gather<T>(
        &self,
        extension: Option<&str>,
        wanted: impl Fn(Features) -> bool,
        ask: impl AsyncFn(&dyn Extension) -> ToolResult<Vec<T>>,
    ) -> ToolResult<Gathered<T>> {
        let bounds = self.having(extension, wanted).await?;
        let answers = join_all(bounds.iter().map(async |bound| {
            let extension = bound.service.ready().await?;
            ask(&*extension).await
        }));
        let mut gathered = Gathered { items: Vec::new(), problems: Vec::new() };
        for (bound, answer) in bounds.iter().zip(answers.await) {
            let name = bound.name();
            match answer {
                Ok(items) => gathered
                    .items
                    .extend(items.into_iter().map(|item| Owned { extension: name.to_owned(), item })),
                Err(error) => gathered.problems.push((name.to_owned(), error)),
            }
        }
        Ok(gathered)
    }
}
