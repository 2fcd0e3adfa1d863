//! Names and descriptions as others see them: of tools, of extensions, and the doc comments behind them.

use std::fmt::Display;

use heck::ToSnakeCase as _;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The longest name that every MCP client and model provider accepts.
const MAX_TOOL_NAME: usize = 64;

/// Why `name` cannot be a tool's name, if it cannot.
pub(crate) fn check_tool_name(name: &str) -> Result<(), impl Display + use<>> {
    let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    if (1..=MAX_TOOL_NAME).contains(&name.len()) && name.chars().all(fits) {
        return Ok(());
    }
    Err(format!(
        "a tool's name is 1 to {MAX_TOOL_NAME} ASCII letters, digits, `_` and `-`; models and MCP clients refuse others"
    ))
}

/// The name of an extension from its type: `ScheduleExtension` is `schedule`.
pub(crate) fn extension_name(type_name: &str) -> String {
    let base = type_name.strip_suffix("Extension").filter(|base| !base.is_empty()).unwrap_or(type_name);
    base.to_snake_case()
}

/// Returns whether `attribute` is a doc comment (and not `#[doc(hidden)]`).
pub(crate) fn is_doc(attribute: &Attribute) -> bool {
    doc_value(attribute).is_some()
}

/// The doc comment among `attributes`, as an expression of type `&'static str`.
pub(crate) fn description(attributes: &[Attribute]) -> Option<TokenStream> {
    let values: Vec<&Expr> = attributes.iter().filter_map(doc_value).collect();
    let literals: Option<Vec<String>> = values.iter().map(|value| literal(value)).collect();
    match literals {
        Some(lines) => {
            let text = tidy(&lines.join("\n"));
            (!text.is_empty()).then(|| quote!(#text))
        }
        // `#[doc = include_str!(…)]`: only the compiler knows the text.
        None => Some(quote!(::core::concat!(#(#values, "\n"),*).trim())),
    }
}

fn doc_value(attribute: &Attribute) -> Option<&Expr> {
    match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => Some(&meta.value),
        _ => None,
    }
}

fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// The text without the indentation that all lines share, trailing spaces, and empty lines around it.
fn tidy(text: &str) -> String {
    let filled = text.lines().filter(|line| !line.trim().is_empty());
    let indent = filled.map(|line| line.len() - line.trim_start_matches(' ').len()).min().unwrap_or(0);
    let lines: Vec<&str> =
        text.lines().map(|line| line.get(indent..).unwrap_or_default().trim_end()).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{check_tool_name, extension_name, tidy};

    #[test]
    fn extensions_are_named_after_their_type() {
        let names = [
            ("ScheduleExtension", "schedule"),
            ("FileSystem", "file_system"),
            ("Memory", "memory"),
            ("MCPServer", "mcp_server"),
            ("Http2Client", "http2_client"),
            ("Extension", "extension"),
        ];
        for (type_name, expected) in names {
            assert_eq!(extension_name(type_name), expected);
        }
    }

    #[test]
    fn tool_names_are_what_every_provider_accepts() {
        for name in ["a", "read_file", "Read-File2", &"x".repeat(64)] {
            assert!(check_tool_name(name).is_ok(), "{name}");
        }
        for name in ["", "read file", "lire_été", "a.b", "a/b", &"x".repeat(65)] {
            assert!(check_tool_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn lines_are_trimmed_and_paragraphs_kept() {
        let text = "\n Reads a file.  \n\n - one\n   - nested\n\n";
        assert_eq!(tidy(text), "Reads a file.\n\n- one\n  - nested");
    }

    #[test]
    fn nothing_stays_nothing() {
        assert_eq!(tidy("  \n "), "");
    }
}
