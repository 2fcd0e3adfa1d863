//! [`Values`]: values for the parameters of a recipe, and their checks.

use std::path::Path;

use super::{InputType, Parameter, RecipeError, Requirement};
use crate::config::read_capped;

/// Variable with the folder of the recipe, which every template has.
pub const RECIPE_DIR: &str = "recipe_dir";

/// Maximum size of a file that a parameter names.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// Maximum size of all values together, in bytes.
const MAX_VALUES: usize = 512 * 1024;

/// Values by the key of their parameter, in the order in which they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values(Vec<(String, String)>);

impl Values {
    /// Returns the value of a parameter.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Sets the value of a parameter. The last value counts.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        let (key, value) = (key.into(), value.into());
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some(entry) => entry.1 = value,
            None => self.0.push((key, value)),
        }
    }

    /// Returns all values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Values {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut values = Self::default();
        pairs.into_iter().for_each(|(key, value)| values.set(key, value));
        values
    }
}

/// Splits `KEY=VALUE`.
///
/// # Errors
///
/// Fails if there is no key or no `=`.
pub fn parse_pair(text: &str) -> Result<(String, String), RecipeError> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err(RecipeError::Value(format!("'{text}' is not KEY=VALUE; write it as --params name=Ada"))),
    }
}

/// Text that a template gets for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileValues {
    /// Content of the file.
    Content,
    /// Path of the file.
    Path,
}

/// Returns the values for a template: those that were given, checked, and the defaults.
pub(super) fn complete(
    parameters: &[Parameter],
    given: &Values,
    files: FileValues,
    place: &str,
    folder: &Path,
) -> Result<Values, RecipeError> {
    let is_known = |key: &str| key == RECIPE_DIR || parameters.iter().any(|it| it.key == key);
    if let Some((unknown, _)) = given.iter().find(|(key, _)| !is_known(key)) {
        let known: Vec<&str> = parameters.iter().map(|it| it.key.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(RecipeError::Value(format!(
            "{place}: there is no parameter '{unknown}'. Parameters: {known}"
        )));
    }
    let lacks = |parameter: &&Parameter| given.get(&parameter.key).is_none() && parameter.default.is_none();
    let missing: Vec<String> = parameters.iter().filter(lacks).map(|it| it.key.clone()).collect();
    if !missing.is_empty() {
        return Err(RecipeError::Missing { place: place.to_owned(), parameters: missing });
    }
    let mut values = Values::default();
    for parameter in parameters {
        let value = given.get(&parameter.key).or(parameter.default.as_deref()).unwrap_or_default();
        let is_path = files == FileValues::Path && parameter.input_type == InputType::File;
        let value =
            if is_path { value.to_owned() } else { parameter.checked(value).map_err(RecipeError::Value)? };
        values.set(&parameter.key, value);
    }
    let folder = folder.to_string_lossy();
    values.set(RECIPE_DIR, given.get(RECIPE_DIR).unwrap_or(&folder));
    let size: usize = values.iter().map(|(_, value)| value.len()).sum();
    if size > MAX_VALUES {
        return Err(RecipeError::Value(format!(
            "{place}: the values have {size} bytes, more than {MAX_VALUES}; let goose read large files itself"
        )));
    }
    Ok(values)
}

impl Parameter {
    /// Returns true if a value must be given.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && self.requirement != Requirement::Optional
    }

    /// Checks a value against the type, and returns the text for the template.
    ///
    /// # Errors
    ///
    /// Fails with a text that says what is expected.
    pub(super) fn checked(&self, value: &str) -> Result<String, String> {
        let wrong = |expected: &str| Err(format!("the parameter '{}' is '{value}'; {expected}", self.key));
        match self.input_type {
            InputType::String => {}
            InputType::Number if value.trim().parse::<f64>().is_ok_and(f64::is_finite) => {}
            InputType::Number => return wrong("give a number"),
            InputType::Boolean if matches!(value, "true" | "false") => {}
            InputType::Boolean => return wrong("give true or false"),
            InputType::Date if value.parse::<jiff::civil::Date>().is_ok() => {}
            InputType::Date => return wrong("give a date, such as 2026-01-31"),
            InputType::Select => {
                let options = self.options.as_deref().unwrap_or_default();
                if !options.is_empty() && !options.iter().any(|option| option == value) {
                    return wrong(&format!("give one of {}", options.join(", ")));
                }
            }
            InputType::File => return self.content(Path::new(value)),
        }
        Ok(value.to_owned())
    }

    /// Checks a value, as the user has typed it.
    ///
    /// # Errors
    ///
    /// Fails with a text that says what is expected.
    pub fn check(&self, value: &str) -> Result<(), RecipeError> {
        self.checked(value).map(drop).map_err(RecipeError::Value)
    }

    fn content(&self, path: &Path) -> Result<String, String> {
        let text = read_capped(path, MAX_FILE_BYTES)
            .map_err(|error| format!("the parameter '{}': {error}", self.key))?;
        text.ok_or_else(|| format!("the parameter '{}': there is no file {}", self.key, path.display()))
    }
}
