//! Ids of calls and names of tools in a form that every service takes.

use std::{borrow::Cow, collections::HashSet};

use goose_extension::{Message, MessageContent};

/// Longest id and longest name of a tool: OpenAI's limits, the shortest of all.
const MAX_ID_BYTES: usize = 64;
const MAX_NAME_BYTES: usize = 64;

/// The name that stands for none.
const NO_NAME: &str = "unnamed_tool";

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn is_valid_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= MAX_ID_BYTES && is_plain(id)
}

/// An id as it is sent. The same id always gives the same, so that calls and results stay tied.
pub(super) fn sent_id(id: &str) -> Cow<'_, str> {
    if is_valid_id(id) { Cow::Borrowed(id) } else { Cow::Owned(format!("call_{:016x}", fingerprint(id))) }
}

/// Returns whether goose made the id up, because the service gave none.
pub(super) fn is_generated(id: &str) -> bool {
    let digits = id.strip_prefix("call_").filter(|digits| digits.len() == 16);
    digits.is_some_and(|digits| u64::from_str_radix(digits, 16).is_ok())
}

/// A tool's name as it is sent back: a model may have made one up that its service would refuse.
pub(super) fn sent_name(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return Cow::Borrowed(NO_NAME);
    }
    if name.len() <= MAX_NAME_BYTES && is_plain(name) {
        return Cow::Borrowed(name);
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    Cow::Owned(name.chars().take(MAX_NAME_BYTES).map(plain).collect())
}

/// Returns the tool that a message calls under this id: some wires tie results to calls by name.
pub(super) fn called_name<'a>(message: &'a Message, wanted: &str) -> Option<&'a str> {
    message.content.iter().find_map(|part| match part {
        MessageContent::ToolCall { id, name, .. } if id == wanted => Some(name.as_str()),
        _ => None,
    })
}

/// FNV-1a: small, and the same in every run.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The ids that are taken in an answer. Those of earlier answers are not looked at, which would cost more with each
/// turn: some services count from zero in each answer, and who keeps the conversation tells them apart.
#[derive(Debug, Default)]
pub(super) struct TakenIds(HashSet<String>);

impl TakenIds {
    /// The id itself where it is valid and free, else a new one.
    pub(super) fn claim(&mut self, id: &str) -> String {
        if is_valid_id(id) && self.0.insert(id.to_owned()) {
            return id.to_owned();
        }
        loop {
            let fresh = format!("call_{:016x}", self.random());
            if self.0.insert(fresh.clone()) {
                return fresh;
            }
        }
    }

    /// Without a source of chance the ids are counted.
    fn random(&self) -> u64 {
        getrandom::u64().unwrap_or(self.0.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_valid_and_stable() {
        assert_eq!(sent_id("toolu_01-a"), "toolu_01-a");
        for odd in ["", "a b", "é", &"x".repeat(65), "call:1"] {
            assert!(is_valid_id(&sent_id(odd)), "{odd}");
            assert_eq!(sent_id(odd), sent_id(odd));
        }
        assert_ne!(sent_id("a b"), sent_id("a c"));
        assert_eq!(sent_name("developer__shell"), "developer__shell");
        assert_eq!(sent_name("functions.shell:0"), "functions_shell_0");
        assert_eq!(sent_name(""), NO_NAME);
        assert_eq!(sent_name(&"é".repeat(100)).len(), 64);
    }

    #[test]
    fn an_id_is_given_once_in_an_answer() {
        let mut taken = TakenIds::default();
        let ids = [taken.claim("call_1"), taken.claim("call_1"), taken.claim("a b"), taken.claim("")];
        assert_eq!(ids[0], "call_1");
        let distinct: HashSet<&String> = ids.iter().collect();
        assert_eq!(distinct.len(), 4, "{ids:?}");
        assert!(ids.iter().all(|id| is_valid_id(id)), "{ids:?}");
    }
}
