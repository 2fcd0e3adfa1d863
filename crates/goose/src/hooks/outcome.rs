//! [`HookEffect`]: the meaning of a run, by its exit code and its output. A hook can block and add text; what
//! it allows has no effect.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    file::{Hook, HookEvent},
    run::{HookExit, HookRun},
};

/// Exit code that blocks.
const BLOCKS: i32 = 2;

/// Maximum length of the text that a hook adds to a message, and of its reasons.
const MAX_TEXT_CHARS: usize = 10_000;

/// Maximum length of a notice about a hook.
const MAX_NOTICE_CHARS: usize = 300;

/// Effect of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HookEffect {
    /// Reason why the action is blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
    /// Reason why the user is asked about the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// Text for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Text for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// True if the reply ends.
    pub stops: bool,
}

/// Document on standard output.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Document {
    r#continue: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    hook_specific_output: Specific,
}

/// Part of the document for one event.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Specific {
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    additional_context: Option<String>,
    updated_input: Option<Value>,
}

impl HookEffect {
    /// Returns the effect of a run of a hook.
    pub(super) fn new(hook: &Hook, run: &HookRun) -> Self {
        match &run.exit {
            HookExit::Code(0) => Self::succeeded(hook, run),
            HookExit::Code(BLOCKS) => {
                let said = [&run.stderr, &run.stdout].into_iter().find(|text| !text.trim().is_empty());
                let reason = said.map_or("it gives no reason", |text| text.trim());
                Self::blocked(hook, reason)
            }
            HookExit::Code(code) => Self::failed(hook, &format!("failed with exit code {code}"), &run.stderr),
            HookExit::Killed => Self::failed(hook, "was killed by a signal", &run.stderr),
            HookExit::TimedOut => {
                let seconds = hook.time_limit.as_secs_f64();
                Self::failed(hook, &format!("did not end within {seconds} seconds, and was ended"), "")
            }
            HookExit::NotStarted(error) => Self::failed(hook, "could not be started", error),
            HookExit::Denied(reason) => Self::failed(hook, "was not run", reason),
        }
    }

    fn succeeded(hook: &Hook, run: &HookRun) -> Self {
        let text = run.stdout.trim();
        if !text.starts_with('{') {
            let adds_text = matches!(hook.event, HookEvent::SessionStart | HookEvent::UserPromptSubmit);
            let context = (adds_text && !text.is_empty()).then(|| kept(text));
            return Self { context, ..Self::default() };
        }
        match serde_json::from_str::<Document>(text) {
            Ok(document) => Self::told(hook, document),
            Err(error) => Self::failed(hook, "printed a document that cannot be read", &error.to_string()),
        }
    }

    fn told(hook: &Hook, document: Document) -> Self {
        let Document { r#continue, stop_reason, system_message, decision, reason, hook_specific_output } =
            document;
        let Specific { permission_decision, permission_decision_reason, additional_context, updated_input } =
            hook_specific_output;
        let no_reason = || "it gives no reason".to_owned();
        let mut effect = Self {
            context: additional_context.filter(|text| !text.trim().is_empty()).map(|text| kept(text.trim())),
            notice: system_message.map(|text| notice(&text)),
            ..Self::default()
        };
        let is_before_tool = hook.event == HookEvent::PreToolUse;
        let decided = permission_decision.as_deref().filter(|_| is_before_tool);
        if r#continue == Some(false) {
            let reason = stop_reason.or(reason).unwrap_or_else(no_reason);
            return Self { stops: true, ..Self { context: effect.context, ..Self::blocked(hook, &reason) } };
        }
        match (decision.as_deref(), decided) {
            (Some("block" | "deny"), _) | (_, Some("deny")) => {
                let reason = permission_decision_reason.or(reason).unwrap_or_else(no_reason);
                let blocked = Self::blocked(hook, &reason);
                effect.block = blocked.block;
                effect.notice = effect.notice.or(blocked.notice);
            }
            (_, Some("ask")) => {
                let reason = permission_decision_reason.or(reason).unwrap_or_else(no_reason);
                effect.ask = Some(kept(&reason));
            }
            _ => {}
        }
        // The call must not run with arguments that the hook wanted to change.
        if let Some(input) = updated_input.filter(|_| is_before_tool && effect.block.is_none()) {
            effect.block =
                Some(kept(&format!("it wants other arguments. Call the tool again with these: {input}")));
        }
        effect
    }

    /// Blocks what can be blocked; the user is told about everything else.
    fn blocked(hook: &Hook, reason: &str) -> Self {
        match hook.event {
            HookEvent::SessionStart | HookEvent::SessionEnd => Self::failed(hook, "reports", reason),
            _ => Self { block: Some(kept(reason)), ..Self::default() },
        }
    }

