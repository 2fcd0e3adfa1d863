//! `/recipe`, `/skills`, and the user's own commands, which are recipes.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use goose::{
    agent_manager::added_extensions,
    agents::extension_manager::ManagerError,
    exchange::Outcome,
    recipe::{Recipe, RecipeFile, RecipePlaces, Requirement, Values, parse_pair},
};
use goose_extension::Role;
use goose_fs::AtomicFile;
use serde::Deserialize;

use super::{
    chat::{After, Chat, Next, Stop},
    commands::{failed, told},
};
use crate::{
    commands::{
        explained,
        run::{
            checks::{Checked, Task, Tries},
            recipe::{agree, ask_for_values},
        },
        skills,
    },
    escape,
    output::{self, WARNING},
    stderr,
};

/// Setting with the user's own commands.
const SLASH_COMMANDS: &str = "slash_commands";

/// File that `/recipe` writes unless another one is named.
const DEFAULT_FILE: &str = "recipe.yaml";

/// Number of times that the model may correct its recipe.
const CORRECTIONS: usize = 2;

/// Command of the user.
#[derive(Debug, Deserialize)]
struct UserCommand {
    command: String,
    recipe_path: PathBuf,
}

impl Chat {
    /// Writes a recipe of the conversation. The model corrects it until it is valid.
    pub(super) async fn make_recipe(&mut self, file: Option<&str>) -> Next {
        let path = Path::new(file.unwrap_or(DEFAULT_FILE));
        if path.exists() {
            return Ok(failed(&format!("{} exists. Name another file: /recipe FILE", path.display())));
        }
        if self.assembled.exchange.messages().is_empty() {
            return Ok(failed("There is nothing to make a recipe of yet."));
        }
        let mut request = "Write the recipe of this conversation.".to_owned();
        for _ in 0..=CORRECTIONS {
            let message = format!("@goose-agent/recipe_maker {request}");
            if let Some(code) = self.reply(message.as_str().into()).await? {
                return Ok(After::Leave(code));
            }
            let text = document(&self.last_answer());
            match RecipeFile::from_text("the recipe", text.as_str()).validate() {
                Ok(recipe) => return write(path, &text, &recipe),
                Err(error) => {
                    request = format!(
                        "The recipe is not valid: {error}. Answer with the whole corrected document."
                    );
                }
            }
        }
        Ok(failed("The model wrote no valid recipe. Nothing was saved; try again, or use another model."))
    }

    /// Returns the text of the last answer that the model sees.
    pub(super) fn last_answer(&self) -> String {
        let messages = self.assembled.exchange.messages();
        let last = messages.iter().rev().find(|message| message.role == Role::Assistant);
        last.map(|message| message.own_text()).unwrap_or_default()
    }

    /// Runs a command that the configuration defines; `None` if it defines none of the name.
    pub(super) async fn user_command(&mut self, line: &str) -> Result<Option<After>, Stop> {
        let Some(line) = line.trim().strip_prefix('/') else { return Ok(None) };
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let settings = self.assembled.manager().settings();
        let commands = settings.get::<Vec<UserCommand>>(SLASH_COMMANDS)?.unwrap_or_default();
        let is_named = |it: &&UserCommand| it.command.trim_start_matches('/').eq_ignore_ascii_case(name);
        let Some(command) = commands.iter().find(is_named) else { return Ok(None) };
        let path = command.recipe_path.to_string_lossy();
        let recipe = self.prepared(&path, rest.trim()).await.map_err(told)?;
        self.run_recipe(recipe).await.map(Some)
    }

    /// Returns a recipe with its values, after its commands were shown.
    async fn prepared(&self, path: &str, rest: &str) -> anyhow::Result<Recipe> {
        let folder = self.assembled.exchange.working_dir();
        let file = RecipePlaces::new(self.assembled.manager().settings(), folder).find(path)?;
        let mut values = values(&file.definition()?, rest)?;
        if stderr::can_ask() {
            ask_for_values(&file, &mut values, &self.input).await?;
        }
        let recipe = file.render(&values)?;
        agree(&recipe, &file, false, &self.input).await?;
        Ok(recipe)
    }

    /// Runs a recipe in this session: with its extensions, which stay, and its model, which does not.
    async fn run_recipe(&mut self, recipe: Recipe) -> Next {
        let ignored = ignored(&recipe);
        if !ignored.is_empty() {
            stderr::line(format_args!(
                "{WARNING}Not used in a running session: {}. `goose run --recipe` uses them.{WARNING:#}",
                ignored.join(", ")
            ));
        }
        let message = [recipe.instructions.as_deref(), recipe.prompt.as_deref()];
        let message = message.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        if self.is_planning {
            return Ok(After::Reply(message.as_str().into()));
        }
        self.add_extensions(&recipe).map_err(told)?;
        let exchange = self.assembled.exchange.clone();
        let before = exchange.model().to_string();
        let other = model(&recipe).filter(|model| *model != before);
        if let Some(model) = &other {
            let set = self.working("reading the model's key", exchange.set_model(model)).await??;
            let model = set.map_err(|error| told(explained(error)))?;
            stderr::line(format_args!("Using {}.", escape::line(&model.to_string())));
        }
        let ended =
            self.reply_to_task(Task { message: message.as_str().into(), retry: recipe.retry }).await?;
        if other.is_some()
            && let Err(error) = exchange.set_model(&before).await
        {
            stderr::error(&format!("{:#}", explained(error)));
        }
        Ok(ended.map_or(After::Line, After::Leave))
    }

