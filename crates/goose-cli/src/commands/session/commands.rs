//! Implementation of the slash commands.

use std::{fmt::Display, process::ExitCode, sync::Arc, time::Duration};

use goose::{
    agents::extension_manager::ManagerError,
    config::ExtensionConfig,
    exchange::{Exchange, TaskState, TaskStatus},
    permission::Mode,
    session::ChosenBy,
    session::export,
};
use goose_extension::{CallContext, JsonObject, Message, MessageContent, PromptArgument, Role};
use serde_json::Value;

use super::{
    chat::{After, Chat, Next, Stop},
    edit::init,
    recipes::show_skills,
    slash::{self, Slash},
    values::live_models,
};
use crate::{
    builtins,
    commands::explained,
    escape,
    output::{FAINT, NAME},
    signals::ExitSignal,
    stderr,
    terminal::{
        answer::Answer,
        menu::{Menu, MenuChoice, MenuEntry},
        screen::Detail,
        size,
        status::{dollars, tokens},
    },
    terminal_caller::TerminalCaller,
};

/// Time that `/extension` waits for a program to start.
const PROGRAM_WAIT: Duration = Duration::from_secs(30);

/// The name that stands for no agent: goose chooses.
const AUTO: &str = "auto";

impl Chat {
    /// Runs a command.
    pub(super) async fn command(&mut self, command: Slash, typed: &str) -> Next {
        match command {
            Slash::Exit => return Ok(After::Leave(ExitCode::SUCCESS)),
            Slash::Help => stderr::line(slash::help(size::columns())),
            Slash::Later(why) => stderr::line(why),
            Slash::Unclear(why) => stderr::line(escape::text(&why)),
            Slash::Clear => self.clear().await,
            Slash::Compact => return self.compact().await,
            Slash::Model(None) => return self.choose_model().await,
            Slash::Model(Some(name)) => return self.set_model(&name).await,
            Slash::Cost => self.show_cost(),
            Slash::Tasks(None) => self.show_tasks(),
            Slash::Tasks(Some(id)) => return self.show_task(&id).await,
            Slash::Agent(None) => self.show_agents(),
            Slash::Agent(Some(name)) => return self.set_agent(&name).await,
            Slash::Mode(mode) => self.mode(mode.as_deref()),
            Slash::Full => self.toggle_detail(),
            Slash::Reasoning(back) => self.show_reasoning(back),
            Slash::Extension(line) => return self.add_program(&line).await,
            Slash::RemoveExtension(name) => self.remove_extension(&name).await,
            Slash::Builtins(names) => names.into_iter().for_each(|name| self.add_builtin(name)),
            Slash::Prompts(extension) => return self.prompts(extension.as_deref()).await,
            Slash::Prompt { name, arguments } => return self.prompt(&name, arguments).await,
            Slash::App(text) => {
                return Ok(After::Reply(format!("@goose-agent/app_maker {text}").as_str().into()));
            }
            Slash::Plan(text) => return self.plan(text, typed).await,
            Slash::EndPlan => self.end_plan(),
            Slash::Recipe(file) => return self.make_recipe(file.as_deref()).await,
            Slash::Skills => show_skills()?,
            Slash::Undo => return self.undo().await,
            Slash::Rewind(number) => return self.rewind(number.as_deref()).await,
            Slash::Diff(path) => return self.diff(path.as_deref()).await,
            Slash::New(name) => return self.start_new(name).await,
            Slash::Resume(name) => return self.resume(name.as_deref()).await,
            Slash::Rename(name) => return self.rename(name).await,
            Slash::Export(file) => return self.export(file.as_deref()).await,
            Slash::Copy => return Ok(self.copy()),
            Slash::Edit(text) => return self.edit(text.as_deref().unwrap_or_default()).await,
            Slash::Init(text) => return Ok(init(text.as_deref())),
            Slash::Status => self.show_status().await,
            Slash::Context => return self.show_context().await,
            Slash::Permissions => self.show_permissions()?,
            Slash::Mcp => self.show_extensions()?,
            Slash::Doctor => return self.check_installation().await,
        }
        Ok(After::Line)
    }

    async fn clear(&mut self) {
        self.commands.clear();
        match self.assembled.exchange.clear().await {
            Ok(()) => stderr::line("Cleared the model's context. The session keeps all messages."),
            Err(failure) => stderr::error(&failure.message),
        }
    }

