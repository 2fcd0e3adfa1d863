//! Recipes: files that describe a task, with parameters, extensions, settings and checks.
//!
//! ```text
//! RecipeFile (text, place) ── definition() ──► Recipe with its templates: parameters, list, link
//!       └── render(values) ──────────────────► Recipe that can be run
//! ```
//!
//! - `model`: the fields; `extension`: an extension of a recipe in the form that is written;
//! - `source`: finds a recipe by name, path or link; `deeplink`: the link;
//! - `template`: Jinja, bounded in time and size; `growth`: the bound of what operators can make; `filters`: filters
//!   with limits; `literal`: template tags; `markers`: values that must not change the structure of the document;
//! - `parameters`: values for the parameters; `validate`: everything that is wrong with a recipe;
//! - `sub_recipes`: the recipes that a recipe names.

pub mod deeplink;
mod error;
mod extension;
mod filters;
mod growth;
mod literal;
mod markers;
mod model;
mod parameters;
mod source;
mod sub_recipes;
mod template;
mod validate;

pub(crate) use self::source::project_recipes;
pub use self::{
    error::RecipeError,
    extension::RecipeExtension,
    model::{
        Author, Check, InputType, Parameter, Recipe, RecipeSettings, Requirement, Response, Retry, SubRecipe,
    },
    parameters::{RECIPE_DIR, Values, parse_pair},
    source::{FoundRecipe, PROJECT_FOLDERS, RecipeFile, RecipeOrigin, RecipePlaces, is_recipe_file},
    sub_recipes::{ResolvedSubRecipe, sub_recipes},
};
