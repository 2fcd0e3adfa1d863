//! Tasks that only take something away. Small models put other parts of the file in its place, which would then be there twice.

use std::sync::Arc;

use goose_extension::Message;
use goose_providers::{Arguments, ToolCall};
use serde_json::Value;

use super::{claims::POLITE, known::EDIT, steps::Step, wording::names};

/// How tasks begin that take something away.
const REMOVING: [&str; 4] = ["remove", "delete", "drop", "erase"];

/// Words of tasks that want something in its place.
const PUTTING: [&str; 19] = [
    "add", "replace", "change", "rename", "put", "insert", "write", "instead", "move", "with", "fix", "make",
    "set", "update", "use", "handle", "create", "turn", "so",
];

/// What the model is told; once is enough.
const ONLY_REMOVE: &str = "something is only to be removed";

/// The call, unless it puts something where the task only takes something away: then the model is told how to do that.
pub(super) fn guarded(call: ToolCall, task: &str) -> ToolCall {
    let Arguments::Object(arguments) = &call.arguments else { return call };
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let brings_new = names(argument("after")).any(|word| !names(argument("before")).any(|old| old == word));
    if call.name != EDIT || !only_removes(task) || !brings_new {
        return call;
    }
    let raw = Value::Object(arguments.clone()).to_string();
    let why = format!(
        "\"after\" has words that are not in \"before\", but {ONLY_REMOVE}. Use \"after\":\"\", and in \"before\" exactly what \
         is to go"
    );
    ToolCall { arguments: Arguments::Malformed { raw, why }, ..call }
}

fn only_removes(task: &str) -> bool {
    removes(task) && !names(task).any(|word| PUTTING.contains(&word.to_lowercase().as_str()))
}

/// Whether a task takes something away.
pub(super) fn removes(task: &str) -> bool {
    let begins = |sentence: &str| {
        let mut words = names(sentence).map(str::to_lowercase);
        words
            .find(|word| !POLITE.contains(&word.as_str()))
            .is_some_and(|word| REMOVING.contains(&word.as_str()))
    };
    task.split(['.', '!', '?', ';', '\n']).any(begins)
}

/// Whether the model was told since it was asked.
pub(super) fn is_told(messages: &[Arc<Message>]) -> bool {
    Step::since_asked(messages).iter().any(|step| step.is_failed() && step.text().contains(ONLY_REMOVE))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::examples::{self, call},
        *,
    };

    fn is_refused(task: &str, before: &str, after: &str) -> bool {
        let arguments = json!({ "path": "a", "before": before, "after": after });
        examples::is_refused(&guarded(call(EDIT, &arguments), task))
    }

    #[test]
    fn what_is_taken_away_is_not_replaced() {
        assert!(is_refused("Remove the [webcam] section.", "[webcam]\nfps = 15\n", "[bed]\ntemp = 60\n"));
        assert!(!is_refused("Remove the [webcam] section.", "[webcam]\nfps = 15\n", ""));
        assert!(!is_refused("Please delete the second argument.", "f(a, b)", "f(a)"));
        assert!(!is_refused("Remove a and add b.", "a", "b"));
        assert!(!is_refused("Change a to b.", "a", "b"));
        assert!(is_refused("Sofia has left. Please remove her.", "sofia", "henrik"));
        assert!(!is_refused("Make it run without crashing.", "a", "b"));
        assert!(!is_refused("Fix the delete button.", "a", "b"));
    }
}