    fn failed(hook: &Hook, what: &str, why: &str) -> Self {
        let mut text = format!("{} {what}", capitalized(&hook.origin()));
        if let Some(line) = why.lines().map(str::trim).find(|line| !line.is_empty()) {
            text.push_str(": ");
            text.push_str(line);
        }
        Self { notice: Some(notice(&text)), ..Self::default() }
    }
}

/// Returns a text as it is used: its beginning, if it is long.
fn kept(text: &str) -> String {
    goose_fs::truncate_chars(text, MAX_TEXT_CHARS).into_owned()
}

fn notice(text: &str) -> String {
    goose_fs::truncate_chars(text.trim(), MAX_NOTICE_CHARS).into_owned()
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, sync::Arc, time::Duration};

    use serde_json::json;

    use super::*;

    fn effect(event: HookEvent, exit: HookExit, stdout: &str, stderr: &str) -> HookEffect {
        let file = Arc::new(PathBuf::from("f"));
        let value = json!({ event.name(): [{ "hooks": [{ "type": "command", "command": "guard" }] }] });
        let hook = crate::hooks::file::parse(&value, &file).hooks.remove(0);
        let run = HookRun {
            exit,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            is_truncated: false,
            duration: Duration::ZERO,
        };
        HookEffect::new(&hook, &run)
    }

    fn said(event: HookEvent, document: Value) -> HookEffect {
        effect(event, HookExit::Code(0), &document.to_string(), "")
    }

    #[test]
    fn exit_code_2_blocks_with_standard_error() {
        let blocked = effect(HookEvent::PreToolUse, HookExit::Code(2), "out", " no \n");
        assert_eq!(blocked, HookEffect { block: Some("no".to_owned()), ..HookEffect::default() });
        let blocked = effect(HookEvent::Stop, HookExit::Code(2), "", "");
        assert_eq!(blocked.block.as_deref(), Some("it gives no reason"));
        let start = effect(HookEvent::SessionStart, HookExit::Code(2), "", "no");
        assert!(start.block.is_none() && start.notice.is_some_and(|notice| notice.contains("no")));
    }

    #[test]
    fn failures_are_notices_and_nothing_else() {
        for exit in [
            HookExit::Code(1),
            HookExit::Code(127),
            HookExit::Killed,
            HookExit::TimedOut,
            HookExit::NotStarted("x".to_owned()),
            HookExit::Denied("x".to_owned()),
        ] {
            let failed = effect(HookEvent::PreToolUse, exit, "{\"decision\":\"block\"}", "oops\nmore");
            let notice = failed.notice.clone().unwrap_or_default();
            assert_eq!(failed, HookEffect { notice: failed.notice.clone(), ..HookEffect::default() });
            assert!(notice.starts_with("The hook `guard` (PreToolUse, f) "), "{notice}");
        }
        assert!(effect(HookEvent::Stop, HookExit::Code(0), "{broken", "").notice.is_some());
    }

    #[test]
    fn documents_block_ask_add_and_stop() {
        use HookEvent::{PostToolUse, PreToolUse, Stop, UserPromptSubmit};
        let block = |effect: HookEffect| effect.block.unwrap_or_default();
        assert_eq!(block(said(Stop, json!({"decision": "block", "reason": "tests fail"}))), "tests fail");
        let specific = |decision| json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": "why"}});
        assert_eq!(block(said(PreToolUse, specific("deny"))), "why");
        assert_eq!(said(PreToolUse, specific("ask")).ask.as_deref(), Some("why"));
        assert_eq!(said(PreToolUse, specific("allow")), HookEffect::default());
        assert_eq!(said(PreToolUse, json!({"decision": "approve"})), HookEffect::default());
        let added = said(PostToolUse, json!({"hookSpecificOutput": {"additionalContext": " look "}}));
        assert_eq!(added.context.as_deref(), Some("look"));
        let stopped = said(UserPromptSubmit, json!({"continue": false, "stopReason": "closed"}));
        assert!(stopped.stops && stopped.block.as_deref() == Some("closed"), "{stopped:?}");
        let changed = said(
            PreToolUse,
            json!({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "ls"}}}),
        );
        assert!(block(changed).contains("\"command\":\"ls\""));
    }

    #[test]
    fn plain_text_is_added_only_where_it_has_a_message() {
        let text = |event| effect(event, HookExit::Code(0), " Branch: main\n", "").context;
        assert_eq!(text(HookEvent::UserPromptSubmit).as_deref(), Some("Branch: main"));
        assert_eq!(text(HookEvent::SessionStart).as_deref(), Some("Branch: main"));
        assert_eq!(text(HookEvent::PostToolUse), None);
        let long = effect(HookEvent::UserPromptSubmit, HookExit::Code(0), &"x".repeat(50_000), "").context;
        assert!(long.is_some_and(|text| text.chars().count() <= MAX_TEXT_CHARS + 1));
    }
}
