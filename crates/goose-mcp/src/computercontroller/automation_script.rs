//! `automation_script`: a script in a language. It runs as the command line that the permissions have judged, in the
//! shell of `developer`.

use std::time::Duration;

use goose_extension::{ContentBlock, prelude::*, script_command};

use super::{ComputerController, blocking, failed};

/// Longest time that a script runs.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// Language of a script.
#[derive(Debug, Clone, Copy, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Language {
    Shell,
    Bash,
    Python,
    Javascript,
    Ruby,
    Perl,
    Powershell,
}

impl Language {
    fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Bash => "bash",
            Self::Python => "python",
            Self::Javascript => "javascript",
            Self::Ruby => "ruby",
            Self::Perl => "perl",
            Self::Powershell => "powershell",
        }
    }
}

impl ComputerController {
    /// Run a script in the working folder, without stdin or terminal, for at most 300 seconds. Returns its output. Fails if the
    /// exit code is not 0, if the language is not installed, and at the timeout.
    #[tool(title = "Run a script", group = "command", destructive, open_world)]
    pub(super) async fn automation_script(
        &self,
        /// `shell`, `bash`, `python`, `javascript`, `ruby`, `perl` or `powershell`
        language: Language,
        /// Text of the script
        script: String,
        /// Also save the output to a file, default false
        #[arg(default)]
        save_output: bool,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let command = script_command(language.name(), &script)
            .ok_or_else(|| failed(format!("There is no interpreter for {}.", language.name())))?;
        let backend = self.backend(context);
        let output = self.shell.run(&*backend, &command, TIME_LIMIT, context).await?;
        match save_output {
            true => self.with_saved(output, language.name()).await,
            false => Ok(output),
        }
    }

    async fn with_saved(&self, mut output: ToolOutput, name: &'static str) -> ToolResult<ToolOutput> {
        let cache = self.cache.clone().ok_or_else(|| failed("There is no folder for saved files here."))?;
        let text = output.as_text();
        let saved = blocking(move || {
            cache
                .save(name, "txt", text.as_bytes())
                .map_err(|error| failed(format!("The output was not saved: {error}.")))
        })
        .await;
        let note = match saved {
            Ok(path) => format!("[saved to {}]", path.display()),
            Err(error) => format!("[{error}]"),
        };
        output.content.push(ContentBlock::text(note));
        Ok(output)
    }
}
