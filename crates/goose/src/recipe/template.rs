//! Jinja templates of recipes, bounded in time and size.
//!
//! minijinja counts instructions and limits the depth of includes. The rest is bounded here: time; output, also of
//! captured blocks; filters that make texts; files, which are read before anything is rendered and come from the folder
//! of the recipe only. `growth` bounds what operators can make.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, value::Value};

use super::{
    RECIPE_DIR, RecipeError, Values,
    filters::{Budget, add_filters, too_long},
    growth::{Growth, Limits, MAX_OUTPUT, check_depth, check_tag},
    literal::{Tag, TagKind, tags},
    markers::Markers,
    source::MAX_RECIPE_BYTES,
};
use crate::config::read_capped;

/// Maximum time of a rendering.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Maximum number of files of a recipe.
const MAX_FILES: usize = 32;

/// Name of the recipe's own text.
const MAIN: &str = "recipe";

/// Files that a template may include or extend.
#[derive(Debug, Clone)]
pub(super) enum Includes {
    /// None: the recipe is not in a folder.
    None,
    /// Those of a folder.
    Folder(PathBuf),
    /// Files of the project that the user trusts, in a folder.
    Trusted(PathBuf, Arc<BTreeMap<PathBuf, String>>),
}

/// Meaning of a variable without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undefined {
    /// An empty text.
    Empty,
    /// An error.
    Refused,
}

/// Template of a recipe, with the files that it includes.
#[derive(Clone)]
pub(super) struct Template {
    /// Path for errors.
    place: String,
    /// Texts by the name that templates use.
    texts: Arc<BTreeMap<String, String>>,
    growth: Growth,
}

/// Texts of a template that are being read.
struct Reader<'r> {
    place: &'r str,
    includes: &'r Includes,
    texts: BTreeMap<String, String>,
}

/// Rendered text, in which markers stand for values.
pub(super) struct Rendered {
    pub(super) text: String,
    pub(super) markers: Arc<Markers>,
}

impl Reader<'_> {
    /// Adds a text and those that it includes. `above` are the files that include it.
    fn add(&mut self, name: String, text: &str, above: &mut Vec<String>) -> Result<(), RecipeError> {
        let place = self.place;
        let problem = |line, message: String| error(place, &name, line, message);
        if self.texts.len() >= MAX_FILES {
            return Err(problem(0, format!("it includes more than {MAX_FILES} files; use fewer")));
        }
        check_depth(&tags(text))
            .map_err(|(at, message)| problem(text[..at].matches('\n').count() + 1, message))?;
        let text = with_literals(text).into_owned();
        let (mut files, mut line, mut at) = (Vec::new(), 1, 0);
        for tag in &tags(&text) {
            line += text[at..tag.range.start].matches('\n').count();
            at = tag.range.start;
            check_tag(tag).map_err(|message| problem(line, message))?;
            if let Some(file) = included(tag).map_err(|message| problem(line, message))? {
                files.push((file.to_owned(), line));
            }
        }
        above.push(name.clone());
        for (file, line) in &files {
            if above.contains(file) {
                let path = [above.as_slice(), std::slice::from_ref(file)].concat().join(" → ");
                return Err(problem(
                    *line,
                    format!("files include each other: {path}; remove one of the tags"),
                ));
            }
        }
        self.texts.insert(name.clone(), text);
        for (file, line) in files {
            if !self.texts.contains_key(&file) {
                let included = self.includes.read(&file).map_err(|message| problem(line, message))?;
                self.add(file, &included, above)?;
            }
        }
        above.pop();
        Ok(())
    }
}

impl Template {
    /// Reads the files of a template and checks its tags.
    pub(super) fn load(place: &str, text: &str, includes: &Includes) -> Result<Self, RecipeError> {
        let mut reader = Reader { place, includes, texts: BTreeMap::new() };
        reader.add(MAIN.to_owned(), text, &mut Vec::new())?;
        let growth = Growth::of(reader.texts.values().map(String::as_str));
        Ok(Self { place: place.to_owned(), texts: Arc::new(reader.texts), growth })
    }

    /// Returns true if the text is only complete with other files.
    pub(super) fn has_includes(&self) -> bool {
        self.texts.len() > 1
    }

