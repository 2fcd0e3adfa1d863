//! [`RecipeFile`]: a recipe as it was found, by name, path or link, and [`RecipePlaces`], where it is searched.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{
    Recipe, RecipeError, Values, deeplink,
    parameters::{self, FileValues},
    sub_recipes::resolve_paths,
    template::{Includes, Rendered, Template, Undefined},
    validate,
};
use crate::config::{
    ConfigError, Paths, ProjectFile, Settings, Trust, TrustStore, read_capped, read_yaml_as,
};

/// Maximum size of a recipe, in bytes.
pub(super) const MAX_RECIPE_BYTES: u64 = 1024 * 1024;

/// Maximum number of files of a folder that are looked at.
const MAX_FILES: usize = 1_000;

/// Folders of a project with recipes.
pub const PROJECT_FOLDERS: [&str; 2] = [".goose/recipes", ".agents/recipes"];

/// Folder of the user's recipes for all agents, from the home folder.
const HOME_FOLDER: &str = ".agents/recipes";

/// Setting with more folders, separated as in `PATH`.
const RECIPE_PATH: &str = "GOOSE_RECIPE_PATH";

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// Origin of a recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecipeOrigin {
    /// A file that the user named, or in the working folder.
    Named,
    /// A folder of the user.
    User,
    /// A folder of the project, which the user trusts.
    Project,
    /// A link, from anywhere.
    Link,
}

impl RecipeOrigin {
    /// Returns the word for lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Named => "folder",
            Self::User => "user",
            Self::Project => "project",
            Self::Link => "link",
        }
    }
}

/// Text of a recipe, and where it is from.
#[derive(Debug, Clone)]
pub struct RecipeFile {
    name: String,
    path: Option<PathBuf>,
    place: String,
    text: String,
    origin: RecipeOrigin,
    includes: Includes,
    /// Values from a link.
    values: Values,
}

/// Recipe in a list.
#[derive(Debug, Clone)]
pub struct FoundRecipe {
    /// Name to run it by.
    pub name: String,
    /// Path of the file.
    pub path: PathBuf,
    /// Origin.
    pub origin: RecipeOrigin,
    /// The recipe, or the reason why it cannot be used.
    pub recipe: Result<Recipe, Arc<RecipeError>>,
}

