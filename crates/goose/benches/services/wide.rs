//! An extension with many tools, which can change.

use std::sync::Arc;

use goose_extension::{ChangeFeed, prelude::*};

/// Every tool gives back its arguments.
pub(crate) struct Wide {
    name: String,
    tools: Vec<Tool>,
    feed: Arc<ChangeFeed>,
}

impl Wide {
    pub(crate) fn new(name: &str, tools: usize) -> Arc<Self> {
        Self::with_feed(name, tools, Arc::default())
    }

    fn with_feed(name: &str, tools: usize, feed: Arc<ChangeFeed>) -> Arc<Self> {
        let tools = (0..tools).map(|number| tool(name, number)).collect();
        Arc::new(Self { name: name.to_owned(), tools, feed })
    }

    /// Says that it has this many tools from now on.
    pub(crate) fn change(&self, tools: usize) {
        let (name, feed) = (self.name.clone(), Arc::downgrade(&self.feed));
        self.feed.replace_with(move || Some(Self::with_feed(&name, tools, feed.upgrade()?)));
    }
}

/// A tool as servers have them: some arguments, each with a sentence.
fn tool(extension: &str, number: usize) -> Tool {
    let argument = |what: &str| json!({ "type": "string", "description": format!("{what} of the thing") });
    let schema = json!({
        "type": "object",
        "properties": { "name": argument("The name"), "path": argument("The path"), "reason": argument("The use") },
        "required": ["name"],
    });
    let description =
        format!("Does the thing number {number} as only {extension} does it, and says what came of it.");
    Tool::new(format!("tool_{number}"), description, schema.as_object().cloned().unwrap_or_default())
}

#[async_trait]
impl Extension for Wide {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        "Has many tools"
    }

    fn instructions(&self) -> &str {
        ""
    }

    fn tools(&self) -> &[Tool] {
        &self.tools
    }

    fn changes(&self) -> Option<&ChangeFeed> {
        Some(&self.feed)
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok(HashMap::new())
    }

    async fn call_tool(&self, _tool_name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
        Ok(parameters.into_iter().collect())
    }
}
