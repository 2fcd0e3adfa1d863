//! The waist of goose: everything an agent can operate is an [`Extension`].
//!
//! An author writes a type and marks methods with `#[tool]`; the rest of goose, and any MCP client, sees an
//! `Extension`. The crate `goose-mcp-bridge` makes any extension an MCP server and any MCP server an
//! extension; nothing here knows a transport.
//!
//! ```
//! use goose_extension::prelude::*;
//!
//! struct Greeter;
//!
//! #[extension(name = "greeter", description = "Says hello")]
//! impl Greeter {
//!     /// Greets a person by name.
//!     #[tool(group = "read")]
//!     async fn greet(
//!         &self,
//!         /// Whom to greet
//!         name: String,
//!     ) -> ToolResult<String> {
//!         Ok(format!("Hello, {name}!"))
//!     }
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let answer = Greeter.call_tool("greet", hashmap! { "name" => json!("Ada") }).await;
//! assert_eq!(answer, Ok(json!("Hello, Ada!")));
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod address_class;
mod arguments;
mod backend;
mod builtin;
mod caller;
mod changes;
mod checklist;
mod context;
pub mod error;
mod exchange_view;
mod extension;
mod guard;
mod host_policy;
mod looks_secret;
#[doc(hidden)]
pub mod macros;
mod message;
mod name_words;
mod notifier;
mod output;
pub mod prelude;
mod questions;
mod redact;
mod registry;
mod registry_extension;
mod requirements;
mod result_fields;
pub mod schema;
mod script;
mod tool;
mod tool_summary;
mod visible;

pub use arguments::{Arguments, MAX_ARGUMENT_BYTES, MAX_ARGUMENT_DEPTH};
pub use backend::{
    Backend, CommandSpec, FileError, FileKind, FileRead, FileTarget, FileVersion, HardLinks, JudgedPath,
    RunningCommand, StartedCommand,
};
pub use builtin::{Builtin, BuiltinOptions};
pub use caller::{Answer, Caller, CallerId, LogEntry, Progress, Question, QuestionKind};
pub use changes::Subscriptions;
pub use changes::{Change, ChangeFeed};
pub use checklist::checklist_progress;
pub use context::{CallContext, Model, ToolCaller};
pub use error::{AgentResult, AnyhowResult, ErrorCode, ErrorData, ToolError, ToolResult};
pub use exchange_view::{ExchangeHistory, ExchangeView, Messages, ProcessorView};
pub use extension::{Extension, Features, Freshness};
pub use goose_macros::{extension, tool};
pub use host_policy::{FetchedHost, HostAccess, HostPattern, HostPolicy, RefusedAddress};
pub use looks_secret::{is_secret_variable, looks_secret};
pub use message::{
    MAX_MEDIA_BYTES, MediaFault, accepted_image_type, check_media, check_media_of, image_type, marked_file,
    media_type_for_message,
};
pub use message::{Message, MessageContent, Opaque, Reasoning, Role, StoredOutput};
pub use notifier::{Notifier, NotifierExt, RichRenderable, SilentNotifier};
pub use output::{
    Audio, ContentBlock, Image, IntoToolOutput, MAX_OUTPUT_BYTES, Resource, ResourceContents, ToolOutput,
};
pub use questions::{
    ElicitAction, Elicitation, ElicitationSchema, Elicited, LogLevel, Root, Sampled, Sampling,
};
pub use redact::{
    HIDDEN, shown_address, shown_arguments, shown_header, shown_place, shown_text, shown_value,
};
pub use registry::{ToolDef, ToolMethod, ToolRegistry};
pub use registry_extension::RegistryExtension;
pub use requirements::{Assembly, BuildExtension, Offers, RequirementError, Requirements};
pub use result_fields::{EXIT_CODE, FIRST_LINE, LAST_LINE, TOTAL_LINES};
pub use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, CompletionInfo, GetPromptResult, Prompt, PromptArgument,
    PromptMessage, Reference, ResourceTemplate,
};
pub use script::{LANGUAGES, script_command};
pub use tool::{ByOperation, CheckedArguments, JsonObject, Tool, ToolAction, ToolAnnotations, ToolGroup};
pub use visible::{is_misleading, visible, visible_exactly, visible_line};

/// Checks and errors that adapters share with this crate, so that a call ends the same way on every path. Not for
/// authors of extensions.
#[doc(hidden)]
pub mod adapter {
    pub use crate::{
        arguments::{Validator, check_caps, json_kind, json_len},
        caller::unanswerable,
        extension::unknown_resource,
        guard::{cancelled, catch},
        registry::unknown_tool,
        schema::allows_object,
    };
}

/// A `HashMap` with `String` keys, as `call_tool` takes it: `hashmap! { "path" => json!("a.txt") }`.
#[macro_export]
macro_rules! hashmap {
    ($($key:expr => $value:expr),* $(,)?) => {{
        let mut map = ::std::collections::HashMap::new();
        $(map.insert(::std::string::String::from($key), $value);)*
        map
    }};
}
