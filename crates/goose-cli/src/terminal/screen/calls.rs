//! The calls of tools on the [`Screen`]: their titles, what they say while they run, and their results.

use std::io;

use anstream::adapter::strip_str;
use goose::exchange::ToolEnd;
use goose_extension::{JsonObject, Message, MessageContent, RichRenderable, ToolOutput};

use super::{Detail, Screen};
use crate::{
    escape,
    terminal::{
        log_entry::{faint, rendered},
        tool_call::{self, Fold, Tail},
    },
};

/// A call that runs.
#[derive(Debug)]
pub(super) struct Call {
    id: String,
    title: String,
    arguments: JsonObject,
    /// Shown while it runs and says nothing else.
    activity: String,
    /// True if the last line on the screen belongs to it.
    pub(super) is_last: bool,
    has_shown: bool,
}

impl Screen {
    pub(super) fn tool_started(&mut self, id: &str, name: &str, arguments: &JsonObject) -> io::Result<()> {
        self.answer.end()?;
        let title = tool_call::title(name, arguments, self.columns());
        // Results of parallel calls come in any order, so each title is shown with its result.
        let is_parallel = self.asked.len() > 1 && self.asked.iter().any(|(asked, _)| asked == id);
        let is_shown = !is_parallel || self.detail == Detail::Full;
        if is_shown {
            self.line(&title)?;
        }
        if self.detail == Detail::Full {
            let json = serde_json::to_string_pretty(arguments).unwrap_or_default();
            for line in faint(&escape::json(&json)) {
                self.line(&line)?;
            }
        }
        let activity = match is_shown {
            true => format!("{} runs", tool_call::name(name)),
            false => strip_str(&title).to_string(),
        };
        self.begin(activity.clone());
        let (id, arguments) = (id.to_owned(), arguments.clone());
        self.calls.push(Call { id, title, arguments, activity, is_last: is_shown, has_shown: false });
        Ok(())
    }

    pub(super) fn log(&mut self, id: Option<&str>, content: &RichRenderable) -> io::Result<()> {
        let call = self.calls.iter().find(|call| Some(call.id.as_str()) == id);
        if call.is_some_and(|call| tool_call::repeats_title(content, &call.arguments)) {
            return Ok(());
        }
        if let Some(title) = call.filter(|call| !call.is_last).map(|call| call.title.clone()) {
            self.line(&title)?;
        }
        for line in rendered(content) {
            self.line(&line)?;
        }
        if let Some(call) = self.calls.iter_mut().find(|call| Some(call.id.as_str()) == id) {
            (call.has_shown, call.is_last) = (true, true);
        }
        Ok(())
    }

    /// Shows what an extension is doing; without a message, again the tool that runs.
    pub(super) fn status(&mut self, id: Option<&str>, message: &str) {
        let call = self.calls.iter().find(|call| Some(call.id.as_str()) == id).or(self.calls.last());
        let what = match (escape::line(message.trim()), call) {
            (message, _) if !message.is_empty() => message.into_owned(),
            (_, Some(call)) => call.activity.clone(),
            _ => return self.stop(),
        };
        if let Some(activity) = &mut self.activity {
            activity.rename(what);
        } else {
            self.begin(what);
        }
    }

    pub(super) fn tool_finished(
        &mut self,
        id: &str,
        name: &str,
        output: &ToolOutput,
        end: ToolEnd,
    ) -> io::Result<()> {
        self.answer.end()?;
        let at = self.calls.iter().position(|call| call.id == id);
        let call = at.map(|at| self.calls.remove(at));
        let title = call.as_ref().map_or_else(
            || tool_call::title(name, &self.asked_arguments(id), self.columns()),
            |call| call.title.clone(),
        );
        if call.as_ref().is_none_or(|call| !call.is_last) {
            self.line(&title)?;
        }
        let is_known = call.is_some_and(|call| call.has_shown) && end == ToolEnd::Ran && !output.is_error;
        if !is_known || self.detail == Detail::Full {
            let fold = if self.detail == Detail::Full { Fold::Open } else { Fold::Folded };
            for line in tool_call::result(output, end, fold, self.columns()) {
                self.line(&line)?;
            }
        }
        self.tail = Tail::default();
        match self.calls.last() {
            Some(_) => self.status(None, ""),
            None => self.stop(),
        }
        Ok(())
    }

    /// Ends a part of the answer, and notes the calls that it contains.
    pub(super) fn answered(&mut self, message: &Message) -> io::Result<()> {
        let calls = message.content.iter().filter_map(|part| match part {
            MessageContent::ToolCall { id, arguments, .. } => {
                Some((id.clone(), arguments.as_object().cloned().unwrap_or_default()))
            }
            _ => None,
        });
        self.asked = calls.collect();
        self.answer.end()
    }

    /// Returns the arguments of a call that was not started.
    fn asked_arguments(&self, id: &str) -> JsonObject {
        let asked = self.asked.iter().find(|(asked, _)| asked == id);
        asked.map(|(_, arguments)| arguments.clone()).unwrap_or_default()
    }
}