impl RecipeFile {
    /// Reads a recipe that the user named by its path.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn open(path: &Path) -> Result<Self, RecipeError> {
        Self::read(path, RecipeOrigin::Named)
    }

    /// Creates a recipe from a text without a file. `name` is for errors.
    pub fn from_text(name: &str, text: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            path: None,
            place: name.to_owned(),
            text: text.into(),
            origin: RecipeOrigin::Named,
            includes: Includes::None,
            values: Values::default(),
        }
    }

    /// Reads the recipe in a link.
    ///
    /// # Errors
    ///
    /// Fails if the link is damaged.
    pub fn from_link(link: &str) -> Result<Self, RecipeError> {
        let (text, values) = deeplink::parse(link)?;
        Ok(Self { origin: RecipeOrigin::Link, values, ..Self::from_text("the link", text) })
    }

    fn read(path: &Path, origin: RecipeOrigin) -> Result<Self, RecipeError> {
        let text =
            read_capped(path, MAX_RECIPE_BYTES)?.ok_or_else(|| ConfigError::Absent(path.to_owned()))?;
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self::in_folder(path, text, origin, Includes::Folder(folder)))
    }

    /// Creates a recipe of the project, which the user trusts. `all` are the trusted recipes of the project.
    fn of_project(file: &ProjectFile, all: &Arc<BTreeMap<PathBuf, String>>) -> Self {
        let folder = file.path().parent().map(Path::to_owned).unwrap_or_default();
        let includes = Includes::Trusted(folder, Arc::clone(all));
        Self::in_folder(file.path().to_owned(), file.text().to_owned(), RecipeOrigin::Project, includes)
    }

    fn in_folder(path: PathBuf, text: String, origin: RecipeOrigin, includes: Includes) -> Self {
        let name = stem(&path).unwrap_or_default();
        let place = path.display().to_string();
        Self { name, place, path: Some(path), text, origin, includes, values: Values::default() }
    }

    /// Reads a recipe that this one names, with its rights.
    pub(super) fn neighbour(&self, path: &Path) -> Result<Self, RecipeError> {
        match &self.includes {
            Includes::None => {
                Err(RecipeError::text(&self.place, format!("it cannot name the file {}", path.display())))
            }
            Includes::Folder(_) => Self::read(path, self.origin),
            Includes::Trusted(_, all) => {
                let text = all.get(path).ok_or_else(|| RecipeError::Untrusted(path.to_owned()))?;
                let folder = path.parent().map(Path::to_owned).unwrap_or_default();
                let includes = Includes::Trusted(folder, Arc::clone(all));
                Ok(Self::in_folder(path.to_owned(), text.clone(), self.origin, includes))
            }
        }
    }

    /// Returns the name, without the extension of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path, unless the recipe is from a link.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the file or link for messages.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns the text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the origin.
    pub fn origin(&self) -> RecipeOrigin {
        self.origin
    }

    /// Returns the values that came with the recipe.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Returns the folder of the recipe.
    pub fn folder(&self) -> PathBuf {
        self.path.as_deref().and_then(Path::parent).map(Path::to_owned).unwrap_or_default()
    }

    /// Returns the recipe with its templates, as far as it can be read without values.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a recipe.
    pub fn definition(&self) -> Result<Recipe, RecipeError> {
        let template = self.template()?;
        if !template.has_includes() {
            match self.parse(&self.text) {
                Ok(recipe) => return Ok(recipe),
                // Statements between the fields are not YAML until they are rendered.
                Err(error) if !self.text.contains("{%") && !self.text.contains("{{") => return Err(error),
                Err(error) => {
                    let rendered = template.render(&Values::default(), Undefined::Empty);
                    return rendered.and_then(|rendered| self.parse_rendered(rendered)).map_err(|_| error);
                }
            }
        }
        self.parse_rendered(template.render(&Values::default(), Undefined::Empty)?)
    }

    /// Returns the recipe with these values in its templates.
    ///
    /// # Errors
    ///
    /// Fails if values are missing, unknown or wrong, or if the recipe is not valid.
    pub fn render(&self, given: &Values) -> Result<Recipe, RecipeError> {
        self.render_with(given, FileValues::Content)
    }

    /// Returns the recipe with values that a model or a client gave. A file is named, not read: the agent reads it with
    /// its own tools, which are judged.
    ///
    /// # Errors
    ///
    /// As for [`render`](Self::render).
    pub fn render_for_agent(&self, given: &Values) -> Result<Recipe, RecipeError> {
        self.render_with(given, FileValues::Path)
    }

    fn render_with(&self, given: &Values, files: FileValues) -> Result<Recipe, RecipeError> {
        let definition = self.definition()?;
        validate::parameters(&definition, &self.template()?.variables()?, &self.place)?;
        let all: Values = self.values.iter().chain(given.iter()).collect();
        let values = parameters::complete(definition.parameters(), &all, files, &self.place, &self.folder())?;
        let recipe = self.rendered(&values)?;
        validate::fields(&recipe, &self.place)?;
        resolve_paths(recipe, self)
    }

    /// Returns the recipe with these values, without the checks.
    pub(super) fn rendered(&self, values: &Values) -> Result<Recipe, RecipeError> {
        self.parse_rendered(self.template()?.render(values, Undefined::Refused)?)
    }

    /// Checks everything that can be checked without values. Returns the recipe with its templates.
    ///
    /// # Errors
    ///
    /// Fails with the first problem.
    pub fn validate(&self) -> Result<Recipe, RecipeError> {
        validate::file(self)
    }

    pub(super) fn template(&self) -> Result<Template, RecipeError> {
        Template::load(&self.place, &self.text, &self.includes)
    }

    fn parse_rendered(&self, rendered: Rendered) -> Result<Recipe, RecipeError> {
        let Rendered { text, markers } = rendered;
        let recipe = self.parse(&text)?;
        let wrong = |error: String| RecipeError::text(&self.place, error);
        let Some(markers) = Arc::into_inner(markers) else { return Ok(recipe) };
        let mut document = serde_json::to_value(&recipe).map_err(|error| wrong(error.to_string()))?;
        markers.resolve(&mut document, &text).map_err(wrong)?;
        serde_json::from_value(document).map_err(|error| wrong(error.to_string()))
    }

    fn parse(&self, text: &str) -> Result<Recipe, RecipeError> {
        /// The keys that tell a recipe from a file with a recipe in it.
        #[derive(Deserialize)]
        struct Probe {
            recipe: Option<IgnoredAny>,
            title: Option<IgnoredAny>,
        }
        #[derive(Deserialize)]
        struct Wrapper {
            recipe: Recipe,
        }
        let path = Path::new(&self.place);
        let probe: Option<Probe> = read_yaml_as(path, text)?;
        Ok(match probe {
            Some(Probe { recipe: Some(_), title: None }) => read_yaml_as::<Wrapper>(path, text)?.recipe,
            _ => read_yaml_as(path, text)?,
        })
    }
}

