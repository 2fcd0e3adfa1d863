//! Parameter types: what is stored while a call runs, how it is handed to the method, and its shape in JSON as far as
//! the type shows it.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{
    GenericArgument, Ident, Lifetime, Path, PathArguments, PathSegment, Type, TypeImplTrait, TypeReference,
    TypeTraitObject, parse_quote_spanned,
    spanned::Spanned as _,
    visit_mut::{self, VisitMut},
};

use crate::errors::Errors;

/// A span that is shown at `span` and counts as generated code, so that lints leave it alone.
pub(crate) fn located(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// A parameter's type in the form that can be stored, and how the method gets it.
pub(crate) struct Owned {
    pub(crate) ty: Type,
    pass: Pass,
}

enum Pass {
    Move,
    Borrow,
    AsRef,
    AsDeref,
}

impl Owned {
    /// The type behind a parameter; a borrowed one becomes its owner.
    pub(crate) fn from_type(ty: &Type) -> Self {
        if let Type::Reference(reference) = peel(ty) {
            return Self { ty: owner(&reference.elem).0, pass: Pass::Borrow };
        }
        if let Some(Type::Reference(reference)) = option_inner(ty).map(peel) {
            let (inner, unsized_borrow) = owner(&reference.elem);
            let ty = parse_quote_spanned!(located(ty.span())=> ::core::option::Option<#inner>);
            return Self { ty, pass: if unsized_borrow { Pass::AsDeref } else { Pass::AsRef } };
        }
        Self { ty: ty.clone(), pass: Pass::Move }
    }

    /// The argument for the method, from the place that stores it.
    pub(crate) fn pass(&self, place: TokenStream) -> TokenStream {
        match self.pass {
            Pass::Move => place,
            Pass::Borrow => quote!(&#place),
            Pass::AsRef => quote!(#place.as_ref()),
            Pass::AsDeref => quote!(#place.as_deref()),
        }
    }
}

/// The type that owns what `borrowed` is a part of; `true` if the two differ.
fn owner(borrowed: &Type) -> (Type, bool) {
    let span = located(borrowed.span());
    match peel(borrowed) {
        Type::Slice(slice) => {
            let item = &slice.elem;
            (parse_quote_spanned!(span=> ::std::vec::Vec<#item>), true)
        }
        Type::Path(_) if names(borrowed, "str") => (parse_quote_spanned!(span=> ::std::string::String), true),
        Type::Path(_) if names(borrowed, "Path") => (parse_quote_spanned!(span=> ::std::path::PathBuf), true),
        other => (other.clone(), false),
    }
}

/// A method's result as something that lives on its own: `&str`, `Option<&str>` and `Result<&str, E>` are copied.
pub(crate) fn owned_result(ty: &Type, result: TokenStream) -> TokenStream {
    if is_reference(ty) {
        return quote!(::std::borrow::ToOwned::to_owned(#result));
    }
    match last_segment(ty) {
        Some(segment)
            if is_container(&segment.ident) && first_argument(segment).is_some_and(is_reference) =>
        {
            quote!(#result.map(::std::borrow::ToOwned::to_owned))
        }
        _ => result,
    }
}

/// `Option`, `Result`, and the aliases that are named after it.
fn is_container(name: &Ident) -> bool {
    name == "Option" || name.to_string().ends_with("Result")
}

fn is_reference(ty: &Type) -> bool {
    matches!(peel(ty), Type::Reference(_))
}

/// The type without parentheses and the invisible groups of other macros.
pub(crate) fn peel(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => peel(&inner.elem),
        Type::Group(inner) => peel(&inner.elem),
        other => other,
    }
}

/// The type behind a reference, if it is one, and whether it was one.
pub(crate) fn behind_reference(ty: &Type) -> (&Type, bool) {
    match peel(ty) {
        Type::Reference(TypeReference { elem, mutability: None, .. }) => (peel(elem), true),
        other => (other, false),
    }
}

/// The last segment of a type's path: `Value` of `serde_json::Value`.
pub(crate) fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match peel(ty) {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

/// The last segment of a type's path, and the name before it: `serde_json` and `Value` of `serde_json::Value`.
pub(crate) fn last_segments(ty: &Type) -> Option<(Option<&Ident>, &PathSegment)> {
    let Type::Path(path) = peel(ty) else { return None };
    let last = last_segment(ty)?;
    Some((path.path.segments.iter().rev().nth(1).map(|parent| &parent.ident), last))
}

/// Returns whether the last segment of the type's path is `name`.
pub(crate) fn names(ty: &Type, name: &str) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == name)
}

/// The `T` of an `Option<T>`.
pub(crate) fn option_inner(ty: &Type) -> Option<&Type> {
    last_segment(ty).filter(|segment| segment.ident == "Option").and_then(sole_argument)
}

/// The `T` of a `Name<T>`.
pub(crate) fn sole_argument(segment: &PathSegment) -> Option<&Type> {
    match &segment.arguments {
        PathArguments::AngleBracketed(arguments) if arguments.args.len() == 1 => first_argument(segment),
        _ => None,
    }
}

fn first_argument(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(ty)) => Some(ty),
        _ => None,
    }
}

/// Reports what a parameter's type may not contain, because arguments come from outside as JSON.
pub(crate) fn refuse_unfit(declared: &Type, errors: &mut Errors) {
    // The reference that the parameter or its `Option` is.
    if let Type::Reference(reference) = peel(option_inner(declared).unwrap_or(declared)) {
        if let Some(mutability) = reference.mutability {
            errors.at(mutability, "a tool's arguments are not changed in place; take the value itself");
        }
        if let Some(lifetime) = &reference.lifetime {
            errors.at(lifetime, LIFETIME);
        }
    }
    Unfit { errors }.visit_type_mut(&mut Owned::from_type(declared).ty);
}

const LIFETIME: &str = "a tool's arguments live as long as the call; leave the lifetime out";

struct Unfit<'a> {
    errors: &'a mut Errors,
}

impl VisitMut for Unfit<'_> {
    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        self.errors
            .at(reference, "only the parameter itself or its `Option` may borrow; use an owned type here");
    }

    fn visit_type_impl_trait_mut(&mut self, ty: &mut TypeImplTrait) {
        self.errors.at(ty, "a tool's parameters have one type; `impl Trait` has many");
    }

    fn visit_type_trait_object_mut(&mut self, ty: &mut TypeTraitObject) {
        self.errors.at(ty, "a trait object cannot be made from JSON; use a type");
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident != "static" {
            self.errors.at(lifetime, LIFETIME);
        }
    }

    fn visit_path_mut(&mut self, path: &mut Path) {
        if let Some(first) = path.segments.first().filter(|segment| segment.ident == "Self") {
            self.errors.at(&first.ident, "`Self` is not known here; write the type's name");
        }
        visit_mut::visit_path_mut(self, path);
    }
}

/// The JSON form of a well-known type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Number,
    Text,
    Character,
    List,
    /// An array or a tuple: a list whose length is that of the type.
    Fixed,
    Flag,
    Map,
}

impl Shape {
    /// The form of `ty`, where it is well known.
    pub(crate) fn from_type(ty: &Type) -> Option<Self> {
        match peel(ty) {
            Type::Slice(_) => Some(Self::List),
            Type::Array(_) | Type::Tuple(_) => Some(Self::Fixed),
            Type::Reference(reference) => Self::from_type(&reference.elem),
            ty => Self::named(&last_segment(ty)?.ident.to_string()),
        }
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "u8" | "u16" | "u32" | "u64" | "u128"
            | "usize" | "f32" | "f64" => Self::Number,
            "String" | "str" | "PathBuf" | "Path" => Self::Text,
            "char" => Self::Character,
            "Vec" | "VecDeque" | "LinkedList" | "HashSet" | "BTreeSet" | "BinaryHeap" => Self::List,
            "bool" => Self::Flag,
            "HashMap" | "BTreeMap" => Self::Map,
            _ => return None,
        })
    }

    /// The form in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Character => "a single character",
            Self::List => "a list",
            Self::Fixed => "a list of fixed length",
            Self::Flag => "a `bool`",
            Self::Map => "a map",
        }
    }
}
