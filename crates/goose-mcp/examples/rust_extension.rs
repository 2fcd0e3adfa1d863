//! Looks into text files.

use std::path::Path;

use goose_extension::prelude::*;

struct TextTools;

#[extension(name = "text_tools", description = "Looks into text files")]
impl TextTools {
    /// Counts the words of a text.
    #[tool(group = "read", read_only)]
    fn count_words(
        &self,
        /// The text itself, not a file name
        text: &str,
    ) -> usize {
        text.split_whitespace().count()
    }

    /// Shows the lines of a file that contain a word, with their numbers.
    #[tool(group = "read", read_only, timeout = "10s")]
    async fn find_lines(
        &self,
        /// The file, relative to the working folder
        path: &Path,
        /// The word to look for
        #[arg(default = "TODO".to_owned(), min_length = 1)]
        word: String,
        context: &CallContext,
    ) -> ToolResult<Vec<String>> {
        let path = context.working_dir().join(path);
        let text = tokio::fs::read_to_string(&path).await.map_err(|error| {
            ToolError::execution(format!("Could not read {}: {error}. Check the path.", path.display()))
        })?;
        let lines = text.lines().enumerate().filter(|(_, line)| line.contains(&word));
        Ok(lines.map(|(index, line)| format!("{}: {line}", index + 1)).collect())
    }
}

#[tokio::main]
async fn main() -> AnyhowResult<()> {
    goose_mcp_bridge::serve(TextTools).stdio().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_missing_file_is_an_error_that_names_it() {
        let answer = TextTools.call_tool("find_lines", hashmap! { "path" => json!("missing.txt") }).await;
        assert!(answer.unwrap_err().to_string().contains("missing.txt"));
    }
}