    async fn compact(&mut self) -> Next {
        let exchange = self.assembled.exchange.clone();
        // A task of its own, so that it ends cleanly when cancelled. The next reply waits for it.
        let compacting = tokio::spawn({
            let exchange = exchange.clone();
            async move { exchange.compact().await }
        });
        match self.working("compacting", compacting).await? {
            Ok(Ok(Ok((before, after)))) if after < before => {
                stderr::line(format_args!(
                    "Compacted the conversation: about {} → {} tokens.",
                    tokens(before),
                    tokens(after)
                ));
            }
            Ok(Ok(Ok((_, now)))) => stderr::line(format_args!(
                "Nothing to compact: the conversation has about {} tokens and cannot be made shorter.",
                tokens(now)
            )),
            Ok(Ok(Err(failure))) => stderr::error(&failure.message),
            Ok(Err(error)) => stderr::error(&format!("Compaction failed: {error}")),
            Err(asked) => {
                exchange.cancel();
                return Ok(cancelled(asked));
            }
        }
        Ok(After::Line)
    }

    /// Shows the model, and at a terminal the models that its service lists now, to choose another one.
    async fn choose_model(&mut self) -> Next {
        stderr::line(escape::line(&self.standing()));
        let exchange = self.assembled.exchange.clone();
        let settings = self.assembled.manager().settings().clone();
        let models = self.working("listing the models", live_models(&exchange, &settings)).await??;
        if models.is_empty() || !stderr::can_ask() {
            stderr::line(format_args!("{FAINT}To switch: /model NAME, or /model PROVIDER:NAME{FAINT:#}"));
            return Ok(After::Line);
        }
        let present = exchange.model().to_string();
        let entries = models.iter().map(|name| MenuEntry::new(name, "")).collect();
        let at = models.iter().position(|name| *name == present).unwrap_or_default();
        let menu = Menu::new("Model", entries).at(at).or_typed();
        let name = match self.input.turn().await.choose(menu).await {
            Some(MenuChoice::Entry(entry)) => models.get(entry).cloned(),
            Some(MenuChoice::Typed(name)) => Some(name),
            None => None,
        };
        match name.filter(|name| *name != present) {
            Some(name) => self.set_model(&name).await,
            None => Ok(After::Line),
        }
    }

    /// Switches to another model.
    async fn set_model(&mut self, name: &str) -> Next {
        let exchange = self.assembled.exchange.clone();
        let set = self.working("reading the model's key", exchange.set_model(name)).await??;
        let model = set.map_err(|error| told(explained(error)))?;
        stderr::line(format_args!("Switched to {}.", escape::line(&model.to_string())));
        self.show_standing();
        Ok(After::Line)
    }

    fn show_agents(&self) {
        let exchange = &self.assembled.exchange;
        let (now, agents) = (exchange.agent().id(), exchange.agents());
        for entry in &agents.agents {
            for mode in &entry.manifest.modes {
                let name = format!("{}/{}", entry.manifest.name, mode.slug);
                let mark = if name == now { "*" } else { " " };
                let about = escape::line(&mode.description);
                stderr::line(format_args!(
                    "{mark} {NAME}{}{NAME:#}  {FAINT}{about}{FAINT:#}",
                    escape::line(&name)
                ));
            }
        }
        for (path, reason) in &agents.problems {
            stderr::line(format_args!("{}: {}", escape::path(path), escape::text(reason)));
        }
        let pinned = match exchange.agent().chosen_by {
            ChosenBy::User => format!("{now} is pinned. To let goose choose again: /agent auto. "),
            _ => String::new(),
        };
        let switch = "To switch: /agent MODE, or /agent AGENT/MODE";
        stderr::line(format_args!("{FAINT}{}{switch}{FAINT:#}", escape::line(&pinned)));
    }

    /// Goes on with another agent, or lets goose choose again.
    async fn set_agent(&mut self, name: &str) -> Next {
        if name == AUTO {
            self.assembled.exchange.choose_agent_automatically();
            stderr::line("goose chooses the agent again.");
            self.show_standing();
            return Ok(After::Line);
        }
        let exchange = self.assembled.exchange.clone();
        let switched = self.working("binding services", exchange.switch_agent(name)).await??;
        let agent = switched.map_err(told)?;
        stderr::line(format_args!("Switched to {}.", escape::line(&agent)));
        self.show_standing();
        Ok(After::Line)
    }

    fn show_cost(&self) {
        let Some(cost) = self.screen.cost() else {
            return stderr::line("No usage yet.");
        };
        let usage = cost.session;
        stderr::line(format_args!(
            "{} tokens read ({} of them from the cache), {} written{}",
            tokens(usage.input),
            tokens(usage.cached_input),
            tokens(usage.output),
            cost.dollars.map(|sum| format!(", {}", dollars(sum))).unwrap_or_default()
        ));
    }

