//! Checks of a recipe, in the order in which a person would fix the problems.

use std::collections::BTreeSet;

use super::{
    Check, InputType, Parameter, RECIPE_DIR, Recipe, RecipeError, RecipeFile, Requirement, Retry, Values,
};

/// Checks a file without values: the parameters, the templates with sample values, and all fields.
pub(super) fn file(file: &RecipeFile) -> Result<Recipe, RecipeError> {
    let definition = file.definition()?;
    parameters(&definition, &file.template()?.variables()?, file.place())?;
    fields(&definition, file.place())?;
    let samples = definition.parameters().iter().map(|parameter| (parameter.key.clone(), sample(parameter)));
    let folder = (RECIPE_DIR.to_owned(), file.folder().to_string_lossy().into_owned());
    let values: Values = samples.chain([folder]).collect();
    fields(&file.rendered(&values)?, file.place())?;
    Ok(definition)
}

/// Returns a value that a template can be tried with.
fn sample(parameter: &Parameter) -> String {
    let option = parameter.options.as_ref().and_then(|options| options.first());
    let fallback = match parameter.input_type {
        InputType::Number => "1",
        InputType::Boolean => "true",
        InputType::Date => "2026-01-31",
        InputType::String | InputType::File | InputType::Select => "sample",
    };
    parameter.default.as_ref().or(option).map_or(fallback, String::as_str).to_owned()
}

/// Checks the parameters against the variables of the templates.
pub(super) fn parameters(
    recipe: &Recipe,
    variables: &BTreeSet<String>,
    place: &str,
) -> Result<(), RecipeError> {
    let keys: BTreeSet<&str> = recipe.parameters().iter().map(|it| it.key.as_str()).collect();
    let undefined: Vec<&str> =
        variables.iter().map(String::as_str).filter(|name| !keys.contains(name)).collect();
    let unused: Vec<&str> = keys.iter().copied().filter(|key| !variables.contains(*key)).collect();
    let problem = if !undefined.is_empty() {
        format!(
            "the templates use {}, without a definition under 'parameters'; add one",
            undefined.join(", ")
        )
    } else if !unused.is_empty() {
        format!("no template uses the parameter {}; use it or remove it", unused.join(", "))
    } else if keys.len() < recipe.parameters().len() {
        "a parameter is defined twice; remove one".to_owned()
    } else if let Some(problem) = recipe.parameters().iter().find_map(parameter_problem) {
        problem
    } else {
        return Ok(());
    };
    Err(RecipeError::text(place, problem))
}

fn parameter_problem(parameter: &Parameter) -> Option<String> {
    let Parameter { key, input_type, requirement, default, options, .. } = parameter;
    let has_default = default.is_some();
    match input_type {
        _ if key == RECIPE_DIR => Some(format!("'{RECIPE_DIR}' is always defined; remove the parameter")),
        InputType::File if has_default => Some(format!(
            "the parameter '{key}' is a file and may have no default, so that a recipe cannot read files by itself"
        )),
        _ if *requirement == Requirement::Optional && !has_default => {
            Some(format!("the parameter '{key}' is optional; add its 'default'"))
        }
        InputType::Select if options.as_ref().is_none_or(Vec::is_empty) => {
            Some(format!("the parameter '{key}' is a select; add its 'options'"))
        }
        InputType::File => None,
        _ => default.as_ref().and_then(|default| parameter.checked(default).err()),
    }
}

/// Checks the fields of a recipe.
pub(super) fn fields(recipe: &Recipe, place: &str) -> Result<(), RecipeError> {
    let wrong = |message: String| Err(RecipeError::text(place, message));
    let is_empty = |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
    if is_empty(&recipe.instructions) && is_empty(&recipe.prompt) {
        return wrong("it has neither 'instructions' nor a 'prompt'; add one of them".to_owned());
    }
    for extension in recipe.extensions.iter().flatten() {
        let checked = extension.config().and_then(|config| config.check());
        checked.map_err(|error| RecipeError::text(place, error.to_string()))?;
    }
    let schema = recipe.response.as_ref().and_then(|response| response.json_schema.as_ref());
    if let Some(schema) = schema
        && let Err(error) = jsonschema::meta::validate(schema)
    {
        return wrong(format!("'response.json_schema' is not a JSON Schema: {error}"));
    }
    match recipe.retry.as_ref().and_then(retry_problem) {
        Some(problem) => wrong(problem),
        None => Ok(()),
    }
}

fn retry_problem(retry: &Retry) -> Option<String> {
    let is_blank = |check: &Check| match check {
        Check::Shell { command } => command.trim().is_empty(),
        Check::Judge { criteria } => criteria.trim().is_empty(),
    };
    if retry.max_retries == 0 {
        return Some("'retry.max_retries' must be 1 or more".to_owned());
    }
    if retry.timeout_seconds == Some(0) || retry.on_failure_timeout_seconds == Some(0) {
        return Some("a time limit of 'retry' must be 1 second or more".to_owned());
    }
    retry
        .checks
        .iter()
        .any(is_blank)
        .then(|| "a check of 'retry' is empty; fill it in or remove it".to_owned())
}
