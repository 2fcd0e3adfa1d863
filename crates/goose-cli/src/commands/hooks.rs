//! `goose hooks`: the hooks of a folder, and what they do with a sample event.

use std::{io, process::ExitCode, sync::Arc};

use anyhow::{Context as _, bail};
use clap::Subcommand;
use goose::{
    agent_manager::AgentManager,
    config::{BaseEnvironment, Paths},
    hooks::{Hook, HookEvent, HookExit, HookFile, HookFileState, HookPlace, HookReport, Hooks, own_tool},
};
use goose_extension::JsonObject;
use serde_json::{Value, json};

use super::explained;
use crate::{
    args::JsonArgs,
    escape,
    output::{BAD, FAINT, GOOD, NAME, Output, WARNING, print},
    runtime::run_to_end,
    settings::{self, ConfigArgs},
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose hooks list
  goose hooks test PreToolUse --tool Bash --input '{\"command\": \"rm -rf build\"}'
  goose hooks test UserPromptSubmit --prompt 'Deploy it'

Hooks are commands that run at fixed points of a session: SessionStart,
UserPromptSubmit, PreToolUse, PostToolUse, Stop, SessionEnd. They are read
from 'hooks:' in config.yaml, from ~/.claude/settings.json, and from the
project's .goose/config.yaml, .claude/settings.json and
.claude/settings.local.json, once these are trusted:

  hooks:
    PreToolUse:
      - matcher: Bash
        hooks: [{type: command, command: ./guard.sh, timeout: 10}]

A hook gets JSON on standard input. Exit code 2, or {\"decision\": \"block\",
\"reason\": ...} on standard output, blocks. A hook cannot allow anything.";

#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// List the hooks of this folder, and the files that they come from
    #[command(after_help = "Examples:\n  goose hooks list\n  goose hooks list --json")]
    List(JsonArgs),
    /// Run the hooks of an event with a sample input, and show what they do
    #[command(
        after_help = "Examples:\n  goose hooks test PreToolUse --tool Bash --input '{\"command\": \"ls\"}'\n  goose hooks test Stop --json"
    )]
    Test {
        /// Event, such as 'PreToolUse'
        #[arg(value_parser = HookEvent::ALL.map(HookEvent::name).to_vec())]
        event: String,
        /// Tool of the sample call, such as 'Bash' or 'developer__shell'
        #[arg(long, value_name = "NAME", default_value = "Bash")]
        tool: String,
        /// Arguments of the sample call, as JSON
        #[arg(long, value_name = "JSON")]
        input: Option<String>,
        /// Message of the sample, for UserPromptSubmit
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        #[command(flatten)]
        form: JsonArgs,
    },
}

/// Runs a subcommand.
pub(crate) fn run(command: HooksCommand, config: &ConfigArgs) -> anyhow::Result<ExitCode> {
    let folder = settings::working_folder()?;
    let settings = settings::look_in(&Paths::from_env()?, config, Some(&folder)).settings?;
    let files = HookFile::find_all(&settings, &folder);
    let HooksCommand::Test { event, tool, input, prompt, form } = command else {
        let HooksCommand::List(form) = command else { return Ok(ExitCode::SUCCESS) };
        return print(&form, || json!({ "files": files }), |out| list(out, &files));
    };
    let Some(event) = HookEvent::named(&event) else { bail!("There is no event '{event}'.") };
    let input: JsonObject = match input {
        Some(text) => serde_json::from_str(&text).context("--input must be a JSON object")?,
        None => JsonObject::from_iter([("command".to_owned(), Value::from("true"))]),
    };
    let mut fields = json!({});
    if own_tool(&tool) != tool && event.is_about_tool() {
        // The input of a tool under its foreign name is sent as it is.
        fields["tool_input"] = Value::Object(input.clone());
    }
    if let Some(prompt) = prompt {
        fields["prompt"] = prompt.into();
    }
    let agents = AgentManager::new(settings.clone());
    let permissions = agents.permissions(&settings.profile(None)?).map_err(explained)?;
    let used = files.into_iter().filter(|file| file.state == HookFileState::Used);
    let hooks = Hooks::new(used.flat_map(|file| file.hooks).collect(), || HookPlace {
        session_id: "test".to_owned(),
        working_dir: folder,
        environment: Arc::new(BaseEnvironment::from_process()),
        permissions,
    });
    run_to_end(async {
        let reports = match &hooks {
            Some(hooks) => hooks.test(event, own_tool(&tool), &input, fields).await,
            None => Vec::new(),
        };
        print(&form, || json!({ "reports": reports }), |out| show(out, event, &reports))
    })
}

