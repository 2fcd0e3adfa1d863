//! `summon`: loads knowledge by name, and gives parts of a task to other agents.
//!
//! `load` comes with the services of a mode. `delegate` is a function of goose itself: its name has no
//! extension prefix, and modes that can run commands have it, except for delegates that may not delegate
//! further. [`Delegates`] runs the delegates.

mod skills;
mod sources;

use std::{fmt::Write as _, path::Path, sync::Arc};

use goose_extension::{JsonObject, RegistryExtension, ToolAction, ToolDef, prelude::*, visible_line};
use goose_fs::truncate_chars;

pub use self::skills::{Skill, SkillPlaces};
pub(crate) use self::sources::project_skill_files;
use self::sources::{Kind, SourcePlaces, Sources};
use super::PlatformContext;
use crate::{
    agents::goose_agent,
    config::{MAX_TIMEOUT, Settings, TrustStore},
    context::Handover,
    exchange::{Delegate, DelegateTask, Delegates, RecipeTask, agent_source},
    recipe::{RecipePlaces, ResolvedSubRecipe, Values},
};

/// Name of the extension.
const NAME: &str = "summon";

/// Maximum length of a task's instructions, in characters.
const MAX_INSTRUCTIONS: usize = 100_000;

/// Maximum number of turns that a call may ask for.
const MAX_TURNS: u32 = 1_000;

/// Maximum number of extensions that a call may name.
const MAX_EXTENSIONS: usize = 100;

/// Maximum number of characters of a task that are shown when it starts.
const TASK_CHARS: usize = 200;

/// The `summon` extension of an agent.
pub(super) struct Summon {
    places: SourcePlaces,
    delegation: Option<Arc<dyn Delegates>>,
    sub_recipes: Arc<[ResolvedSubRecipe]>,
    /// Held while a sub-recipe runs of which only one run is allowed at a time.
    one_at_a_time: tokio::sync::Mutex<()>,
}

impl Summon {
    /// Builds the extension of an agent. A delegate that may not delegate further has only `load`.
    pub(super) fn extension(context: &PlatformContext<'_>) -> RegistryExtension {
        let delegation = context.delegation.cloned();
        let may_delegate = delegation.as_ref().is_none_or(|delegation| delegation.may_delegate());
        let sub_recipes = Arc::clone(context.sub_recipes);
        let summon = Self::new(context.settings, context.working_dir, delegation, sub_recipes);
        if !may_delegate {
            return knowledge(&summon);
        }
        // Turns and tokens of a delegate are limited instead of its time.
        let delegate = Self::delegate_tool()
            .map_tool(|tool| tool.with_action(ToolAction::Delegates).with_timeout(MAX_TIMEOUT));
        RegistryExtension::new(NAME, "Loads knowledge by name and gives tasks to other agents")
            .with_tool(&summon, load())
            .with_tool(&summon, delegate)
    }

    /// Builds the extension without a session: only `load`.
    pub(super) fn standalone(settings: &Settings, working_dir: &Path) -> RegistryExtension {
        knowledge(&Self::new(settings, working_dir, None, Arc::default()))
    }

    fn new(
        settings: &Settings,
        working_dir: &Path,
        delegation: Option<Arc<dyn Delegates>>,
        sub_recipes: Arc<[ResolvedSubRecipe]>,
    ) -> Arc<Self> {
        let places = SourcePlaces {
            paths: settings.paths().clone(),
            working_dir: working_dir.to_owned(),
            skills: skill_places(settings, working_dir),
            recipes: RecipePlaces::new(settings, working_dir),
        };
        Arc::new(Self { places, delegation, sub_recipes, one_at_a_time: tokio::sync::Mutex::default() })
    }
}

/// Returns the places of skills.
pub(crate) fn skill_places(settings: &Settings, working_dir: &Path) -> SkillPlaces {
    SkillPlaces::new(settings.paths(), working_dir, settings.variable("HOME").map(Path::new))
}

