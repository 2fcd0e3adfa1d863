//! `goose run --recipe`: finds the recipe, asks for its parameters, shows its commands, and checks its result.

use std::{path::Path, process::ExitCode, sync::Arc};

use anyhow::{anyhow, bail};
use goose::{
    agent_manager::CommandApproval,
    config::{Paths, TrustStore},
    project_files::{self, ProjectFileKind},
    recipe::{
        Parameter, Recipe, RecipeError, RecipeFile, RecipeOrigin, RecipePlaces, Requirement, SubRecipe,
        Values, sub_recipes,
    },
};
use goose_extension::prelude::async_trait;

use super::args::RunArgs;
use crate::{
    args::Consent,
    commands::{project, recipe},
    escape,
    output::{FAINT, NAME, WARNING, say, write},
    settings::{self, ConfigArgs},
    stderr,
    terminal::input::{Input, InputEvent},
};

/// A recipe that is ready to run.
pub(crate) struct RecipeRun {
    /// The recipe, with its values.
    pub(crate) recipe: Recipe,
    /// Its file.
    pub(crate) file: RecipeFile,
}

/// Result of preparing a recipe.
pub(super) enum Prepared {
    /// It is to be run.
    Run(Box<RecipeRun>),
    /// It was only shown.
    Shown(ExitCode),
}

/// Prepares the recipe that the command line names.
pub(super) async fn prepare(name: &str, args: &RunArgs, input: &Arc<Input>) -> anyhow::Result<Prepared> {
    let paths = Paths::from_env()?;
    let folder = settings::working_folder()?;
    let config = ConfigArgs { config: args.model.config.clone() };
    let settings = settings::look_in(&paths, &config, Some(&folder)).settings?;
    let file = find(name, &RecipePlaces::new(&settings, &folder), &paths, &folder, args, input).await?;
    let mut values = recipe::values(&args.recipe.params)?;
    if args.recipe.explain {
        let definition = file.definition()?;
        let shown = write(|out| recipe::explain::show(out, &definition, &file, &values))?;
        return Ok(Prepared::Shown(shown));
    }
    if stderr::can_ask() && !args.recipe.render_recipe {
        ask_for_values(&file, &mut values, input).await?;
    }
    let mut recipe = file.render(&values)?;
    if args.recipe.render_recipe {
        return say(recipe.written().to_yaml()?.trim_end()).map(Prepared::Shown);
    }
    for path in &args.recipe.sub_recipe {
        recipe.sub_recipes.get_or_insert_default().push(extra(path, &folder)?);
    }
    agree(&recipe, &file, args.quiet, input).await?;
    Ok(Prepared::Run(Box::new(RecipeRun { recipe, file })))
}

/// Finds the recipe. If it is the project's and not trusted, the user is asked.
async fn find(
    name: &str,
    places: &RecipePlaces,
    paths: &Paths,
    folder: &Path,
    args: &RunArgs,
    input: &Arc<Input>,
) -> anyhow::Result<RecipeFile> {
    let path = match places.find(name) {
        Err(RecipeError::Untrusted(path)) => path,
        found => return Ok(found?),
    };
    let consent = Consent::new(args.model.trust_project, project::TRUST_PROJECT);
    let store = TrustStore::new(paths);
    let files = project_files::find(folder)?.into_iter();
    for (_, file) in files.filter(|(kind, _)| *kind == ProjectFileKind::Recipe) {
        // Others may be the files that this one includes.
        if file.path() == path || consent == Consent::Given {
            project::agreed(&store, &file, consent, input).await?;
        }
    }
    Ok(places.find(name)?)
}

/// Returns a recipe of `--sub-recipe`.
fn extra(path: &str, folder: &Path) -> anyhow::Result<SubRecipe> {
    let file = RecipeFile::open(&folder.join(path))?;
    Ok(SubRecipe {
        name: file.name().to_owned(),
        path: file.place().to_owned(),
        values: None,
        sequential_when_repeated: false,
        description: None,
    })
}

