//! [`ProviderFactory`]: models that a program brings itself, next to those of services.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    lookup::Lookup,
    provider::Provider,
    registry::{ProviderInfo, SetupError},
};

/// Models that a program brings itself, such as one that runs inside it. Registered with
/// [`Registry::with_factory`](crate::Registry::with_factory), they are found by the ordinary lookup under their
/// [`name`](Self::name).
#[async_trait]
pub trait ProviderFactory: Send + Sync {
    /// The name that people write, such as `local`.
    fn name(&self) -> &str;

    /// The models that can be chosen, the default one first.
    fn info(&self) -> ProviderInfo;

    /// Gets what a model needs and this machine does not have yet, such as its file, with the consent of the person.
    /// Called before a conversation begins, never in the middle of one.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be had, such as a missing consent, and what to do.
    async fn fetch(&self, _model: &str, _lookup: &dyn Lookup) -> Result<(), SetupError> {
        Ok(())
    }

    /// Builds the provider for a model. Downloads nothing.
    ///
    /// # Errors
    ///
    /// The reason why the model cannot be used, and what to do.
    fn build(&self, model: &str, lookup: &dyn Lookup) -> Result<Arc<dyn Provider>, SetupError>;
}
