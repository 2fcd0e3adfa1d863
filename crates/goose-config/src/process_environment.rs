//! The environment of this process. No other file of this crate reads it, so that everything but the
//! constructors named in the crate's documentation depends on its arguments alone.

use std::{env, ffi::OsString};

/// Returns one variable.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}

/// Returns all variables.
pub(crate) fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    env::vars_os()
}

/// Returns the variables that are Unicode.
pub(crate) fn text_variables() -> impl Iterator<Item = (String, String)> {
    variables().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