    /// Adds the extensions of a recipe that the session does not have.
    fn add_extensions(&self, recipe: &Recipe) -> anyhow::Result<()> {
        for config in added_extensions(recipe)? {
            config.check()?;
            match self.assembled.exchange.enable_extension(&config) {
                Ok(None) => stderr::line(format_args!("Added {}.", escape::line(&config.key()))),
                Ok(Some(users)) => self.say_unused(&config.key(), &users),
                Err(ManagerError::Duplicate(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Replies to a task, again until its checks pass. `Some` where goose is to end.
    pub(crate) async fn reply_to_task(&mut self, task: Task) -> anyhow::Result<Option<ExitCode>> {
        let mut tries = Tries::new(&self.assembled, &task, &self.input);
        let mut message = task.message;
        loop {
            let reply = self.assembled.exchange.reply_to(message);
            let ended = self.follow(reply).await?;
            self.show_standing_after(&ended);
            let is_done = matches!(ended, Ok(Outcome::Done { .. }));
            let Some(tries) = tries.as_mut().filter(|_| is_done) else { return Ok(ended.err()) };
            match self.working("checking the result", tries.check()).await? {
                Ok(Checked::Again(next)) => message = next,
                Ok(Checked::Passed | Checked::Failed) => return Ok(None),
                Err(asked) => return Ok(asked.leaves()),
            }
        }
    }
}

/// Returns the model of a recipe as `/model` takes it.
fn model(recipe: &Recipe) -> Option<String> {
    let settings = recipe.settings.as_ref()?;
    let model = settings.goose_model.as_ref()?;
    Some(match &settings.goose_provider {
        Some(provider) => format!("{provider}:{model}"),
        None => model.clone(),
    })
}

/// Returns the names of fields that are set when a session begins.
fn ignored(recipe: &Recipe) -> Vec<&'static str> {
    let settings = recipe.settings.clone().unwrap_or_default();
    let is_provider_only = settings.goose_provider.is_some() && settings.goose_model.is_none();
    let fields = [
        ("settings.goose_provider without goose_model", is_provider_only),
        ("settings.temperature", settings.temperature.is_some()),
        ("settings.max_turns", settings.max_turns.is_some()),
        ("response", recipe.response.is_some()),
        ("sub_recipes", recipe.sub_recipes.as_ref().is_some_and(|all| !all.is_empty())),
    ];
    fields.into_iter().filter_map(|(name, is_ignored)| is_ignored.then_some(name)).collect()
}

/// Returns the values in the text after a command: `KEY=VALUE …`, or the value of the only parameter.
fn values(definition: &Recipe, rest: &str) -> Result<Values, goose::recipe::RecipeError> {
    if rest.is_empty() {
        return Ok(Values::default());
    }
    let parameters = definition.parameters();
    let needed: Vec<_> = parameters.iter().filter(|it| it.requirement != Requirement::Optional).collect();
    let is_pair =
        |word: &str| word.split_once('=').is_some_and(|(key, _)| parameters.iter().any(|it| it.key == key));
    match (needed.as_slice(), parameters) {
        _ if rest.split_whitespace().all(is_pair) => rest.split_whitespace().map(parse_pair).collect(),
        ([only], _) => Ok([(only.key.as_str(), rest)].into_iter().collect()),
        (_, [only]) => Ok([(only.key.as_str(), rest)].into_iter().collect()),
        _ => rest.split_whitespace().map(parse_pair).collect(),
    }
}

/// Returns the document in an answer: its first fenced block, or all of it.
fn document(answer: &str) -> String {
    let fenced = answer.split_once("```").and_then(|(_, rest)| {
        let (_, block) = rest.split_once('\n')?;
        Some(block.rsplit_once("```").map_or(block, |(block, _)| block))
    });
    format!("{}\n", fenced.unwrap_or(answer).trim())
}

fn write(path: &Path, text: &str, recipe: &Recipe) -> Next {
    AtomicFile::new(path).shared().write(text.as_bytes())?;
    stderr::line(format_args!(
        "Wrote '{}' to {}. Run it with: goose run --recipe {}",
        escape::line(&recipe.title),
        path.display(),
        path.display()
    ));
    Ok(After::Line)
}

/// Lists the skills.
pub(super) fn show_skills() -> anyhow::Result<()> {
    let found = skills::find()?;
    output::write(|out| skills::list(out, &found)).map(drop)
}
