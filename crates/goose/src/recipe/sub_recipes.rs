//! The recipes that a recipe names, each checked to exist and not to lead back.

use std::path::{Path, PathBuf};

use super::{RECIPE_DIR, Recipe, RecipeError, RecipeFile, SubRecipe};

/// Maximum depth of recipes that name others.
const MAX_DEPTH: usize = 8;

/// Maximum number of recipes below one.
const MAX_RECIPES: usize = 100;

/// Recipe that another one names, with its file.
#[derive(Debug, Clone)]
pub struct ResolvedSubRecipe {
    /// Entry of the recipe above it.
    pub entry: SubRecipe,
    /// File.
    pub file: RecipeFile,
}

/// Returns the recipes that a recipe of this file names.
///
/// # Errors
///
/// Fails if a file is missing or is not a recipe, or if recipes name each other in a circle.
pub fn sub_recipes(recipe: &Recipe, file: &RecipeFile) -> Result<Vec<ResolvedSubRecipe>, RecipeError> {
    let mut above: Vec<PathBuf> = file.path().map(Path::to_owned).into_iter().collect();
    let mut count = 0;
    let mut found = Vec::new();
    for entry in recipe.sub_recipes.iter().flatten() {
        let sub = open(entry, file)?;
        check_below(&sub, &mut above, &mut count)?;
        found.push(ResolvedSubRecipe { entry: entry.clone(), file: sub });
    }
    Ok(found)
}

/// Makes the paths of a recipe's sub-recipes absolute, and checks the recipes.
pub(super) fn resolve_paths(mut recipe: Recipe, file: &RecipeFile) -> Result<Recipe, RecipeError> {
    let found = sub_recipes(&recipe, file)?;
    for (entry, found) in recipe.sub_recipes.iter_mut().flatten().zip(&found) {
        if let Some(path) = found.file.path() {
            entry.path = path.display().to_string();
        }
    }
    Ok(recipe)
}

fn open(entry: &SubRecipe, file: &RecipeFile) -> Result<RecipeFile, RecipeError> {
    let path = entry.path.replace(&format!("{{{{ {RECIPE_DIR} }}}}"), &file.folder().to_string_lossy());
    let path = file.folder().join(path);
    let path = path.canonicalize().map_err(|error| {
        RecipeError::text(
            file.place(),
            format!(
                "the sub-recipe '{}' is in {}, which cannot be read: {error}",
                entry.name,
                path.display()
            ),
        )
    })?;
    file.neighbour(&path)
}

fn check_below(file: &RecipeFile, above: &mut Vec<PathBuf>, count: &mut usize) -> Result<(), RecipeError> {
    *count += 1;
    let path = file.path().map(Path::to_owned).unwrap_or_default();
    if above.contains(&path) {
        let names = above.iter().chain([&path]).map(|path| path.display().to_string());
        let circle = names.collect::<Vec<_>>().join(" → ");
        return Err(RecipeError::text(
            file.place(),
            format!("sub-recipes name each other: {circle}; remove one of them"),
        ));
    }
    if above.len() >= MAX_DEPTH || *count > MAX_RECIPES {
        let message = format!("there are more than {MAX_RECIPES} sub-recipes, or {MAX_DEPTH} levels of them");
        return Err(RecipeError::text(file.place(), message));
    }
    let recipe = file.definition()?;
    above.push(path);
    for entry in recipe.sub_recipes.iter().flatten() {
        check_below(&open(entry, file)?, above, count)?;
    }
    above.pop();
    Ok(())
}
