//! The built-in services of this program.

use goose_extension::{Builtin, BuiltinOptions, Tool};
pub(crate) use goose_mcp::BUILTINS as SERVICES;

/// Returns the built-in service of a name.
pub(crate) fn find(name: &str) -> Option<&'static Builtin> {
    SERVICES.iter().find(|builtin| builtin.name == name)
}

/// Returns the names of the services, for messages.
pub(crate) fn names() -> String {
    let names: Vec<&str> = SERVICES.iter().map(|builtin| builtin.name).collect();
    names.join(", ")
}

/// Returns all tools of the services, under the names that they have in a session.
pub(crate) fn tools() -> Vec<Tool> {
    let options = BuiltinOptions::new("");
    let named = |builtin: &Builtin| {
        let extension = builtin.build(&options);
        let name = |tool: &Tool| tool.clone().with_name(format!("{}__{}", builtin.name, tool.name()));
        extension.tools().iter().map(name).collect::<Vec<_>>()
    };
    SERVICES.iter().flat_map(named).collect()
}
