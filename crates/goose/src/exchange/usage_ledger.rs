//! [`UsageLedger`]: the tokens and dollars of a session, and [`SamplingModel`], through which tools spend some.

use std::sync::Arc;

use async_trait::async_trait;
use goose_extension::{Message, MessageContent, Model, Sampled, Sampling, ToolError, ToolResult};
use goose_providers::{Provider, ProviderResult, Reply, Request, RequestOptions, Usage};
use parking_lot::{Mutex, MutexGuard};

use super::event::Cost;
use crate::session::Step;

/// Entries that wait to be stored; a session that stores nothing has no more.
const MAX_WAITING: usize = 10_000;

/// The usage of a session, of the loop and of tools.
#[derive(Debug, Default)]
pub(super) struct UsageLedger(Mutex<Totals>);

#[derive(Debug, Default)]
struct Totals {
    usage: Usage,
    /// Sum of everything that has a price.
    dollars: f64,
    /// Whether something has no price.
    has_unpriced: bool,
    /// Entries that are not stored yet.
    unsaved: Vec<Step>,
}

impl UsageLedger {
    /// Adds up the usage in these steps.
    pub(super) fn from_steps<'a>(steps: impl Iterator<Item = &'a Step>) -> Self {
        let mut totals = Totals::default();
        for step in steps {
            if let Step::Cost { usage, dollars, .. } = step {
                totals.enter(*usage, *dollars);
            }
        }
        Self(Mutex::new(totals))
    }

    /// Adds the usage of one request, unless it is empty.
    pub(super) fn add(&self, provider: &dyn Provider, usage: Usage) {
        if usage == Usage::default() {
            return;
        }
        let model = provider.model();
        let dollars = model.prices.as_ref().map(|prices| usage.cost(prices));
        let mut totals = self.lock();
        totals.enter(usage, dollars);
        if totals.unsaved.len() < MAX_WAITING {
            let (provider, model) = (provider.name().to_owned(), model.name.clone());
            totals.unsaved.push(Step::Cost { provider, model, usage, dollars });
        }
    }

    /// Takes the entries that are not stored yet.
    pub(super) fn take_unsaved(&self) -> Vec<Step> {
        std::mem::take(&mut self.lock().unsaved)
    }

    /// The totals, with the usage of the last request.
    pub(super) fn cost(&self, last: Usage, context_used: u64, context_limit: u64) -> Cost {
        let totals = self.lock();
        let dollars = (!totals.has_unpriced).then_some(totals.dollars);
        Cost { last, session: totals.usage, dollars, context_used, context_limit }
    }

    fn lock(&self) -> MutexGuard<'_, Totals> {
        self.0.lock()
    }
}

impl Totals {
    fn enter(&mut self, usage: Usage, dollars: Option<f64>) {
        self.usage += usage;
        self.dollars += dollars.unwrap_or(0.0);
        self.has_unpriced |= dollars.is_none();
    }
}

/// The fast model, as tools may use it. Its usage is the session's.
pub(super) struct SamplingModel {
    pub(super) model: Arc<dyn Provider>,
    pub(super) usage: Arc<UsageLedger>,
}

#[async_trait]
impl Model for SamplingModel {
    async fn sample(&self, request: Sampling) -> ToolResult<Sampled> {
        let messages =
            request.messages().map(|(role, text)| Message::new(role, [MessageContent::text(text)]));
        let messages: Vec<Arc<Message>> = messages.map(Arc::new).collect();
        let options =
            RequestOptions { max_tokens: Some(request.max_tokens().into()), ..RequestOptions::default() };
        let system = request.system_prompt().unwrap_or_default();
        let request = Request { system, messages: &messages, tools: &[], options: &options };
        let reply = async { Reply::collect(self.model.stream(request).await?).await };
        let reply: ProviderResult<Reply> = reply.await;
        let reply =
            reply.map_err(|error| ToolError::execution(format!("The model gave no answer: {error}")))?;
        self.usage.add(self.model.as_ref(), reply.usage);
        Ok(Sampled::new(self.model.model().name.as_str(), reply.message.text()))
    }
}
