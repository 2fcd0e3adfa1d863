//! Extensions that build on each other: [`Requirements`], and the [`Assembly`] that resolves them.
//!
//! An extension *offers* typed handles to itself (a `Box<dyn Calendar>`); another one *requires* them under a
//! name of its own (`requires.get("calendar")`). The assembly builds every extension after those it needs
//! and names what is missing, of the wrong type, or in a circle.

use std::{
    any::{Any, type_name},
    collections::{BTreeMap, HashMap},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

use crate::{
    exchange_view::ExchangeView,
    extension::Extension,
    notifier::{Notifier, SharedNotifier},
};

/// Why an extension could not get what it requires.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequirementError {
    /// The profile does not say which extension stands behind a requirement.
    #[error(
        "extension `{extension}` requires `{requirement}`, but nothing is bound to that name. \
         Add `{requirement}` under its `requires:` (bound now: {bound})"
    )]
    Unbound {
        /// The extension that asks.
        extension: String,
        /// The name that it asks for.
        requirement: String,
        /// The names that are bound.
        bound: String,
    },
    /// The extension that should stand behind a requirement is not there.
    #[error(
        "extension `{extension}` requires `{requirement}` from extension `{provider}`, which is not loaded. \
         Add `{provider}` to the profile's `extensions:` (loaded: {loaded})"
    )]
    Missing {
        /// The extension that asks.
        extension: String,
        /// The name that it asks for.
        requirement: String,
        /// The extension that should provide it.
        provider: String,
        /// The extensions there are.
        loaded: String,
    },
    /// The other extension is there but does not offer that type.
    #[error(
        "extension `{extension}` requires `{requirement}` as `{wanted}`, which extension `{provider}` does not \
         offer. It offers: {offered}"
    )]
    WrongType {
        /// The extension that asks.
        extension: String,
        /// The name that it asks for.
        requirement: String,
        /// The extension that provides it.
        provider: String,
        /// The type asked for.
        wanted: String,
        /// The types offered.
        offered: String,
    },
    /// Extensions require each other in a circle.
    #[error("extensions require each other in a circle: {0}. Remove one of these requirements")]
    Cycle(String),
    /// Two extensions have the same name.
    #[error("two extensions are called `{0}`. Rename or remove one of them")]
    Duplicate(String),
}

/// The typed handles that an extension gives to others.
#[derive(Clone, Default)]
pub struct Offers {
    handles: Vec<(&'static str, Arc<dyn Any + Send + Sync>)>,
}

type Make<T> = Box<dyn Fn() -> T + Send + Sync>;

impl Offers {
    /// Offers a handle of type `T`, made anew for each extension that asks for it.
    ///
    /// ```
    /// # use goose_extension::Offers;
    /// trait Calendar: Send { fn appointments(&self) -> Vec<String>; }
    /// # #[derive(Clone)] struct Ical;
    /// # impl Calendar for Ical { fn appointments(&self) -> Vec<String> { vec![] } }
    /// # let ical = Ical;
    /// # let mut offers = Offers::default();
    /// offers.add(move || Box::new(ical.clone()) as Box<dyn Calendar>);
    /// ```
    pub fn add<T: 'static>(&mut self, make: impl Fn() -> T + Send + Sync + 'static) {
        let make: Make<T> = Box::new(make);
        self.handles.push((type_name::<T>(), Arc::new(make)));
    }

    fn find<T: 'static>(&self) -> Option<T> {
        self.handles.iter().find_map(|(_, handle)| handle.downcast_ref::<Make<T>>()).map(|make| make())
    }

    fn describe(&self) -> String {
        list(self.handles.iter().map(|(name, _)| *name))
    }
}

#[derive(Clone)]
struct Provider {
    name: String,
    offers: Offers,
}

/// Handles that one extension may use of the others, by names of its own.
#[derive(Clone, Default)]
pub struct Requirements {
    extension: String,
    bound: HashMap<String, Provider>,
    exchange_view: ExchangeView,
}

impl Requirements {
    /// The handle bound to `name`, for constructors that return `Self`.
    ///
    /// Only for constructors that [`Assembly::build`] runs: where the handle is missing, the constructor ends here by
    /// an unwind without a panic message, and the assembly returns the [`RequirementError`]. Everywhere else, and in
    /// programs built with `panic = "abort"`, use [`try_get`](Self::try_get).
    #[cfg(panic = "unwind")]
    pub fn get<T: 'static>(&self, name: &str) -> T {
        self.try_get(name).unwrap_or_else(|error| resume_unwind(Box::new(error)))
    }

    /// The handle bound to `name`.
    ///
    /// # Errors
    ///
    /// Says which name, extension or type is missing and what there is instead.
    pub fn try_get<T: 'static>(&self, name: &str) -> Result<T, RequirementError> {
        let provider = self.bound.get(name).ok_or_else(|| RequirementError::Unbound {
            extension: self.extension.clone(),
            requirement: name.to_owned(),
            bound: list(self.bound.keys().map(String::as_str)),
        })?;
        provider.offers.find().ok_or_else(|| RequirementError::WrongType {
            extension: self.extension.clone(),
            requirement: name.to_owned(),
            provider: provider.name.clone(),
            wanted: type_name::<T>().to_owned(),
            offered: provider.offers.describe(),
        })
    }

    /// A view of the conversation, for extensions that keep one.
    pub fn exchange_view(&self) -> ExchangeView {
        self.exchange_view.clone()
    }
}

/// An extension that is built from a notifier and its requirements. `#[extension]` implements it for a type
/// whose block has `fn new(notifier: Box<dyn Notifier>, requires: Requirements) -> Self`.
pub trait BuildExtension: Extension + Sized + 'static {
    /// Builds the extension.
    fn build(notifier: Box<dyn Notifier>, requires: Requirements) -> Self;
}

