//! Permission modes, and which rule wins.

use anyhow::ensure;
use goose_extension::{ToolAction, ToolAnnotations, ToolGroup};
use goose_permission::{Mode, Origin, Verdict};
use serde_json::{Value, json};

use crate::support::{Call, Desk, is_ask, is_deny};

#[test]
fn modes_are_read_as_people_write_them() {
    for (text, mode) in [
        ("auto", Mode::Auto),
        ("AUTO", Mode::Auto),
        ("smart_approve", Mode::SmartApprove),
        ("smart-approve", Mode::SmartApprove),
        ("SmartApprove", Mode::SmartApprove),
        (" approve ", Mode::Approve),
        ("chat", Mode::Chat),
    ] {
        assert_eq!(text.parse(), Ok(mode), "{text}");
        assert_eq!(serde_json::from_value::<Mode>(json!(text)).ok(), Some(mode), "{text}");
    }
    let error = "yolo".parse::<Mode>().map_err(|error| error.to_string());
    assert_eq!(error, Err("`yolo` is not a mode; use auto, smart_approve, approve or chat".to_owned()));
}

#[test]
fn without_rules_the_mode_decides() -> anyhow::Result<()> {
    let desk = Desk::new()?;
    let memory =
        Call::new("memory__remember_memory", &[ToolGroup::Edit], Origin::Own, json!({ "data": "x" }));
    let recall =
        Call::new("memory__search_memories", &[ToolGroup::Read], Origin::Own, json!({ "query": "x" }));
    let foreign = Call::foreign("github__list", json!({}));
    let calls = [
        // (call, runs in smart_approve)
        (Call::read("a.txt"), true),
        (Call::write("a.txt"), false),
        (Call::shell("ls -la"), true),
        (Call::shell("touch a"), false),
        (memory, false),
        (recall, true),
        (foreign, false),
    ];
    for (call, reads) in &calls {
        let name = call.tool.name();
        ensure!(desk.judge(Mode::Auto, call) == Verdict::Allow, "{name} in auto");
        ensure!(
            (desk.judge(Mode::SmartApprove, call) == Verdict::Allow) == *reads,
            "{name} in smart_approve"
        );
        ensure!(is_ask(&desk.judge(Mode::SmartApprove, call)) != *reads, "{name} in smart_approve");
        ensure!(is_ask(&desk.judge(Mode::Approve, call)), "{name} in approve");
        ensure!(is_deny(&desk.judge(Mode::Chat, call)), "{name} in chat");
    }
    Ok(())
}

/// Row 11: what a server says of its own tools is a claim.
#[test]
fn row_11_a_read_only_hint_of_somebody_elses_tool_still_asks() -> anyhow::Result<()> {
    let desk = Desk::new()?;
    let hint = ToolAnnotations::new().read_only(true);
    let mut call = Call::new("evil__peek", &[ToolGroup::Read], Origin::Foreign, json!({ "path": "a" }));
    call.tool = call.tool.with_annotations(hint);
    ensure!(is_ask(&desk.judge(Mode::SmartApprove, &call)));
    call.origin = Origin::Own;
    ensure!(desk.judge(Mode::SmartApprove, &call) == Verdict::Allow, "the same of goose's own is believed");
    Ok(())
}

#[test]
fn deny_wins_over_ask_and_ask_over_allow_whatever_the_order() -> anyhow::Result<()> {
    let rules = ["allow: shell git push *", "deny: shell git push --force *", "ask: shell git push origin *"];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let desk = Desk::with_rules(&order.map(|index| rules[index]))?;
        for mode in [Mode::Auto, Mode::SmartApprove, Mode::Approve] {
            ensure!(desk.shell(mode, "git push fork") == Verdict::Allow, "{mode}");
            ensure!(is_ask(&desk.shell(mode, "git push origin main")), "{mode}");
            ensure!(is_deny(&desk.shell(mode, "git push --force origin")), "{mode}");
        }
    }
    Ok(())
}

#[test]
fn a_bare_name_allows_only_goose_s_own_tools() -> anyhow::Result<()> {
    let desk = Desk::with_rules(&["allow: shell", "deny: deploy"])?;
    let foreign = Call::foreign("evil__shell", json!({ "command": "ls" }));
    ensure!(is_ask(&desk.judge(Mode::Approve, &foreign)));
    ensure!(desk.shell(Mode::Approve, "anything at all; $x") == Verdict::Allow);
    ensure!(is_deny(&desk.judge(Mode::Auto, &Call::foreign("cloud__deploy", json!({})))));
    Ok(())
}

#[test]
fn rules_can_be_about_arguments_by_name() -> anyhow::Result<()> {
    let desk = Desk::with_rules(&["allow: hub__issue owner=ada repo=*", "deny: hub__issue repo=secret"])?;
    let judge = |arguments| desk.judge(Mode::Approve, &Call::foreign("hub__issue", arguments));
    ensure!(judge(json!({ "owner": "ada", "repo": "goose" })) == Verdict::Allow);
    ensure!(is_ask(&judge(json!({ "owner": "eve", "repo": "goose" }))));
    ensure!(is_ask(&judge(json!({ "owner": "ada" }))), "the other one must be there");
    ensure!(is_ask(&judge(json!({ "owner": ["ada"], "repo": "goose" }))));
    ensure!(is_deny(&judge(json!({ "owner": "ada", "repo": "secret" }))));
    Ok(())
}

/// A call is judged by what its tool declares, not by the names of its arguments.
#[test]
fn rules_apply_to_declared_actions_whatever_the_arguments_are_called() -> anyhow::Result<()> {
    let desk = Desk::with_rules(&["deny: shell rm *", "deny: write secret.txt"])?;
    let call = |name: &str, arguments: Value| {
        Call::new(&format!("tools__{name}"), &[ToolGroup::Command], Origin::Own, arguments)
    };
    let script = call("shell", json!({ "script": "rm -rf x" }));
    ensure!(!is_deny(&desk.judge(Mode::Auto, &script)), "nothing declares that it is a command");
    for action in [ToolAction::command("script"), ToolAction::Script("script".into())] {
        let script = call("shell", json!({ "script": "rm -rf x" })).declaring(action);
        ensure!(is_deny(&desk.judge(Mode::Auto, &script)));
    }
    let target = call("export", json!({ "target": "secret.txt" }));
    ensure!(!is_deny(&desk.judge(Mode::Auto, &target)));
    let target = call("export", json!({ "target": "secret.txt" })).declaring(ToolAction::writes("target"));
    ensure!(is_deny(&desk.judge(Mode::Auto, &target)));
    Ok(())
}

/// A tool whose operation decides is judged by the group of the operation.
#[test]
fn the_operation_decides_where_a_tool_says_so() -> anyhow::Result<()> {
    let desk = Desk::new()?;
    let groups = vec![("view".into(), ToolGroup::Read), ("save".into(), ToolGroup::Edit)];
    let action = ToolAction::ByOperation { argument: "operation".into(), groups };
    let call = |operation: &str| {
        let arguments = json!({ "operation": operation });
        Call::new("tools__sheet", &[ToolGroup::Edit], Origin::Own, arguments).declaring(action.clone())
    };
    let asks = |operation: &str| is_ask(&desk.judge(Mode::SmartApprove, &call(operation)));
    ensure!(!asks("view") && asks("save") && asks("another"));
    Ok(())
}