fn knowledge(summon: &Arc<Summon>) -> RegistryExtension {
    RegistryExtension::new(NAME, "Loads knowledge by name").with_tool(summon, load())
}

fn load() -> ToolDef<Summon> {
    Summon::load_tool().map_tool(|tool| tool.with_action(ToolAction::LoadsKnowledge))
}

// The arguments of `delegate`. What is documented here is a part of every request.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "goose_extension::macros::schemars")]
#[serde(deny_unknown_fields)]
struct DelegateArguments {
    /// The complete task: goal, files, limits, the result to return; default the source's
    #[schemars(length(max = MAX_INSTRUCTIONS))]
    instructions: Option<String>,
    /// An agent (`AGENT/MODE`), skill or recipe; default a generalist
    source: Option<String>,
    /// Values for the source, default none
    parameters: Option<JsonObject>,
    /// Only these extensions, default the agent's
    #[schemars(length(max = MAX_EXTENSIONS))]
    extensions: Option<Vec<String>>,
    /// Provider's name, default yours
    provider: Option<String>,
    /// Model's name, default yours
    model: Option<String>,
    /// 0 to 2, default the model's
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f32>,
    /// Turns at most, default 25
    #[schemars(range(min = 1, max = MAX_TURNS))]
    max_turns: Option<u32>,
    /// In the background, default false; its result follows
    #[serde(default, rename = "async")]
    is_async: bool,
}

impl Summon {
    /// Load a skill, recipe or agent by name, or wait for a background task. Returns its text or result; without a
    /// source, a list. Fails if the name is unknown.
    #[tool(read_only, open_world = false)]
    async fn load(
        &self,
        /// Its name, or the task's id; default: list all
        source: Option<String>,
        /// Cancel the task instead, default false
        #[arg(default)]
        cancel: bool,
    ) -> ToolResult<String> {
        let source = source.map(|source| source.trim().to_owned()).filter(|source| !source.is_empty());
        let Some(source) = source else { return self.list().await };
        match self.delegation.as_ref().and_then(|delegation| AwaitedTask::new(delegation, &source)) {
            Some(awaited) => {
                if cancel {
                    awaited.delegate.cancel();
                }
                match awaited.result().await {
                    Err(ToolError::Cancelled(_)) if cancel => Ok(format!("Task {source} is cancelled.")),
                    // The call itself was not cancelled, so this is not reported as a cancellation.
                    Err(ToolError::Cancelled(text)) => Err(ToolError::ExecutionError(text)),
                    result => result,
                }
            }
            None if cancel => Err(ToolError::execution(format!(
                "There is no background task `{source}`. Only tasks can be cancelled; load without a source lists them."
            ))),
            None => {
                let (trust, working_dir) =
                    (TrustStore::new(&self.places.paths), self.places.working_dir.clone());
                self.sources(move |sources| sources.load(&source, &trust, &working_dir)).await?
            }
        }
    }

    /// Give an independent or long part of the work to another agent; do small things yourself. Several calls in one
    /// turn run side by side. Returns its answer. Fails if it cannot finish.
    #[tool]
    async fn delegate(
        &self,
        Arguments(arguments): Arguments<DelegateArguments>,
        context: &CallContext,
    ) -> ToolResult<String> {
        let Some(delegation) = &self.delegation else {
            return Err(ToolError::execution("There is no conversation here that could delegate a task."));
        };
        let is_async = arguments.is_async;
        let is_sequential =
            self.sub_recipe(arguments.source.as_deref()).is_some_and(|it| it.entry.sequential_when_repeated);
        if is_async && is_sequential {
            return Err(ToolError::execution("This recipe runs one at a time. Call it without `async`."));
        }
        let _turn = if is_sequential { Some(self.one_at_a_time.lock().await) } else { None };
        let mut task = self.task(&**delegation, arguments).await?;
        let messages = context.exchange_view().processor.messages.snapshot();
        task.prompt = task.prompt.with_session(&messages, None);
        let about = about(&task);
        let mut delegate = delegation.prepare(task, context.call_id().unwrap_or_default()).await?.start();
        context.progress(0.0, None, format!("{about} (session {})\n", delegate.id));
        if is_async {
            let id = delegate.id.clone();
            delegation.keep(delegate);
            return Ok(format!(
                "Task {id} works in the background. Go on; its result follows by itself, unless goose is ended before."
            ));
        }
        let _cancel = delegate.cancel_on_drop();
        delegate.result().await
    }