fn list(out: &mut Output, files: &[HookFile]) -> io::Result<()> {
    if files.iter().all(|file| file.hooks.is_empty() && file.problems.is_empty()) {
        return out.line("There are no hooks here. `goose hooks --help` shows how to write one.");
    }
    for file in files {
        let path = out.paint(NAME, escape::path(&file.path));
        let state = match file.state {
            HookFileState::Used => "",
            HookFileState::NotTrusted => "  not used: not trusted. Trust it with `goose configure trust`.",
            HookFileState::Disabled => "  not used: the file disables them",
            _ => "  not used",
        };
        out.line(format_args!("{path}{}", out.paint(WARNING, state)))?;
        for hook in &file.hooks {
            out.line(format_args!("  {}", title(out, hook)))?;
        }
        for problem in &file.problems {
            out.line(format_args!("  {} {}", out.paint(BAD, "problem:"), escape::text(problem)))?;
        }
        if !file.unsupported.is_empty() {
            let names = file.unsupported.join(", ");
            let line = format!("  not events of goose: {}", escape::line(&names));
            out.line(out.paint(FAINT, line))?;
        }
    }
    Ok(())
}

/// Returns a hook on one line.
fn title(out: &Output, hook: &Hook) -> String {
    let event = hook.event.name();
    let matcher = match hook.matcher.text() {
        "" => "*",
        text => text,
    };
    let limit = out.paint(FAINT, format!("({} s)", hook.time_limit.as_secs_f64()));
    format!("{event:16}  {}  {}  {limit}", escape::line(matcher), escape::line(&hook.command))
}

fn show(out: &mut Output, event: HookEvent, reports: &[HookReport]) -> io::Result<()> {
    if reports.is_empty() {
        return out.line(format_args!("No hook of {event} matches. `goose hooks list` shows all hooks."));
    }
    for HookReport { hook, run, effect, .. } in reports {
        out.line(title(out, hook))?;
        let exit = match &run.exit {
            HookExit::Code(code) => format!("exit code {code}"),
            HookExit::Killed => "killed by a signal".to_owned(),
            HookExit::TimedOut => "ended at its time limit".to_owned(),
            HookExit::NotStarted(error) => format!("not started: {error}"),
            HookExit::Denied(reason) => format!("not run: {reason}"),
            _ => "unknown".to_owned(),
        };
        out.line(format_args!("  {} after {} ms", escape::line(&exit), run.duration.as_millis()))?;
        let effects = [
            (BAD, "blocks", &effect.block),
            (WARNING, "asks", &effect.ask),
            (GOOD, "adds", &effect.context),
            (FAINT, "tells you", &effect.notice),
        ];
        for (style, word, text) in effects {
            if let Some(text) = text {
                out.line(format_args!("  {}", out.paint(style, word)))?;
                out.indented(4, anstyle::Style::new(), text)?;
            }
        }
        if effect.stops {
            out.line("  ends the reply")?;
        }
        for (name, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
            if !text.trim().is_empty() {
                out.line(format_args!("  {}", out.paint(FAINT, name)))?;
                out.indented(4, FAINT, text)?;
            }
        }
    }
    Ok(())
}
