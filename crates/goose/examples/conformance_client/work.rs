//! What to do with a server: use everything it offers.

use anyhow::bail;
use futures::future::try_join_all;
use goose_extension::{CallContext, Extension, JsonObject};
use serde_json::Value;

use crate::person::something;

/// Scenarios in which several calls are under way at once.
const SIDE_BY_SIDE: [&str; 1] = ["sep-2322-client-request-state"];

/// Calls the tools that the scenario names, or all; reads resources and prompts where there are some.
pub(crate) async fn through(
    server: &dyn Extension,
    scenario: &str,
    context: &Value,
    calls: &CallContext,
) -> anyhow::Result<()> {
    let plan = planned(context).unwrap_or_else(|| everything(server));
    let calling = plan.iter().map(|(tool, arguments)| call(server, tool, arguments.clone(), calls));
    if SIDE_BY_SIDE.contains(&scenario) {
        try_join_all(calling).await?;
    } else {
        for one in calling {
            one.await?;
        }
    }
    read(server, calls).await
}

/// The calls that the suite asks for.
fn planned(context: &Value) -> Option<Vec<(String, JsonObject)>> {
    let plan = context["toolCalls"].as_array()?;
    let call =
        |call: &Value| Some((call["name"].as_str()?.to_owned(), call["arguments"].as_object()?.clone()));
    plan.iter().map(call).collect()
}

fn everything(server: &dyn Extension) -> Vec<(String, JsonObject)> {
    let arguments = |schema: &Value| -> JsonObject {
        let fields = schema["properties"].as_object().into_iter().flatten();
        fields.map(|(name, field)| (name.clone(), something(field))).collect()
    };
    let tools = server.tools().iter();
    tools
        .map(|tool| (tool.name().to_owned(), arguments(&Value::Object(tool.input_schema().clone()))))
        .collect()
}

async fn call(
    server: &dyn Extension,
    tool: &str,
    arguments: JsonObject,
    calls: &CallContext,
) -> anyhow::Result<()> {
    let output = server.call(tool, arguments, calls).await?;
    if output.is_error {
        bail!("`{tool}` failed: {}", output.as_text());
    }
    Ok(())
}

async fn read(server: &dyn Extension, calls: &CallContext) -> anyhow::Result<()> {
    if server.features().resources {
        for resource in server.list_resources().await? {
            server.read_resource(&resource.uri, calls).await?;
        }
    }
    if server.features().prompts {
        for prompt in server.list_prompts().await? {
            server.get_prompt(&prompt.name, JsonObject::new(), calls).await?;
        }
    }
    Ok(())
}
