//! Extensions that the program itself brings: built with what the profile says they require.

use std::{collections::BTreeSet, sync::Arc};

use goose_extension::{Assembly, ExchangeView, Extension, Notifier, RequirementError};

use crate::config::{Profile, ProfileExtension};

/// Puts an extension into an assembly, under a name and with what it requires.
type AddTo = Box<dyn Fn(Assembly, &str, &[(&str, &str)]) -> Assembly + Send>;

/// An extension of the program's own.
pub(super) struct OwnExtension {
    pub(super) name: String,
    pub(super) add: AddTo,
}

/// Makes the extensions that are ready, by name.
pub(super) type BuildReady<'a> = &'a dyn Fn(&str) -> Option<Arc<dyn Extension>>;

/// The profile without the program's own extensions: what the settings know.
pub(super) fn without_own(profile: &Profile, own: &[OwnExtension]) -> Profile {
    let is_own = |name: &str| own.iter().any(|own| own.name == name);
    let mut rest = profile.clone();
    rest.extensions.retain(|extension| !is_own(&extension.name));
    for extension in &mut rest.extensions {
        extension.requires.retain(|_, provider| !is_own(provider));
    }
    rest
}

/// The program's own extensions that the profile names, each built after those it requires. A built-in that one of them
/// requires is made with `ready`.
///
/// # Errors
///
/// The first requirement that cannot be met.
pub(super) fn build_own(
    profile: &Profile,
    own: &[OwnExtension],
    notifier: Arc<dyn Notifier>,
    view: ExchangeView,
    ready: BuildReady<'_>,
) -> Result<Vec<Arc<dyn Extension>>, RequirementError> {
    let named: Vec<(&ProfileExtension, &OwnExtension)> = profile
        .extensions
        .iter()
        .filter_map(|named| Some((named, own.iter().find(|own| own.name == named.name)?)))
        .collect();
    let own_names: BTreeSet<&str> = named.iter().map(|(named, _)| named.name.as_str()).collect();
    let mut assembly = Assembly::new(notifier).with_exchange_view(view);
    let required = named.iter().flat_map(|(named, _)| named.requires.values()).map(String::as_str);
    for name in required.filter(|name| !own_names.contains(name)).collect::<BTreeSet<_>>() {
        if let Some(extension) = ready(name) {
            assembly = assembly.add_ready(name, extension);
        }
    }
    for (named, own) in &named {
        let requires: Vec<(&str, &str)> =
            named.requires.iter().map(|(own, other)| (own.as_str(), other.as_str())).collect();
        assembly = (own.add)(assembly, &named.name, &requires);
    }
    let mut built = assembly.build()?;
    Ok(named.iter().filter_map(|(named, _)| built.remove(&named.name)).collect())
}