    /// Returns the variables that the template uses and does not define.
    pub(super) fn variables(&self) -> Result<BTreeSet<String>, RecipeError> {
        let environment = self.environment(Undefined::Empty, None, self.limits(&Values::default())?)?;
        let globals: BTreeSet<&str> = environment.globals().map(|(name, _)| name).collect();
        let mut variables = BTreeSet::new();
        for name in self.texts.keys() {
            let template = environment.get_template(name).map_err(|error| self.template_error(&error))?;
            variables.extend(template.undeclared_variables(false));
        }
        variables.retain(|name| name != RECIPE_DIR && !globals.contains(name.as_str()));
        Ok(variables)
    }

    fn limits(&self, values: &Values) -> Result<Limits, RecipeError> {
        let size = values.iter().map(|(_, value)| value.len()).sum();
        self.growth.limits(size).map_err(|message| self.error(MAIN, 0, message))
    }

    /// Renders the text. After the time limit, the steps that are left go on on their own thread.
    pub(super) fn render(&self, values: &Values, undefined: Undefined) -> Result<Rendered, RecipeError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let (template, values) = (self.clone(), values.clone());
        let render = move || drop(sender.send(template.render_to_end(&values, undefined)));
        let started = thread::Builder::new().name("recipe".to_owned()).spawn(render);
        started.map_err(|error| self.error(MAIN, 0, error.to_string()))?;
        receiver.recv_timeout(TIME_LIMIT).unwrap_or_else(|_| {
            let seconds = TIME_LIMIT.as_secs();
            Err(self.error(
                MAIN,
                0,
                format!("the template takes more than {seconds} seconds; shorten its loops"),
            ))
        })
    }

    fn render_to_end(&self, values: &Values, undefined: Undefined) -> Result<Rendered, RecipeError> {
        let markers = Arc::new(Markers::default());
        let text = self.render_with(values, undefined, Some(&markers))?;
        if let Some(expected) = markers.in_text(&text) {
            let written = self.render_with(values, undefined, None)?;
            if !is_same_but_indents(&expected, &written) {
                let message = "a filter or condition is applied to a block with values, such as {% filter upper %}, which \
                               gives another result than here; apply it to the values, as in {{ value | upper }}";
                return Err(self.error(MAIN, 0, message));
            }
        }
        Ok(Rendered { text, markers })
    }

    /// Renders the text, with markers or with the values themselves.
    fn render_with(
        &self,
        values: &Values,
        undefined: Undefined,
        markers: Option<&Arc<Markers>>,
    ) -> Result<String, RecipeError> {
        let limits = self.limits(values)?;
        let environment = self.environment(undefined, markers, limits)?;
        let template = environment.get_template(MAIN).map_err(|error| self.template_error(&error))?;
        let mut output = Capped::default();
        let rendered = template.render_captured_to(Value::from_pairs(values.iter()), &mut output);
        rendered.map(drop).map_err(|error| self.template_error(&error))?;
        String::from_utf8(output.0).map_err(|error| self.error(MAIN, 0, error.to_string()))
    }

    fn environment(
        &self,
        undefined: Undefined,
        markers: Option<&Arc<Markers>>,
        limits: Limits,
    ) -> Result<Environment<'_>, RecipeError> {
        let mut environment = Environment::new();
        environment.set_fuel(Some(limits.steps));
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_undefined_behavior(match undefined {
            Undefined::Empty => UndefinedBehavior::Chainable,
            Undefined::Refused => UndefinedBehavior::Strict,
        });
        add_filters(&mut environment, &Budget::new(limits.made));
        // It would carry texts from one round of a loop to the next.
        environment.remove_global("namespace");
        let (written, markers) = (Budget::new(limits.made), markers.map(Arc::clone));
        environment.set_formatter(move |output, state, value| {
            if value.is_undefined() && undefined == Undefined::Refused {
                return Err(Error::new(ErrorKind::UndefinedError, "a value is not defined"));
            }
            write_value(output, state, value, &written, markers.as_deref())
        });
        for (name, text) in &*self.texts {
            environment.add_template(name, text).map_err(|error| self.template_error(&error))?;
        }
        Ok(environment)
    }

    fn template_error(&self, error: &Error) -> RecipeError {
        let mut innermost: &(dyn std::error::Error + 'static) = error;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        let error = innermost.downcast_ref::<Error>().unwrap_or(error);
        let message = match error.kind() {
            ErrorKind::OutOfFuel => "the template takes too many steps; shorten its loops".to_owned(),
            ErrorKind::WriteFailure => format!("the template writes more than {MAX_OUTPUT} bytes"),
            kind => match error.detail() {
                Some(detail) => format!("{kind}: {detail}"),
                None => kind.to_string(),
            },
        };
        self.error(error.name().unwrap_or(MAIN), error.line().unwrap_or_default(), message)
    }

    fn error(&self, name: &str, line: usize, message: impl Into<String>) -> RecipeError {
        error(&self.place, name, line, message)
    }
}

