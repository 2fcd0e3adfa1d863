//! `todo`: the task list of a session.
//!
//! The list is the newest one in the conversation, so it is stored, resumed, forked and exported with the
//! conversation, and compaction keeps it. `developer`'s `plan` keeps the same list; a mode with this
//! extension does not get that tool.

use std::sync::Arc;

use goose_extension::{RegistryExtension, ToolAction, checklist_progress, prelude::*};

/// Maximum number of characters of a list.
const MAX_CHARS: usize = 50_000;

/// The `todo` extension.
#[derive(Debug, Clone, Copy, Default)]
pub struct Todo;

impl Todo {
    /// Builds the extension.
    pub fn extension() -> RegistryExtension {
        let tool = Self::todo_write_tool().map_tool(|tool| tool.with_action(ToolAction::KeepsPlan));
        RegistryExtension::new("todo", "A list of tasks for the session").with_tool(&Arc::new(Self), tool)
    }

    /// Keep your task list for work of several steps: write it first, update it as you go. The person sees it. Returns
    /// how many are done. Fails above 50,000 characters.
    #[tool(read_only, open_world = false)]
    async fn todo_write(
        &self,
        /// The whole list as a Markdown checklist: `- [x] done`, `- [ ] open`
        content: &str,
        context: &CallContext,
    ) -> ToolResult<String> {
        // Some models escape line ends twice.
        let unescaped = if content.contains('\n') { None } else { Some(content.replace("\\n", "\n")) };
        let content = unescaped.as_deref().unwrap_or(content).trim();
        let chars = content.chars().count();
        if chars > MAX_CHARS {
            return Err(ToolError::ExecutionError(format!(
                "The list has {chars} characters; at most {MAX_CHARS} are kept. Write it shorter: one line for each task."
            )));
        }
        if content.is_empty() {
            return Ok("The list is empty now.".to_owned());
        }
        context.log(RichRenderable::Markdown { text: content.to_owned() });
        Ok(summary(content))
    }
}

/// Returns how many tasks are done.
fn summary(list: &str) -> String {
    let (done, all) = checklist_progress(list);
    match all {
        0 => "The list is kept.".to_owned(),
        all => format!("The list is kept: {done} of {all} tasks done."),
    }
}

#[cfg(test)]
mod tests {
    use goose_extension::JsonObject;

    use super::*;

    async fn write(content: &str) -> ToolOutput {
        let arguments = JsonObject::from_iter([("content".to_owned(), json!(content))]);
        Todo::extension().call("todo_write", arguments, &CallContext::new()).await.unwrap()
    }

    #[tokio::test]
    async fn a_list_is_counted_emptied_and_bounded() {
        assert_eq!(write("- [x] a\n- [ ] b").await.as_text(), "The list is kept: 1 of 2 tasks done.");
        assert_eq!(write("- [x] a\\n- [x] b").await.as_text(), "The list is kept: 2 of 2 tasks done.");
        assert_eq!(write(" \n").await.as_text(), "The list is empty now.");
        let long = write(&"- [ ] more\n".repeat(10_000)).await;
        assert!(long.is_error && long.as_text().contains("at most 50000"), "{}", long.as_text());
    }
}
