//! Tool lists that nest deeper than the JSON parser allows.
//!
//! The parser rejects a whole message if one part of it is too deep. For a tool list that would lose all
//! tools for the schema of one, so the deep parts are replaced, and validation drops the tool that they
//! belong to. Other messages are left alone: an incomplete result is worse than none.

use serde::{Deserialize, de::IgnoredAny};

/// Levels that are kept: more than a usable schema has, fewer than the parser allows.
const MAX_LEVELS: usize = 100;

/// Replacement of a part that is too deep.
const CUT: &[u8] = b"null";

/// Returns a tool list without the parts that are too deep; `None` if there are none, or for any other
/// message.
pub(super) fn trim_tool_list(json: &[u8]) -> Option<Vec<u8>> {
    if !is_deep(json) {
        return None;
    }
    let cut = cut(json);
    serde_json::from_slice::<ListOfTools>(&cut).is_ok().then_some(cut)
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only whether it can be read counts")]
struct ListOfTools {
    id: IgnoredAny,
    result: Tools,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only whether it can be read counts")]
struct Tools {
    tools: Vec<IgnoredAny>,
}

fn is_deep(json: &[u8]) -> bool {
    let mut position = Position::default();
    json.iter().any(|byte| position.read(*byte) > MAX_LEVELS)
}

fn cut(json: &[u8]) -> Vec<u8> {
    let (mut kept, mut position, mut before) = (Vec::with_capacity(json.len()), Position::default(), 0);
    for &byte in json {
        let level = position.read(byte);
        // At a closing bracket, the level is already the outer one.
        match (before > MAX_LEVELS, level > MAX_LEVELS) {
            (false, false) => kept.push(byte),
            (false, true) => kept.extend_from_slice(CUT),
            (true, _) => {}
        }
        before = level;
    }
    kept
}

/// Position in a JSON text.
#[derive(Default)]
struct Position {
    level: usize,
    in_string: bool,
    escaped: bool,
}

impl Position {
    /// Reads the next byte, and returns the level after it.
    fn read(&mut self, byte: u8) -> usize {
        match (self.in_string, byte) {
            (true, _) if self.escaped => self.escaped = false,
            (true, b'\\') => self.escaped = true,
            (_, b'"') => self.in_string = !self.in_string,
            (false, b'{' | b'[') => self.level += 1,
            (false, b'}' | b']') => self.level = self.level.saturating_sub(1),
            _ => {}
        }
        self.level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
    }

    fn list(schema: &str) -> String {
        format!(r#"{{"id":1,"result":{{"tools":[{{"name":"]}}\"[{{"}},{{"s":{schema},"t":2}}]}}}}"#)
    }

    #[test]
    fn only_what_is_too_deep_is_cut_out_of_a_list() {
        let text = list(&nested(500));
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_err());
        let cut = trim_tool_list(text.as_bytes()).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&cut).unwrap();
        assert_eq!(value["result"]["tools"][0]["name"], "]}\"[{");
        assert_eq!(value["result"]["tools"][1]["t"], 2);
        let kept = value["result"]["tools"][1]["s"].to_string();
        assert_eq!(kept.matches('{').count() + 4, MAX_LEVELS);
    }

    #[test]
    fn nothing_else_is_touched() {
        let deep = nested(500);
        for text in [
            list(&nested(50)),
            format!(r#"{{"id":1,"result":{{"structuredContent":{deep}}}}}"#),
            format!(r#"{{"id":1,"method":"m","params":{{"tools":[{deep}]}}}}"#),
            deep,
            "]]]]".to_owned(),
            "[".repeat(100_000),
        ] {
            assert_eq!(trim_tool_list(text.as_bytes()), None);
        }
    }
}