type Build = Box<dyn FnOnce(Box<dyn Notifier>, Requirements) -> Arc<dyn Extension>>;

struct Part {
    name: String,
    requires: BTreeMap<String, String>,
    build: Build,
}

/// Builds a set of extensions, each after those it requires.
pub struct Assembly {
    notifier: Arc<dyn Notifier>,
    exchange_view: ExchangeView,
    parts: Vec<Part>,
}

impl Assembly {
    /// An assembly whose extensions report to `notifier`.
    pub fn new(notifier: Arc<dyn Notifier>) -> Self {
        Self { notifier, exchange_view: ExchangeView::default(), parts: Vec::new() }
    }

    /// Gives the extensions a view of a conversation.
    pub fn with_exchange_view(mut self, view: ExchangeView) -> Self {
        self.exchange_view = view;
        self
    }

    /// Adds an extension type under `name`; `requires` maps its own names to the names of other extensions.
    pub fn add<E: BuildExtension>(self, name: &str, requires: &[(&str, &str)]) -> Self {
        self.add_with(name, requires, |notifier, requires| Arc::new(E::build(notifier, requires)))
    }

    /// Adds an extension that exists already and requires nothing.
    pub fn add_ready(self, name: &str, extension: Arc<dyn Extension>) -> Self {
        self.add_with(name, &[], |_, _| extension)
    }

    fn add_with(
        mut self,
        name: &str,
        requires: &[(&str, &str)],
        build: impl FnOnce(Box<dyn Notifier>, Requirements) -> Arc<dyn Extension> + 'static,
    ) -> Self {
        let requires = requires.iter().map(|(own, other)| ((*own).to_owned(), (*other).to_owned())).collect();
        self.parts.push(Part { name: name.to_owned(), requires, build: Box::new(build) });
        self
    }

    /// Builds everything, in the order in which the parts were added wherever requirements allow it.
    ///
    /// # Errors
    ///
    /// The first requirement that cannot be met; nothing is returned half-built.
    pub fn build(self) -> Result<BTreeMap<String, Arc<dyn Extension>>, RequirementError> {
        let order = build_order(&self.parts)?;
        let mut waiting: Vec<Option<Part>> = self.parts.into_iter().map(Some).collect();
        let mut built: BTreeMap<String, (Arc<dyn Extension>, Offers)> = BTreeMap::new();
        for part in order.into_iter().filter_map(|index| waiting[index].take()) {
            let bound = part.requires.iter().filter_map(|(own, other)| {
                let (_, offers) = built.get(other)?;
                Some((own.clone(), Provider { name: other.clone(), offers: offers.clone() }))
            });
            let requires = Requirements {
                extension: part.name.clone(),
                bound: bound.collect(),
                exchange_view: self.exchange_view.clone(),
            };
            let notifier = Box::new(SharedNotifier(Arc::clone(&self.notifier)));
            let extension = catch_requirement(|| (part.build)(notifier, requires))?;
            let mut offers = Offers::default();
            Arc::clone(&extension).offer(&mut offers);
            let itself = Arc::clone(&extension);
            offers.add(move || Arc::clone(&itself));
            built.insert(part.name, (extension, offers));
        }
        Ok(built.into_iter().map(|(name, (extension, _))| (name, extension)).collect())
    }
}

/// Turns the unwind of [`Requirements::get`] back into an error; any other panic goes on.
fn catch_requirement<T>(build: impl FnOnce() -> T) -> Result<T, RequirementError> {
    catch_unwind(AssertUnwindSafe(build)).map_err(|payload| match payload.downcast::<RequirementError>() {
        Ok(error) => *error,
        Err(payload) => resume_unwind(payload),
    })
}

fn build_order(parts: &[Part]) -> Result<Vec<usize>, RequirementError> {
    let mut index = HashMap::new();
    for (position, part) in parts.iter().enumerate() {
        if index.insert(part.name.as_str(), position).is_some() {
            return Err(RequirementError::Duplicate(part.name.clone()));
        }
    }
    let mut order = Ordering { parts, index, done: Vec::new(), path: Vec::new() };
    for position in 0..parts.len() {
        order.visit(position)?;
    }
    Ok(order.done)
}

struct Ordering<'a> {
    parts: &'a [Part],
    index: HashMap<&'a str, usize>,
    done: Vec<usize>,
    path: Vec<usize>,
}

impl Ordering<'_> {
    fn visit(&mut self, position: usize) -> Result<(), RequirementError> {
        if self.done.contains(&position) {
            return Ok(());
        }
        if let Some(start) = self.path.iter().position(|&seen| seen == position) {
            let circle = self.path[start..].iter().chain([&position]);
            let names: Vec<&str> = circle.map(|&index| self.parts[index].name.as_str()).collect();
            return Err(RequirementError::Cycle(names.join(" → ")));
        }
        self.path.push(position);
        let part = &self.parts[position];
        for (own, other) in &part.requires {
            let next = *self.index.get(other.as_str()).ok_or_else(|| RequirementError::Missing {
                extension: part.name.clone(),
                requirement: own.clone(),
                provider: other.clone(),
                loaded: list(self.parts.iter().map(|part| part.name.as_str())),
            })?;
            self.visit(next)?;
        }
        self.path.pop();
        self.done.push(position);
        Ok(())
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

impl std::fmt::Debug for Offers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.handles.iter().map(|(name, _)| name)).finish()
    }
}

impl std::fmt::Debug for Requirements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bound: BTreeMap<_, _> =
            self.bound.iter().map(|(name, provider)| (name, &provider.offers)).collect();
        f.debug_struct("Requirements").field("extension", &self.extension).field("bound", &bound).finish()
    }
}
