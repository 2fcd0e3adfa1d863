//! The models that people mean by what they write.

use super::Registry;
use crate::model_ref::ModelRef;

impl Registry {
    /// The model with its service's default name, where only the service is named.
    pub fn with_default_model(&self, model: &ModelRef) -> ModelRef {
        let known = model.provider().filter(|_| model.model().is_empty());
        match known.and_then(|name| Some((name, self.info(name)?.default_model.clone()?))) {
            Some((name, default)) => ModelRef::new(name, default),
            None => model.clone(),
        }
    }

    /// The model that a person means by a name while another one is in use. What stands before a colon is a service, be
    /// it known or not, unless models at the service in use may have colons in their names: then it must be a known one.
    pub fn parse_model(&self, name: &str, in_use: &ModelRef) -> ModelRef {
        let (name, service) = (name.trim(), in_use.provider().unwrap_or_default());
        match name.split_once(':') {
            Some((other, model)) if self.is_service(other) || !self.may_be_model(other, in_use) => {
                ModelRef::new(other, model)
            }
            _ => ModelRef::new(service, name),
        }
    }

    /// Returns whether it is a service, or meant to be one.
    fn is_service(&self, name: &str) -> bool {
        self.info(name).is_some() || self.problem(name).is_some()
    }

    /// Returns whether the text before a colon may be part of a model's name.
    fn may_be_model(&self, part: &str, in_use: &ModelRef) -> bool {
        self.is_embedded(in_use) || self.has_colons(in_use) || !looks_like_service(part)
    }

    /// Returns whether models may have colons in their names at this service.
    fn has_colons(&self, model: &ModelRef) -> bool {
        let known = model.provider().and_then(|service| self.info(service));
        model.model().contains(':')
            || known.is_none_or(|info| info.is_custom || info.models.iter().any(|name| name.contains(':')))
    }
}

/// Returns whether it is written as services are.
fn looks_like_service(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}
