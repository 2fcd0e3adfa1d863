//! Filters and methods of templates that make texts, with the limits of [`Budget`].

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use minijinja::{
    Environment, Error, ErrorKind, State, UndefinedBehavior,
    value::{Value, ValueKind},
};

/// Maximum width of an indentation.
const MAX_INDENT: usize = 1_000;

/// Maximum number of parts that a list is cut into.
const MAX_PARTS: usize = 1_000;

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

/// Texts that a rendering may still make.
#[derive(Clone)]
pub(super) struct Budget {
    used: Arc<AtomicUsize>,
    limit: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self { used: Arc::default(), limit }
    }

    pub(super) fn spend(&self, bytes: usize) -> Result<(), Error> {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if used > self.limit { Err(too_long(self.limit)) } else { Ok(()) }
    }
}

/// Replaces filters and methods that could make texts of any size.
pub(super) fn add_filters(environment: &mut Environment<'_>, budget: &Budget) {
    let made = budget.clone();
    environment.set_unknown_method_callback(move |state, value, method, arguments| {
        call_method(state, value, method, arguments, &made)
    });
    let made = budget.clone();
    environment
        .add_filter("join", move |items: Value, separator: Option<String>| join(items, separator, &made));
    let made = budget.clone();
    environment.add_filter("replace", move |text: &str, from: &str, to: &str| replace(text, from, to, &made));
    let made = budget.clone();
    environment.add_filter(
        "indent",
        move |text: &str, width: Option<usize>, first: Option<bool>, blank: Option<bool>| {
            indent(text, width, (first, blank), &made)
        },
    );
    environment.add_filter("batch", |state: &State<'_, '_>, items: Value, count: usize| {
        minijinja::filters::batch(state, items, count, None)
    });
    environment.add_filter("slice", |state: &State<'_, '_>, items: Value, count: usize| {
        if count > MAX_PARTS {
            return Err(invalid(format!("a list is cut into more than {MAX_PARTS} parts")));
        }
        minijinja::filters::slice(state, items, count, None)
    });
    // Widths in a format could be of any size.
    environment.remove_filter("format");
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

fn join(items: Value, separator: Option<String>, made: &Budget) -> Result<String, Error> {
    let separator = separator.unwrap_or_default();
    let mut joined = String::new();
    for (index, item) in items.try_iter()?.enumerate() {
        let item = item.to_string();
        made.spend(item.len() + separator.len())?;
        if index > 0 {
            joined.push_str(&separator);
        }
        joined.push_str(&item);
    }
    Ok(joined)
}

fn replace(text: &str, from: &str, to: &str, made: &Budget) -> Result<String, Error> {
    made.spend(text.matches(from).count().saturating_mul(to.len()).saturating_add(text.len()))?;
    Ok(text.replace(from, to))
}

/// Indents all lines but the first, or all.
fn indent(
    text: &str,
    width: Option<usize>,
    (first, blank): (Option<bool>, Option<bool>),
    made: &Budget,
) -> Result<String, Error> {
    let width = width.unwrap_or(4);
    if width > MAX_INDENT {
        return Err(invalid(format!("the indentation is larger than {MAX_INDENT}")));
    }
    let prefix = " ".repeat(width);
    let (mut indented, mut is_first) = (String::new(), !first.unwrap_or(false));
    for line in text.trim_end_matches('\n').split_inclusive('\n') {
        let is_blank = line.trim_end_matches(['\n', '\r']).is_empty();
        if !is_first && (!is_blank || blank.unwrap_or(false)) {
            indented.push_str(&prefix);
        }
        made.spend(width + line.len())?;
        indented.push_str(line);
        is_first = false;
    }
    Ok(indented)
}

/// Calls a method as Python has it. A method of nothing is nothing.
fn call_method(
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    arguments: &[Value],
    made: &Budget,
) -> Result<Value, Error> {
    let text = |index: usize| arguments.get(index).and_then(Value::as_str).unwrap_or_default();
    match (value.kind(), method) {
        (ValueKind::Undefined, _) if state.env().undefined_behavior() == UndefinedBehavior::Chainable => {
            Ok(Value::UNDEFINED)
        }
        (ValueKind::String, "replace") if arguments.len() == 2 => {
            replace(value.as_str().unwrap_or_default(), text(0), text(1), made).map(Value::from)
        }
        (ValueKind::String, "join") if arguments.len() == 1 => {
            join(arguments[0].clone(), value.as_str().map(str::to_owned), made).map(Value::from)
        }
        (_, method) if METHODS.contains(&method) => {
            minijinja_contrib::pycompat::unknown_method_callback(state, value, method, arguments)
        }
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

/// Returns the error of a template that writes too much.
pub(super) fn too_long(limit: usize) -> Error {
    invalid(format!("the template writes more than {limit} bytes"))
}
