//! The developer's tools as a model sees them, and its plan.

use goose_extension::{Extension as _, RichRenderable, Tool, ToolGroup};
use goose_mcp::{BuiltinOptions, Developer};
use goose_mcp_bridge::{ConnectOptions, Serve, connect};
use serde_json::{Value, json};

use crate::developer_support::Desk;

#[test]
fn each_tool_declares_what_it_does() {
    let developer = Developer::new(&BuiltinOptions::new("/nowhere"));
    let expected = [
        ("plan", ToolGroup::Read),
        ("shell", ToolGroup::Command),
        ("read", ToolGroup::Read),
        ("write", ToolGroup::Edit),
        ("edit", ToolGroup::Edit),
    ];
    for (name, group) in expected {
        let tool = developer.tools().iter().find(|tool| tool.name() == name).unwrap();
        assert_eq!(tool.groups(), [group], "{name}");
        let hints = tool.annotations().unwrap();
        assert_eq!(hints.read_only_hint == Some(true), group == ToolGroup::Read, "{name}");
        assert_eq!(hints.destructive_hint == Some(true), group != ToolGroup::Read, "{name}");
    }
}

/// The names and parameters that users' prompts and recipes rely on.
#[test]
fn known_parameters_keep_working() {
    let developer = Developer::new(&BuiltinOptions::new("/nowhere"));
    let known = [
        ("shell", json!({ "command": "true", "timeout_secs": 5 })),
        ("write", json!({ "path": "a", "content": "b" })),
        ("edit", json!({ "path": "a", "before": "b", "after": "c" })),
    ];
    for (name, arguments) in known {
        let tool = developer.tools().iter().find(|tool| tool.name() == name).unwrap();
        let Value::Object(arguments) = arguments else { panic!("an object") };
        assert!(tool.check(arguments).is_ok(), "{name}");
    }
}

#[tokio::test]
async fn a_plan_is_shown_when_it_changes() {
    let desk = Desk::new();
    let plan = "- [x] look\n- [ ] change\n";
    let kept = desk.ok("plan", json!({ "plan": plan })).await;
    assert_eq!(kept, "The plan is kept: 1 of 2 steps done.");
    let shown = RichRenderable::Markdown { text: plan.trim().to_owned() };
    assert_eq!(desk.watcher.take_logged(), [shown]);
    assert_eq!(desk.ok("plan", json!({ "plan": plan })).await, "The plan is unchanged.");
    assert_eq!(desk.watcher.take_logged(), []);
    assert!(desk.err("plan", json!({ "plan": " " })).await.contains("empty"));
    assert!(desk.err("plan", json!({ "plan": "x".repeat(40_000) })).await.contains("shorter"));
}

/// Served over MCP, the tools do the same, and what a command writes is told as it comes.
#[tokio::test]
async fn the_tools_work_over_mcp() -> anyhow::Result<()> {
    let desk = Desk::new();
    let Desk { developer, .. } = Desk::new();
    let remote =
        connect(Serve::shared(std::sync::Arc::new(developer)).duplex(), ConnectOptions::default()).await?;
    let names: Vec<&str> = remote.tools().iter().map(Tool::name).collect();
    assert_eq!(names, desk.developer.tools().iter().map(Tool::name).collect::<Vec<_>>());
    let path = desk.path("note.txt").display().to_string();
    for (tool, arguments, expected) in [
        ("write", json!({ "path": path, "content": "one\ntwo\n" }), "Created"),
        ("edit", json!({ "path": path, "before": "two", "after": "three" }), "Edited"),
        ("read", json!({ "path": path }), "1\tone\n2\tthree"),
        ("shell", json!({ "command": format!("cat '{path}'") }), "one\nthree"),
    ] {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let output = remote.call(tool, arguments, &desk.context()).await?;
        assert!(output.as_text().starts_with(expected), "{tool}: {}", output.as_text());
    }
    Ok(())
}
