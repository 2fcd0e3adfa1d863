//! `goose recipe`: checks, lists and explains recipes, and makes links to them.

pub(crate) mod explain;

use std::{env, path::Path, process::ExitCode, time::Duration};

use clap::{Args, Subcommand};
use goose::{
    config::Paths,
    recipe::{FoundRecipe, Recipe, RecipeFile, RecipePlaces, Values, deeplink, parse_pair},
};
use goose_process::{ProcessSpec, Stream};
use serde_json::json;

use crate::{
    args::{JsonArgs, ListFormat},
    output::{BAD, FAINT, NAME, Output, print, print_json, say},
    runtime::run_to_end,
    settings::{self, ConfigArgs},
    stderr,
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose recipe list
  goose recipe validate release.yaml
  goose recipe explain release
  goose recipe deeplink release.yaml -p version=2.0

Run a recipe with `goose run --recipe NAME --params KEY=VALUE`. Recipes are found
in the folders of GOOSE_RECIPE_PATH, in recipes/ in the config folder, in
~/.agents/recipes, in .goose/recipes and .agents/recipes of a project that you
trust, and in the working folder.";

/// Variables that a desktop sets.
const DESKTOP: [&str; 2] = ["DISPLAY", "WAYLAND_DISPLAY"];

/// Program that opens links on a desktop.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Time that the program has to report an error.
const OPEN_TIME: Duration = Duration::from_secs(5);

#[derive(Debug, Subcommand)]
pub(crate) enum RecipeCommand {
    /// Check a recipe
    Validate {
        /// Name or path of the recipe
        #[arg(value_name = "RECIPE")]
        recipe: String,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// List the recipes that can be run by name
    List {
        #[command(flatten)]
        form: JsonArgs,
        /// Output format
        #[arg(long, value_enum, hide = true, default_value_t)]
        format: ListFormat,
        /// Show titles and paths
        #[arg(short, long)]
        verbose: bool,
    },
    /// Show what a recipe does, its parameters, and the commands that it runs
    Explain {
        /// Name, path or link of the recipe
        #[arg(value_name = "RECIPE")]
        recipe: String,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// Open a recipe in the desktop app, or print its link
    Open(LinkArgs),
    /// Print a link to a recipe
    Deeplink(LinkArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// Name or path of the recipe
    #[arg(value_name = "RECIPE")]
    recipe: String,
    /// Value of a parameter; may be repeated
    #[arg(short = 'p', long = "param", value_name = "KEY=VALUE")]
    params: Vec<String>,
}

/// Runs a subcommand.
pub(crate) fn run(command: RecipeCommand, config: &ConfigArgs) -> anyhow::Result<ExitCode> {
    let places = places(config)?;
    match command {
        RecipeCommand::Validate { recipe, form } => validate(&places.find(&recipe)?, &form),
        RecipeCommand::List { form, format, verbose } => {
            list(&places.list(), &JsonArgs { json: form.json || format == ListFormat::Json }, verbose)
        }
        RecipeCommand::Explain { recipe, form } => {
            let file = places.find(&recipe)?;
            let definition = file.definition()?;
            print(&form, || &definition, |out| explain::show(out, &definition, &file, &Values::default()))
        }
        RecipeCommand::Deeplink(args) => say(&args.link(&places)?.1),
        RecipeCommand::Open(args) => {
            let (recipe, link) = args.link(&places)?;
            open(&recipe, &link)
        }
    }
}

/// Returns the places of recipes for the working folder.
pub(crate) fn places(config: &ConfigArgs) -> anyhow::Result<RecipePlaces> {
    let paths = Paths::from_env()?;
    let folder = settings::working_folder()?;
    let settings = settings::look_in(&paths, config, Some(&folder)).settings?;
    Ok(RecipePlaces::new(&settings, &folder))
}

/// Returns the values of `KEY=VALUE` arguments.
pub(crate) fn values(pairs: &[String]) -> anyhow::Result<Values> {
    Ok(pairs.iter().map(|pair| parse_pair(pair)).collect::<Result<_, _>>()?)
}

impl LinkArgs {
    fn link(&self, places: &RecipePlaces) -> anyhow::Result<(Recipe, String)> {
        let recipe = places.find(&self.recipe)?.validate()?;
        let link = deeplink::link(&recipe, &values(&self.params)?)?;
        Ok((recipe, link))
    }
}

fn validate(file: &RecipeFile, form: &JsonArgs) -> anyhow::Result<ExitCode> {
    let checked = file.validate();
    if form.json {
        let problem = checked.as_ref().err().map(ToString::to_string);
        print_json(&json!({"file": file.place(), "valid": problem.is_none(), "problem": problem}))?;
        return Ok(if checked.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    checked?;
    say(&format!("{} is a valid recipe.", file.place()))
}

fn list(found: &[FoundRecipe], form: &JsonArgs, verbose: bool) -> anyhow::Result<ExitCode> {
    let row = |entry: &FoundRecipe| {
        let recipe = entry.recipe.as_ref().ok();
        json!({
            "name": entry.name,
            "source": entry.origin.as_str(),
            "path": entry.path,
            "title": recipe.map(|recipe| &recipe.title),
            "description": recipe.map(|recipe| &recipe.description),
            "problem": entry.recipe.as_ref().err().map(ToString::to_string),
        })
    };
    print(
        form,
        || found.iter().map(row).collect::<Vec<_>>(),
        |out| {
            if found.is_empty() {
                return out.line("There are no recipes. `goose recipe --help` says where they are searched.");
            }
            found.iter().try_for_each(|entry| line(out, entry, verbose))
        },
    )
}

fn line(out: &mut Output, entry: &FoundRecipe, verbose: bool) -> std::io::Result<()> {
    let origin = out.paint(FAINT, format!("({})", entry.origin.as_str()));
    let name = out.foreign(&entry.name);
    out.line(format_args!("{} {origin}", out.paint(NAME, name)))?;
    match &entry.recipe {
        Ok(recipe) => {
            if verbose {
                out.indented(4, FAINT, &recipe.title)?;
                out.indented(4, FAINT, &entry.path.display().to_string())?;
            }
            out.indented(4, anstyle::Style::new(), &recipe.description)
        }
        Err(error) => out.indented(4, BAD, &error.to_string()),
    }
}

fn open(recipe: &Recipe, link: &str) -> anyhow::Result<ExitCode> {
    let has_desktop = cfg!(target_os = "macos") || DESKTOP.iter().any(|name| env::var_os(name).is_some());
    let is_open = has_desktop && run_to_end(start(link)).is_ok_and(|code| code == ExitCode::SUCCESS);
    if is_open {
        return say(&format!("Opened '{}'.", recipe.title));
    }
    stderr::line("No desktop app could be started. This is the link:");
    say(link)
}

async fn start(link: &str) -> anyhow::Result<ExitCode> {
    let mut spec = ProcessSpec::new(Path::new(OPENER));
    spec.arg(link).stdin(Stream::Null).stdout(Stream::Null).stderr(Stream::Null);
    let status = goose_process::start_detached(&spec, OPEN_TIME).await?;
    Ok(if status.is_none_or(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
