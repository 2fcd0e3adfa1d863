//! [`Registry`]: from a model's name to somebody who can be asked.
//!
//! ```text
//! ModelRef ──► Service (table) or CustomProvider ──► Blueprint ──► Resolver + Lookup ──► Endpoint ──► Provider
//! ```
//!
//! - `table`, `service`: the services that goose knows, as data; `blueprint`: those and the user's own in one form;
//! - `resolve`: what the user has set becomes an endpoint; `address`: how URLs are put together; `openai`: its two wires; `proxy`: the way there;
//! - `build`: somebody to ask there;
//! - `names`: what people mean by a model's name; `choice`: which model it is, where nobody chooses;
//! - `info`: what can be chosen; `setup_error`: why not, and what to do; `nearest`: what was perhaps meant.

mod address;
mod blueprint;
mod build;
mod choice;
mod info;
mod names;
mod nearest;
mod openai;
mod proxy;
mod resolve;
mod service;
mod setup_error;
mod table;

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use self::{
    blueprint::Blueprint,
    resolve::{Resolved, Resolver, bad},
    service::{Service, Wire},
};
pub use self::{
    choice::{AnsweringServer, Choice, ChoiceReason, KEY_ORDER, LOCAL_SERVERS},
    info::{ProviderInfo, SettingInfo},
    setup_error::SetupError,
};
use crate::{
    catalogue::{self, ModelOverrides},
    custom::{CustomProvider, CustomProviderError, CustomProviders},
    factory::ProviderFactory,
    lookup::{Asked, Lookup},
    model_ref::ModelRef,
    provider::{ModelInfo, Provider},
};

/// How much of a conversation a local model is given room for unless the user says so. Ollama itself keeps little, and
/// cuts the rest without a word; all that a large model can take may not fit into the machine.
const OLLAMA_CONTEXT: u64 = 32_768;

/// The variable with which goose users give it more.
const OLLAMA_CONTEXT_VARIABLE: &str = "GOOSE_INPUT_LIMIT";

/// All services that can be asked. Making one costs nothing; nothing is read or connected.
#[derive(Default)]
pub struct Registry {
    factories: Vec<Arc<dyn ProviderFactory>>,
    custom: CustomProviders,
    known: OnceLock<Vec<ProviderInfo>>,
}

impl Registry {
    /// The services that goose knows, and the user's own, which win where they have the same name.
    pub fn new(custom: CustomProviders) -> Self {
        Self { custom, ..Self::default() }
    }

    /// Adds models that the program brings itself. They win over services of the same name.
    #[must_use]
    pub fn with_factory(mut self, factory: Arc<dyn ProviderFactory>) -> Self {
        self.factories.push(factory);
        self
    }

    /// The services that can be chosen: the program's own, then the user's own, then all others.
    pub fn known(&self) -> &[ProviderInfo] {
        self.known.get_or_init(|| {
            let is_new = |name: &str| self.factory(name).is_none();
            let embedded = self.factories.iter().map(|factory| factory.info());
            let own = self.custom.providers.iter().filter(|custom| is_new(&custom.name));
            let table =
                table::services().filter(|service| is_new(service.name) && self.own(service.name).is_none());
            embedded
                .chain(own.map(ProviderInfo::of_custom))
                .chain(table.map(ProviderInfo::of_service))
                .collect()
        })
    }

    /// The services that the user describes.
    pub fn custom(&self) -> &[CustomProvider] {
        &self.custom.providers
    }

    /// The descriptions that cannot be used.
    pub fn problems(&self) -> &[CustomProviderError] {
        &self.custom.problems
    }

    /// The default model of the program's own models, where it has some.
    pub fn embedded(&self) -> Option<ModelRef> {
        let info = self.factories.first()?.info();
        Some(ModelRef::new(info.name, info.default_model?))
    }

    /// Whether the program itself brings the model.
    pub fn is_embedded(&self, model: &ModelRef) -> bool {
        model.provider().is_some_and(|name| self.factory(name).is_some())
    }

    /// What can be chosen under that name or alias.
    pub fn info(&self, name: &str) -> Option<&ProviderInfo> {
        let name = normal(name);
        let goes_by = |info: &&ProviderInfo| {
            normal(&info.name) == name || info.aliases.iter().any(|alias| normal(alias) == name)
        };
        self.known().iter().find(goes_by)
    }

    /// Gets what a model needs before it can be asked; for a model of a service that is nothing. Call it before a
    /// conversation begins.
    ///
    /// # Errors
    ///
    /// What is missing, and what to do about it.
    pub async fn fetch(&self, model: &ModelRef, lookup: &dyn Lookup) -> Result<(), SetupError> {
        let model = self.with_default_model(model);
        match model.provider().and_then(|name| self.factory(name)) {
            Some(factory) => factory.fetch(model.model(), lookup).await,
            None => Ok(()),
        }
    }

