//! Tasks that only take something away. Small models put other parts of the file in its place, which would then be there twice.

use goose_providers::{Arguments, ToolCall};
use serde_json::Value;

use super::known::EDIT;

/// How tasks begin that take something away.
const REMOVING: [&str; 8] = ["remove", "delete", "drop", "erase", "strip", "cut", "rid", "without"];

/// Words of tasks that want something in its place.
const PUTTING: [&str; 10] =
    ["add", "replace", "change", "rename", "put", "insert", "write", "instead", "move", "with"];

/// The call, unless it puts something where the task only takes something away: then the model is told how to do that.
pub(super) fn guarded(call: ToolCall, task: &str) -> ToolCall {
    let Arguments::Object(arguments) = &call.arguments else { return call };
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let brings_new = words(argument("after")).any(|word| !words(argument("before")).any(|old| old == word));
    if call.name != EDIT || !only_removes(task) || !brings_new {
        return call;
    }
    let raw = Value::Object(arguments.clone()).to_string();
    let why = "\"after\" has words that are not in \"before\", but something is only to be removed. Use \"after\":\"\", and in \
               \"before\" exactly what is to go";
    ToolCall { arguments: Arguments::Malformed { raw, why: why.to_owned() }, ..call }
}

fn only_removes(task: &str) -> bool {
    removes(task) && !has(task, &PUTTING)
}

/// Whether a task takes something away.
pub(super) fn removes(task: &str) -> bool {
    has(task, &REMOVING)
}

fn has(task: &str, list: &[&str]) -> bool {
    words(task).any(|word| list.contains(&word.to_lowercase().as_str()))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_alphanumeric() && sign != '_').filter(|word| !word.is_empty())
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
    }
}
