//! Jinja templates of recipes, bounded in time and size.
//!
//! minijinja counts instructions and limits the depth of includes. The rest is bounded here: output, also of
//! captured blocks; operators and filters that join texts, which could double a text with each step; files,
//! which are read before anything is rendered and come from the folder of the recipe only.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior,
    value::{Value, ValueKind},
};

use super::{
    RECIPE_DIR, RecipeError, Values,
    literal::{Tag, TagKind, tags},
    markers::Markers,
    source::MAX_RECIPE_BYTES,
};
use crate::config::read_capped;

/// Maximum number of instructions of a rendering. Templates of real recipes need a few hundred.
const MAX_STEPS: u64 = 100_000;

/// Maximum size of everything that a rendering writes, in bytes.
const MAX_OUTPUT: usize = 1024 * 1024;

/// Maximum number of files of a recipe.
const MAX_FILES: usize = 32;

/// Maximum number of operators that join texts.
const MAX_JOINS: usize = 64;

/// Maximum number of those whose result gets a name, because each can double a text.
const MAX_NAMED_JOINS: usize = 4;

/// Maximum width of an indentation.
const MAX_INDENT: usize = 1_000;

/// Name of the recipe's own text.
const MAIN: &str = "recipe";

/// Methods of texts and mappings that need no more room than the text.
const METHODS: &[&str] = &[
    "capitalize",
    "count",
    "endswith",
    "find",
    "get",
    "isalnum",
    "isalpha",
    "isascii",
    "isdigit",
    "islower",
    "isnumeric",
    "isupper",
    "items",
    "keys",
    "lower",
    "lstrip",
    "rfind",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "title",
    "upper",
    "values",
];

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
pub(super) struct Template<'r> {
    /// Path for errors.
    place: &'r str,
    /// Texts by the name that templates use.
    texts: BTreeMap<String, String>,
}

/// Rendered text, in which markers stand for values.
pub(super) struct Rendered {
    pub(super) text: String,
    pub(super) markers: Arc<Markers>,
}

impl<'r> Template<'r> {
    /// Reads the files of a template and checks its tags.
    pub(super) fn load(place: &'r str, text: &str, includes: &Includes) -> Result<Self, RecipeError> {
        let mut template = Self { place, texts: BTreeMap::new() };
        let mut joins = Joins::default();
        template.add(MAIN.to_owned(), text.to_owned(), includes, &mut joins, &mut Vec::new())?;
        Ok(template)
    }

    /// Adds a text and those that it includes. `above` are the files that include it.
    fn add(
        &mut self,
        name: String,
        text: String,
        includes: &Includes,
        joins: &mut Joins,
        above: &mut Vec<String>,
    ) -> Result<(), RecipeError> {
        if self.texts.len() >= MAX_FILES {
            return Err(self.error(&name, 0, format!("it includes more than {MAX_FILES} files; use fewer")));
        }
        let text = with_literals(&text).into_owned();
        let tags = tags(&text);
        let mut files = Vec::new();
        for tag in &tags {
            let line = text[..tag.range.start].lines().count().max(1);
            joins.count(tag).map_err(|message| self.error(&name, line, message))?;
            if let Some(file) = included(tag).map_err(|message| self.error(&name, line, message))? {
                files.push((file.to_owned(), line));
            }
        }
        self.texts.insert(name.clone(), text.clone());
        above.push(name.clone());
        for (file, line) in files {
            if above.contains(&file) {
                let path = [above.as_slice(), &[file]].concat().join(" → ");
                return Err(self.error(
                    &name,
                    line,
                    format!("files include each other: {path}; remove one of the tags"),
                ));
            }
            if !self.texts.contains_key(&file) {
                let included = includes.read(&file).map_err(|message| self.error(&name, line, message))?;
                self.add(file, included, includes, joins, above)?;
            }
        }
        above.pop();
        Ok(())
    }

    /// Returns true if the text is only complete with other files.
    pub(super) fn has_includes(&self) -> bool {
        self.texts.len() > 1
    }

    /// Returns the variables that the template uses and does not define.
    pub(super) fn variables(&self) -> Result<BTreeSet<String>, RecipeError> {
        let environment = self.environment(Undefined::Empty, None)?;
        let globals: BTreeSet<&str> = environment.globals().map(|(name, _)| name).collect();
        let mut variables = BTreeSet::new();
        for name in self.texts.keys() {
            let template = environment.get_template(name).map_err(|error| self.template_error(&error))?;
            variables.extend(template.undeclared_variables(false));
        }
        variables.retain(|name| name != RECIPE_DIR && !globals.contains(name.as_str()));
        Ok(variables)
    }

