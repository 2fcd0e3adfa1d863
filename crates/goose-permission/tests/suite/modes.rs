//! Permission modes, and precedence of rules.

use anyhow::ensure;
use goose_extension::{ToolAction, ToolAnnotations, ToolGroup};
use goose_permission::{Mode, Origin, Verdict};
use serde_json::{Value, json};

use crate::support::{Call, TestHome, is_ask, is_deny};

#[test]
fn modes_parse_in_common_spellings() {
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
    let home = TestHome::new()?;
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
        ensure!(home.judge(Mode::Auto, call) == Verdict::Allow, "{name} in auto");
        ensure!(
            (home.judge(Mode::SmartApprove, call) == Verdict::Allow) == *reads,
            "{name} in smart_approve"
        );
        ensure!(is_ask(&home.judge(Mode::SmartApprove, call)) != *reads, "{name} in smart_approve");
        ensure!(is_ask(&home.judge(Mode::Approve, call)), "{name} in approve");
        ensure!(is_deny(&home.judge(Mode::Chat, call)), "{name} in chat");
    }
    Ok(())
}

#[test]
fn read_only_hint_of_an_external_tool_is_not_trusted() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    let hint = ToolAnnotations::new().read_only(true);
    let mut call = Call::new("evil__peek", &[ToolGroup::Read], Origin::Foreign, json!({ "path": "a" }));
    call.tool = call.tool.with_annotations(hint);
    ensure!(is_ask(&home.judge(Mode::SmartApprove, &call)));
    call.origin = Origin::Own;
    ensure!(home.judge(Mode::SmartApprove, &call) == Verdict::Allow, "hints of own tools are trusted");
    Ok(())
}

#[test]
fn deny_wins_over_ask_and_ask_over_allow_in_any_order() -> anyhow::Result<()> {
    let rules = ["allow: shell git push *", "deny: shell git push --force *", "ask: shell git push origin *"];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let home = TestHome::with_rules(&order.map(|index| rules[index]))?;
        for mode in [Mode::Auto, Mode::SmartApprove, Mode::Approve] {
            ensure!(home.shell(mode, "git push fork") == Verdict::Allow, "{mode}");
            ensure!(is_ask(&home.shell(mode, "git push origin main")), "{mode}");
            ensure!(is_deny(&home.shell(mode, "git push --force origin")), "{mode}");
        }
    }
    Ok(())
}

#[test]
fn bare_name_allows_only_own_tools() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["allow: shell", "deny: deploy"])?;
    let foreign = Call::foreign("evil__shell", json!({ "command": "ls" }));
    ensure!(is_ask(&home.judge(Mode::Approve, &foreign)));
    ensure!(home.shell(Mode::Approve, "anything at all; $x") == Verdict::Allow);
    ensure!(is_deny(&home.judge(Mode::Auto, &Call::foreign("cloud__deploy", json!({})))));
    Ok(())
}

#[test]
fn rules_match_named_arguments() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["allow: hub__issue owner=ada repo=*", "deny: hub__issue repo=secret"])?;
    let judge = |arguments| home.judge(Mode::Approve, &Call::foreign("hub__issue", arguments));
    ensure!(judge(json!({ "owner": "ada", "repo": "goose" })) == Verdict::Allow);
    ensure!(is_ask(&judge(json!({ "owner": "eve", "repo": "goose" }))));
    ensure!(is_ask(&judge(json!({ "owner": "ada" }))), "both arguments must be present");
    ensure!(is_ask(&judge(json!({ "owner": ["ada"], "repo": "goose" }))));
    ensure!(is_deny(&judge(json!({ "owner": "ada", "repo": "secret" }))));
    Ok(())
}

/// A call is judged by the action that its tool declares, not by the names of its arguments.
#[test]
fn rules_apply_to_declared_actions() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: shell rm *", "deny: write secret.txt"])?;
    let call = |name: &str, arguments: Value| {
        Call::new(&format!("tools__{name}"), &[ToolGroup::Command], Origin::Own, arguments)
    };
    let script = call("shell", json!({ "script": "rm -rf x" }));
    ensure!(!is_deny(&home.judge(Mode::Auto, &script)), "the tool does not declare a command");
    let script = script.declaring(ToolAction::command("script"));
    ensure!(is_deny(&home.judge(Mode::Auto, &script)));
    let target = call("export", json!({ "target": "secret.txt" }));
    ensure!(!is_deny(&home.judge(Mode::Auto, &target)));
    let target = call("export", json!({ "target": "secret.txt" })).declaring(ToolAction::writes("target"));
    ensure!(is_deny(&home.judge(Mode::Auto, &target)));
    Ok(())
}
