//! A method's parameters: which of them get arguments, and how a call's arguments become theirs.

use proc_macro2::{TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::{
    Attribute, FnArg, Ident, Meta, Pat, PatType, Signature, Type, ext::IdentExt as _, spanned::Spanned as _,
};

use crate::{
    arg_attr::ArgAttr,
    errors::Errors,
    names,
    types::{
        Owned, Shape, behind_reference, last_segments, located, option_inner, refuse_unfit, sole_argument,
    },
};

/// The parameters of a method besides `&self`.
pub(crate) struct Params {
    /// The arguments as a whole.
    pub(crate) input: Input,
    /// The arguments of the method's call, in order.
    pub(crate) call: Vec<TokenStream>,
    /// True if one of them is the context.
    pub(crate) has_context: bool,
}

/// The way in which a tool takes its arguments.
pub(crate) enum Input {
    /// One type of the author's, from `Arguments<T>`.
    Typed(Box<Type>),
    /// One by one.
    Fields(Vec<Field>),
    /// A sole parameter: one argument, or all of them if its type is JSON. Only the compiler knows which.
    Sole(Box<SoleField>),
}

/// The sole parameter besides a context.
pub(crate) struct SoleField {
    pub(crate) field: Field,
    pub(crate) ident: Ident,
    /// The type that is stored.
    pub(crate) ty: Type,
    /// An item that does not compile if the parameter has attributes and takes all arguments.
    pub(crate) check: Option<TokenStream>,
}

/// One argument.
pub(crate) struct Field {
    /// The field of the generated structure, with its attributes.
    pub(crate) definition: TokenStream,
    /// The function that makes the default value.
    pub(crate) default: Option<TokenStream>,
    /// True if the argument takes in what others do not (`#[serde(flatten)]`).
    pub(crate) flattened: bool,
    name: String,
}

impl Params {
    /// Reads the parameters of `signature` and takes from it the attributes that are meant for this macro.
    pub(crate) fn take(signature: &mut Signature, errors: &mut Errors) -> Self {
        let mut params: Vec<Param> = Vec::new();
        for input in &mut signature.inputs {
            if let FnArg::Typed(typed) = input {
                params.push(Param::take(typed, errors));
            }
        }
        let mut contexts = params.iter().filter(|param| matches!(param.kind, Kind::Context { .. }));
        let has_context = contexts.next().is_some();
        for extra in contexts {
            errors.at(&extra.ty, "a tool has one `CallContext`");
        }
        let sole = params.len() - usize::from(has_context) == 1;
        let mut input = Input::Fields(Vec::new());
        let call = params.iter().map(|param| param.resolve(sole, &mut input, errors)).collect();
        Self { input, call, has_context }
    }
}

/// A parameter as written.
struct Param {
    ident: Option<Ident>,
    ty: Type,
    kind: Kind,
    docs: Vec<Attribute>,
    arg: Option<(Attribute, ArgAttr)>,
    passed_on: Vec<Attribute>,
}

/// The source of a parameter's value, by its type.
enum Kind {
    Context { borrowed: bool },
    Typed(Box<Type>),
    Plain,
}

impl Kind {
    fn from_type(ty: &Type) -> Self {
        let (inner, borrowed) = behind_reference(ty);
        let Some((parent, segment)) = last_segments(inner) else { return Self::Plain };
        // A path that names another place is another type: `shop::Arguments` is an argument like any other.
        let is_from = |places: &[&str]| parent.is_none_or(|parent| places.iter().any(|it| parent == it));
        match segment.ident.to_string().as_str() {
            "CallContext" if is_from(&["goose_extension", "prelude"]) => Self::Context { borrowed },
            "Arguments" if !borrowed && is_from(&["goose_extension", "prelude"]) => {
                match sole_argument(segment) {
                    Some(inner) => Self::Typed(Box::new(inner.clone())),
                    None => Self::Plain,
                }
            }
            _ => Self::Plain,
        }
    }
}

impl Param {
    fn take(typed: &mut PatType, errors: &mut Errors) -> Self {
        let kind = Kind::from_type(&typed.ty);
        let mut param = Self {
            ident: pattern_ident(&typed.pat, &kind, errors),
            ty: (*typed.ty).clone(),
            kind,
            docs: Vec::new(),
            arg: None,
            passed_on: Vec::new(),
        };
        for attribute in std::mem::take(&mut typed.attrs) {
            if let Some(foreign) = param.sort(attribute, errors) {
                typed.attrs.push(foreign);
            }
        }
        param
    }

    /// Puts an attribute where it belongs; one that is not for this macro is handed back.
    fn sort(&mut self, attribute: Attribute, errors: &mut Errors) -> Option<Attribute> {
        let path = attribute.path();
        if path.is_ident("cfg") || path.is_ident("cfg_attr") {
            errors.at(&attribute, "a tool's parameters cannot depend on `cfg`; write two methods");
            None
        } else if names::is_doc(&attribute) {
            self.docs.push(attribute);
            None
        } else if path.is_ident("serde") || path.is_ident("schemars") {
            if let Some(alias) = word_in(&attribute, "alias") {
                errors.at(
                    alias,
                    "an argument has one name: the schema refuses all others; use `#[arg(rename = …)]`",
                );
            }
            self.passed_on.push(attribute);
            None
        } else if path.is_ident("arg") {
            self.read_arg(attribute, errors);
            None
        } else {
            Some(attribute)
        }
    }

    fn read_arg(&mut self, attribute: Attribute, errors: &mut Errors) {
        if self.arg.is_some() {
            errors.at(&attribute, "a parameter has one `#[arg(…)]`");
            return;
        }
        let Meta::List(list) = &attribute.meta else {
            errors.at(&attribute, "`#[arg]` needs something in it: `#[arg(default = 10)]`");
            return;
        };
        let attr = ArgAttr::parse(list.tokens.clone(), errors);
        self.arg = Some((attribute, attr));
    }

    /// The expression for the method's call; what it needs is added to `input`.
    fn resolve(&self, sole: bool, input: &mut Input, errors: &mut Errors) -> TokenStream {
        match &self.kind {
            Kind::Context { borrowed } => {
                self.refuse_attributes("the context is not an argument", errors);
                if *borrowed { quote!(context) } else { quote!(::core::clone::Clone::clone(context)) }
            }
            Kind::Typed(inner) if sole => {
                self.refuse_attributes("`Arguments` takes all arguments; describe its fields", errors);
                refuse_unfit(inner, errors);
                refuse_no_object(inner, errors);
                *input = Input::Typed(inner.clone());
                quote!(::goose_extension::Arguments(parsed))
            }
            Kind::Typed(_) => {
                let message = "`Arguments` takes all arguments: besides it there can only be a `CallContext`";
                errors.at(&self.ty, message);
                TokenStream::new()
            }
            Kind::Plain => self.field(sole, input, errors),
        }
    }

    fn refuse_attributes(&self, reason: &str, errors: &mut Errors) {
        for attribute in self.attributes() {
            errors.at(attribute, reason);
        }
    }

    /// The attributes that say something about one argument.
    fn attributes(&self) -> impl Iterator<Item = &Attribute> {
        self.arg.iter().map(|(attribute, _)| attribute).chain(&self.passed_on)
    }

    fn field(&self, sole: bool, input: &mut Input, errors: &mut Errors) -> TokenStream {
        refuse_unfit(&self.ty, errors);
        let Some(ident) = &self.ident else { return TokenStream::new() };
        let owned = Owned::from_type(&self.ty);
        if let Some((_, arg)) = &self.arg {
            arg.check(&owned.ty, errors);
        }
        let field = self.definition(ident, &owned.ty);
        if sole {
            let check = self.attributes().next().map(|first| refuse_all(first, &owned.ty));
            let ty = owned.ty.clone();
            *input = Input::Sole(Box::new(SoleField { field, ident: ident.clone(), ty, check }));
            return owned.pass(quote_spanned!(located(self.ty.span())=> parsed));
        }
        if let Input::Fields(fields) = input {
            self.check_name(&field, fields, errors);
            fields.push(field);
        }
        let span = located(self.ty.span());
        owned.pass(quote_spanned!(span=> parsed.#ident))
    }

    fn check_name(&self, field: &Field, others: &[Field], errors: &mut Errors) {
        if others.iter().any(|other| other.name == field.name) {
            let message = format!("there are two arguments called `{}`", field.name);
            match self.arg.as_ref().and_then(|(_, arg)| arg.rename.as_ref()) {
                Some(rename) => errors.at(rename, message),
                None => errors.at(&self.ident, message),
            }
        }
    }

    fn definition(&self, ident: &Ident, ty: &Type) -> Field {
        let arg = self.arg.as_ref().map(|(_, arg)| arg);
        let (attributes, default) = arg.map(|arg| arg.field(ident, ty)).unwrap_or_default();
        let written = arg.and_then(|arg| arg.description.as_ref()).map(|text| quote!(#text));
        let description = written.or_else(|| names::description(&self.docs));
        let description = description.map(|text| quote!(#[schemars(description = #text)]));
        let passed_on = &self.passed_on;
        let rename = arg.and_then(|arg| arg.rename.as_ref()).map(syn::LitStr::value);
        Field {
            definition: quote!(#description #attributes #(#passed_on)* #ident: #ty),
            default,
            flattened: passed_on.iter().any(|attribute| word_in(attribute, "flatten").is_some()),
            name: rename.unwrap_or_else(|| ident.unraw().to_string()),
        }
    }
}

/// An item that compiles unless a parameter of type `ty` takes all arguments, which `attribute` cannot describe.
fn refuse_all(attribute: &Attribute, ty: &Type) -> TokenStream {
    quote_spanned! {located(attribute.span())=>
        const _: () = ::core::assert!(
            !::goose_extension::macros::SoleArgument::<#ty>::TAKES_ALL,
            "this parameter takes all arguments as they come; leave its attributes out"
        );
    }
}

/// The first occurrence of `word` in an attribute like `#[serde(word = …)]`.
fn word_in(attribute: &Attribute, word: &str) -> Option<Ident> {
    let Meta::List(list) = &attribute.meta else { return None };
    list.tokens.clone().into_iter().find_map(|token| match token {
        TokenTree::Ident(found) if found == word => Some(found),
        _ => None,
    })
}

/// Reports a type for all arguments that is not an object; what is not well known is seen when the tool is called.
fn refuse_no_object(ty: &Type, errors: &mut Errors) {
    match Shape::from_type(ty) {
        Some(Shape::Map) => {}
        Some(shape) => {
            let found = shape.words();
            errors.at(
                ty,
                format!("all arguments together are an object, and this is {found}; use a structure"),
            );
        }
        None if option_inner(ty).is_some() => {
            errors.at(ty, "all arguments together are always there; leave the `Option` out");
        }
        None => {}
    }
}

/// The name of a parameter, which is the name of its argument.
fn pattern_ident(pattern: &Pat, kind: &Kind, errors: &mut Errors) -> Option<Ident> {
    match pattern {
        Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => Some(ident.ident.clone()),
        _ if matches!(kind, Kind::Context { .. } | Kind::Typed(_)) => None,
        _ => {
            errors.at(pattern, "a tool's parameter needs a name: callers pass the argument by it");
            None
        }
    }
}

impl Input {
    /// Returns whether the method needs the arguments at all.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Fields(fields) if fields.is_empty())
    }
}
