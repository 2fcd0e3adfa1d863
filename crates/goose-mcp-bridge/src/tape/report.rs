//! What is said when a test and its recording differ.

use std::fmt::Write as _;

use serde_json::Value;

use super::{HOW_TO_RECORD, diff, script::Script};

/// How many recorded requests are compared with one that is not known.
const MAX_CANDIDATES: usize = 1000;

/// How many requests that were not made are told.
const MAX_UNUSED: usize = 50;

/// How many characters of a request's parameters are told.
const MAX_PARAMS: usize = 200;

/// A request that no unused script fits. `is_used` tells which are used, by their place.
pub(super) fn unknown(
    method: &str,
    params: Option<&Value>,
    scripts: &[Script],
    is_used: impl Fn(usize) -> bool,
) -> String {
    let text = match nearest(method, params, scripts, is_used) {
        None => no_such_method(method, params, scripts),
        Some(script) if script.params.as_ref() == params => {
            let fits = |it: &&Script| it.method == method && it.params.as_ref() == params;
            let times = scripts.iter().filter(fits).count();
            let brief = brief(script);
            format!("This was made once more than recorded; it was recorded {times} times:\n{brief}")
        }
        Some(script) => format!(
            "The recording does not know this `{method}`. The nearest recorded one differs:\n{}",
            diff::unified(&diff::lines(script.params.as_ref()), &diff::lines(params))
        ),
    };
    format!("{}\n{HOW_TO_RECORD}", text.trim_end())
}

fn no_such_method(method: &str, params: Option<&Value>, scripts: &[Script]) -> String {
    let params = diff::lines(params).join("\n");
    format!("The recording has no `{method}`. It has: {}.\nMade with:\n{params}", methods(scripts))
}

/// The recorded request of the same method that has most in common with the parameters; of several that are as near,
/// the first, and rather one that is not used.
fn nearest<'a>(
    method: &str,
    params: Option<&Value>,
    scripts: &'a [Script],
    is_used: impl Fn(usize) -> bool,
) -> Option<&'a Script> {
    let made = diff::lines(params);
    let rank = |(place, script): &(usize, &Script)| {
        let common = diff::likeness(&diff::lines(script.params.as_ref()), &made);
        (script.params.as_ref() == params, common, !is_used(*place))
    };
    let candidates = scripts.iter().enumerate().filter(|(_, script)| script.method == method);
    let ranked = candidates.take(MAX_CANDIDATES).map(|candidate| (rank(&candidate), candidate.1));
    ranked.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, script)| script)
}

fn methods(scripts: &[Script]) -> String {
    let mut methods: Vec<&str> = scripts.iter().map(|script| script.method.as_str()).collect();
    methods.sort_unstable();
    methods.dedup();
    if methods.is_empty() { "nothing".to_owned() } else { methods.join(", ") }
}

/// An answer of ours that is not the recorded one.
pub(super) fn other_answer(recorded: &Value, made: &Value, method: &str) -> String {
    let diff = diff::unified(&diff::lines(Some(recorded)), &diff::lines(Some(made)));
    format!(
        "A question of the server during `{method}` was answered otherwise than recorded:\n{}\n{HOW_TO_RECORD}",
        diff.trim_end()
    )
}

/// A recorded message that is none.
pub(super) fn unreadable(method: &str, reason: &dyn std::fmt::Display) -> String {
    format!("A recorded message of the server after `{method}` is no MCP message: {reason}.\n{HOW_TO_RECORD}")
}

/// All that differs, or that nothing does.
pub(super) fn verdict(faults: &[String], unused: &[&Script]) -> Result<(), String> {
    if faults.is_empty() && unused.is_empty() {
        return Ok(());
    }
    let mut text = faults.join("\n\n");
    if !unused.is_empty() {
        let _ = write!(text, "\n\n{} recorded requests were not made:", unused.len());
        for script in unused.iter().take(MAX_UNUSED) {
            let _ = write!(text, "\n- {}", brief(script));
        }
    }
    Err(text.trim_start().to_owned())
}

/// A request in one line, without what goes along with every request.
fn brief(script: &Script) -> String {
    let mut params = script.params.clone().unwrap_or_default();
    if let Some(params) = params.as_object_mut() {
        params.remove("_meta");
    }
    let params = if params.is_null() { String::new() } else { params.to_string() };
    let cut = params.char_indices().nth(MAX_PARAMS).map(|(at, _)| format!("{}…", &params[..at]));
    format!("{} {}", script.method, cut.unwrap_or(params)).trim_end().to_owned()
}
