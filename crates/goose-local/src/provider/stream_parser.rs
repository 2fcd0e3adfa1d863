//! [`StreamParser`]: reads one JSON object while it is written. The object is a call, or the final
//! answer, whose text is passed on at once.

use goose_extension::JsonObject;
use goose_providers::{Arguments, TextCall, ToolCall, parse_text_calls};

use super::tools::{FINAL_ANSWER, OfferedTool, TEXT, Tools};

/// Maximum length of an unusable call in the error, in characters.
const MAX_RAW_CHARS: usize = 1_000;

/// Maximum number of bytes after which the text can end: an escaped pair of surrogates, and the end of
/// the object.
const MAX_ESCAPE_BYTES: usize = 16;

/// Object that is being written.
pub(super) struct StreamParser<'a> {
    tools: &'a Tools,
    raw: String,
    /// End of the text that was passed on, as an offset in `raw`.
    at: usize,
}

impl<'a> StreamParser<'a> {
    pub(super) fn new(tools: &'a Tools) -> Self {
        Self { tools, raw: String::new(), at: 0 }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.raw.push_str(text);
    }

    /// Returns true as soon as the object is known to be a final answer.
    pub(super) fn is_answer(&self) -> bool {
        self.string("tool").as_deref() == Some(FINAL_ANSWER) && self.tools.takes_text
    }

    /// Returns the tool, once its name is complete.
    pub(super) fn tool(&self) -> Option<&'a OfferedTool> {
        self.tools.by_short(&self.string("tool")?)
    }

    /// Returns the path of a call, once it is complete.
    pub(super) fn path(&self) -> Option<String> {
        self.string("path").map(|path| path.trim_start_matches("./").to_owned())
    }

    /// Returns the text of a final answer since the last call.
    pub(super) fn new_text(&mut self) -> Option<String> {
        let start = self.value(TEXT).filter(|_| self.is_answer())? + 1;
        let at = self.at.max(start);
        // The closing quotation mark ends the text. A split escape is completed by the next piece.
        let fresh = self.raw.get(at..)?;
        let texts = fresh.char_indices().map(|(end, _)| end).rev().take(MAX_ESCAPE_BYTES);
        let mut ends = std::iter::once(fresh.len()).chain(texts);
        let read = |end: usize| Some((end, serde_json::from_str(&format!("\"{}\"", &fresh[..end])).ok()?));
        let (end, text): (usize, String) = ends.find_map(read)?;
        self.at = at + end;
        (!text.is_empty()).then_some(text)
    }

    /// Returns the call. A call that is cut off or unusable is passed on as malformed, with the reason.
    pub(super) fn call(&self, id: &str, why_cut: Option<&str>) -> ToolCall {
        let parsed = serde_json::from_str::<JsonObject>(&self.raw).ok();
        let (name, arguments) = match (why_cut, parsed, self.tool()) {
            (Some(why), ..) => (self.name(), self.malformed(why)),
            (None, _, None) => self
                .own_shape()
                .unwrap_or_else(|| (self.name(), self.malformed("it is not a call of one of the tools"))),
            (None, None, _) => (self.name(), self.malformed("it is not one JSON object")),
            (None, Some(mut call), Some(tool)) => {
                call.shift_remove("tool");
                (tool.name.clone(), Arguments::Object(tool.complete(call)))
            }
        };
        ToolCall { id: id.to_owned(), name, arguments, opaque: None }
    }

    /// Returns a call in another known shape. Some servers do not enforce the form.
    fn own_shape(&self) -> Option<TextCall> {
        let (name, arguments) = parse_text_calls(&self.raw).into_iter().next()?;
        let tool = self.tools.by_name(&name).or_else(|| self.tools.by_short(&name))?;
        let Arguments::Object(arguments) = arguments else { return None };
        Some((tool.name.clone(), Arguments::Object(tool.complete(arguments))))
    }

    /// Returns the whole text if it is not an object. Some servers do not enforce the form.
    pub(super) fn plain_text(&self) -> Option<&str> {
        let text = self.raw.trim();
        (!text.is_empty() && !text.contains('{') && self.tools.takes_text).then_some(text)
    }

    fn name(&self) -> String {
        self.tool().map_or_else(|| self.string("tool").unwrap_or_default(), |tool| tool.name.clone())
    }

    fn malformed(&self, why: &str) -> Arguments {
        let raw = goose_fs::head_chars(&self.raw, MAX_RAW_CHARS).to_owned();
        Arguments::Malformed { raw, why: why.to_owned() }
    }

    /// Returns the string value of a key, if it is complete.
    fn string(&self, key: &str) -> Option<String> {
        let rest = &self.raw[self.value(key)?..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        // An incomplete string is a parse error.
        values.next()?.ok()
    }

    /// Returns the offset of a key's value.
    fn value(&self, key: &str) -> Option<usize> {
        let quoted = format!("\"{key}\"");
        let (at, _) = self.raw.match_indices(&quoted).find(|(at, _)| !self.raw[..*at].ends_with('\\'))?;
        let rest = self.raw[at + quoted.len()..].trim_start().strip_prefix(':')?.trim_start();
        (!rest.is_empty()).then(|| self.raw.len() - rest.len())
    }
}

#[cfg(test)]
#[path = "stream_parser_tests.rs"]
mod tests;
