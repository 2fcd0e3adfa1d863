//! Resources, prompts and completions of a manager's extensions.

use std::sync::Arc;

use futures::future::join_all;
use goose_extension::{
    CallContext, CompleteRequestParams, CompletionInfo, Extension, Features, GetPromptResult, JsonObject,
    Prompt, Resource, ResourceContents, ResourceTemplate, ToolError, ToolResult,
};

use super::{ExtensionManager, Inner};
use crate::agents::{bound_service::BoundService, tool_names as names};

/// An item with the extension that it belongs to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FromExtension<T> {
    /// Name of the extension.
    pub extension: String,
    /// Item of that extension.
    pub item: T,
}

/// Results of several extensions, some of which may have failed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Partial<T> {
    /// Items, in the order of the extensions.
    pub items: Vec<FromExtension<T>>,
    /// Extensions that could not answer, each with the error.
    pub problems: Vec<(String, ToolError)>,
}

impl ExtensionManager {
    /// Lists the resources of one extension or of all. If one fails, those of the others are still returned.
    ///
    /// # Errors
    ///
    /// Fails if the extension does not exist.
    pub async fn list_resources(&self, extension: Option<&str>) -> ToolResult<Partial<Resource>> {
        let wanted = |features: Features| features.resources;
        self.inner.gather(extension, wanted, async |extension| extension.list_resources().await).await
    }

    /// Lists the resource templates of one extension or of all.
    ///
    /// # Errors
    ///
    /// Fails if the extension does not exist.
    pub async fn list_resource_templates(
        &self,
        extension: Option<&str>,
    ) -> ToolResult<Partial<ResourceTemplate>> {
        let wanted = |features: Features| features.resources;
        self.inner
            .gather(extension, wanted, async |extension| extension.list_resource_templates().await)
            .await
    }

    /// Reads a resource from the given extension, from the one that lists it, or otherwise from the first
    /// that has it.
    ///
    /// # Errors
    ///
    /// Returns [`ToolError::ResourceNotFound`] if no extension has it, and the error of the extension that
    /// failed otherwise.
    pub async fn read_resource(
        &self,
        uri: &str,
        extension: Option<&str>,
        context: &CallContext,
    ) -> ToolResult<Vec<ResourceContents>> {
        self.inner.unless_cancelled(uri, context, self.inner.read_resource(uri, extension, context)).await
    }

    /// Subscribes to changes of a resource, as
    /// [`ServiceChange::ResourceUpdated`](crate::services::ServiceChange).
    ///
    /// # Errors
    ///
    /// Fails if the extension or the resource does not exist.
    pub async fn subscribe(&self, extension: &str, uri: &str) -> ToolResult<()> {
        let bound = self.inner.named(extension)?;
        let _in_use = bound.in_use();
        self.inner.unless_cancelled(uri, &CallContext::new(), bound.service.subscribe(uri)).await
    }

    /// Ends a subscription that was made with [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    ///
    /// Fails if the extension does not exist.
    pub async fn unsubscribe(&self, extension: &str, uri: &str) -> ToolResult<()> {
        let bound = self.inner.named(extension)?;
        let _in_use = bound.in_use();
        self.inner.unless_cancelled(uri, &CallContext::new(), bound.service.unsubscribe(uri)).await
    }

    /// Completes an argument of a prompt or resource template of an extension.
    ///
    /// # Errors
    ///
    /// Fails if the extension, the prompt or the template does not exist.
    pub async fn complete(
        &self,
        extension: &str,
        request: CompleteRequestParams,
    ) -> ToolResult<CompletionInfo> {
        let bound = self.inner.named(extension)?;
        let _in_use = bound.in_use();
        let completing = bound.service.ask(async |extension| extension.complete(request).await);
        self.inner.unless_cancelled("completion", &CallContext::new(), completing).await
    }

    /// Lists the prompts of one extension or of all.
    ///
    /// # Errors
    ///
    /// Fails if the extension does not exist.
    pub async fn list_prompts(&self, extension: Option<&str>) -> ToolResult<Partial<Prompt>> {
        let wanted = |features: Features| features.prompts;
        self.inner.gather(extension, wanted, async |extension| extension.list_prompts().await).await
    }