    async fn list(&self) -> ToolResult<String> {
        let mut list = self.sources(|sources| sources.list()).await?;
        for id in self.delegation.iter().flat_map(|delegation| delegation.background()) {
            let _ = writeln!(list, "- background task {id}: at work");
        }
        Ok(list)
    }

    /// Finds the sources on a blocking thread.
    async fn sources<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Sources) -> T + Send + 'static,
    ) -> ToolResult<T> {
        let places = self.places.clone();
        let looked = tokio::task::spawn_blocking(move || look(&Sources::find(&places))).await;
        looked.map_err(|error| ToolError::execution(format!("The sources could not be read: {error}")))
    }

    /// Returns the task that a call describes.
    async fn task(
        &self,
        delegation: &dyn Delegates,
        mut arguments: DelegateArguments,
    ) -> ToolResult<DelegateTask> {
        let instructions = arguments.instructions.take().filter(|text| !text.trim().is_empty());
        let source = arguments.source.take().filter(|source| !source.trim().is_empty());
        let parameters = arguments.parameters.take().unwrap_or_default();
        let catalog = delegation.catalog();
        let default = || catalog.find(&goose_agent::id(goose_agent::SPECIALIST));
        let named = source.as_ref().filter(|_| self.sub_recipe(source.as_deref()).is_none());
        let named = named.and_then(|source| catalog.find(agent_source(source)).ok());
        let (agent, knowledge) = match (&source, named) {
            (_, Some(agent)) => (Ok(agent), Knowledge::Nothing),
            (Some(source), None) => (default(), self.knowledge_of(source.clone(), &parameters).await?),
            (None, None) => (default(), Knowledge::Nothing),
        };
        let agent = agent.map_err(ToolError::execution)?;
        if let Some(extensions) = &arguments.extensions {
            delegation.check_extensions(&agent, extensions)?;
        }
        let (text, recipe) = match knowledge {
            Knowledge::Nothing => (None, None),
            Knowledge::Text(text) => (Some(text), None),
            Knowledge::Recipe(recipe) => (recipe.recipe.task().map(str::to_owned), Some(recipe)),
        };
        if instructions.is_none() && text.is_none() {
            return Err(ToolError::execution(
                "Give `instructions` with the task. The delegate needs a task of its own.",
            ));
        }
        let title = instructions.clone().or(source).unwrap_or_default();
        let mut parts = [text, instructions].into_iter().flatten();
        let prompt = Handover::new(parts.next().unwrap_or_default());
        let mut prompt = parts.fold(prompt, |prompt, part| prompt.with("\n", part, usize::MAX));
        if !parameters.is_empty() && recipe.is_none() {
            prompt = prompt.with("\nParameters: ", Value::Object(parameters).to_string(), usize::MAX);
        }
        let settings = recipe.as_ref().and_then(|it| it.recipe.settings.clone()).unwrap_or_default();
        let or_recipe = |said: Option<String>, own| said.filter(|name| !name.trim().is_empty()).or(own);
        Ok(DelegateTask {
            prompt,
            title,
            agent,
            only_extensions: arguments.extensions,
            provider: or_recipe(arguments.provider, settings.goose_provider),
            model: or_recipe(arguments.model, settings.goose_model),
            temperature: arguments.temperature.or(settings.temperature.map(|it| it as f32)),
            max_turns: arguments.max_turns.or(settings.max_turns),
            recipe,
            graph: None,
        })
    }

    /// Returns the sub-recipe of a name.
    fn sub_recipe(&self, source: Option<&str>) -> Option<&ResolvedSubRecipe> {
        let name = source?.trim();
        self.sub_recipes.iter().find(|sub| sub.entry.name == name)
    }

    /// Returns the skill or recipe that a delegate works by.
    async fn knowledge_of(&self, source: String, parameters: &JsonObject) -> ToolResult<Knowledge> {
        let mut values: Values =
            parameters.iter().map(|(key, value)| (key.clone(), text_of(value))).collect();
        if let Some(sub) = self.sub_recipe(Some(&source)).cloned() {
            for (key, value) in sub.entry.values.iter().flatten() {
                values.set(key, value);
            }
            return self.rendered(sub.file, values, IsShown::Yes).await;
        }
        let found = self.sources(move |sources| {
            match sources.named(&source).filter(|found| found.kind != Kind::Agent) {
                Some(found) => Ok((found.render(), found.recipe.clone())),
                None => Err(sources.unknown(&source)),
            }
        });
        match found.await?? {
            (_, Some(file)) => self.rendered(file, values, IsShown::No).await,
            (text, None) => Ok(Knowledge::Text(text)),
        }
    }

    /// Renders a recipe on a blocking thread.
    async fn rendered(
        &self,
        file: crate::recipe::RecipeFile,
        values: Values,
        is_shown: IsShown,
    ) -> ToolResult<Knowledge> {
        let rendered = tokio::task::spawn_blocking(move || {
            let recipe = file.render_for_agent(&values)?;
            Ok::<_, crate::recipe::RecipeError>(RecipeTask { recipe, file })
        });
        let rendered = rendered.await.map_err(ToolError::execution)?;
        let rendered = rendered.map_err(|error| {
            let error = error.to_string().replace("--params ", "`parameters` ");
            ToolError::execution(format!("The recipe cannot be used: {error}"))
        })?;
        let commands = rendered.recipe.commands();
        if is_shown == IsShown::No && !commands.is_empty() {
            return Err(ToolError::execution(format!(
                "The recipe runs programs that the user has not been shown: {}. The user can run it with `goose run --recipe`.",
                visible_line(&commands.join("; "))
            )));
        }
        Ok(Knowledge::Recipe(Box::new(rendered)))
    }
}