    /// Renders the text.
    pub(super) fn render(&self, values: &Values, undefined: Undefined) -> Result<Rendered, RecipeError> {
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
        let environment = self.environment(undefined, markers)?;
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
    ) -> Result<Environment<'_>, RecipeError> {
        let mut environment = Environment::new();
        environment.set_fuel(Some(MAX_STEPS));
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_undefined_behavior(match undefined {
            Undefined::Empty => UndefinedBehavior::Chainable,
            Undefined::Refused => UndefinedBehavior::Strict,
        });
        environment.set_unknown_method_callback(call_method);
        environment.add_filter("join", join);
        environment.add_filter("replace", replace);
        environment.add_filter("indent", indent);
        // Widths in a format could be of any size.
        environment.remove_filter("format");
        // It would carry texts from one round of a loop to the next.
        environment.remove_global("namespace");
        let (written, markers) = (AtomicUsize::new(0), markers.map(Arc::clone));
        environment.set_formatter(move |output, state, value| {
            if value.is_undefined() && undefined == Undefined::Refused {
                return Err(Error::new(ErrorKind::UndefinedError, "a value is not defined"));
            }
            write_value(output, state, value, &written, markers.as_deref())
        });
        for (name, text) in &self.texts {
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
            ErrorKind::OutOfFuel => {
                format!("the template takes more than {MAX_STEPS} steps; shorten its loops")
            }
            ErrorKind::WriteFailure => format!("the template writes more than {MAX_OUTPUT} bytes"),
            kind => match error.detail() {
                Some(detail) => format!("{kind}: {detail}"),
                None => kind.to_string(),
            },
        };
        self.error(error.name().unwrap_or(MAIN), error.line().unwrap_or_default(), message)
    }

    fn error(&self, name: &str, line: usize, message: impl Into<String>) -> RecipeError {
        let place = match name {
            MAIN => self.place.to_owned(),
            name => Path::new(self.place).with_file_name(name).display().to_string(),
        };
        match line {
            0 => RecipeError::text(place, message),
            line => RecipeError::text(format!("{place}:{line}"), message),
        }
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

/// Number of operators that join texts.
#[derive(Default)]
struct Joins {
    all: usize,
    named: usize,
}

impl Joins {
    fn count(&mut self, tag: &Tag<'_>) -> Result<(), String> {
        let code = tag.without_strings();
        if code.contains('*') {
            return Err("'*' is not available, because it could repeat a text without a limit".to_owned());
        }
        let joins = code.chars().filter(|c| matches!(c, '~' | '+')).count();
        let names = |keyword| matches!(keyword, "set" | "with" | "for" | "include");
        if tag.kind == TagKind::Statement && tag.keyword().is_some_and(names) {
            self.named += joins;
        }
        self.all += joins;
        if self.named > MAX_NAMED_JOINS || self.all > MAX_JOINS {
            return Err(format!(
                "a template may join texts with '~' and '+' {MAX_JOINS} times, {MAX_NAMED_JOINS} of them in 'set' or 'for'"
            ));
        }
        Ok(())
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
    written: &AtomicUsize,
    markers: Option<&Markers>,
) -> Result<(), Error> {
    let text = value.to_string();
    if written.fetch_add(text.len(), Ordering::Relaxed) + text.len() > MAX_OUTPUT {
        return Err(too_long());
    }
    let text = markers.map_or(text.clone(), |markers| markers.written(&text));
    Ok(output.write_str(&text)?)
}

/// Returns true if two texts have the same lines, whatever their indentation: [`Markers`] have their own.
fn is_same_but_indents(one: &str, two: &str) -> bool {
    one.lines().map(str::trim_start).eq(two.lines().map(str::trim_start))
}

fn too_long() -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("the template writes more than {MAX_OUTPUT} bytes"))
}

/// Output of a template.
#[derive(Default)]
struct Capped(Vec<u8>);

impl std::io::Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT {
            return Err(std::io::Error::other(too_long()));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn join(items: Value, separator: Option<String>) -> Result<String, Error> {
    let separator = separator.unwrap_or_default();
    let mut joined = String::new();
    for (index, item) in items.try_iter()?.enumerate() {
        if index > 0 {
            joined.push_str(&separator);
        }
        joined.push_str(&item.to_string());
        if joined.len() > MAX_OUTPUT {
            return Err(too_long());
        }
    }
    Ok(joined)
}

fn replace(text: &str, from: &str, to: &str) -> Result<String, Error> {
    let count = text.matches(from).count();
    match count.checked_mul(to.len()).is_some_and(|more| more + text.len() <= MAX_OUTPUT) {
        true => Ok(text.replace(from, to)),
        false => Err(too_long()),
    }
}

/// Indents all lines but the first, or all.
fn indent(
    text: &str,
    width: Option<usize>,
    first: Option<bool>,
    blank: Option<bool>,
) -> Result<String, Error> {
    let width = width.unwrap_or(4);
    if width > MAX_INDENT {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("the indentation is larger than {MAX_INDENT}"),
        ));
    }
    let prefix = " ".repeat(width);
    let (mut indented, mut is_first) = (String::new(), !first.unwrap_or(false));
    for line in text.trim_end_matches('\n').split_inclusive('\n') {
        let is_blank = line.trim_end_matches(['\n', '\r']).is_empty();
        if !is_first && (!is_blank || blank.unwrap_or(false)) {
            indented.push_str(&prefix);
        }
        indented.push_str(line);
        is_first = false;
        if indented.len() > MAX_OUTPUT {
            return Err(too_long());
        }
    }
    Ok(indented)
}

/// Calls a method as Python has it. A method of nothing is nothing.
fn call_method(
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    let text = |index: usize| arguments.get(index).and_then(Value::as_str).unwrap_or_default();
    match (value.kind(), method) {
        (ValueKind::Undefined, _) if state.env().undefined_behavior() == UndefinedBehavior::Chainable => {
            Ok(Value::UNDEFINED)
        }
        (ValueKind::String, "replace") if arguments.len() == 2 => {
            replace(value.as_str().unwrap_or_default(), text(0), text(1)).map(Value::from)
        }
        (ValueKind::String, "join") if arguments.len() == 1 => {
            join(arguments[0].clone(), value.as_str().map(str::to_owned)).map(Value::from)
        }
        (_, method) if METHODS.contains(&method) => {
            minijinja_contrib::pycompat::unknown_method_callback(state, value, method, arguments)
        }
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}
