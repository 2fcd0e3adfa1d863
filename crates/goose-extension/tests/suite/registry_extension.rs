//! Extensions that are put together at run time.

use std::{collections::HashMap, sync::Arc};

use goose_extension::{RegistryExtension, hashmap, prelude::*};

struct Counter(u32);

impl Counter {
    /// Tells the number.
    #[tool]
    async fn number(&self, #[arg(default)] plus: u32) -> u32 {
        self.0 + plus
    }
}

#[tokio::test]
async fn each_tool_is_called_on_its_own_instance() {
    let named = |name: &'static str| Counter::number_tool().map_tool(|tool| tool.with_name(name));
    let extension = RegistryExtension::new("counters", "Numbers")
        .with_instructions("Count.")
        .with_status(|| hashmap! { "counters" => json!(2) })
        .with_tool(&Arc::new(Counter(1)), named("one"))
        .with_tool(&Arc::new(Counter(2)), named("two"));
    assert_eq!((extension.name(), extension.description()), ("counters", "Numbers"));
    assert_eq!(extension.prompt(), "Count.");
    assert_eq!(extension.status().await.unwrap(), hashmap! { "counters" => json!(2) });
    assert_eq!(extension.call_tool("one", HashMap::new()).await, Ok(json!(1)));
    assert_eq!(extension.call_tool("two", hashmap! { "plus" => json!(40) }).await, Ok(json!(42)));
    let wrong = extension.call_tool("two", hashmap! { "plus" => json!("x") }).await;
    assert!(matches!(wrong, Err(ToolError::InvalidParameters(_))), "{wrong:?}");
    let missing = extension.call_tool("number", HashMap::new()).await;
    assert!(matches!(&missing, Err(ToolError::NotFound(text)) if text.contains("one, two")), "{missing:?}");
}
