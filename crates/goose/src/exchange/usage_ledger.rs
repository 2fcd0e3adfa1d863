//! [`UsageLedger`]: the token usage and price of a session.

use std::sync::Arc;

use goose_providers::{Provider, Usage};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::event::Cost;
use crate::session::Step;

/// Maximum number of entries that wait to be stored.
const MAX_WAITING: usize = 10_000;

/// Usage of a session by the loop and by tools.
#[derive(Debug, Default)]
pub(crate) struct UsageLedger {
    totals: Mutex<Totals>,
    /// Ledger of the session that delegated this one. All usage is added there too.
    parent: Option<Arc<Self>>,
    /// Maximum number of tokens, and the token that is cancelled when they are used up.
    limit: Option<(u64, CancellationToken)>,
}

#[derive(Debug, Default)]
struct Totals {
    usage: Usage,
    /// Sum of the usage that has a price.
    dollars: f64,
    /// True if some usage has no known price.
    has_unpriced: bool,
    /// Entries that are not stored yet.
    unsaved: Vec<Step>,
}

impl UsageLedger {
    /// Adds up the usage in the steps of a session.
    pub(super) fn from_steps<'a>(steps: impl Iterator<Item = &'a Step>, parent: Option<Arc<Self>>) -> Self {
        let ledger = Self { parent, ..Self::default() };
        for step in steps {
            if let Step::Cost { usage, dollars, .. } = step {
                ledger.count(*usage, *dollars);
            }
        }
        ledger
    }

    /// Adds usage that is already stored.
    pub(super) fn count(&self, usage: Usage, dollars: Option<f64>) {
        self.totals.lock().enter(usage, dollars);
    }

    /// Creates a ledger for a part of a session's usage, which starts at `before`. `used_up` is cancelled
    /// once this part has used `limit` tokens.
    pub(crate) fn part_of(
        parent: &Arc<Self>,
        before: Usage,
        limit: u64,
        used_up: CancellationToken,
    ) -> Arc<Self> {
        if before.total() >= limit {
            used_up.cancel();
        }
        let totals = Totals { usage: before, ..Totals::default() };
        let (parent, limit) = (Some(Arc::clone(parent)), Some((limit, used_up)));
        Arc::new(Self { totals: Mutex::new(totals), parent, limit })
    }

    /// Returns the tokens so far, and their price if all prices are known.
    pub(crate) fn spent(&self) -> (Usage, Option<f64>) {
        let totals = self.totals.lock();
        (totals.usage, (!totals.has_unpriced).then_some(totals.dollars))
    }

    /// Adds the usage of one request, unless it is empty.
    pub(crate) fn add(&self, provider: &dyn Provider, usage: Usage) {
        if usage == Usage::default() {
            return;
        }
        let model = provider.model();
        let dollars = model.prices.as_ref().map(|prices| usage.cost(prices));
        let (provider, model) = (provider.name().to_owned(), model.name.clone());
        self.enter(Step::Cost { provider, model, usage, dollars }, usage, dollars);
    }

    fn enter(&self, step: Step, usage: Usage, dollars: Option<f64>) {
        if let Some(parent) = &self.parent {
            parent.enter(step.clone(), usage, dollars);
        }
        let mut totals = self.totals.lock();
        totals.enter(usage, dollars);
        if let Some((limit, used_up)) = &self.limit
            && totals.usage.total() >= *limit
        {
            used_up.cancel();
        }
        // The parent stores the usage of a part.
        if self.limit.is_none() && totals.unsaved.len() < MAX_WAITING {
            totals.unsaved.push(step);
        }
    }

    /// Takes the entries that are not stored yet.
    pub(crate) fn take_unsaved(&self) -> Vec<Step> {
        std::mem::take(&mut self.totals.lock().unsaved)
    }

    /// Returns the totals, with the usage of the last request.
    pub(super) fn cost(&self, last: Usage, context_used: u64, context_limit: u64) -> Cost {
        let (session, dollars) = self.spent();
        Cost { last, session, dollars, context_used, context_limit }
    }
}

impl Totals {
    fn enter(&mut self, usage: Usage, dollars: Option<f64>) {
        self.usage += usage;
        self.dollars += dollars.unwrap_or(0.0);
        self.has_unpriced |= dollars.is_none();
    }
}
