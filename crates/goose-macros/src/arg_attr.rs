//! `#[arg(…)]` on a parameter: its default, its name for callers, its description and its limits.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::{
    Expr, Ident, Lit, LitStr, Token, Type, ext::IdentExt as _, parse::ParseStream, spanned::Spanned as _,
};

use crate::{
    entries::{read_entries, text, value},
    errors::Errors,
    limits::{self, Limit, literal},
    types::{located, option_inner},
};

const KEYS: [&str; 11] = [
    "default",
    "description",
    "rename",
    "min",
    "max",
    "min_length",
    "max_length",
    "min_items",
    "max_items",
    "pattern",
    "format",
];

/// The attribute of one parameter.
#[derive(Default)]
pub(crate) struct ArgAttr {
    pub(crate) description: Option<Expr>,
    pub(crate) rename: Option<LitStr>,
    default: Option<DefaultValue>,
    limits: Vec<Limit>,
}

enum DefaultValue {
    OfType,
    Given(Box<Expr>),
}

impl ArgAttr {
    /// Reads the inside of `#[arg(…)]`.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut attr = Self::default();
        read_entries("arg", tokens, &KEYS, errors, |key, input| attr.read(key, input));
        attr
    }

    fn read(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match key.to_string().as_str() {
            "default" if input.peek(Token![=]) => {
                let value = without_self(value(key, input)?)?;
                self.default = Some(DefaultValue::Given(Box::new(value)));
            }
            "default" => self.default = Some(DefaultValue::OfType),
            "description" => self.description = Some(without_self(text(key, input)?)?),
            "rename" => self.rename = Some(value(key, input)?),
            _ => self.limits.push(Limit::new(key, without_self(value(key, input)?)?)?),
        }
        Ok(())
    }

    /// Reports what does not go together: with a parameter of type `ty`, or with itself.
    pub(crate) fn check(&self, ty: &Type, errors: &mut Errors) {
        let default = match &self.default {
            Some(DefaultValue::Given(value)) => Some(&**value),
            _ => None,
        };
        limits::check(&self.limits, default, ty, errors);
    }

    /// The attributes of the field, and the function that makes its default value where it has one.
    pub(crate) fn field(&self, ident: &Ident, ty: &Type) -> (TokenStream, Option<TokenStream>) {
        let rename = self.rename.iter().map(|rename| quote!(#[serde(rename = #rename)]));
        let limits = self.limits.iter().map(|limit| {
            let (keyword, value) = (limit.keyword(), &limit.value);
            quote!(#[schemars(extend(#keyword = #value))])
        });
        let (default, function) = match &self.default {
            None => (None, None),
            Some(DefaultValue::OfType) => (Some(quote!(#[serde(default)])), None),
            Some(DefaultValue::Given(value)) => {
                let name = format_ident!("__default_{}", ident.unraw());
                let path = name.to_string();
                let value = fitted(value, ty);
                (Some(quote!(#[serde(default = #path)])), Some(quote!(fn #name() -> #ty { #value })))
            }
        };
        (quote!(#(#rename)* #(#limits)* #default), function)
    }
}

/// A default as the parameter's type: a literal may stand for a `String`, a path, or the inside of an `Option`.
fn fitted(value: &Expr, ty: &Type) -> TokenStream {
    let span = located(value.span());
    let Some((literal, _)) = literal(value) else { return value.to_token_stream() };
    let owned = match literal {
        Lit::Str(_) => quote_spanned!(span=> ::core::convert::Into::into(#value)),
        _ => value.to_token_stream(),
    };
    match option_inner(ty) {
        Some(_) => quote_spanned!(span=> ::core::option::Option::Some(#owned)),
        None => owned,
    }
}

/// The expression stands in an item of its own, where `Self` has no meaning.
fn without_self(value: Expr) -> syn::Result<Expr> {
    match find_self(value.to_token_stream()) {
        Some(found) => Err(syn::Error::new(found.span(), "`Self` is not known here; write the type's name")),
        None => Ok(value),
    }
}

fn find_self(tokens: TokenStream) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident == "Self" => Some(ident),
        TokenTree::Group(group) => find_self(group.stream()),
        _ => None,
    })
}
