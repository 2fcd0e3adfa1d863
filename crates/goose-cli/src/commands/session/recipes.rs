//! `/recipe`, `/skills`, and the user's own commands, which are recipes.

use std::path::{Path, PathBuf};

use goose::recipe::{Recipe, RecipeFile, RecipePlaces, Requirement, Values, parse_pair};
use goose_extension::{Message, Role};
use goose_fs::AtomicFile;
use serde::Deserialize;

use super::{
    chat::{After, Chat},
    commands::failed,
};
use crate::{commands::skills, escape, output::Output, stderr};

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
    pub(super) async fn make_recipe(&mut self, file: Option<&str>) -> anyhow::Result<After> {
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

    /// Returns the message of a command that the configuration defines; `None` if it defines none of the name.
    pub(super) async fn user_command(&mut self, line: &str) -> anyhow::Result<Option<After>> {
        let Some(line) = line.trim().strip_prefix('/') else { return Ok(None) };
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let settings = self.assembled.manager().settings();
        let commands = settings.get::<Vec<UserCommand>>(SLASH_COMMANDS)?.unwrap_or_default();
        let is_named = |it: &&UserCommand| it.command.trim_start_matches('/').eq_ignore_ascii_case(name);
        let Some(command) = commands.iter().find(is_named) else { return Ok(None) };
        let path = command.recipe_path.to_string_lossy();
        let folder = std::env::current_dir()?;
        let rendered = RecipePlaces::new(settings, &folder).find(&path).and_then(|file| {
            let values = values(&file.definition()?, rest.trim());
            file.render(&values?)
        });
        Ok(Some(match rendered {
            Ok(recipe) => After::Reply(message(&recipe)),
            Err(error) => failed(&error.to_string()),
        }))
    }
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

fn message(recipe: &Recipe) -> Message {
    let parts = [recipe.instructions.as_deref(), recipe.prompt.as_deref()].into_iter().flatten();
    parts.collect::<Vec<_>>().join("\n\n").as_str().into()
}

/// Returns the document in an answer: its first fenced block, or all of it.
fn document(answer: &str) -> String {
    let fenced = answer.split_once("```").and_then(|(_, rest)| {
        let (_, block) = rest.split_once('\n')?;
        Some(block.rsplit_once("```").map_or(block, |(block, _)| block))
    });
    format!("{}\n", fenced.unwrap_or(answer).trim())
}

fn write(path: &Path, text: &str, recipe: &Recipe) -> anyhow::Result<After> {
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
    let mut out = Output::new();
    skills::list(&mut out, &skills::find()?)?;
    out.finish()?;
    Ok(())
}
