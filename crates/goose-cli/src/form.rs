//! The fields of a form that a server requests, and the validation of answers.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// A field of a form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    /// Key in the answer.
    pub(crate) name: String,
    /// Display name.
    title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Text { length: Range, format: Option<String> },
    Integer(Range),
    Number(Range),
    Boolean,
    Choice(Vec<Choice>),
    Choices { among: Vec<Choice>, count: Range },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    value: String,
    pub(crate) label: String,
}

/// Optional bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    least: Option<f64>,
    most: Option<f64>,
}

impl Range {
    fn from_schema(schema: &Value, least: &str, most: &str) -> Self {
        Self { least: schema[least].as_f64(), most: schema[most].as_f64() }
    }

    fn holds(self, number: f64) -> bool {
        self.least.is_none_or(|least| number >= least) && self.most.is_none_or(|most| number <= most)
    }

    /// Describes the bounds, such as ` from 1 to 10`; empty without bounds.
    fn words(self) -> String {
        match (self.least, self.most) {
            (Some(least), Some(most)) => format!(" from {least} to {most}"),
            (Some(least), None) => format!(" of at least {least}"),
            (None, Some(most)) => format!(" of at most {most}"),
            (None, None) => String::new(),
        }
    }
}

impl Field {
    /// Reads a field from its JSON schema.
    pub(crate) fn from_schema(name: &str, schema: &Value, required: bool) -> Self {
        let text = |key: &str| schema[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Self {
            name: name.to_owned(),
            title: text("title"),
            description: text("description"),
            required,
            default: Some(schema["default"].clone()).filter(|default| !default.is_null()),
            kind: Kind::from_schema(schema),
        }
    }

    /// Returns the display name.
    pub(crate) fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// Returns the choices, if the field has any.
    pub(crate) fn choices(&self) -> &[Choice] {
        match &self.kind {
            Kind::Choice(among) | Kind::Choices { among, .. } => among,
            _ => &[],
        }
    }

    /// Describes the expected answer, such as `whole number from 1 to 10, optional`.
    pub(crate) fn hint(&self) -> String {
        let mut hint = match &self.kind {
            Kind::Text { format: Some(format), .. } => format.clone(),
            Kind::Text { length, .. } if length.words().is_empty() => "text".to_owned(),
            Kind::Text { length, .. } => format!("text{} characters", length.words()),
            Kind::Integer(range) => format!("whole number{}", range.words()),
            Kind::Number(range) => format!("number{}", range.words()),
            Kind::Boolean => "yes or no".to_owned(),
            Kind::Choice(_) => "one of these".to_owned(),
            Kind::Choices { .. } => "any of these, separated by commas".to_owned(),
        };
        if !self.required {
            hint.push_str(", optional");
        }
        if let Some(default) = &self.default {
            // Writing into a string cannot fail.
            let _ = write!(hint, "; Enter for {}", self.shown(default));
        }
        hint
    }

    /// Formats a value as the user would type it.
    fn shown(&self, value: &Value) -> String {
        match value {
            Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
            Value::String(text) => {
                let choice = self.choices().iter().find(|choice| choice.value == *text);
                choice.map_or(text, |choice| &choice.label).clone()
            }
            Value::Array(items) => items.iter().map(|item| self.shown(item)).collect::<Vec<_>>().join(", "),
            other => other.to_string(),
        }
    }

    /// Parses an answer, or describes what is wrong with it.
    pub(crate) fn read(&self, answer: &str) -> Result<Value, String> {
        match &self.kind {
            Kind::Text { length, format } => read_text(answer, *length, format.as_deref()),
            Kind::Integer(range) => read_integer(answer, *range),
            Kind::Number(range) => read_number(answer, *range),
            Kind::Boolean => read_boolean(answer),
            Kind::Choice(among) => choose(answer, among).map(Value::String),
            Kind::Choices { among, count } => {
                let parts = answer.split(',').map(str::trim).filter(|part| !part.is_empty());
                let chosen = parts.map(|part| choose(part, among)).collect::<Result<Vec<_>, _>>()?;
                let number = chosen.len() as f64;
                if count.holds(number) {
                    Ok(json!(chosen))
                } else {
                    Err(format!("Choose a number{} of them.", count.words()))
                }
            }
        }
    }
}

impl Kind {
    fn from_schema(schema: &Value) -> Self {
        let single = choices(schema, "oneOf");
        if !single.is_empty() {
            return Self::Choice(single);
        }
        match schema["type"].as_str() {
            Some("integer") => Self::Integer(Range::from_schema(schema, "minimum", "maximum")),
            Some("number") => Self::Number(Range::from_schema(schema, "minimum", "maximum")),
            Some("boolean") => Self::Boolean,
            Some("array") => Self::Choices {
                among: choices(&schema["items"], "anyOf"),
                count: Range::from_schema(schema, "minItems", "maxItems"),
            },
            _ => Self::Text {
                length: Range::from_schema(schema, "minLength", "maxLength"),
                format: schema["format"].as_str().map(str::to_owned),
            },
        }
    }
}

/// Reads a list of choices, with or without names.
fn choices(schema: &Value, titled: &str) -> Vec<Choice> {
    if let Some(options) = schema[titled].as_array() {
        let choice = |option: &Value| {
            let value = option["const"].as_str()?.to_owned();
            let label = option["title"].as_str().map_or_else(|| value.clone(), str::to_owned);
            Some(Choice { value, label })
        };
        return options.iter().filter_map(choice).collect();
    }
    let values = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let choice = |(index, value): (usize, &str)| {
        let label = schema["enumNames"][index].as_str().unwrap_or(value);
        Choice { value: value.to_owned(), label: label.to_owned() }
    };
    values.enumerate().map(choice).collect()
}

/// Finds a choice by its value, its name, or its number in the list.
fn choose(answer: &str, among: &[Choice]) -> Result<String, String> {
    let by_value = among.iter().find(|choice| choice.value == answer);
    let by_label = || among.iter().find(|choice| choice.label.eq_ignore_ascii_case(answer));
    let by_number = || answer.parse::<usize>().ok().and_then(|number| among.get(number.checked_sub(1)?));
    by_value.or_else(by_label).or_else(by_number).map(|choice| choice.value.clone()).ok_or_else(|| {
        format!("`{answer}` is not among the choices. Give a number from 1 to {}.", among.len())
    })
}

fn read_text(answer: &str, length: Range, format: Option<&str>) -> Result<Value, String> {
    if !length.holds(answer.chars().count() as f64) {
        return Err(format!("Give a text{} characters.", length.words()));
    }
    let fits = match format {
        Some("email") => {
            answer.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
        }
        Some("uri") => {
            answer.split_once(':').is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty())
        }
        Some("date") => is_date(answer),
        Some("date-time") => {
            answer.split_once(['T', ' ']).is_some_and(|(date, time)| is_date(date) && time.contains(':'))
        }
        _ => true,
    };
    if fits { Ok(json!(answer)) } else { Err(wanted_format(format.unwrap_or_default())) }
}

fn wanted_format(format: &str) -> String {
    let example = match format {
        "email" => "ada@example.com",
        "uri" => "https://example.com",
        "date" => "2026-07-28",
        _ => "2026-07-28T12:00:00Z",
    };
    format!("That is not a valid {format}. Give one like {example}.")
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_number =
        |part: &&str, digits: usize| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
    matches!(parts.as_slice(), [year, month, day]
        if is_number(year, 4) && is_number(month, 2) && is_number(day, 2))
}

fn read_integer(answer: &str, range: Range) -> Result<Value, String> {
    match answer.parse::<i64>() {
        Ok(number) if range.holds(number as f64) => Ok(json!(number)),
        _ => Err(format!("Give a whole number{}.", range.words())),
    }
}

fn read_number(answer: &str, range: Range) -> Result<Value, String> {
    match answer.parse::<f64>() {
        Ok(number) if number.is_finite() && range.holds(number) => Ok(json!(number)),
        _ => Err(format!("Give a number{}.", range.words())),
    }
}

fn read_boolean(answer: &str) -> Result<Value, String> {
    match answer.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Ok(json!(true)),
        "n" | "no" | "false" => Ok(json!(false)),
        _ => Err("Give yes or no.".to_owned()),
    }
}