/// Folders in which recipes are searched by name.
#[derive(Debug, Clone)]
pub struct RecipePlaces {
    paths: Paths,
    working_dir: PathBuf,
    /// Folders of the user, in their order.
    folders: Vec<PathBuf>,
}

impl RecipePlaces {
    /// Returns the places of a working folder: `GOOSE_RECIPE_PATH`, the user's, the project's, and the folder.
    pub fn new(settings: &Settings, working_dir: &Path) -> Self {
        let listed = settings.get::<String>(RECIPE_PATH).ok().flatten().unwrap_or_default();
        let listed = env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty());
        let listed: Vec<PathBuf> = listed.map(|path| working_dir.join(path)).collect();
        Self::with_folders(settings.paths(), working_dir, settings.variable("HOME").map(Path::new), listed)
    }

    /// Returns the places with these folders before the user's own.
    pub fn with_folders(
        paths: &Paths,
        working_dir: &Path,
        home: Option<&Path>,
        mut folders: Vec<PathBuf>,
    ) -> Self {
        folders.push(paths.config.join("recipes"));
        folders.extend(home.map(|home| home.join(HOME_FOLDER)));
        Self { paths: paths.clone(), working_dir: working_dir.to_owned(), folders }
    }

    /// Finds a recipe by link, path or name. A name has neither a `/` nor an extension.
    ///
    /// # Errors
    ///
    /// Fails if there is none, if it cannot be read, or if it is the project's and not trusted.
    pub fn find(&self, name: &str) -> Result<RecipeFile, RecipeError> {
        if deeplink::is_link(name) {
            return RecipeFile::from_link(name);
        }
        let path = Path::new(name);
        if name.contains('/') || is_recipe_file(path) {
            return RecipeFile::open(&self.working_dir.join(path));
        }
        for folder in &self.folders {
            if let Some(path) = named_in(folder, name) {
                return RecipeFile::read(&path, RecipeOrigin::User);
            }
        }
        let project = self.project();
        if let Some(found) = project.named(name) {
            return found;
        }
        match named_in(&self.working_dir, name) {
            Some(path) => RecipeFile::open(&path),
            None => Err(RecipeError::NotFound { name: name.to_owned(), searched: self.searched() }),
        }
    }

    /// Returns the recipes of all places, in the order in which names are searched. Files of the working
    /// folder that are not recipes are left out, and files of the project that are not trusted are errors.
    pub fn list(&self) -> Vec<FoundRecipe> {
        let mut found = Vec::new();
        for path in self.folders.iter().flat_map(|folder| recipe_files(folder)) {
            found.push(listed(&path, RecipeOrigin::User, RecipeFile::read(&path, RecipeOrigin::User)));
        }
        let project = self.project();
        found.extend(project.all().map(|(path, file)| listed(path, RecipeOrigin::Project, file)));
        for path in recipe_files(&self.working_dir) {
            let entry = listed(&path, RecipeOrigin::Named, RecipeFile::open(&path));
            found.extend(Some(entry).filter(|entry| entry.recipe.is_ok()));
        }
        let mut names = std::collections::BTreeSet::new();
        found.retain(|entry| names.insert(entry.name.clone()));
        found
    }

    /// Returns the recipes of the project.
    pub(crate) fn project(&self) -> ProjectRecipes {
        ProjectRecipes::find(&self.paths, &self.working_dir)
    }

    /// Returns the recipes in the folders of the user.
    pub(crate) fn of_user(&self) -> impl Iterator<Item = RecipeFile> {
        let paths = self.folders.iter().flat_map(|folder| recipe_files(folder));
        paths.filter_map(|path| RecipeFile::read(&path, RecipeOrigin::User).ok())
    }

    fn searched(&self) -> Vec<PathBuf> {
        let project = PROJECT_FOLDERS.iter().map(|folder| self.working_dir.join(folder));
        self.folders.iter().cloned().chain(project).chain([self.working_dir.clone()]).collect()
    }
}

