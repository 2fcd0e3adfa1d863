//! Prompts of the extensions of a manager.

use goose_extension::{CallContext, Features, GetPromptResult, JsonObject, Prompt, ToolError, ToolResult};

use super::{ExtensionManager, Gathered, names};

impl ExtensionManager {
    /// The prompts of one extension, or of all.
    ///
    /// # Errors
    ///
    /// Where there is no extension of that name.
    pub async fn list_prompts(&self, extension: Option<&str>) -> ToolResult<Gathered<Prompt>> {
        let wanted = |features: Features| features.prompts;
        self.inner.gather(extension, wanted, async |extension| extension.list_prompts().await).await
    }

    /// Fills in a prompt, named as `extension__prompt`, or by its bare name where only one extension has it.
    ///
    /// # Errors
    ///
    /// [`ToolError::InvalidParameters`] where there is no such prompt, or several, or arguments are missing.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<GetPromptResult> {
        let getting = async {
            let (extension, prompt) = self.find_prompt(name).await?;
            let context = self.inner.surround(&extension, context);
            let bound = self.inner.named(&extension)?;
            let _in_use = bound.in_use();
            bound.service.ask(async |it| it.get_prompt(&prompt, arguments, &context).await).await
        };
        self.inner.unless_cancelled(name, context, getting).await
    }

    async fn find_prompt(&self, name: &str) -> ToolResult<(String, String)> {
        // A full name is the business of one extension.
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
