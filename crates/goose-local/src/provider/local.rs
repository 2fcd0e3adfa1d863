//! [`LocalProvider`]: turns requests into streams of events.

use async_trait::async_trait;
use goose_engine::{LoadOptions, Model};
use goose_providers::{
    ModelInfo, PromptStyle, Provider, ProviderResult, ReplyStream, Request, SMALL_MODEL_PARAMETERS,
    TEXT_CALL_MARK,
};

use crate::backend::Engine;

use super::{answer::Question, events::reply_stream, templated::TemplatedRequest};

/// Name of the provider in settings.
pub const PROVIDER_NAME: &str = "local";

/// Maximum context in tokens, whatever the setting says: it may be meant for another model. Memory for it
/// is used only as the conversation grows, but the address space is reserved at once.
const MAX_CONTEXT: usize = 32 * 1024;

/// Maximum number of tokens for tool definitions.
pub(super) const MAX_TOOL_TOKENS: u64 = 1_500;

/// Model on this machine. It is loaded at the first request, or by [`Provider::prepare`].
pub struct LocalProvider {
    info: ModelInfo,
    engine: Engine,
    /// True for a larger model that was trained to call tools.
    is_templated: bool,
}

/// Returns the context that goose uses of a model, in tokens.
pub(crate) fn bounded_context(wanted: usize, trained: usize) -> usize {
    wanted.min(trained).clamp(1, MAX_CONTEXT)
}

impl LocalProvider {
    /// Creates the provider. Reads only the header of the model's file; errors in it are reported by the
    /// first request.
    pub fn new(name: &str, mut options: LoadOptions) -> Self {
        let facts = Model::facts(&options.file).ok();
        let trained = facts.as_ref().map_or(options.context, |facts| facts.context_length);
        options.context = bounded_context(options.context, trained);
        let mut info = ModelInfo::new(name, options.context as u64);
        info.sees_images = false;
        let is_templated =
            facts.is_some_and(|facts| calls_tools(facts.parameters, facts.chat_template.as_deref()));
        if !is_templated {
            info.prompt_style = PromptStyle::Brief;
            info.max_tool_tokens = Some(MAX_TOOL_TOKENS);
        }
        Self { info, engine: Engine::new(options), is_templated }
    }
}

#[async_trait]
impl Provider for LocalProvider {
    fn name(&self) -> &str {
        PROVIDER_NAME
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }

    fn prepare(&self) {
        self.engine.warm();
    }

    async fn stream(&self, request: Request<'_>) -> ProviderResult<ReplyStream> {
        let mut engine = self.engine.enter().await;
        if self.is_templated {
            let question = TemplatedRequest::new(request, &self.info);
            return Ok(reply_stream(|events| async move { question.answer(&mut engine, &events).await }));
        }
        let question = Question::new(request);
        Ok(reply_stream(|events| async move { question.answer(&mut engine, &events).await }))
    }
}

/// Returns true if the model is large enough to work without a form, and its template writes calls in a
/// known shape.
fn calls_tools(parameters: u64, template: Option<&str>) -> bool {
    let has = |mark: &str| template.is_some_and(|template| template.contains(mark));
    let is_known = has(TEXT_CALL_MARK) || has("[TOOL_CALLS]") || has("\"parameters\"");
    parameters as f64 >= SMALL_MODEL_PARAMETERS && has("tools") && is_known
}

#[cfg(test)]
#[path = "local_tests.rs"]
mod tests;
