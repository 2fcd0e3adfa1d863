//! `#[tool]` and `#[extension]`: a Rust method becomes a tool that an agent can call.
//!
//! The macros write only what an author could write by hand against `goose_extension`; everything that runs is
//! there, in its `registry`, `schema` and hidden `macros` modules. Use them from `goose_extension::prelude`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `tool` | one method: the `…_tool()` function that describes it |
//! | `param`, `types` | the parameters of a method as a schema |
//! | `arg_attr` | `#[arg(…)]`: defaults, names and limits of one parameter |
//! | `extension`, `checks`, `trait_methods` | a whole block: sorts and checks the methods, fills in the trait |
//! | `args`, `entries` | the arguments of the attributes |
//! | `names`, `errors` | names and doc comments; mistakes, collected |

#![forbid(unsafe_code)]

mod arg_attr;
mod args;
mod checks;
mod entries;
mod errors;
mod extension;
mod names;
mod param;
mod tool;
mod trait_methods;
mod types;

use proc_macro::TokenStream;

/// Makes a method a tool.
///
/// ```
/// # use std::path::{Path, PathBuf};
/// # use goose_extension::prelude::*;
/// # struct FileSystem { root: PathBuf }
/// impl FileSystem {
///     /// Reads a file.
///     #[tool(group = "read", timeout = "30s")]
///     async fn read_file(
///         &self,
///         /// Relative to the root
///         path: &Path,
///         /// How many lines to return
///         #[arg(default = 100, min = 1, max = 5000)]
///         lines: u32,
///         context: &CallContext,
///     ) -> ToolResult<String> {
///         context.status("reading");
///         let text = std::fs::read_to_string(self.root.join(path))?;
///         Ok(text.lines().take(lines as usize).collect::<Vec<_>>().join("\n"))
///     }
/// }
/// # let _ = FileSystem::read_file_tool();
/// ```
///
/// Beside the method stands then `fn read_file_tool() -> ToolDef<Self>`, with the method's visibility, for
/// `ToolRegistry::new().with(Self::read_file_tool())`. In an [`extension`](macro@extension) block that is done
/// already.
///
/// # The attribute
///
/// Everything is optional.
///
/// | key | meaning | default |
/// | --- | --- | --- |
/// | `name = "…"` | what callers use | the method's name |
/// | `description = …` | what the tool does, for the model | the doc comment, else the name as words: "Read file" |
/// | `title = …` | a name for people | none |
/// | `group = "…"`, `group = ["…", "…"]` | `read`, `edit`, `command`, `fetch`, `browser` | none |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | hints; also `= false` | not said |
/// | `timeout = "30s"` | `ms`, `s`, `m`, or a number of seconds; `async` methods only | none |
/// | `output = Type` | the type it returns, announced as a schema | none |
///
/// # Parameters
///
/// The method takes `&self` and what it likes of these:
///
/// - `CallContext` or `&CallContext`: the surroundings of the call. Not an argument.
/// - One or more arguments of any type that is `Deserialize` and `JsonSchema`. `Option<T>` need not be given.
///   `&str`, `&Path`, `&[T]` and `&T` borrow from an owner that is read for them, also inside an `Option`.
///   The doc comment is the description; without one it is that of the type, else the name as words: "Max depth".
///   Arguments that the method does not name are refused.
/// - Instead of these, `Arguments<T>`: all arguments as one type.
/// - Instead of these, a sole `serde_json::Value` or `Map<String, Value>`: all arguments as they come. The type
///   decides, not its name: an alias of these counts, and a `Value` from elsewhere is one argument.
///
/// `CallContext` and `Arguments` are known by name. Write a type of yours that is called like one of them with its
/// path:
/// `shop::Arguments`.
///
/// An argument may carry `#[arg(…)]` with `default` (that of the type) or `default = …`, `description = …`,
/// `rename = "…"`, `min`, `max`, `min_length`, `max_length`, `min_items`, `max_items`, `pattern` and `format`. All
/// of it is part of the schema, and calls that do not fit the schema are refused before the method runs. A limit
/// narrows what the type allows and never widens it: `#[arg(max = 500)]` on a `u8` still ends at 255.
/// `#[serde(…)]` and `#[schemars(…)]` on a parameter apply as they would on a field, except for `alias`: an
/// argument has one name, and the schema refuses all others.
///
/// The type of an argument cannot use the generic parameters of the `impl` block; `Arguments<T>` can.
///
/// # What it returns
///
/// Anything that serializes, a `ToolOutput`, an `Image`, an `Audio`, nothing, or a `Result` with one of these and
/// any error that converts into a `ToolError`.
///
/// With `output = Type` that is the type of what it returns, or of the `Ok` value. It is always structured then, a
/// text too; MCP clients get a result that is not an object as `{"result": …}`, and are told so.
///
/// # Where it stands
///
/// In an `impl` block of the type, or in one that carries [`extension`](macro@extension). In an `impl Extension for
/// Type` without `#[extension]` the compiler says that the method is not a member of the trait (E0407): put
/// `#[extension]` above the block.
#[proc_macro_attribute]
pub fn tool(args: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(args.into(), item.into()).into()
}

/// Makes a type an extension, from an `impl` block with [`tool`](macro@tool)s in it.
///
/// ```
/// # use goose_extension::prelude::*;
/// # struct Memory { facts: HashMap<String, String> }
/// /// Remembers things.
/// #[extension(instructions = "Recall before you ask.")]
/// impl Memory {
///     #[tool]
///     fn recall(&self, key: &str) -> Option<String> {
///         self.facts.get(key).cloned()
///     }
/// }
/// # assert_eq!(Memory { facts: HashMap::new() }.description(), "Remembers things.");
/// ```
///
/// The keys are `name`, `description`, `instructions` and `version`, each an expression of type `&'static str`.
/// The name is by default that of the type in snake case without a trailing `Extension`; the description is the
/// doc comment; the version is that of the crate.
///
/// To write some methods of the trait by hand, put the attribute on the trait's block. Whatever is not the
/// trait's (tools, `new`, helpers, constants) belongs to the type itself, and the rest of the trait is filled in,
/// with `features` from the methods that are there:
///
/// ```
/// # use goose_extension::prelude::*;
/// # trait Calendar: Send + Sync { fn today(&self) -> String; }
/// struct Schedule {
///     notifier: Box<dyn Notifier>,
///     calendar: Box<dyn Calendar>,
/// }
///
/// #[extension]
/// impl Extension for Schedule {
///     fn new(notifier: Box<dyn Notifier>, requires: Requirements) -> Self {
///         Self { notifier, calendar: requires.get("calendar") }
///     }
///
///     fn prompt(&self) -> String {
///         format!("Today is {}.", self.calendar.today())
///     }
///
///     #[tool]
///     fn example(&self) {
///         self.notifier.log("called");
///     }
/// }
/// ```
///
/// In both forms `new` with these two parameters also makes the type a `BuildExtension`, and
/// `Self::tool_registry()` is there for methods of the trait that are written by hand. A `call` of the author's
/// own is used by `call_tool` too, and the other way round. `#[async_trait]` is not needed. Methods of the trait that
/// are written by hand cannot depend on `#[cfg]`; tools, `new` and the whole block can.
#[proc_macro_attribute]
pub fn extension(args: TokenStream, item: TokenStream) -> TokenStream {
    extension::expand(args.into(), item.into()).into()
}
