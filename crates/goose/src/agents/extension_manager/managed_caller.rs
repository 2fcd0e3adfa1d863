//! [`ManagedCaller`]: answers the questions of tools through the caller of the call, the manager's model, or
//! the working folder of the call.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use goose_extension::{
    Answer, CallContext, Caller, CallerId, LogEntry, Progress, Question, QuestionKind, Root, Sampled,
    Sampling, ToolError, ToolResult,
};
use url::Url;

use super::{
    Inner,
    options::{ManagerOptions, SamplingModel},
};

/// The caller of a call, extended with the manager's model and folder.
struct ManagedCaller {
    extension: String,
    context: CallContext,
    options: ManagerOptions,
}

impl Inner {
    /// Returns the context that the extension of a call receives.
    pub(super) fn context_for(&self, extension: &str, context: &CallContext) -> CallContext {
        // A call without a folder runs in the folder that the services were bound in.
        let context = match (&self.context.working_dir, context.own_working_dir()) {
            (Some(dir), None) => context.clone().with_working_dir(dir),
            _ => context.clone(),
        };
        let adds = self.options.sampling.is_some() || context.own_working_dir().is_some();
        if context.caller().is_none() && !adds {
            return context;
        }
        let caller = ManagedCaller {
            extension: extension.to_owned(),
            context: context.clone(),
            options: self.options.clone(),
        };
        context.with_caller(Arc::new(caller))
    }
}

impl ManagedCaller {
    /// Asks the manager's model, if the user consents.
    async fn sample(&self, by: &SamplingModel, request: Sampling) -> ToolResult<Sampled> {
        if !by.consent.allow_sampling(&self.extension, &request).await {
            return Err(ToolError::Denied(format!("`{}` may not ask the model.", self.extension)));
        }
        by.model.sample(request).await
    }
}

/// A caller that rejects every question.
struct NoCaller;

impl Caller for NoCaller {}

#[async_trait]
impl Caller for ManagedCaller {
    async fn ask(&self, key: &str, question: Question) -> ToolResult<Answer> {
        if !self.context.can_ask(question.kind()) {
            match (&question, &self.options.sampling, self.context.own_working_dir()) {
                (Question::Sample(request), Some(sampling), _) => {
                    let answer = self.sample(sampling, request.clone()).await?;
                    return Ok(Answer::Sampled(answer));
                }
                (Question::Roots, _, Some(folder)) => return Ok(Answer::Roots(roots(folder))),
                _ => {}
            }
        }
        match self.context.caller() {
            // Tells the user which extension asks.
            Some(caller) => caller.ask(&format!("{}/{key}", self.extension), question).await,
            None => NoCaller.ask(key, question).await,
        }
    }

    fn can_answer(&self, kind: QuestionKind) -> bool {
        self.context.can_ask(kind)
            || match kind {
                QuestionKind::Sample => self.options.sampling.is_some(),
                QuestionKind::Roots => self.context.own_working_dir().is_some(),
                _ => false,
            }
    }

    /// Identifies who answers the questions of a call. Two calls share an id if the same caller (without a
    /// caller: the same session), folder, model and consent would answer. Two agents may share a service, but
    /// not its answers.
    fn id(&self) -> Option<CallerId> {
        let caller = match self.context.caller() {
            Some(caller) => Some(caller.id()?),
            None => None,
        };
        let session = self.context.session_id().filter(|_| caller.is_none());
        let sampling = self.options.sampling.as_ref().map(|sampling| &sampling.id);
        Some(CallerId::from_parts((caller, session, self.context.own_working_dir(), sampling)))
    }

    fn progress(&self, progress: Progress) {
        if let Some(caller) = self.context.caller() {
            caller.progress(progress);
        }
    }

    fn log(&self, entry: LogEntry) {
        if let Some(caller) = self.context.caller() {
            caller.log(entry);
        }
    }
}

/// Returns the folder of the call as a root.
fn roots(folder: &Path) -> Vec<Root> {
    Url::from_directory_path(folder).map(|url| Root::new(url.to_string())).into_iter().collect()
}