    fn show_tasks(&self) {
        let tasks = self.assembled.exchange.tasks();
        if tasks.is_empty() {
            stderr::line("No request of this session was split into tasks.");
        }
        for TaskStatus { task, state, .. } in tasks {
            let word = match state {
                TaskState::Waiting => "waiting",
                TaskState::Running => "running",
                TaskState::Over(end) => end.word(),
                _ => "unknown",
            };
            let (id, text, agent) = (task.id.as_str(), task.text.as_str(), task.agent_id());
            let line = escape::line(&format!("{id}. {text} ({agent})")).into_owned();
            stderr::line(format_args!("{line}: {NAME}{word}{NAME:#}"));
        }
    }

    /// Shows what a task did: its session, as an export has it.
    async fn show_task(&mut self, id: &str) -> Next {
        let tasks = self.assembled.exchange.tasks();
        let session = tasks.into_iter().find(|status| status.task.id == id).and_then(|status| status.session);
        let Some(session) = session else {
            return Ok(failed(&format!("There is no task {id} that has begun. /tasks lists them.")));
        };
        let text = export::markdown(self.assembled.store(), &session).await;
        let text = text.map_err(|error| told(explained(error)))?;
        let mut answer = Answer::new();
        answer.push(&text)?;
        answer.end()?;
        Ok(After::Line)
    }

    fn mode(&mut self, mode: Option<&str>) {
        match mode.map(str::parse::<Mode>) {
            None => stderr::line(self.assembled.permissions.mode()),
            Some(Ok(mode)) => {
                self.assembled.exchange.set_mode(mode);
                stderr::line(format_args!("Switched to mode {mode}."));
                self.show_standing();
            }
            Some(Err(error)) => stderr::error(&error.to_string()),
        }
    }

    fn toggle_detail(&mut self) {
        let (detail, words) = match self.screen.detail() {
            Detail::Full => (Detail::Usual, "folded"),
            _ => (Detail::Full, "shown in full"),
        };
        self.screen.set_detail(detail);
        stderr::line(format_args!("Tool results are now {words}."));
    }

    /// Shows the reasoning of a reply: the last one, or one of those before, also in a resumed session.
    fn show_reasoning(&self, back: usize) {
        let shown = Some(self.screen.reasoning()).filter(|text| back == 0 && !text.is_empty());
        let text = shown.map_or_else(|| reasoning(&self.assembled.exchange.messages(), back), str::to_owned);
        match text.trim() {
            "" if back == 0 => stderr::line("The last reply has no reasoning that can be shown."),
            "" => stderr::line("That reply has no reasoning that can be shown."),
            text => stderr::line(format_args!("{FAINT}{}{FAINT:#}", escape::text(text))),
        }
    }

    fn add_builtin(&self, name: String) {
        if builtins::find(&name).is_none() {
            let names = builtins::names();
            return stderr::error(&format!("There is no built-in extension '{name}'. Built-ins: {names}."));
        }
        match self.assembled.exchange.enable_extension(&ExtensionConfig::builtin(&name)) {
            Ok(None) => stderr::line(format_args!("Added {name}; it starts when it is first used.")),
            Ok(Some(users)) => self.say_unused(&name, &users),
            Err(error) => stderr::error(&error.to_string()),
        }
    }

    /// Adds a program. It is removed again if it does not start.
    async fn add_program(&mut self, line: &str) -> Next {
        let exchange = self.assembled.exchange.clone();
        let (name, users) = enable_program(&exchange, line).map_err(told)?;
        if let Some(users) = users {
            self.say_unused(&name, &users);
            return Ok(After::Line);
        }
        let Ok(service) = exchange.extensions().service(&name) else { return Ok(After::Line) };
        let started = tokio::time::timeout(PROGRAM_WAIT, service.wait_for_listing());
        let started = self.working(&format!("starting {}", escape::line(&name)), started).await?;
        let shown = escape::line(&name).into_owned();
        match started {
            Ok(Ok(Some(listing))) => {
                let tools = listing.tools.len();
                stderr::line(format_args!("Added {shown} with {tools} tools."));
            }
            Ok(Ok(None)) => {
                let reason = service.report().reason.unwrap_or_default();
                exchange.disable_extension(&name).await?;
                return Ok(failed(&format!("{name} did not start and was not added. {reason}")));
            }
            Ok(Err(_)) => stderr::line(format_args!("Added {shown}; it is still starting.")),
            Err(asked) => {
                exchange.disable_extension(&name).await?;
                return Ok(cancelled(asked));
            }
        }
        Ok(After::Line)
    }

    pub(super) fn say_unused(&self, name: &str, users: &str) {
        let agent = self.assembled.exchange.agent().id();
        stderr::line(escape::line(&format!("Added {name}. {agent} cannot use it; these can: {users}.")));
    }

