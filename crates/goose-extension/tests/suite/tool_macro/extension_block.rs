//! `#[extension] impl Type { … }`.

use goose_extension::{BuildExtension, Features, SilentNotifier, prelude::*};

use super::call;

const INSTRUCTIONS: &str = concat!("Use ", "it");

struct FileSystemExtension;

/// Works on files.
///
/// All of them.
#[extension]
impl FileSystemExtension {}

struct Described;

/// Not this.
#[extension(name = "other", description = "A description", instructions = INSTRUCTIONS, version = "7.1")]
impl Described {}

#[test]
fn texts_have_defaults() {
    let plain = FileSystemExtension;
    assert_eq!(
        [plain.name(), plain.description(), plain.instructions(), plain.version()],
        ["file_system", "Works on files.\n\nAll of them.", "", env!("CARGO_PKG_VERSION")]
    );
    assert!(plain.tools().is_empty());
    assert_eq!(plain.features(), Features::default());

    let given = Described;
    assert_eq!(
        [given.name(), given.description(), given.instructions(), given.version(), &given.prompt()],
        ["other", "A description", "Use it", "7.1", "Use it"]
    );
}

#[tokio::test]
async fn an_unknown_tool_is_not_found() {
    let error = FileSystemExtension.call_tool("x", hashmap! {}).await.unwrap_err();
    assert_eq!(error, ToolError::NotFound("There is no tool `x`. Available tools: none.".to_owned()));
    assert!(FileSystemExtension.status().await.unwrap().is_empty());
}

struct Counter {
    start: u8,
}

#[extension]
impl Counter {
    const STEP: u8 = 2;

    fn new(start: u8) -> Self {
        Self { start }
    }

    fn next(&self, from: u8) -> u8 {
        from + Self::STEP
    }

    /// Tools may be called from code like any other method.
    #[tool]
    pub(crate) fn count(&self) -> u8 {
        self.next(self.start)
    }

    #[tool]
    #[cfg(not(test))]
    fn not_here(&self, missing: ThereIsNoSuchType) {}

    #[cfg(test)]
    #[tool(name = "count_twice")]
    fn here(&self) -> u8 {
        self.next(self.count())
    }

    #[tool(name = "count_twice")]
    #[cfg(not(test))]
    fn not_here_either(&self) {}

    /// A name that the trait has too.
    #[tool]
    fn status(&self) -> &'static str {
        "counting"
    }
}

#[tokio::test]
async fn helpers_constants_and_cfg_stay_what_they_are() {
    let counter = Counter::new(1);
    assert_eq!(counter.count(), 3);
    assert_eq!(call(&counter, "count", json!({})).await, Ok(json!(3)));
    assert_eq!(call(&counter, "count_twice", json!({})).await, Ok(json!(5)));
    assert_eq!(call(&counter, "status", json!({})).await, Ok(json!("counting")));
    let names: Vec<&str> = counter.tools().iter().map(Tool::name).collect();
    assert_eq!(names, ["count", "count_twice", "status"]);
}

struct Built {
    notifier: Box<dyn Notifier>,
}

#[extension]
impl Built {
    fn new(notifier: Box<dyn Notifier>, _requires: Requirements) -> Self {
        notifier.log("made");
        Self { notifier }
    }

    #[tool]
    async fn talk(&self) {
        self.notifier.log("a text");
        self.notifier.log(RichRenderable::Markdown { text: "*rich*".to_owned() });
        self.notifier.status("working".to_owned());
    }
}

#[tokio::test]
async fn a_fitting_constructor_makes_it_buildable() {
    let built = Built::build(Box::new(SilentNotifier), Requirements::default());
    assert_eq!(call(&built, "talk", json!({})).await, Ok(json!(null)));
}

mod own_imports {
    //! The same with explicit imports, among them `NotifierExt`, which other pointers need.

    use std::sync::Arc;

    use goose_extension::{Notifier, NotifierExt, extension, tool};

    pub(super) struct Loud(pub(super) Box<dyn Notifier>, pub(super) Arc<dyn Notifier>);

    #[extension]
    impl Loud {
        #[tool]
        fn shout(&self) {
            self.0.log("hey");
            self.quietly();
        }

        fn quietly(&self) {
            NotifierExt::log(&self.0, "hey");
            self.1.log("hey");
        }
    }
}

#[tokio::test]
async fn imports_of_the_author_do_not_matter() {
    let loud = own_imports::Loud(Box::new(SilentNotifier), std::sync::Arc::new(SilentNotifier));
    assert_eq!(call(&loud, "shout", json!({})).await, Ok(json!(null)));
}