/// Recipes of a project, trusted or not.
pub(crate) struct ProjectRecipes {
    files: Vec<ProjectFile>,
    /// Texts of those that are trusted.
    trusted: Arc<BTreeMap<PathBuf, String>>,
}

impl ProjectRecipes {
    /// Finds the recipes of the project around a folder.
    pub(crate) fn find(paths: &Paths, working_dir: &Path) -> Self {
        let trust = TrustStore::new(paths);
        let files = project_recipes(working_dir);
        let trusted = files.iter().filter(|file| matches!(trust.check(file), Ok(Trust::Trusted)));
        let trusted = trusted.map(|file| (file.path().to_owned(), file.text().to_owned()));
        Self { trusted: Arc::new(trusted.collect()), files }
    }

    /// Returns all of them; those that are not trusted as errors.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Path, Result<RecipeFile, RecipeError>)> {
        self.files.iter().map(|file| {
            let found = match self.trusted.contains_key(file.path()) {
                true => Ok(RecipeFile::of_project(file, &self.trusted)),
                false => Err(RecipeError::Untrusted(file.path().to_owned())),
            };
            (file.path(), found)
        })
    }

    fn named(&self, name: &str) -> Option<Result<RecipeFile, RecipeError>> {
        let is_named = |path: &Path| stem(path).is_some_and(|stem| stem == name);
        self.all().find(|(path, _)| is_named(path)).map(|(_, found)| found)
    }
}

/// Returns the recipes of the project around a folder, trusted or not.
pub(crate) fn project_recipes(working_dir: &Path) -> Vec<ProjectFile> {
    let found = PROJECT_FOLDERS.iter().map(|folder| ProjectFile::find_in(working_dir, folder));
    let mut recipes: Vec<ProjectFile> = found.flat_map(Result::unwrap_or_default).collect();
    recipes.retain(|file| is_recipe_file(file.path()));
    recipes
}

/// Returns true if a file has an extension of recipes.
pub fn is_recipe_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

/// Returns the files of a folder with an extension of recipes, sorted by name.
pub(crate) fn recipe_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_FILES);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| is_recipe_file(path) && path.is_file());
    paths.sort();
    paths
}

fn listed(path: &Path, origin: RecipeOrigin, file: Result<RecipeFile, RecipeError>) -> FoundRecipe {
    FoundRecipe {
        name: stem(path).unwrap_or_default(),
        path: path.to_owned(),
        origin,
        recipe: file.and_then(|file| file.definition()).map_err(Arc::new),
    }
}

fn named_in(folder: &Path, name: &str) -> Option<PathBuf> {
    let paths = EXTENSIONS.iter().map(|extension| folder.join(format!("{name}.{extension}")));
    paths.into_iter().find(|path| path.is_file())
}

fn stem(path: &Path) -> Option<String> {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
}