/// Skill or recipe that a delegate works by.
enum Knowledge {
    Nothing,
    Text(String),
    Recipe(Box<RecipeTask>),
}

/// Tells if the commands of a recipe were shown to the user when the session began.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IsShown {
    Yes,
    No,
}

/// Returns the value of a parameter as text.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A background task whose result a call waits for. If the call is cancelled, the result is delivered by
/// itself again.
struct AwaitedTask {
    delegation: Arc<dyn Delegates>,
    delegate: Delegate,
    is_over: bool,
}

impl AwaitedTask {
    fn new(delegation: &Arc<dyn Delegates>, id: &str) -> Option<Self> {
        let delegate = delegation.take(id)?;
        Some(Self { delegation: Arc::clone(delegation), delegate, is_over: false })
    }

    async fn result(mut self) -> ToolResult<String> {
        let result = self.delegate.result().await;
        self.is_over = true;
        result
    }
}

impl Drop for AwaitedTask {
    fn drop(&mut self) {
        if !self.is_over {
            self.delegation.keep(self.delegate.clone());
        }
    }
}

/// Returns the agent and its task, on one line.
fn about(task: &DelegateTask) -> String {
    let (manifest, mode) = &task.agent;
    let title = task.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = visible_line(&truncate_chars(&title, TASK_CHARS)).into_owned();
    format!("{}/{}: {title}", manifest.name, mode.slug)
}
