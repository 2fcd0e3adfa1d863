//! Extensions that build on each other: what they get, and what is said when they cannot have it.

use std::sync::Arc;

use goose_extension::{
    Assembly, Extension, Offers, RequirementError, Requirements, SilentNotifier, prelude::*,
};

trait Calendar: Send + Sync {
    fn appointments(&self) -> Vec<String>;
}

struct Diary(Vec<String>);

impl Calendar for Arc<Diary> {
    fn appointments(&self) -> Vec<String> {
        self.0.clone()
    }
}

#[extension(name = "calendar")]
impl Extension for Diary {
    fn new(_notifier: Box<dyn Notifier>, _requires: Requirements) -> Self {
        Self(vec!["dentist".to_owned()])
    }

    fn offer(self: Arc<Self>, offers: &mut Offers) {
        offers.add(move || Box::new(Arc::clone(&self)) as Box<dyn Calendar>);
    }
}

struct Planner {
    calendar: Box<dyn Calendar>,
}

#[extension]
impl Extension for Planner {
    fn new(_notifier: Box<dyn Notifier>, requires: Requirements) -> Self {
        Self { calendar: requires.get("calendar") }
    }

    #[tool]
    fn plan(&self) -> Vec<String> {
        self.calendar.appointments()
    }
}

/// Asks for something that no extension offers in that form.
struct Misled;

#[extension]
impl Extension for Misled {
    fn new(_notifier: Box<dyn Notifier>, requires: Requirements) -> Self {
        let _: Box<String> = requires.get("calendar");
        Self
    }
}

fn assembly() -> Assembly {
    Assembly::new(Arc::new(SilentNotifier))
}

fn error(assembly: Assembly) -> RequirementError {
    match assembly.build() {
        Err(error) => error,
        Ok(built) => panic!("it was built: {:?}", built.keys()),
    }
}

#[tokio::test]
async fn an_extension_gets_what_it_requires_in_whatever_order_they_are_listed() {
    let built = assembly()
        .add::<Planner>("planner", &[("calendar", "diary")])
        .add::<Diary>("diary", &[])
        .build()
        .unwrap();
    assert_eq!(built["planner"].call_tool("plan", HashMap::new()).await, Ok(json!(["dentist"])));
}

#[test]
fn a_missing_extension_is_named() {
    let error = error(assembly().add::<Planner>("planner", &[("calendar", "diary")]));
    assert_eq!(
        error.to_string(),
        "extension `planner` requires `calendar` from extension `diary`, which is not loaded. \
         Add `diary` to the profile's `extensions:` (loaded: planner)"
    );
}

#[test]
fn a_requirement_that_nobody_is_bound_to_is_named() {
    let error = error(assembly().add::<Planner>("planner", &[]));
    assert_eq!(
        error.to_string(),
        "extension `planner` requires `calendar`, but nothing is bound to that name. \
         Add `calendar` under its `requires:` (bound now: nothing)"
    );
}

#[test]
fn a_handle_of_another_type_is_named_with_what_there_is() {
    let text = error(assembly().add::<Diary>("diary", &[]).add::<Misled>("misled", &[("calendar", "diary")]))
        .to_string();
    assert!(
        text.starts_with(
            "extension `misled` requires `calendar` as `alloc::boxed::Box<alloc::string::String>`"
        ),
        "{text}"
    );
    assert!(text.contains("dyn suite::requirements::Calendar"), "{text}");
}

#[test]
fn a_circle_is_shown_as_it_runs() {
    let error = error(
        assembly()
            .add::<Planner>("a", &[("calendar", "b")])
            .add::<Planner>("b", &[("calendar", "c")])
            .add::<Planner>("c", &[("calendar", "a")]),
    );
    assert_eq!(error, RequirementError::Cycle("a → b → c → a".to_owned()));
}

#[test]
fn two_extensions_of_one_name_are_refused() {
    let error = error(assembly().add::<Diary>("diary", &[]).add::<Diary>("diary", &[]));
    assert_eq!(error, RequirementError::Duplicate("diary".to_owned()));
}

#[test]
fn every_extension_can_be_had_as_an_extension() {
    struct Any(Arc<dyn Extension>);

    #[extension]
    impl Extension for Any {
        fn new(_notifier: Box<dyn Notifier>, requires: Requirements) -> Self {
            Self(requires.get("other"))
        }

        fn prompt(&self) -> String {
            format!("I stand on {}.", self.0.name())
        }
    }

    let built =
        assembly().add::<Diary>("diary", &[]).add::<Any>("any", &[("other", "diary")]).build().unwrap();
    assert_eq!(built["any"].prompt(), "I stand on calendar.");
}