    /// Somebody to ask; the default model, where only a service is named. Nothing is sent yet, and no connection made.
    ///
    /// # Errors
    ///
    /// What is missing or wrong, and what to do about it.
    pub fn provider(
        &self,
        model: &ModelRef,
        lookup: &dyn Lookup,
        overrides: &ModelOverrides,
    ) -> Result<Arc<dyn Provider>, SetupError> {
        let model = self.with_default_model(model);
        if let Some(factory) = model.provider().and_then(|name| self.factory(name)) {
            return factory.build(model.model(), lookup);
        }
        let asked = Asked::new(lookup);
        let made = self.resolved(&model, &asked, overrides);
        let (resolved, info) = asked.judge(made)?;
        Ok(build::provider(resolved, info))
    }

    fn resolved(
        &self,
        model: &ModelRef,
        lookup: &Asked<'_>,
        overrides: &ModelOverrides,
    ) -> Result<(Resolved, ModelInfo), SetupError> {
        let blueprint = self.blueprint(model)?;
        let resolved = Resolver { blueprint: &blueprint, model: model.model(), lookup }.resolve()?;
        let mut info = self.info_of(&blueprint, model.model(), overrides);
        if resolved.wire == Wire::Ollama {
            fit_into_machine(&mut info, &blueprint, lookup, overrides)?;
        }
        Ok((resolved, info))
    }

    /// What is known of a model: the table, then the user's own provider, then what the user says of models.
    pub fn model_info(&self, model: &ModelRef, overrides: &ModelOverrides) -> ModelInfo {
        match self.blueprint(model) {
            Ok(blueprint) => self.info_of(&blueprint, model.model(), overrides),
            Err(_) => {
                let mut info = catalogue::model_info(model.model());
                overrides.apply(&mut info);
                info
            }
        }
    }

    fn info_of(&self, blueprint: &Blueprint<'_>, model: &str, overrides: &ModelOverrides) -> ModelInfo {
        let mut info = catalogue::model_info(model);
        if let Some(says) = blueprint.models.get(model) {
            says.apply(&mut info);
        }
        overrides.apply(&mut info);
        info
    }

    fn blueprint<'a>(&'a self, model: &ModelRef) -> Result<Blueprint<'a>, SetupError> {
        let Some(name) = model.provider() else {
            return Err(SetupError::NoProvider { model: model.model().to_owned() });
        };
        if let Some(custom) = self.own(name) {
            return Ok(Blueprint::of_custom(custom));
        }
        match service(name) {
            Some(service) => Ok(Blueprint::of_service(service)),
            None => Err(self.unknown(name, model)),
        }
    }

    fn factory(&self, name: &str) -> Option<&Arc<dyn ProviderFactory>> {
        let name = normal(name);
        self.factories.iter().find(|factory| normal(factory.name()) == name)
    }

    fn own(&self, name: &str) -> Option<&CustomProvider> {
        let name = normal(name);
        self.custom.providers.iter().find(|custom| normal(&custom.name) == name)
    }

    /// What is wrong with the user's own description of a service.
    fn problem(&self, service: &str) -> Option<&CustomProviderError> {
        let describes = |path: &Path| path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case(service));
        self.custom.problems.iter().find(|problem| describes(&problem.path))
    }

    /// The error for a service that nobody knows. It is not unknown where its description is only wrong.
    fn unknown(&self, name: &str, model: &ModelRef) -> SetupError {
        if let Some(problem) = self.problem(name) {
            return SetupError::Description { name: name.to_owned(), problem: problem.clone() };
        }
        let cannot = table::CANNOT.iter().find(|(known, ..)| normal(known) == normal(name));
        if let Some((known, reason, instead)) = cannot {
            let [name, reason, instead] = [known, reason, instead].map(|text| (*text).to_owned());
            return SetupError::Unsupported { name, reason, instead };
        }
        let names = self.known().iter().map(|info| info.name.as_str());
        let near = nearest::nearest(name, names);
        let looks_like_model = catalogue::knows(name);
        SetupError::UnknownProvider {
            name: name.to_owned(),
            near,
            perhaps_model: looks_like_model.then(|| model.to_string()),
        }
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("custom", &self.custom).finish_non_exhaustive()
    }
}

/// Names are written with either line.
fn normal(name: &str) -> String {
    name.trim().to_lowercase().replace('-', "_")
}

fn service(name: &str) -> Option<&'static Service> {
    let name = normal(name);
    let goes_by = |service: &&Service| {
        service.name == name || service.aliases.iter().any(|alias| normal(alias) == name)
    };
    table::services().find(goes_by)
}

fn fit_into_machine(
    info: &mut ModelInfo,
    blueprint: &Blueprint<'_>,
    lookup: &Asked<'_>,
    overrides: &ModelOverrides,
) -> Result<(), SetupError> {
    if let Some(text) = lookup.value(OLLAMA_CONTEXT_VARIABLE).filter(|text| !text.trim().is_empty()) {
        let limit = text.trim().parse().ok().filter(|limit| *limit > 0);
        let not_a_number = || bad(OLLAMA_CONTEXT_VARIABLE, format!("`{text}` is no number of tokens"));
        info.context_limit = limit.ok_or_else(not_a_number)?;
        return Ok(());
    }
    let own = blueprint.models.get(info.name.as_str()).is_some_and(|says| says.context_limit.is_some());
    if !own && !overrides.says_size_of(&info.name) {
        info.context_limit = info.context_limit.min(OLLAMA_CONTEXT);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
