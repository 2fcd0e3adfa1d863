//! What a recipe does, for `goose recipe explain` and `goose run --explain`.

use std::io;

use goose::recipe::{Parameter, RECIPE_DIR, Recipe, RecipeFile, Values};

use crate::output::{FAINT, NAME, Output, WARNING};

/// Shows the title, the description, the parameters with their values, and the commands.
pub(crate) fn show(out: &mut Output, recipe: &Recipe, file: &RecipeFile, given: &Values) -> io::Result<()> {
    let title = out.foreign(&recipe.title).into_owned();
    out.line(out.paint(NAME, title))?;
    out.indented(0, anstyle::Style::new(), &recipe.description)?;
    out.indented(0, FAINT, file.place())?;
    let all: Values = file.values().iter().chain(given.iter()).collect();
    if !recipe.parameters().is_empty() {
        out.line("\nParameters:")?;
        recipe.parameters().iter().try_for_each(|parameter| line(out, parameter, &all))?;
        let folder = all.get(RECIPE_DIR).map_or_else(|| file.folder().display().to_string(), str::to_owned);
        out.indented(2, FAINT, &format!("{RECIPE_DIR} = {folder}"))?;
    }
    let lacks = |it: &&Parameter| it.default.is_none() && all.get(&it.key).is_none();
    let missing: Vec<String> =
        recipe.parameters().iter().filter(lacks).map(|it| format!("--params {}=VALUE", it.key)).collect();
    if !missing.is_empty() {
        out.line(format_args!("\nTo run it, add: {}", out.foreign(&missing.join(" "))))?;
    }
    commands(out, recipe)
}

fn line(out: &mut Output, parameter: &Parameter, given: &Values) -> io::Result<()> {
    let Parameter { key, input_type, requirement, description, default, options } = parameter;
    let options = options.as_ref().map(|options| format!(": {}", options.join(", "))).unwrap_or_default();
    let value = match (given.get(key), default) {
        (Some(value), _) => format!(" = {value}"),
        (None, Some(default)) => format!(", default {default}"),
        (None, None) => String::new(),
    };
    let text = format!("{key} ({}, {}{options}){value}", input_type.as_str(), requirement.as_str());
    out.indented(2, anstyle::Style::new(), &text)?;
    out.indented(4, FAINT, description)
}

fn commands(out: &mut Output, recipe: &Recipe) -> io::Result<()> {
    let commands = recipe.commands();
    if commands.is_empty() {
        return Ok(());
    }
    out.line("\nIt runs these commands:")?;
    commands.iter().try_for_each(|command| out.indented(2, WARNING, command))
}