/// Returns an error in a file of a template; line 0 is for the whole file.
fn error(place: &str, name: &str, line: usize, message: impl Into<String>) -> RecipeError {
    let place = match name {
        MAIN => place.to_owned(),
        name => Path::new(place).with_file_name(name).display().to_string(),
    };
    match line {
        0 => RecipeError::text(place, message),
        line => RecipeError::text(format!("{place}:{line}"), message),
    }
}

impl Includes {
    fn read(&self, name: &str) -> Result<String, String> {
        let is_inside = |name: &str| {
            Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        };
        let outside = || format!("'{name}' is not in the folder of the recipe; put it there");
        if !is_inside(name) {
            return Err(outside());
        }
        match self {
            Self::None => Err(format!("'{name}' cannot be included, because this recipe is not in a folder")),
            Self::Trusted(folder, files) => files.get(&folder.join(name)).cloned().ok_or_else(|| {
                format!("'{name}' is not a trusted recipe of the project; run `goose configure trust`")
            }),
            Self::Folder(folder) => {
                let missing = |_| format!("there is no file '{name}' beside the recipe");
                let folder = folder.canonicalize().map_err(missing)?;
                // A link out of the folder is not followed.
                let path = folder.join(name).canonicalize().map_err(missing)?;
                if !path.starts_with(&folder) {
                    return Err(outside());
                }
                let text = read_capped(&path, MAX_RECIPE_BYTES).map_err(|error| error.to_string())?;
                text.ok_or_else(|| format!("there is no file '{name}' beside the recipe"))
            }
        }
    }
}

/// Returns the file of a tag that includes one.
fn included<'t>(tag: &Tag<'t>) -> Result<Option<&'t str>, String> {
    let keyword = tag.keyword().filter(|_| tag.kind == TagKind::Statement);
    let Some(keyword @ ("extends" | "include" | "import" | "from")) = keyword else { return Ok(None) };
    let names_only = tag.without_strings().trim().trim_start_matches(keyword).trim().is_empty();
    match tag.first_string() {
        Some(name) if names_only => Ok(Some(name)),
        _ => {
            Err(format!("the file of '{keyword}' must be written as a text, such as {keyword} \"base.yaml\""))
        }
    }
}

/// Marks expressions that are none, such as `{{ your name }}`, as plain text.
fn with_literals(text: &str) -> Cow<'_, str> {
    let environment = Environment::empty();
    let is_literal = |tag: &Tag<'_>| {
        tag.kind == TagKind::Expression && environment.compile_expression(tag.inner.trim()).is_err()
    };
    let literals: Vec<_> = tags(text).into_iter().filter(is_literal).map(|tag| tag.range).collect();
    if literals.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut marked, mut at) = (String::new(), 0);
    for range in literals {
        marked.push_str(&text[at..range.start]);
        marked.push_str("{% raw %}");
        marked.push_str(&text[range.clone()]);
        marked.push_str("{% endraw %}");
        at = range.end;
    }
    marked.push_str(&text[at..]);
    Cow::Owned(marked)
}

/// Writes a value, as a marker where its characters could mean something else.
fn write_value(
    output: &mut Output<'_>,
    _: &mut State<'_, '_>,
    value: &Value,
    written: &Budget,
    markers: Option<&Markers>,
) -> Result<(), Error> {
    let text = value.to_string();
    written.spend(text.len())?;
    let text = markers.map_or(text.clone(), |markers| markers.written(&text));
    Ok(output.write_str(&text)?)
}

/// Returns true if two texts have the same lines, whatever their indentation: [`Markers`] have their own.
fn is_same_but_indents(one: &str, two: &str) -> bool {
    one.lines().map(str::trim_start).eq(two.lines().map(str::trim_start))
}

/// Output of a template.
#[derive(Default)]
struct Capped(Vec<u8>);

impl std::io::Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT {
            return Err(std::io::Error::other(too_long(MAX_OUTPUT)));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
