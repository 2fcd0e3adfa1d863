//! Models that a program brings itself.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so do its helpers")]

use std::sync::Arc;

use goose_providers::{
    Endpoint, Lookup, ModelOverrides, ModelRef, OpenAiChat, Provider, ProviderFactory, ProviderInfo,
    Registry, SetupError, model_info,
};

use crate::asking::set;

/// A program with models of its own.
struct Inside;

#[async_trait::async_trait]
impl ProviderFactory for Inside {
    fn name(&self) -> &str {
        "inside"
    }

    fn info(&self) -> ProviderInfo {
        ProviderInfo::embedded("inside", "Inside", vec!["small".to_owned(), "large:q4".to_owned()])
    }

    async fn fetch(&self, model: &str, _lookup: &dyn Lookup) -> Result<(), SetupError> {
        match model {
            "large:q4" => Err(SetupError::Embedded { message: "no consent".to_owned(), hint: None }),
            _ => Ok(()),
        }
    }

    fn build(&self, model: &str, _lookup: &dyn Lookup) -> Result<Arc<dyn Provider>, SetupError> {
        let endpoint = Endpoint::new("inside", "http://127.0.0.1:9/".parse().unwrap());
        Ok(Arc::new(OpenAiChat::new(endpoint, model_info(model))))
    }
}

#[tokio::test]
async fn a_programs_own_models_are_found_as_all_others() {
    let registry = Registry::default().with_factory(Arc::new(Inside));
    let nothing = set([]);
    let build = |model: &ModelRef| {
        let made = registry.provider(model, &nothing, &ModelOverrides::default());
        made.map(|provider| (provider.name().to_owned(), provider.model().name.clone()))
    };
    assert_eq!(registry.known()[0].name, "inside");
    let default = ModelRef::new("inside", "");
    assert_eq!(build(&default).unwrap(), ("inside".to_owned(), "small".to_owned()));
    assert_eq!(registry.embedded(), Some(ModelRef::new("inside", "small")));
    let other = ModelRef::new("openai", "gpt-4o");
    assert!(registry.is_embedded(&default) && !registry.is_embedded(&other));
    // A colon in a name is a service's only where it names one.
    for (name, in_use, expected) in [
        ("inside:", &other, "inside:"),
        ("large:q4", &default, "inside:large:q4"),
        ("openai:gpt-5", &default, "openai:gpt-5"),
        ("antropic:x", &other, "antropic:x"),
    ] {
        assert_eq!(registry.parse_model(name, in_use).to_string(), expected);
    }
    assert!(registry.fetch(&default, &nothing).await.is_ok());
    assert!(registry.fetch(&other, &nothing).await.is_ok());
    let refused = registry.fetch(&ModelRef::new("inside", "large:q4"), &nothing).await;
    assert_eq!(refused.unwrap_err().to_string(), "no consent");
}
