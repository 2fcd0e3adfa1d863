//! [`Registry`]: from a model's name to its provider.
//!
//! ```text
//! ModelRef ──► Service (services.json or CustomProvider) ──► Resolver + Lookup ──► Endpoint ──► Provider
//! ```
//!
//! - `services.json`: the services that goose knows; `service`: those and the user's own in one form, also for lists;
//! - `resolve`: from the user's settings to an endpoint and a wire, with `address` (URLs and proxies);
//! - `choice`: the model if the user chooses none, with the servers on this machine;
//! - `live_models`: the models that a service lists;
//! - `served`: what a server on this machine says of its model;
//! - `setup_error`: problems, with fixes and suggestions.

pub(crate) mod address;
mod choice;
mod live_models;
mod resolve;
mod served;
mod service;
mod setup_error;

use std::{
    collections::HashSet,
    path::Path,
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;
use url::form_urlencoded::byte_serialize;

pub use crate::registry::{
    address::is_here,
    choice::{Choice, ChoiceReason, KEY_ORDER, LOCAL_SERVERS},
    served::SMALL_MODEL_PARAMETERS,
    service::{ProviderInfo, SettingInfo},
    setup_error::SetupError,
};
use crate::{
    catalogue::{self, ModelOverrides},
    custom::{CustomProvider, CustomProviderError, CustomProviders},
    endpoint::{Endpoint, KeyHeader},
    lookup::{Lookup, TrackedLookup},
    model_ref::ModelRef,
    provider::{ModelInfo, Provider, ProviderFactory},
    registry::{
        resolve::{Resolved, Resolver, bad},
        served::ServedModel,
        service::{Service, Unsupported, Wire},
    },
    wires::{Anthropic, Bedrock, Gemini, Ollama, OpenAiChat, OpenAiResponses, VertexClaude},
};

/// Context of a local model unless the user sets one. Ollama itself keeps little, and
/// cuts the rest without a word; all that a large model can take may not fit into the machine.
const OLLAMA_CONTEXT: u64 = 32_768;

/// The variable with which goose users give it more.
const OLLAMA_CONTEXT_VARIABLE: &str = "GOOSE_INPUT_LIMIT";

/// All services that can be asked. Making one costs nothing; nothing is read or connected.
#[derive(Default)]
pub struct Registry {
    factories: Vec<Arc<dyn ProviderFactory>>,
    /// The models at servers on this machine that need a form.
    small: Mutex<HashSet<ModelRef>>,
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
            let is_known = |service: &Service<'_>| is_new(service.name) && self.own(service.name).is_none();
            let known = service::services().filter(is_known).map(|it| ProviderInfo::from_service(&it));
            let own = own.map(|custom| ProviderInfo::from_service(&Service::from_custom(custom)));
            embedded.chain(own).chain(known).collect()
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

    /// Returns whether the program itself brings the model.
    pub fn is_embedded(&self, model: &ModelRef) -> bool {
        model.provider().is_some_and(|name| self.factory(name).is_some())
    }

    /// Returns the service with that name or alias.
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
    /// The part that is missing.
    pub async fn fetch(&self, model: &ModelRef, lookup: &dyn Lookup) -> Result<(), SetupError> {
        let model = self.with_default_model(model);
        match model.provider().and_then(|name| self.factory(name)) {
            Some(factory) => factory.fetch(model.model(), lookup).await,
            None => {
                self.ask_about(&model, lookup).await;
                Ok(())
            }
        }
    }

    /// Asks a server on this machine about its model.
    async fn ask_about(&self, model: &ModelRef, lookup: &dyn Lookup) {
        let Some(provider) = model.provider().filter(|_| !self.factories.is_empty()) else { return };
        // First, because the address takes a list of all services.
        if ServedModel::is_sold(provider, model.model()) {
            return;
        }
        let Some(url) = choice::address_of(self, lookup, provider) else { return };
        if ServedModel::ask(provider, &url, model.model()).await.needs_form() {
            self.small.lock().insert(model.clone());
        }
    }

    /// Returns the provider of a model, or of the default model if only a service is named. It sends nothing and makes
    /// no connection.
    ///
    /// # Errors
    ///
    /// The setting that is missing or wrong.
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
        let asked = TrackedLookup::new(lookup);
        let made = self.resolved(&model, &asked, overrides);
        let (resolved, info) = asked.judge(made)?;
        let provider = build(resolved, info);
        let is_small = self.small.lock().contains(&model);
        let mut factories = self.factories.iter().filter(|_| is_small);
        Ok(factories.find_map(|factory| factory.for_small_model(Arc::clone(&provider))).unwrap_or(provider))
    }

    fn resolved(
        &self,
        model: &ModelRef,
        lookup: &TrackedLookup<'_>,
        overrides: &ModelOverrides,
    ) -> Result<(Resolved, ModelInfo), SetupError> {
        let keyed = model.provider().is_none().then(|| self.only_keyed(lookup)).flatten();
        let model = &keyed.map_or_else(|| model.clone(), |provider| model.clone().or_provider(provider));
        let spec = self.spec(model)?;
        let resolved = Resolver { spec: &spec, model: model.model(), lookup }.resolve()?;
        let mut info = self.info_of(&spec, model.model(), overrides);
        if resolved.wire == Wire::Ollama {
            fit_into_machine(&mut info, &spec, lookup, overrides)?;
        }
        Ok((resolved, info))
    }

    /// Returns the facts about a model: from the table, the user's own provider, and the user's overrides, in this
    /// order.
    pub fn model_info(&self, model: &ModelRef, overrides: &ModelOverrides) -> ModelInfo {
        match self.spec(model) {
            Ok(spec) => self.info_of(&spec, model.model(), overrides),
            Err(_) => {
                let mut info = catalogue::model_info(model.model());
                overrides.apply(&mut info);
                info
            }
        }
    }

    fn info_of(&self, spec: &Service<'_>, model: &str, overrides: &ModelOverrides) -> ModelInfo {
        let mut info = catalogue::model_info(model);
        if let Some(says) = spec.overrides.get(model) {
            says.apply(&mut info);
        }
        overrides.apply(&mut info);
        info
    }

    /// The model with its service's default name, where only the service is named.
    pub fn with_default_model(&self, model: &ModelRef) -> ModelRef {
        let known = model.provider().filter(|_| model.model().is_empty());
        match known.and_then(|name| Some((name, self.info(name)?.default_model.clone()?))) {
            Some((name, default)) => ModelRef::new(name, default),
            None => model.clone(),
        }
    }

    /// The model that a person means by a name while another one is in use. What stands before a colon is a service, be
    /// it known or not, unless models at the service in use may have colons in their names: then it must be a known
    /// one.
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

    fn spec<'a>(&'a self, model: &ModelRef) -> Result<Service<'a>, SetupError> {
        let Some(name) = model.provider() else {
            return Err(SetupError::NoProvider { model: model.model().to_owned() });
        };
        if let Some(custom) = self.own(name) {
            return Ok(Service::from_custom(custom));
        }
        service(name).ok_or_else(|| self.unknown(name, model))
    }

    fn factory(&self, name: &str) -> Option<&Arc<dyn ProviderFactory>> {
        let name = normal(name);
        self.factories.iter().find(|factory| normal(factory.name()) == name)
    }

    /// Returns the service whose key is set, if it is the only one.
    fn only_keyed(&self, lookup: &TrackedLookup<'_>) -> Option<&str> {
        let infos = KEY_ORDER.iter().filter_map(|name| self.info(name));
        let has_key =
            |info: &&ProviderInfo| info.key_variables.iter().any(|key| lookup.secret(key).is_some());
        let mut keyed = infos.filter(has_key);
        let only = keyed.next()?;
        keyed.next().is_none().then_some(only.name.as_str())
    }

    fn own(&self, name: &str) -> Option<&CustomProvider> {
        let name = normal(name);
        self.custom.providers.iter().find(|custom| normal(&custom.name) == name)
    }

    /// Returns the problem of the user's own description of a service.
    fn problem(&self, service: &str) -> Option<&CustomProviderError> {
        let describes = |path: &Path| path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case(service));
        self.custom.problems.iter().find(|problem| describes(&problem.path))
    }

    /// The error for an unknown service. A service whose description is wrong is not unknown.
    fn unknown(&self, name: &str, model: &ModelRef) -> SetupError {
        if let Some(problem) = self.problem(name) {
            return SetupError::Description { name: name.to_owned(), problem: problem.clone() };
        }
        let mut unsupported = service::unsupported().into_iter();
        if let Some(service) = unsupported.find(|service| normal(&service.name) == normal(name)) {
            let Unsupported { name, reason, instead } = service;
            return SetupError::Unsupported { name, reason, instead };
        }
        let names = self.known().iter().map(|info| info.name.as_str());
        let near = setup_error::nearest(name, names);
        let looks_like_model = catalogue::knows(name);
        SetupError::UnknownProvider {
            name: name.to_owned(),
            near,
            perhaps_model: looks_like_model.then(|| model.to_string()),
        }
    }
}