    async fn remove_extension(&self, name: &str) {
        match self.assembled.exchange.disable_extension(name).await {
            Ok(()) => stderr::line(format_args!("Removed {} from this session.", escape::line(name))),
            Err(error) => stderr::error(&error.to_string()),
        }
    }

    async fn prompts(&mut self, extension: Option<&str>) -> Next {
        let exchange = self.assembled.exchange.clone();
        let extensions = exchange.extensions();
        let listed = extensions.list_prompts(extension);
        let listed = self.working("listing prompts", listed).await??.map_err(told)?;
        if listed.items.is_empty() {
            stderr::line("No extension has prompts.");
        }
        for owned in &listed.items {
            let prompt = &owned.item;
            let about = prompt.description.as_deref().unwrap_or_default();
            stderr::line(format_args!(
                "{NAME}{}{NAME:#}{} {FAINT}({}){FAINT:#}  {}",
                escape::line(&prompt.name),
                escape::line(&argument_list(prompt.arguments.as_deref().unwrap_or_default())),
                escape::line(&owned.extension),
                escape::line(about)
            ));
        }
        Ok(After::Line)
    }

    /// Sends a prompt of an extension as the next message.
    async fn prompt(&mut self, name: &str, arguments: Vec<(String, String)>) -> Next {
        let exchange = self.assembled.exchange.clone();
        let arguments: JsonObject =
            arguments.into_iter().map(|(key, value)| (key, Value::String(value))).collect();
        let mut context = CallContext::new();
        if stderr::can_ask() {
            context = context.with_caller(Arc::new(TerminalCaller::at(Arc::clone(&self.input))));
        }
        let extensions = exchange.extensions();
        let prompt = extensions.get_prompt(name, arguments, &context);
        let prompt = self.working("getting the prompt", prompt).await??.map_err(told)?;
        let parts = prompt.messages.into_iter().map(|message| MessageContent::Block(message.content));
        Ok(After::Reply(Message::new(Role::User, parts)))
    }

    async fn plan(&mut self, text: Option<String>, typed: &str) -> Next {
        if !self.is_planning {
            self.is_planning = true;
            stderr::line(
                "Plan mode: goose looks around and writes plans, and changes nothing. /endplan ends it.",
            );
        }
        match text {
            Some(text) => self.message(&text, typed).await,
            None => Ok(After::Line),
        }
    }

    fn end_plan(&mut self) {
        let was_planning = std::mem::replace(&mut self.is_planning, false);
        stderr::line(if was_planning { "Plan mode ended." } else { "Plan mode is not active." });
    }
}

/// Returns the reasoning of a reply in a conversation, counted from the last one.
fn reasoning(messages: &[Arc<Message>], back: usize) -> String {
    let is_request =
        |message: &&Arc<Message>| message.role == Role::User && !message.own_text().trim().is_empty();
    let replies: Vec<&[Arc<Message>]> = messages.split_inclusive(|message| is_request(&message)).collect();
    // The first part ends with the first request.
    let reply = replies.get(1..).and_then(|replies| replies.iter().rev().nth(back));
    let parts = reply.into_iter().flat_map(|reply| reply.iter()).flat_map(|message| &message.content);
    let thoughts = parts.filter_map(|part| match part {
        MessageContent::Reasoning(reasoning) => Some(reasoning.text.trim()),
        _ => None,
    });
    thoughts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Lists the arguments of a prompt as they are typed: ` KEY=… [OPTIONAL=…]`.
fn argument_list(arguments: &[PromptArgument]) -> String {
    let shown = |argument: &PromptArgument| match argument.required {
        Some(true) => format!(" {}=…", argument.name),
        _ => format!(" [{}=…]", argument.name),
    };
    arguments.iter().map(shown).collect()
}

/// Enables a program in a session under a free name. Returns the name, and the modes that can use it if the current
/// one cannot.
fn enable_program(exchange: &Exchange, line: &str) -> anyhow::Result<(String, Option<String>)> {
    let mut config = ExtensionConfig::from_command_line(line)?;
    config.check()?;
    let (base, mut number) = (config.name.clone(), 1);
    loop {
        match exchange.enable_extension(&config) {
            Err(ManagerError::Duplicate(_)) => {
                number += 1;
                config.name = format!("{base}_{number}");
            }
            enabled => return Ok((config.key(), enabled?)),
        }
    }
}

/// Ctrl-C cancels only the command; other signals quit.
pub(super) fn cancelled(asked: ExitSignal) -> After {
    asked.leaves().map_or(After::Line, After::Leave)
}

pub(super) fn failed(why: &str) -> After {
    stderr::error(why);
    After::Line
}

/// Tells the user why a command ends.
pub(super) fn told(error: impl Display) -> Stop {
    Stop::Told(failed(&format!("{error:#}")))
}
