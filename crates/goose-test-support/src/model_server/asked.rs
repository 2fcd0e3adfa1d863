//! [`Asked`]: a request to the model server, as it came.

use std::time::Instant;

use serde_json::Value;

/// The protocol of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// `POST …/chat/completions`.
    Chat,
    /// `POST …/responses`.
    Responses,
    /// `POST …/messages`.
    Anthropic,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its protocol.
    pub wire: Wire,
    /// Its path.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Value,
    /// The size of the body, in bytes.
    pub bytes: usize,
    /// The time at which it was complete.
    pub at: Instant,
    /// The time at which the server had read it and knew its answer.
    pub answered: Instant,
}

impl Asked {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The names of the tools that were offered.
    pub fn tool_names(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        tools
            .iter()
            .filter_map(|tool| tool["name"].as_str().or_else(|| tool["function"]["name"].as_str()))
            .collect()
    }

    /// The results of tools in the request, as `(call id, text)`, oldest first. Parts of a result are joined by lines.
    pub fn tool_results(&self) -> Vec<(String, String)> {
        match self.wire {
            Wire::Chat => results(&self.body["messages"], "role", "tool", "tool_call_id", "content"),
            Wire::Responses => {
                results(&self.body["input"], "type", "function_call_output", "call_id", "output")
            }
            Wire::Anthropic => {
                let messages = self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
                let blocks = |message: &Value| {
                    results(&message["content"], "type", "tool_result", "tool_use_id", "content")
                };
                messages.iter().flat_map(blocks).collect()
            }
        }
    }

    /// The text of the newest message by the user that is no tool's result.
    pub fn last_user_text(&self) -> Option<String> {
        let list = if self.wire == Wire::Responses { &self.body["input"] } else { &self.body["messages"] };
        let messages = list.as_array()?;
        messages
            .iter()
            .rev()
            .filter(|message| message["role"] == "user")
            .map(|message| texts(&message["content"]))
            .find(|text| !text.is_empty())
    }
}

fn results(list: &Value, tag: &str, kind: &str, id: &str, content: &str) -> Vec<(String, String)> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .filter(|item| item[tag] == kind)
        .map(|item| (item[id].as_str().unwrap_or_default().to_owned(), texts(&item[content])))
        .collect()
}

/// The text of a content that is a string or a list of parts.
fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