/// `-` and `_` are interchangeable in names.
fn normal(name: &str) -> String {
    name.trim().to_lowercase().replace('-', "_")
}

/// Returns whether it is written as services are.
fn looks_like_service(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

fn service(name: &str) -> Option<Service<'static>> {
    let name = normal(name);
    service::service(|known| normal(known) == name)
}

fn fit_into_machine(
    info: &mut ModelInfo,
    spec: &Service<'_>,
    lookup: &TrackedLookup<'_>,
    overrides: &ModelOverrides,
) -> Result<(), SetupError> {
    if let Some(text) = lookup.value(OLLAMA_CONTEXT_VARIABLE).filter(|text| !text.trim().is_empty()) {
        let limit = text.trim().parse().ok().filter(|limit| *limit > 0);
        let not_a_number = || bad(OLLAMA_CONTEXT_VARIABLE, format!("`{text}` is not a number of tokens"));
        info.context_limit = limit.ok_or_else(not_a_number)?;
        return Ok(());
    }
    let own = spec.overrides.get(info.name.as_str()).is_some_and(|says| says.context_limit.is_some());
    if !own && !overrides.says_size_of(&info.name) {
        info.context_limit = info.context_limit.min(OLLAMA_CONTEXT);
    }
    Ok(())
}

/// Makes the provider that is asked at an endpoint. Nothing is connected yet.
fn build(resolved: Resolved, info: ModelInfo) -> Arc<dyn Provider> {
    let Resolved { wire, endpoint } = resolved;
    let model = info.name.as_str();
    match wire {
        Wire::OpenAi | Wire::Chat => Arc::new(OpenAiChat::new(endpoint, info)),
        Wire::Responses => Arc::new(OpenAiResponses::new(endpoint, info)),
        Wire::Anthropic => Arc::new(Anthropic::new(endpoint, info)),
        Wire::Ollama => Arc::new(Ollama::new(endpoint, info)),
        Wire::Gemini => Arc::new(Gemini::new(generate(endpoint, "", model), info)),
        Wire::Vertex if model.contains("claude") => {
            let path = format!("publishers/anthropic/models/{model}:streamRawPredict");
            Arc::new(VertexClaude::new(below(endpoint, &path), info))
        }
        Wire::Vertex => {
            let endpoint = generate(endpoint, "publishers/google/", model);
            Arc::new(Gemini::new(Endpoint { key_header: KeyHeader::Bearer, ..endpoint }, info))
        }
        Wire::Bedrock => {
            // The ids of models hold colons, and those of profiles slashes.
            let model: String = byte_serialize(model.as_bytes()).collect();
            Arc::new(Bedrock::new(below(endpoint, &format!("model/{model}/converse-stream")), info))
        }
    }
}

fn generate(endpoint: Endpoint, publisher: &str, model: &str) -> Endpoint {
    let mut endpoint = below(endpoint, &format!("{publisher}models/{model}:streamGenerateContent"));
    endpoint.url.query_pairs_mut().append_pair("alt", "sse");
    endpoint
}

/// Returns the endpoint with a path added to its own.
fn below(mut endpoint: Endpoint, path: &str) -> Endpoint {
    let path = format!("{}/{path}", endpoint.url.path().trim_end_matches('/'));
    endpoint.url.set_path(&path);
    endpoint
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("custom", &self.custom).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
