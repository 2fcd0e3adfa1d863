//! What the commands of a conversation do.

use std::process::ExitCode;

use goose::{config::ExtensionConfig, permission::Mode};
use goose_extension::{CallContext, JsonObject, Message, MessageContent, Role};
use serde_json::Value;

use super::{
    chat::{After, Chat},
    slash::{self, Slash},
};
use crate::{
    aside,
    output::{FAINT, NAME},
    terminal::{
        screen::Detail,
        status::{dollars, standing, tokens},
    },
    visible,
};

/// What is sent while only plans are made.
const PLAN_ONLY: &str =
    "Make a plan for this, step by step, and name what is unclear. Do not carry it out yet.";

impl Chat {
    /// Does what a command says.
    pub(super) async fn command(&mut self, command: Slash) -> anyhow::Result<After> {
        match command {
            Slash::Exit => return Ok(After::Leave(ExitCode::SUCCESS)),
            Slash::Help => aside::line(slash::help()),
            Slash::Later(why) => aside::line(why),
            Slash::Unclear(why) => aside::line(visible::text(&why)),
            Slash::Clear => self.clear().await,
            Slash::Compact => self.compact().await,
            Slash::Model => self.show_model(),
            Slash::Cost => self.show_cost(),
            Slash::Mode(mode) => self.mode(mode.as_deref()),
            Slash::Full => self.toggle_detail(),
            Slash::Extension(line) => self.add(ExtensionConfig::from_command_line(&line)),
            Slash::Builtins(names) => {
                for name in names {
                    self.add(Ok(ExtensionConfig::builtin(name)));
                }
            }
            Slash::Prompts(extension) => self.prompts(extension.as_deref()).await,
            Slash::Prompt { name, arguments } => return Ok(self.prompt(&name, arguments).await),
            Slash::Plan(text) => return Ok(self.plan(text)),
            Slash::EndPlan => self.end_plan(),
        }
        Ok(After::Line)
    }

    async fn clear(&mut self) {
        match self.assembled.exchange.clear().await {
            Ok(()) => aside::line("The model has forgotten the conversation. The session keeps it."),
            Err(failure) => aside::error(&failure.message),
        }
    }

    async fn compact(&mut self) {
        match self.assembled.exchange.compact().await {
            Ok((before, after)) => {
                aside::line(format_args!("{} → {} tokens, about.", tokens(before), tokens(after)));
            }
            Err(failure) => aside::error(&failure.message),
        }
    }

    fn show_model(&self) {
        let mode = self.assembled.permissions.mode().to_string();
        aside::line(visible::line(&standing(&self.assembled.model, &mode, self.screen.cost())));
        aside::line(format_args!("{FAINT}Another model: goose session --resume --model NAME{FAINT:#}"));
    }

    fn show_cost(&self) {
        let Some(cost) = self.screen.cost() else {
            return aside::line("Nothing yet.");
        };
        let usage = cost.session;
        aside::line(format_args!(
            "{} tokens read ({} of them from the cache), {} written{}",
            tokens(usage.input),
            tokens(usage.cached_input),
            tokens(usage.output),
            cost.dollars.map(|sum| format!(", {}", dollars(sum))).unwrap_or_default()
        ));
    }

    fn mode(&mut self, mode: Option<&str>) {
        match mode.map(str::parse::<Mode>) {
            None => aside::line(self.assembled.permissions.mode()),
            Some(Ok(mode)) => {
                self.before_plan = None;
                self.assembled.permissions.set_mode(mode);
                aside::line(format_args!("The mode is {mode} now."));
            }
            Some(Err(error)) => aside::error(&error.to_string()),
        }
    }

    fn toggle_detail(&mut self) {
        let (detail, words) = match self.screen.detail() {
            Detail::Full => (Detail::Usual, "folded"),
            _ => (Detail::Full, "shown in full"),
        };
        self.screen.set_detail(detail);
        aside::line(format_args!("Results of tools are {words}."));
    }

    fn add(&self, config: Result<ExtensionConfig, goose::config::ConfigError>) {
        let added = config.map_err(anyhow::Error::from).and_then(|config| {
            config.check()?;
            self.assembled.exchange.extensions().add(&config)?;
            Ok(config.key())
        });
        match added {
            Ok(name) => aside::line(format_args!("{} is added.", visible::line(&name))),
            Err(error) => aside::error(&format!("{error:#}")),
        }
    }

    async fn prompts(&self, extension: Option<&str>) {
        let listed = match self.assembled.exchange.extensions().list_prompts(extension).await {
            Ok(listed) => listed,
            Err(error) => return aside::error(&error.to_string()),
        };
        if listed.items.is_empty() {
            aside::line("There is no prompt.");
        }
        for owned in &listed.items {
            let prompt = &owned.item;
            let about = prompt.description.as_deref().unwrap_or_default();
            aside::line(format_args!(
                "{NAME}{}{NAME:#} {FAINT}({}){FAINT:#}  {}",
                visible::line(&prompt.name),
                visible::line(&owned.extension),
                visible::line(about)
            ));
        }
    }

    /// A prompt of an extension becomes the next message.
    async fn prompt(&self, name: &str, arguments: Vec<(String, String)>) -> After {
        let manager = self.assembled.exchange.extensions();
        let arguments: JsonObject =
            arguments.into_iter().map(|(key, value)| (key, Value::String(value))).collect();
        match manager.get_prompt(name, arguments, &CallContext::new()).await {
            Ok(prompt) => {
                let parts = prompt.messages.into_iter().map(|message| MessageContent::Block(message.content));
                After::Reply(Message::new(Role::User, parts))
            }
            Err(error) => failed(&error.to_string()),
        }
    }

    fn plan(&mut self, text: Option<String>) -> After {
        if self.before_plan.is_none() {
            self.before_plan = Some(self.assembled.permissions.mode());
            self.assembled.permissions.set_mode(Mode::Chat);
            aside::line("From now on goose only plans, without tools. /endplan goes back to work.");
        }
        match text {
            Some(text) => After::Reply(format!("{PLAN_ONLY}\n\n{text}").into()),
            None => After::Line,
        }
    }

    fn end_plan(&mut self) {
        match self.before_plan.take() {
            Some(mode) => {
                self.assembled.permissions.set_mode(mode);
                aside::line(format_args!("Back to work. The mode is {mode}."));
            }
            None => aside::line("No plan is being made."),
        }
    }
}

fn failed(why: &str) -> After {
    aside::error(why);
    After::Line
}
