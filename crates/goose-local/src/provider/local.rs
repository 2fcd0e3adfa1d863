//! [`LocalProvider`]: from a request to a stream of events.

use async_trait::async_trait;
use goose_engine::{LoadOptions, Model};
use goose_providers::{
    ModelInfo, PromptStyle, Provider, ProviderResult, ReplyStream, Request, SMALL_MODEL_PARAMETERS,
};

use crate::backend::Engine;

use super::{answer::Question, events::reply_stream, templated::TemplatedRequest, text_calls};

/// The name by which users choose the model on their own machine.
pub const PROVIDER_NAME: &str = "local";

/// The most tokens that are kept in mind, whatever is wished: a wish may be meant for another model. What is kept takes
/// memory only as it is used, but the addresses for it are taken at once.
const MAX_CONTEXT: usize = 32 * 1024;

/// The most tokens that the definitions of tools take.
pub(super) const MAX_TOOL_TOKENS: u64 = 1_500;

/// A model on this machine. Nothing is loaded before it is first asked, or got ready.
pub struct LocalProvider {
    info: ModelInfo,
    engine: Engine,
    /// True for a larger model that was made to call tools.
    is_templated: bool,
}

impl LocalProvider {
    /// The model that the options say. Of the file, only its beginning is looked at; what is wrong with it is said when
    /// the model is asked.
    pub fn new(name: &str, mut options: LoadOptions) -> Self {
        let facts = Model::facts(&options.file).ok();
        let trained = facts.as_ref().map_or(options.context, |facts| facts.context_length);
        options.context = options.context.min(trained).clamp(1, MAX_CONTEXT);
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

/// True for a model that is large enough to go without restrictions, and whose template writes calls in a shape that is known.
fn calls_tools(parameters: u64, template: Option<&str>) -> bool {
    let has = |mark: &str| template.is_some_and(|template| template.contains(mark));
    let is_known = has(text_calls::MARK) || has("[TOOL_CALLS]") || has("\"parameters\"");
    parameters as f64 >= SMALL_MODEL_PARAMETERS && has("tools") && is_known
}

#[cfg(test)]
#[path = "local_tests.rs"]
mod tests;
