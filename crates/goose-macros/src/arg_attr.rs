//! `#[arg(…)]` on a parameter: its default, its name for callers, its description and its limits.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::{
    Expr, ExprGroup, ExprLit, ExprParen, ExprUnary, Ident, Lit, LitStr, Token, Type, UnOp,
    ext::IdentExt as _, parse::ParseStream, spanned::Spanned as _,
};

use crate::{
    entries::{read_entries, text, value},
    errors::Errors,
    types::{Shape, located, option_inner},
};

/// The keys that are not limits.
const KEYS: [&str; 3] = ["default", "description", "rename"];

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
        let keys: Vec<&str> = KEYS.into_iter().chain(KINDS.iter().map(|kind| kind.key)).collect();
        read_entries("arg", tokens, &keys, errors, |key, input| attr.read(key, input));
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
        check(&self.limits, default, ty, errors);
    }

    /// The attributes of the field, and the function that makes its default value where it has one.
    pub(crate) fn field(&self, ident: &Ident, ty: &Type) -> (TokenStream, Option<TokenStream>) {
        let rename = self.rename.iter().map(|rename| quote!(#[serde(rename = #rename)]));
        let limits = self.limits.iter().map(|limit| {
            let (keyword, value) = (limit.kind.keyword, &limit.value);
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

/// One limit.
pub(crate) struct Limit {
    key: Ident,
    kind: &'static Kind,
    pub(crate) value: Expr,
}

/// A key of `#[arg]`, the keyword of JSON Schema for it, what it is given and what it limits.
struct Kind {
    key: &'static str,
    keyword: &'static str,
    given: Given,
    limits: Shape,
}

#[derive(Clone, Copy)]
enum Given {
    Number,
    Count,
    Text,
}

const KINDS: [Kind; 8] = [
    Kind { key: "min", keyword: "minimum", given: Given::Number, limits: Shape::Number },
    Kind { key: "max", keyword: "maximum", given: Given::Number, limits: Shape::Number },
    Kind { key: "min_length", keyword: "minLength", given: Given::Count, limits: Shape::Text },
    Kind { key: "max_length", keyword: "maxLength", given: Given::Count, limits: Shape::Text },
    Kind { key: "min_items", keyword: "minItems", given: Given::Count, limits: Shape::List },
    Kind { key: "max_items", keyword: "maxItems", given: Given::Count, limits: Shape::List },
    Kind { key: "pattern", keyword: "pattern", given: Given::Text, limits: Shape::Text },
    Kind { key: "format", keyword: "format", given: Given::Text, limits: Shape::Text },
];

/// The limits that go together, and how a default is said to be outside of them.
const PAIRS: [(&str, &str, Measure, [&str; 2]); 3] = [
    ("min", "max", number, ["below `min`", "above `max`"]),
    ("min_length", "max_length", length, ["shorter than `min_length`", "longer than `max_length`"]),
    ("min_items", "max_items", |_| None, ["", ""]),
];

type Measure = fn(&Expr) -> Option<f64>;

impl Limit {
    /// The limit `key = value`.
    pub(crate) fn new(key: &Ident, value: Expr) -> syn::Result<Self> {
        let kind = KINDS.iter().find(|kind| key == kind.key);
        let kind = kind.ok_or_else(|| syn::Error::new(key.span(), "this is not a limit"))?;
        kind.given.check(&value)?;
        Ok(Self { key: key.clone(), kind, value })
    }

    /// Reports a limit that values of type `ty` do not have.
    fn check_type(&self, ty: &Type, errors: &mut Errors) {
        let Some(shape) = Shape::from_type(option_inner(ty).unwrap_or(ty)) else { return };
        let one_letter = shape == Shape::Character && self.kind.key == "pattern";
        if shape != self.kind.limits && !one_letter {
            let (limited, found) = (self.kind.limits.words(), shape.words());
            errors.at(&self.key, format!("`{}` is a limit for {limited}; this is {found}", self.key));
        }
    }
}

/// Reports limits that contradict the type, the default, or each other.
pub(crate) fn check(limits: &[Limit], default: Option<&Expr>, ty: &Type, errors: &mut Errors) {
    limits.iter().for_each(|limit| limit.check_type(ty, errors));
    let find = |key: &str| limits.iter().find(|limit| limit.key == key);
    for (low_key, high_key, measure, outside) in PAIRS {
        let low = find(low_key).and_then(|limit| number(&limit.value));
        let high = find(high_key).and_then(|limit| number(&limit.value));
        if let (Some(low), Some(high), Some(limit)) = (low, high, find(high_key))
            && low > high
        {
            errors.at(&limit.value, format!("`{high_key}` is below `{low_key}`, so nothing fits"));
            continue;
        }
        let Some((default, size)) = default.and_then(|default| Some((default, measure(default)?))) else {
            continue;
        };
        let [below, above] = outside;
        if low.is_some_and(|low| size < low) {
            errors.at(default, format!("the default is {below}"));
        } else if high.is_some_and(|high| size > high) {
            errors.at(default, format!("the default is {above}"));
        }
    }
}

impl Given {
    /// Refuses a literal of another kind; what is not a literal is left to the compiler.
    fn check(self, value: &Expr) -> syn::Result<()> {
        let Some((literal, negative)) = literal(value) else { return Ok(()) };
        let (fits, expected) = match self {
            Self::Number => (matches!(literal, Lit::Int(_) | Lit::Float(_)), "expected a number"),
            Self::Count => {
                (matches!(literal, Lit::Int(_)) && !negative, "expected a whole number that is not negative")
            }
            Self::Text => (matches!(literal, Lit::Str(_)), "expected a string"),
        };
        if fits { Ok(()) } else { Err(syn::Error::new_spanned(value, expected)) }
    }
}

/// The literal that an expression is, and whether there is a minus before it.
pub(crate) fn literal(value: &Expr) -> Option<(&Lit, bool)> {
    match value {
        Expr::Lit(ExprLit { lit, .. }) => Some((lit, false)),
        Expr::Group(ExprGroup { expr, .. }) | Expr::Paren(ExprParen { expr, .. }) => literal(expr),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => {
            literal(expr).map(|(lit, negative)| (lit, !negative))
        }
        _ => None,
    }
}

fn number(value: &Expr) -> Option<f64> {
    let (literal, negative) = literal(value)?;
    let size: f64 = match literal {
        Lit::Int(integer) => integer.base10_digits().parse().ok()?,
        Lit::Float(float) => float.base10_digits().parse().ok()?,
        _ => return None,
    };
    Some(if negative { -size } else { size })
}

fn length(value: &Expr) -> Option<f64> {
    match literal(value)?.0 {
        Lit::Str(text) => u32::try_from(text.value().chars().count()).ok().map(f64::from),
        _ => None,
    }
}
