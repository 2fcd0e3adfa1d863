//! The limits in `#[arg(…)]`: `min`, `max`, `pattern` and so on. What is written as a literal is checked here, so
//! that a limit which cannot work is found by the compiler and not by the first caller.

use syn::{Expr, ExprGroup, ExprLit, ExprParen, ExprUnary, Ident, Lit, Type, UnOp};

use crate::{errors::Errors, shape::Shape, types::option_inner};

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
        let kind = kind.ok_or_else(|| syn::Error::new(key.span(), "this is no limit"))?;
        kind.given.check(&value)?;
        Ok(Self { key: key.clone(), kind, value })
    }

    /// The keyword of JSON Schema.
    pub(crate) fn keyword(&self) -> &'static str {
        self.kind.keyword
    }

    /// Reports a limit that values of type `ty` do not have.
    fn check_type(&self, ty: &Type, errors: &mut Errors) {
        let Some(shape) = Shape::of(option_inner(ty).unwrap_or(ty)) else { return };
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
    /// Refuses a literal of another kind; what is no literal is left to the compiler.
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
