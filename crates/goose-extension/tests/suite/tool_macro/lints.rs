//! Generated code passes the lints that a careful author turns on.

#![deny(warnings, missing_docs, unreachable_pub, unused_qualifications, missing_debug_implementations)]
#![deny(single_use_lifetimes, trivial_casts, unused_lifetimes, elided_lifetimes_in_paths, unused_results)]
#![deny(clippy::pedantic, clippy::allow_attributes, clippy::allow_attributes_without_reason)]

use goose_extension::{
    BuildExtension, CallContext, Extension, Notifier, Requirements, SilentNotifier, ToolResult, extension,
    tool,
};

/// Nothing of it is imported that only the macros use.
struct Careful;

/// With a tool of each kind.
#[extension]
impl Careful {
    /// Reads.
    #[tool(group = "read", read_only, timeout = "1s")]
    async fn read(
        &self,
        path: &str,
        #[arg(default = 3)] lines: u8,
        context: &CallContext,
    ) -> ToolResult<String> {
        tokio::task::yield_now().await;
        Ok(format!("{path} {lines} {}", context.is_cancelled()))
    }

    #[tool]
    fn many_flags(&self, one: bool, two: bool, three: bool, four: bool) -> u8 {
        Self::helper(one && two && three && four)
    }

    fn helper(all: bool) -> u8 {
        u8::from(all)
    }
}

struct Logging(Box<dyn Notifier>);

#[extension]
impl Extension for Logging {
    fn new(notifier: Box<dyn Notifier>, _requires: Requirements) -> Self {
        Self(notifier)
    }

    fn prompt(&self) -> String {
        String::new()
    }

    #[tool]
    fn log(&self) {
        self.0.log("called");
    }
}

struct Generic<T>(T);

#[extension]
impl<T: Clone + serde::Serialize + 'static> Generic<T> {
    #[tool]
    fn get(&self) -> T {
        self.0.clone()
    }
}

struct Plain;

impl Plain {
    /// Registered nowhere, and no lint complains.
    #[tool]
    fn unused(&self) {}
}

#[test]
fn nothing_is_missing() {
    let logging = Logging::build(Box::new(SilentNotifier), Requirements::default());
    let Plain = Plain;
    assert_eq!([Careful.tools().len(), logging.tools().len(), Generic(1).tools().len()], [2, 1, 1]);
}
