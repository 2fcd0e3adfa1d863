//! [`Spent`]: the books. What the models cost, kept in one place and stored with the session.

use std::sync::{Mutex, MutexGuard, PoisonError};

use goose_providers::{Provider, Usage};

use super::event::Cost;
use crate::session::Step;

/// How many entries may wait to be stored. More means that nobody stores them.
const MAX_WAITING: usize = 10_000;

/// What was spent in a session, by whomever.
#[derive(Debug, Default)]
pub(super) struct Spent(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    usage: Usage,
    /// The sum of what has a price.
    dollars: f64,
    /// Whether something had none.
    has_unpriced: bool,
    /// What is not stored yet.
    waiting: Vec<Step>,
}

impl Spent {
    /// The books as the steps have them.
    pub(super) fn of<'a>(steps: impl Iterator<Item = &'a Step>) -> Self {
        let mut books = Books::default();
        for step in steps {
            if let Step::Cost { usage, dollars, .. } = step {
                books.enter(*usage, *dollars);
            }
        }
        Self(Mutex::new(books))
    }

    /// Enters what a question cost. A question that cost nothing is not entered.
    pub(super) fn add(&self, provider: &dyn Provider, usage: Usage) {
        if usage == Usage::default() {
            return;
        }
        let model = provider.model();
        let dollars = model.prices.as_ref().map(|prices| usage.cost(prices));
        let mut books = self.lock();
        books.enter(usage, dollars);
        if books.waiting.len() < MAX_WAITING {
            let (provider, model) = (provider.name().to_owned(), model.name.clone());
            books.waiting.push(Step::Cost { provider, model, usage, dollars });
        }
    }

    /// What is not stored yet.
    pub(super) fn take(&self) -> Vec<Step> {
        std::mem::take(&mut self.lock().waiting)
    }

    /// The whole, with what the last question cost.
    pub(super) fn cost(&self, last: Usage, context_used: u64, context_limit: u64) -> Cost {
        let books = self.lock();
        let dollars = (!books.has_unpriced).then_some(books.dollars);
        Cost { last, session: books.usage, dollars, context_used, context_limit }
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn enter(&mut self, usage: Usage, dollars: Option<f64>) {
        self.usage += usage;
        self.dollars += dollars.unwrap_or(0.0);
        self.has_unpriced |= dollars.is_none();
    }
}