    /// Fills in a prompt by its full name `extension__prompt`, or by its bare name if only one extension has
    /// it.
    ///
    /// # Errors
    ///
    /// Returns [`ToolError::InvalidParameters`] if the prompt does not exist or is ambiguous, or if arguments
    /// are missing.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<GetPromptResult> {
        let getting = async {
            let (extension, prompt) = self.find_prompt(name).await?;
            let context = self.inner.context_for(&extension, context);
            let bound = self.inner.named(&extension)?;
            let _in_use = bound.in_use();
            bound.service.ask(async |it| it.get_prompt(&prompt, arguments, &context).await).await
        };
        self.inner.unless_cancelled(name, context, getting).await
    }

    async fn find_prompt(&self, name: &str) -> ToolResult<(String, String)> {
        // A full name belongs to one extension, so the others are not asked.
        let names = self.names();
        let owner = names.iter().find(|extension| name.starts_with(&names::plain(extension, "")));
        let prompts = self.list_prompts(owner.map(String::as_str)).await?.items;
        let (full, bare): (Vec<_>, Vec<_>) = prompts
            .into_iter()
            .map(|prompt| (prompt.extension, prompt.item.name))
            .filter(|(extension, prompt)| prompt == name || names::plain(extension, prompt) == name)
            .partition(|(extension, prompt)| names::plain(extension, prompt) == name);
        match (full.into_iter().next(), bare.as_slice()) {
            (Some(found), _) => Ok(found),
            (None, [found]) => Ok(found.clone()),
            (None, []) => Err(ToolError::InvalidParameters(format!(
                "There is no prompt `{name}`. List the prompts to see what there is."
            ))),
            (None, several) => {
                let names: Vec<_> = several.iter().map(|(it, prompt)| names::plain(it, prompt)).collect();
                Err(ToolError::InvalidParameters(format!(
                    "Several extensions have a prompt `{name}`. Use one of these full names: {}.",
                    names.join(", ")
                )))
            }
        }
    }
}

fn unknown(uri: &str) -> ToolError {
    ToolError::ResourceNotFound(format!(
        "No extension has a resource `{uri}`. List the resources to see them."
    ))
}

impl Inner {
    /// Returns the extension of that name.
    pub(super) fn named(&self, extension: &str) -> ToolResult<Arc<BoundService>> {
        self.find(extension).map_err(|error| ToolError::NotFound(error.to_string()))
    }

    async fn read_resource(
        &self,
        uri: &str,
        extension: Option<&str>,
        context: &CallContext,
    ) -> ToolResult<Vec<ResourceContents>> {
        let services = match extension {
            Some(name) => vec![self.named(name)?],
            None => self.likely_owners(uri).await?,
        };
        let mut failed = None;
        for bound in services {
            let context = self.context_for(bound.name(), context);
            let _in_use = bound.in_use();
            let reading = bound.service.ask(async |extension| extension.read_resource(uri, &context).await);
            match reading.await {
                Ok(contents) => return Ok(contents),
                Err(ToolError::ResourceNotFound(_)) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.unwrap_or_else(|| unknown(uri)))
    }

    /// Returns the extensions that list a resource. If none does, returns all that have resources, because
    /// the resource may come from a template.
    async fn likely_owners(&self, uri: &str) -> ToolResult<Vec<Arc<BoundService>>> {
        let wanted = |features: Features| features.resources;
        let listed = self.gather(None, wanted, async |extension| extension.list_resources().await).await?;
        let owners = listed.items.iter().filter(|resource| resource.item.uri == uri);
        let owners: Vec<_> =
            owners.map(|resource| self.named(&resource.extension)).collect::<ToolResult<_>>()?;
        if !owners.is_empty() {
            return Ok(owners);
        }
        let has = |bound: &&Arc<BoundService>| bound.service.listing().is_some_and(|it| wanted(it.features));
        Ok(self.services().iter().filter(has).cloned().collect())
    }

    /// Asks one extension, or all concurrently. An extension that does not start or answer in time is
    /// reported as a problem.
    pub(super) async fn gather<T>(
        &self,
        extension: Option<&str>,
        wanted: impl Fn(Features) -> bool,
        ask: impl AsyncFn(Arc<dyn Extension>) -> ToolResult<Vec<T>>,
    ) -> ToolResult<Partial<T>> {
        let services = match extension {
            Some(name) => vec![self.named(name)?],
            None => self.services().to_vec(),
        };
        let answers = join_all(services.iter().map(async |bound| {
            let _in_use = bound.in_use();
            let answer = async {
                match bound.service.wait_for_listing().await {
                    Some(listing) if !wanted(listing.features) => Ok(Vec::new()),
                    Some(_) => bound.service.ask(&ask).await,
                    None => Err(ToolError::Disconnected(bound.service.reason().unwrap_or_default())),
                }
            };
            self.with_timeout(answer).await.unwrap_or_else(|| Err(too_slow(bound.name())))
        }));
        let mut gathered = Partial { items: Vec::new(), problems: Vec::new() };
        for (bound, answer) in services.iter().zip(answers.await) {
            let name = bound.name();
            match answer {
                Ok(items) => gathered
                    .items
                    .extend(items.into_iter().map(|item| FromExtension { extension: name.to_owned(), item })),
                Err(error) => gathered.problems.push((name.to_owned(), error)),
            }
        }
        Ok(gathered)
    }
}

fn too_slow(extension: &str) -> ToolError {
    ToolError::Timeout(format!("`{extension}` did not answer in time. Try again later, or do without it."))
}
