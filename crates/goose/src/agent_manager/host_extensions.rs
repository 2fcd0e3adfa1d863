//! Extensions that the host program registers. They are built with the extensions that the profile binds to
//! their requirements.

use std::{collections::BTreeSet, sync::Arc};

use goose_extension::{Assembly, BuildExtension, ExchangeView, Extension, Notifier};

use super::OpenError;
use crate::{
    agents::extension_manager::ExtensionManager,
    config::{Profile, ProfileExtension},
};

/// Adds an extension to an assembly, under a name and with its requirements.
type AddTo = Arc<dyn Fn(Assembly, &str, &[(&str, &str)]) -> Assembly + Send + Sync>;

/// An extension of the host program, for profiles that name it.
#[derive(Clone)]
pub(super) struct HostExtension {
    name: String,
    add: AddTo,
}

impl HostExtension {
    pub(super) fn new<E: BuildExtension>(name: String) -> Self {
        let add =
            |assembly: Assembly, name: &str, requires: &[(&str, &str)]| assembly.add::<E>(name, requires);
        Self { name, add: Arc::new(add) }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// Returns the profile without the host program's extensions, which the settings do not know.
pub(super) fn without_host(profile: &Profile, own: &[HostExtension]) -> Profile {
    let is_own = |name: &str| own.iter().any(|own| own.name == name);
    let mut rest = profile.clone();
    rest.extensions.retain(|extension| !is_own(&extension.name));
    for extension in &mut rest.extensions {
        extension.requires.retain(|_, provider| !is_own(provider));
    }
    rest
}

/// Adds the host program's extensions that the profile names, each built after those that it requires. A
/// requirement is met by the instance that the manager is bound to.
///
/// # Errors
///
/// Returns the first requirement that cannot be met.
pub(super) async fn add_host_extensions(
    manager: &ExtensionManager,
    profile: &Profile,
    own: &[HostExtension],
    notifier: Arc<dyn Notifier>,
    view: ExchangeView,
) -> Result<(), OpenError> {
    let named: Vec<(&ProfileExtension, &HostExtension)> = profile
        .extensions
        .iter()
        .filter_map(|named| Some((named, own.iter().find(|own| own.name == named.name)?)))
        .collect();
    let required = required(manager, &named).await;
    let mut assembly = Assembly::new(notifier).with_exchange_view(view);
    for (name, extension) in required {
        assembly = assembly.add_ready(&name, extension);
    }
    for (named, own) in &named {
        let requires: Vec<(&str, &str)> =
            named.requires.iter().map(|(own, other)| (own.as_str(), other.as_str())).collect();
        assembly = (own.add)(assembly, &named.name, &requires);
    }
    let mut built = assembly.build()?;
    for (named, _) in &named {
        if let Some(extension) = built.remove(&named.name) {
            manager.add_extension(extension)?;
        }
    }
    Ok(())
}

/// Returns the running instances that are required. The assembly reports those that do not exist or do not
/// start.
async fn required(
    manager: &ExtensionManager,
    named: &[(&ProfileExtension, &HostExtension)],
) -> Vec<(String, Arc<dyn Extension>)> {
    let own: BTreeSet<&str> = named.iter().map(|(named, _)| named.name.as_str()).collect();
    let required = named.iter().flat_map(|(named, _)| named.requires.values()).map(String::as_str);
    let mut found = Vec::new();
    for name in required.filter(|name| !own.contains(name)).collect::<BTreeSet<_>>() {
        if let Ok(service) = manager.service(name)
            && let Ok(instance) = service.extension().await
        {
            found.push((name.to_owned(), instance));
        }
    }
    found
}
