//! Asking a model that the registry found.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so do its helpers")]

use std::{collections::BTreeMap, sync::Arc};

use goose_extension::{Message, Tool};
use goose_providers::{
    ModelOverrides, ModelRef, Provider, ProviderResult, Registry, Reply, Request, RequestOptions,
};

/// The settings of a user.
pub(crate) fn set<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// The provider of a model with these settings.
pub(crate) fn provider<const N: usize>(model: &str, pairs: [(&str, &str); N]) -> Arc<dyn Provider> {
    let model: ModelRef = model.parse().unwrap();
    Registry::default().provider(&model, &set(pairs), &ModelOverrides::default()).unwrap()
}

/// Asks, and reads the answer to its end.
pub(crate) async fn ask(
    provider: &dyn Provider,
    messages: &[Arc<Message>],
    tools: &[Tool],
) -> ProviderResult<Reply> {
    let options =
        RequestOptions { temperature: Some(0.5), max_tokens: Some(100), ..RequestOptions::default() };
    let request = Request { system: "You are goose.", messages, tools, options: &options };
    Reply::collect(provider.stream(request).await?).await
}

/// Asks something simple.
pub(crate) async fn ask_hello(provider: &dyn Provider) -> ProviderResult<Reply> {
    ask(provider, &[Arc::new(Message::user("Hello"))], &[]).await
}
