//! [`ManagedCaller`]: answers the questions of tools, through the caller of the call, the manager's model, or the folder of
//! the call.

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

/// The caller of a call, with what the manager adds to it.
struct ManagedCaller {
    extension: String,
    context: CallContext,
    options: ManagerOptions,
}

impl Inner {
    /// The context of a call as its extension gets it.
    pub(super) fn context_for(&self, extension: &str, context: &CallContext) -> CallContext {
        // A call that names no folder is made in the one that the services were bound in.
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
    fn caller_answers(&self, kind: QuestionKind) -> bool {
        self.context.can_ask(kind)
    }

    /// Asks the manager's model, where the user allows it.
    async fn sample(&self, by: &SamplingModel, request: Sampling) -> ToolResult<Sampled> {
        if !by.consent.allow_sampling(&self.extension, &request).await {
            return Err(ToolError::Denied(format!("`{}` may not ask the model.", self.extension)));
        }
        by.model.sample(request).await
    }
}

/// A caller that answers no question.
struct NoCaller;

impl Caller for NoCaller {}

#[async_trait]
impl Caller for ManagedCaller {
    async fn ask(&self, key: &str, question: Question) -> ToolResult<Answer> {
        if !self.caller_answers(question.kind()) {
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
            // The person is told who asks.
            Some(caller) => caller.ask(&format!("{}/{key}", self.extension), question).await,
            None => NoCaller.ask(key, question).await,
        }
    }

    fn can_answer(&self, kind: QuestionKind) -> bool {
        self.caller_answers(kind)
            || match kind {
                QuestionKind::Sample => self.options.sampling.is_some(),
                QuestionKind::Roots => self.context.own_working_dir().is_some(),
                _ => false,
            }
    }

    /// Two calls share an owner if the same caller (without one: the same session), folder, model and consent would answer
    /// them. Two agents may share a service, but not that.
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

/// The folder of the call, as a root.
fn roots(folder: &Path) -> Vec<Root> {
    Url::from_directory_path(folder).map(|url| Root::new(url.to_string())).into_iter().collect()
}
