//! [`ToolFingerprint`]: the definition of a tool at the time a call of it was checked.

use goose_config::digest::json_digest;
use goose_extension::Tool;
use serde_json::json;

/// Hash of everything in a tool's definition that a decision to run it may depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFingerprint(String);

impl ToolFingerprint {
    /// Returns the fingerprint of a tool under the name that its extension gives it.
    pub(crate) fn new(bare_name: &str, tool: &Tool) -> Self {
        let groups: Vec<&str> = tool.groups().iter().map(|group| group.as_str()).collect();
        Self(json_digest(json!([
            bare_name,
            tool.title(),
            tool.description(),
            tool.input_schema(),
            tool.output_schema(),
            tool.annotations(),
            groups,
            format!("{:?}", tool.action()),
        ])))
    }
}
