//! Runs recipes: [`OpenOptions::with_recipe`] opens a session for one, and [`RecipeChecks`] checks its result.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use goose_extension::{Tool, ToolAction, visible};
use goose_process::{ProcessSpec, Stream, Tail, spawn};
use tokio::time::timeout;

use super::{AgentManager, OpenOptions, SHELL, run_result::last_answer};
use crate::{
    builtins,
    config::{ExtensionConfig, ExtensionKind, Profile, ProfileExtension},
    exchange::Exchange,
    permission::Effect,
    recipe::{Check, Recipe, RecipeError, RecipeFile, ResolvedSubRecipe, Retry, sub_recipes},
    services::registered_builtins,
};

/// Extension that delegates to sub-recipes.
const SUMMON: &str = "summon";

/// Time limit of a check that names none.
const CHECK_TIME: Duration = Duration::from_secs(300);

/// Maximum time of a check, whatever the recipe says.
const MAX_CHECK_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum number of characters of a failed check's output that the model reads.
const OUTPUT_CHARS: usize = 2_000;

/// Shell of the checks, unless `GOOSE_SHELL` names another one.
const DEFAULT_SHELL: &str = "sh";

impl OpenOptions {
    /// Uses the instructions, extensions, answer and limits of a rendered recipe, and offers its sub-recipes.
    /// The model of its settings is a matter of [`Recipe::setting_values`].
    ///
    /// # Errors
    ///
    /// Fails if an extension or sub-recipe cannot be used.
    pub fn with_recipe(mut self, recipe: &Recipe, file: &RecipeFile) -> Result<Self, RecipeError> {
        let found = sub_recipes(recipe, file)?;
        if let Some(extensions) = recipe_extensions(recipe)? {
            self.extensions.given.extend(only_extensions(&mut self.profile, extensions, !found.is_empty()));
        }
        // Without a prompt, the instructions are the task.
        self.instructions.extend(recipe.instructions.clone().filter(|_| recipe.prompt.is_some()));
        if !found.is_empty() {
            self.instructions.push(listed(&found));
        }
        self.extensions.sub_recipes = found.into();
        if let Some(schema) = recipe.response.as_ref().and_then(|response| response.json_schema.clone()) {
            self.response_schema = Some(schema);
        }
        if let Some(turns) = recipe.settings.as_ref().and_then(|settings| settings.max_turns) {
            self.profile.max_turns = Some(turns);
        }
        Ok(self)
    }
}

/// Returns the extensions of a recipe; `None` if it uses the configured ones.
pub(super) fn recipe_extensions(recipe: &Recipe) -> Result<Option<Vec<ExtensionConfig>>, RecipeError> {
    let Some(extensions) = &recipe.extensions else { return Ok(None) };
    let configs: Result<Vec<_>, _> = extensions.iter().map(|extension| extension.config()).collect();
    Ok(Some(configs?))
}

/// Returns the extensions that a recipe adds to a running session: those that are not a part of goose's core.
///
/// # Errors
///
/// Fails if one of them cannot be used.
pub fn added_extensions(recipe: &Recipe) -> Result<Vec<ExtensionConfig>, RecipeError> {
    let (_, services) = by_place(recipe_extensions(recipe)?.unwrap_or_default());
    Ok(services)
}

/// Splits extensions into those of goose's core, and services.
fn by_place(extensions: Vec<ExtensionConfig>) -> (Vec<ExtensionConfig>, Vec<ExtensionConfig>) {
    let is_platform = |config: &ExtensionConfig| builtins::find(&config.key()).is_some() && config.is_own();
    let (platform, services): (Vec<_>, Vec<_>) = extensions.into_iter().partition(is_platform);
    // Entries of other versions may switch features that goose always has.
    let known = |name: &str| registered_builtins().iter().any(|builtin| builtin.name == name);
    let usable = services.into_iter().filter_map(|config| match config.kind {
        ExtensionKind::Platform if known(&config.key()) => {
            Some(ExtensionConfig { kind: ExtensionKind::Builtin { env_keys: Vec::new() }, ..config })
        }
        ExtensionKind::Platform => None,
        _ => Some(config),
    });
    (platform, usable.collect())
}

/// Restricts a profile to the extensions of a recipe. Returns those that are not a part of goose's core.
pub(super) fn only_extensions(
    profile: &mut Profile,
    extensions: Vec<ExtensionConfig>,
    has_sub_recipes: bool,
) -> Vec<ExtensionConfig> {
    profile.extensions.clear();
    profile.adds_dependencies = false;
    let (platform, services) = by_place(extensions);
    let mut names: Vec<String> = platform.iter().map(ExtensionConfig::key).collect();
    if has_sub_recipes && !names.iter().any(|name| name == SUMMON) {
        names.push(SUMMON.to_owned());
    }
    profile.extensions.extend(names.into_iter().map(ProfileExtension::new));
    services
}

/// Tells the model about sub-recipes.
pub(super) fn listed(found: &[ResolvedSubRecipe]) -> String {
    let mut list = "Recipes for parts of this task. Run one with `delegate`: its name is the `source`, and its parameters \
                    are in `parameters`.\n"
        .to_owned();
    for ResolvedSubRecipe { entry, file } in found {
        let definition = file.definition().ok();
        let description = entry.description.as_deref();
        let description = description.or(definition.as_ref().map(|recipe| recipe.description.as_str()));
        // Writing into a string cannot fail.
        let _ = writeln!(list, "- {}: {}", entry.name, description.unwrap_or_default());
        let fixed = entry.values.clone().unwrap_or_default();
        for parameter in
            definition.iter().flat_map(Recipe::parameters).filter(|it| !fixed.contains_key(&it.key))
        {
            let default = parameter.default.as_ref().map(|default| format!(", default {default}"));
            let _ = writeln!(
                list,
                "  - {} ({}{}): {}",
                parameter.key,
                parameter.input_type.as_str(),
                default.unwrap_or_default(),
                parameter.description
            );
        }
    }
    list
}

