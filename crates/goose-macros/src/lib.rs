//! `#[tool]` and `#[extension]`: a Rust method becomes a tool that an agent can call.
//!
//! The macros only write what an author could write by hand against `goose_extension`; everything that runs is
//! there, in its `registry`, `schema` and hidden `macros` modules.
//!
//! | module | what it does |
//! | --- | --- |
//! | `tool` | one method: the `…_tool()` function that describes it |
//! | `signature`, `param`, `types`, `arg_attr` | what a method may look like; its parameters as a schema |
//! | `extension`, `trait_methods`, `build` | a whole block: sorts methods, fills in the trait |
//! | `tool_args`, `extension_args`, `entries` | what is written in the attributes |
//! | `docs`, `names`, `scope`, `errors` | helpers |

mod arg_attr;
mod build;
mod docs;
mod entries;
mod errors;
mod extension;
mod extension_args;
mod names;
mod param;
mod scope;
mod signature;
mod tool;
mod tool_args;
mod trait_methods;
mod types;

use proc_macro::TokenStream;

/// Makes a method a tool.
#[proc_macro_attribute]
pub fn tool(args: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(args.into(), item.into()).into()
}

/// Makes an `impl` block an extension.
#[proc_macro_attribute]
pub fn extension(args: TokenStream, item: TokenStream) -> TokenStream {
    extension::expand(args.into(), item.into()).into()
}
