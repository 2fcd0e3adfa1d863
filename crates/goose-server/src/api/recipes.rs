//! Recipes of the user and of trusted projects: list, read, and run in a new session.

use std::{collections::BTreeMap, path::PathBuf};

use axum::{Extension, extract::State, response::Response};
use goose::{
    config::Mode,
    recipe::{FoundRecipe, RecipeError, RecipeFile, RecipeOrigin, RecipePlaces},
};
use goose_extension::{Message as GooseMessage, visible};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::TAG;
use crate::{
    agent_communication::{agents, models},
    body::{Json, JsonBody, PathText, Query, json as json_answer},
    endpoint::Endpoint,
    error::{ApiError, ApiResult},
    ids::Uuid,
    sessions::{RecipeTask, SessionRequest},
    state::AppState,
    tokens::Client,
};

#[derive(Debug, Serialize, JsonSchema)]
struct RecipeList {
    recipes: Vec<ListedRecipe>,
}

/// Recipe in a list.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedRecipe {
    name: String,
    path: PathBuf,
    /// `user` or `project`.
    source: &'static str,
    title: Option<String>,
    description: Option<String>,
    /// Parameters, as the recipe has them.
    parameters: Vec<Value>,
    /// Reason why it cannot be used.
    problem: Option<String>,
}

/// Recipe with its templates.
#[derive(Debug, Serialize, JsonSchema)]
struct ReadRecipe {
    name: String,
    path: Option<PathBuf>,
    /// Fields, as the file has them.
    recipe: Value,
}

/// Run of a recipe.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewRecipeRun {
    /// Working folder, below a root of the server; the first root by default.
    folder: Option<PathBuf>,
    /// Values of the parameters.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    /// Name of the session; the recipe's title by default.
    name: Option<String>,
    /// Permission mode. It cannot be more permissive than the server's.
    #[schemars(with = "Option<String>")]
    mode: Option<Mode>,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let folder = || json!({"type": "string"});
    const MISSING: (u16, &str) = (404, "There is no such recipe of the user or of a trusted project");
    vec![
        Endpoint::get("/api/v1/recipes", list)
            .about(TAG, "Lists the recipes of the user and of a trusted project")
            .query("folder", "Folder below a root; the first root by default", folder())
            .gives::<RecipeList>(200, "Recipes"),
        Endpoint::get("/api/v1/recipes/{recipe}", read)
            .about(TAG, "Reads a recipe")
            .query("folder", "Folder below a root; the first root by default", folder())
            .gives::<ReadRecipe>(200, "The recipe")
            .fails(&[MISSING]),
        Endpoint::post("/api/v1/recipes/{recipe}/runs", run)
            .about(TAG, "Begins a session with a recipe, and its run")
            .takes::<NewRecipeRun>()
            .gives::<models::Run>(202, "The run, which goes on")
            .fails(&[MISSING]),
    ]
}

/// Returns the places of recipes in a folder that a client names.
fn places(app: &AppState, folder: Option<&std::path::Path>) -> ApiResult<(PathBuf, RecipePlaces)> {
    let folder = app.sessions.folder(folder)?;
    let (manager, _) = app.sessions.in_folder(&folder)?;
    let places = RecipePlaces::new(manager.settings(), &folder);
    Ok((folder, places))
}

/// Finds a recipe by its name. Files of a folder that is not trusted are none: a client does not vouch for them.
pub(super) fn find(places: &RecipePlaces, name: &str) -> ApiResult<RecipeFile> {
    let missing = || {
        let name = visible(&goose_fs::truncate_chars(name, 100)).into_owned();
        ApiError::not_found(format!(
            "There is no recipe '{name}' of the user or of a trusted project. GET /api/v1/recipes lists them."
        ))
    };
    let is_name = !name.contains(['/', ':']) && !goose::recipe::is_recipe_file(name.as_ref());
    let file = if is_name { places.find(name).map_err(|_| missing())? } else { return Err(missing()) };
    match file.origin() {
        RecipeOrigin::User | RecipeOrigin::Project => Ok(file),
        RecipeOrigin::Named | RecipeOrigin::Link => Err(missing()),
    }
}

fn wrong(error: &RecipeError) -> ApiError {
    ApiError::bad_request(error.to_string())
}

async fn list(State(app): State<AppState>, query: Query) -> ApiResult<Json<RecipeList>> {
    let (_, places) = places(&app, query.text("folder").map(AsRef::as_ref))?;
    let found = places.list().into_iter().filter(|it| it.origin != RecipeOrigin::Named);
    Ok(Json(RecipeList { recipes: found.map(listed).collect() }))
}

fn listed(found: FoundRecipe) -> ListedRecipe {
    let problem = found.recipe.as_ref().err().map(ToString::to_string);
    let recipe = found.recipe.ok();
    let parameters = recipe.iter().flat_map(|recipe| recipe.parameters());
    ListedRecipe {
        parameters: parameters.filter_map(|it| serde_json::to_value(it).ok()).collect(),
        title: recipe.as_ref().map(|it| it.title.clone()),
        description: recipe.map(|it| it.description),
        name: found.name,
        path: found.path,
        source: found.origin.as_str(),
        problem,
    }
}

async fn read(
    State(app): State<AppState>,
    PathText(name): PathText,
    query: Query,
) -> ApiResult<Json<ReadRecipe>> {
    let (_, places) = places(&app, query.text("folder").map(AsRef::as_ref))?;
    let file = find(&places, &name)?;
    let recipe = file.definition().map_err(|error| wrong(&error))?;
    let recipe = serde_json::to_value(recipe).map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(Json(ReadRecipe { name: file.name().to_owned(), path: file.path().map(PathBuf::from), recipe }))
}

async fn run(
    State(app): State<AppState>,
    Extension(client): Extension<Client>,
    PathText(name): PathText,
    JsonBody(new): JsonBody<NewRecipeRun>,
) -> ApiResult<Response> {
    app.check_open()?;
    let (folder, places) = places(&app, new.folder.as_deref())?;
    let file = find(&places, &name)?;
    let values = new.parameters.into_iter().collect();
    // A file that a client names is read by the agent, under its permissions.
    let recipe = file.render_for_agent(&values).map_err(|error| wrong(&error))?;
    if recipe.retry.is_some() {
        return Err(ApiError::bad_request(
            "The recipe has checks (`retry`), which this route does not run. Use `goose run --recipe`, or a job of the \
             schedule.",
        ));
    }
    let Some(task) = recipe.task().map(str::to_owned) else {
        return Err(ApiError::bad_request("The recipe has neither a prompt nor instructions."));
    };
    let permit = app.limits.run(&client)?;
    let name = new.name.or_else(|| Some(recipe.title.clone()));
    let recipe = Some(RecipeTask { recipe, file });
    let request = SessionRequest { name, folder: Some(folder), mode: new.mode, recipe, ..Default::default() };
    let session = app.sessions.create(request).await?;
    let id = Uuid::random()?.within(session.exchange().session_id());
    let agent = agents::label_of_id(&session.exchange().agent().id());
    let run = app.runs.start(session, agent, GooseMessage::user(task), id, permit)?;
    Ok(json_answer(StatusCode::ACCEPTED, &run.model()))
}
