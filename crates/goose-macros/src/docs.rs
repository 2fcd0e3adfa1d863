//! Doc comments as text for a model.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Whether `attribute` is a doc comment (and not `#[doc(hidden)]`).
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
    use super::tidy;

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
