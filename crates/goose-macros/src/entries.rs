//! The inside of an attribute: `key`, `key = value`, separated by commas. `#[tool]`, `#[extension]` and
//! `#[arg]` share it, so that unknown and repeated keys are answered in one way.

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Expr, ExprLit, Ident, Lit, LitBool, Token,
    ext::IdentExt as _,
    parse::{Parse, ParseStream, Parser as _},
};

use crate::errors::Errors;

/// Reads the entries of the attribute `name`; `read` gets each known key and what follows it.
///
/// A wrong entry is skipped up to the next comma, so that the others are still read.
pub(crate) fn read_entries(
    name: &str,
    tokens: TokenStream,
    known: &[&str],
    errors: &mut Errors,
    mut read: impl FnMut(&Ident, ParseStream<'_>) -> syn::Result<()>,
) {
    let parser = |input: ParseStream<'_>| {
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            let key = Ident::parse_any(input)?;
            let result = check_key(name, &key, known, &seen).and_then(|()| read(&key, input));
            seen.push(key);
            match errors.keep(result) {
                Some(()) => end_of_entry(input)?,
                None => skip_entry(input)?,
            }
        }
        Ok(())
    };
    let result = parser.parse2(tokens);
    errors.keep(result);
}

fn check_key(name: &str, key: &Ident, known: &[&str], seen: &[Ident]) -> syn::Result<()> {
    if !known.iter().any(|known| key == known) {
        let known = known.join("`, `");
        return Err(syn::Error::new(key.span(), format!("`#[{name}]` has no `{key}`; it has `{known}`")));
    }
    if seen.contains(key) {
        return Err(syn::Error::new(key.span(), format!("`{key}` is given twice")));
    }
    Ok(())
}

fn end_of_entry(input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() { Ok(()) } else { input.parse::<Token![,]>().map(|_| ()) }
}

fn skip_entry(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    end_of_entry(input)
}

/// The value after a key: `= …`.
pub(crate) fn value<T: Parse>(key: &Ident, input: ParseStream<'_>) -> syn::Result<T> {
    if !input.peek(Token![=]) {
        return Err(syn::Error::new(key.span(), format!("`{key}` needs a value: `{key} = …`")));
    }
    input.parse::<Token![=]>()?;
    input.parse()
}

/// A text for people or models after a key; any expression, but not an empty literal.
pub(crate) fn text(key: &Ident, input: ParseStream<'_>) -> syn::Result<Expr> {
    let text = value(key, input)?;
    match &text {
        Expr::Lit(ExprLit { lit: Lit::Str(literal), .. }) if literal.value().trim().is_empty() => {
            Err(syn::Error::new(literal.span(), "this text is empty; leave it out or say something"))
        }
        Expr::Lit(ExprLit { lit, .. }) if !matches!(lit, Lit::Str(_)) => {
            Err(syn::Error::new(lit.span(), "expected a string"))
        }
        _ => Ok(text),
    }
}

/// A key that stands for itself, or says `= true` or `= false`.
pub(crate) fn flag(key: &Ident, input: ParseStream<'_>) -> syn::Result<bool> {
    if input.peek(Token![=]) { Ok(value::<LitBool>(key, input)?.value) } else { Ok(true) }
}
