//! The kinds of questions that somebody can answer, and how a server is told.

use std::sync::OnceLock;

use goose_extension::{CallContext, QuestionKind};
use rmcp::model::{ClientCapabilities, RequestMetaObject, TASKS_EXTENSION_ID};

/// The kinds of questions that somebody can answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Answers {
    form: bool,
    url: bool,
    sample: bool,
    roots: bool,
}

impl Answers {
    pub(super) const ALL: Self = Self { form: true, url: true, sample: true, roots: true };

    pub(super) fn of(context: &CallContext) -> Self {
        Self {
            form: context.can_ask(QuestionKind::ElicitForm),
            url: context.can_ask(QuestionKind::ElicitUrl),
            sample: context.can_ask(QuestionKind::Sample),
            roots: context.can_ask(QuestionKind::Roots),
        }
    }

    /// The same as MCP says it.
    pub(super) fn capabilities(self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        if self.form {
            capabilities.elicitation.get_or_insert_default().form = Some(Default::default());
        }
        if self.url {
            capabilities.elicitation.get_or_insert_default().url = Some(Default::default());
        }
        capabilities.sampling = self.sample.then(Default::default);
        capabilities.roots = self.roots.then(Default::default);
        // A call may go on as a task, whoever made it.
        capabilities
            .extensions
            .get_or_insert_default()
            .insert(TASKS_EXTENSION_ID.to_owned(), Default::default());
        capabilities
    }

    /// The same as it goes with a request. It goes with each, and so is made once.
    pub(super) fn as_meta(self) -> RequestMetaObject {
        static SAID: [OnceLock<RequestMetaObject>; 16] = [const { OnceLock::new() }; 16];
        let bits = [self.form, self.url, self.sample, self.roots];
        let index = bits.into_iter().fold(0, |index, bit| index * 2 + usize::from(bit));
        let make = || {
            let mut meta = RequestMetaObject::new();
            meta.set_client_capabilities(self.capabilities());
            meta
        };
        SAID[index].get_or_init(make).clone()
    }
}