/// Asks the user about commands of a recipe.
#[async_trait]
pub trait CommandApproval: Send + Sync {
    /// Returns true if the command may run.
    async fn approve(&self, command: &str, reasons: &[String]) -> bool;
}

/// Declines every command that needs an approval: there is no user.
#[derive(Debug)]
pub struct Unattended;

#[async_trait]
impl CommandApproval for Unattended {
    async fn approve(&self, _: &str, _: &[String]) -> bool {
        false
    }
}

/// Checks of a recipe's result. Their commands pass the permissions of the session, as those of a model do.
pub struct RecipeChecks<'c> {
    /// Manager of the session.
    pub manager: &'c AgentManager,
    /// Session with the result.
    pub exchange: &'c Exchange,
    /// Checks.
    pub retry: &'c Retry,
    /// Folder of the commands.
    pub working_dir: PathBuf,
    /// The user.
    pub approval: &'c dyn CommandApproval,
}

impl RecipeChecks<'_> {
    /// Runs all checks. Returns the reasons of those that failed.
    pub async fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for check in &self.retry.checks {
            let result = match check {
                Check::Shell { command } => self.run(command, self.retry.timeout_seconds).await,
                Check::Judge { criteria } => self.judge(criteria).await,
            };
            failures.extend(result.err());
        }
        failures
    }

    /// Runs the command that prepares another try. Returns a text for the user if it failed.
    pub async fn clean_up(&self) -> Option<String> {
        let command = self.retry.on_failure.as_deref()?;
        let limit = self.retry.on_failure_timeout_seconds.or(self.retry.timeout_seconds);
        self.run(command, limit).await.err()
    }

    async fn judge(&self, criteria: &str) -> Result<(), String> {
        match self.exchange.judge(&last_answer(self.exchange), criteria).await {
            Ok(verdict) if verdict.pass => Ok(()),
            Ok(verdict) => {
                Err(format!("The answer does not meet its criteria: {}", verdict.reasons.join(" ")))
            }
            Err(failure) => Err(format!("The answer could not be judged: {}", failure.message)),
        }
    }

    async fn run(&self, command: &str, seconds: Option<u64>) -> Result<(), String> {
        self.permit(command).await?;
        let limit = seconds.map_or(CHECK_TIME, Duration::from_secs).min(MAX_CHECK_TIME);
        let spec = self.manager.command(command, &self.working_dir);
        let failed = |error: std::io::Error| format!("`{command}` could not be run: {error}");
        let mut process = spawn(&spec).map_err(failed)?;
        let streams = [process.take_stdout().map(Tail::follow), process.take_stderr().map(Tail::follow)];
        let Ok(ended) = timeout(limit, process.wait()).await else {
            process.kill_tree();
            return Err(format!("`{command}` took longer than {} seconds.", limit.as_secs()));
        };
        let status = ended.map_err(failed)?;
        if status.success() {
            return Ok(());
        }
        process.kill_tree();
        let mut output = String::new();
        for stream in streams.iter().flatten() {
            stream.ended().await;
            output.push_str(&stream.text());
        }
        let output = visible(output.trim()).into_owned();
        let skipped = output.chars().count().saturating_sub(OUTPUT_CHARS);
        let output: String = output.chars().skip(skipped).collect();
        Err(format!("`{command}` failed ({status}). {output}").trim_end().to_owned())
    }

    /// Asks the permissions about a command, and the user where they say so.
    async fn permit(&self, command: &str) -> Result<(), String> {
        let schema = serde_json::json!({"type": "object", "properties": {"command": {"type": "string"}}});
        let schema = schema.as_object().cloned().unwrap_or_default();
        let shell = Tool::new("developer__shell", "", schema).with_action(ToolAction::command("command"));
        let permissions = self.exchange.permissions();
        let explanation = permissions.explain(&shell, command, &self.working_dir);
        let Some(verdict) = explanation.verdict(permissions.mode()) else { return Ok(()) };
        let is_allowed = match verdict.effect {
            Effect::Allow => true,
            Effect::Ask => self.approval.approve(command, &verdict.reasons).await,
            Effect::Deny => false,
        };
        let because = verdict.reasons.join("; ");
        is_allowed.then_some(()).ok_or_else(|| format!("`{command}` was not run: {because}."))
    }
}

/// Returns the first message of another try.
pub fn try_again(task: &str, failures: &[String]) -> String {
    let failures: Vec<String> = failures.iter().map(|failure| format!("- {failure}")).collect();
    format!("{task}\n\nAn earlier try did not pass its checks:\n{}", failures.join("\n"))
}

impl AgentManager {
    /// Returns a command line as a program in a folder: with the shell of the settings, without secrets in its
    /// environment, input or a terminal.
    pub fn command(&self, command: &str, working_dir: &Path) -> ProcessSpec {
        let shell = self.settings().get::<String>(SHELL).ok().flatten();
        let mut spec = ProcessSpec::new(shell.as_deref().unwrap_or(DEFAULT_SHELL));
        spec.args(["-c", command]).current_dir(working_dir).env_clear();
        spec.envs(self.context(working_dir).environment.iter());
        spec.stdin(Stream::Null).stdout(Stream::Piped).stderr(Stream::Piped).without_terminal();
        spec
    }
}
