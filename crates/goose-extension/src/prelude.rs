//! Everything an author of an extension usually needs, in one line.

pub use std::{borrow::Cow, collections::HashMap};

pub use async_trait::async_trait;
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
pub use serde_json::{Value, json};

pub use crate::{
    AgentResult, AnyhowResult, Arguments, CallContext, ErrorCode, ErrorData, Extension, Image, Notifier,
    NotifierExt as _, Requirements, RichRenderable, Tool, ToolError, ToolGroup, ToolOutput, ToolRegistry,
    ToolResult, extension, hashmap, tool,
};