/// Asks for the values that are missing, and for those that the user is always asked for.
pub(crate) async fn ask_for_values(
    file: &RecipeFile,
    values: &mut Values,
    input: &Arc<Input>,
) -> anyhow::Result<()> {
    let definition = file.definition()?;
    for parameter in definition.parameters() {
        let is_given = values.get(&parameter.key).or(file.values().get(&parameter.key)).is_some();
        let is_asked = parameter.is_required() || parameter.requirement == Requirement::UserPrompt;
        if !is_given && is_asked {
            let value = ask_for(parameter, input).await?;
            values.set(&parameter.key, value);
        }
    }
    Ok(())
}

/// Asks until the value fits.
async fn ask_for(parameter: &Parameter, input: &Arc<Input>) -> anyhow::Result<String> {
    let turn = input.turn().await;
    stderr::line(format_args!(
        "{NAME}{}{NAME:#}: {}",
        escape::line(&parameter.key),
        escape::line(&parameter.description)
    ));
    for (index, option) in parameter.options.iter().flatten().enumerate() {
        stderr::line(format_args!("  {}) {}", index + 1, escape::line(option)));
    }
    let default =
        parameter.default.as_ref().map(|default| format!("; Enter for {default}")).unwrap_or_default();
    let prompt = format!(
        "{} ({}{}): ",
        escape::line(&parameter.key),
        parameter.input_type.as_str(),
        escape::line(&default)
    );
    loop {
        let InputEvent::Text(text) = turn.answer(&prompt).await else {
            bail!("The recipe was not run, because '{}' was not given.", parameter.key);
        };
        let text = text.trim();
        let numbered = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let option = numbered.and_then(|index| parameter.options.as_ref()?.get(index));
        let value = match (text, &parameter.default) {
            ("", Some(default)) => default.clone(),
            _ => option.cloned().unwrap_or_else(|| text.to_owned()),
        };
        match parameter.check(&value) {
            Ok(()) if !value.is_empty() => return Ok(value),
            Ok(()) => stderr::line("  A value is required."),
            Err(error) => stderr::line(format_args!("  {}", escape::line(&error.to_string()))),
        }
    }
}

/// Shows the recipe and the commands that it runs. For the commands of a link, the user is asked.
pub(crate) async fn agree(
    recipe: &Recipe,
    file: &RecipeFile,
    is_quiet: bool,
    input: &Arc<Input>,
) -> anyhow::Result<()> {
    let mut commands = recipe.commands();
    for sub in sub_recipes(recipe, file)? {
        commands.extend(sub.file.definition()?.commands());
    }
    let is_from_link = file.origin() == RecipeOrigin::Link;
    if (!is_quiet || is_from_link) && stderr::is_seen() || (is_from_link && !commands.is_empty()) {
        stderr::line(format_args!(
            "{NAME}{}{NAME:#} {FAINT}{}{FAINT:#}",
            escape::line(&recipe.title),
            escape::line(&recipe.description)
        ));
    }
    if commands.is_empty() {
        return Ok(());
    }
    stderr::line("The recipe runs these commands:");
    for command in &commands {
        stderr::line(format_args!("  {WARNING}{}{WARNING:#}", escape::line(command)));
    }
    if !is_from_link {
        return Ok(());
    }
    if !stderr::can_ask() {
        return Err(anyhow!(
            "The recipe of a link runs commands, and there is no terminal to ask on. Write it to a file with \
             --render-recipe, look at it, and run that."
        ));
    }
    match input.turn().await.is_agreed("Run it? (y/n) ").await {
        true => Ok(()),
        false => bail!("The recipe was not run."),
    }
}

/// The user at the terminal, who is asked about commands of checks.
pub(super) struct AskAtTerminal<'i>(pub(super) &'i Arc<Input>);

#[async_trait]
impl CommandApproval for AskAtTerminal<'_> {
    async fn approve(&self, command: &str, reasons: &[String]) -> bool {
        if !stderr::can_ask() {
            return false;
        }
        stderr::line(format_args!(
            "The recipe checks its result with: {WARNING}{}{WARNING:#}",
            escape::line(command)
        ));
        for reason in reasons {
            stderr::line(format_args!("  {FAINT}{}{FAINT:#}", escape::line(reason)));
        }
        self.0.turn().await.is_agreed("Run it? (y/n) ").await
    }
}
