//! Links to recipes, `goose://recipe?config=…`: the recipe as JSON in URL-safe base64, then values of its
//! parameters.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use url::Url;

use super::{Recipe, RecipeError, Values};

/// Maximum length of a link, in bytes.
const MAX_LINK: usize = 2 * 1024 * 1024;

const SCHEMES: [&str; 3] = ["goose://recipe?", "goose://recipe/?", "goose:recipe?"];

/// Returns true for a text that is a link to a recipe.
pub fn is_link(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// Returns the link to a recipe with its templates, and with values for its parameters.
///
/// # Errors
///
/// Fails if the recipe cannot be written as JSON.
pub fn link(recipe: &Recipe, values: &Values) -> Result<String, RecipeError> {
    let json = serde_json::to_vec(&recipe.written())
        .map_err(|error| RecipeError::text(&recipe.title, error.to_string()))?;
    let mut link = format!("goose://recipe?config={}", URL_SAFE_NO_PAD.encode(json));
    for (key, value) in values.iter() {
        link.push_str(&format!("&{}={}", percent_encoded(key), percent_encoded(value)));
    }
    Ok(link)
}

/// Returns the JSON of the recipe in a link, and the values in it.
///
/// # Errors
///
/// Fails if the link is damaged.
pub fn parse(link: &str) -> Result<(String, Values), RecipeError> {
    let damaged = |reason: &str| {
        RecipeError::text("the link", format!("{reason}; copy it as a whole, `goose://recipe?config=…`"))
    };
    if link.len() > MAX_LINK {
        return Err(damaged(&format!("it is longer than {MAX_LINK} bytes")));
    }
    let url = Url::parse(link).map_err(|error| damaged(&error.to_string()))?;
    let (mut config, mut values) = (None, Values::default());
    for (key, value) in url.query_pairs() {
        match &*key {
            "config" => config = Some(value.into_owned()),
            _ => values.set(key.into_owned(), value.into_owned()),
        }
    }
    let config = config.ok_or_else(|| damaged("it has no recipe"))?;
    // Both alphabets of base64, with and without padding.
    let config = config.trim_end_matches('=').replace(['+', ' '], "-").replace('/', "_");
    let json = URL_SAFE_NO_PAD
        .decode(config)
        .map_err(|error| damaged(&format!("its recipe is not base64 ({error})")))?;
    let json = String::from_utf8(json).map_err(|_| damaged("its recipe is not text"))?;
    Ok((json, values))
}

/// Encodes everything but letters, digits and `-_.~`.
fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}
