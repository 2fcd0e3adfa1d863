//! `BuildExtension`, for a type with `fn new(notifier: Box<dyn Notifier>, requires: Requirements) -> Self`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{FnArg, Ident, ImplItem, ImplItemFn, ReturnType, Type};

use crate::types::names;

/// `item`, if it is the constructor that an assembly can call.
pub(crate) fn constructor<'a>(item: &'a ImplItem, type_name: &Ident) -> Option<&'a ImplItemFn> {
    let ImplItem::Fn(method) = item else { return None };
    let signature = &method.sig;
    let types: Option<Vec<&Type>> = signature.inputs.iter().map(typed).collect();
    let takes_both = matches!(types.as_deref(), Some([notifier, requires])
        if names(notifier, "Box") && names(requires, "Requirements"));
    let returns_self = matches!(&signature.output, ReturnType::Type(_, ty)
        if names(ty, "Self") || names(ty, &type_name.to_string()));
    let fits = signature.ident == "new"
        && takes_both
        && returns_self
        && signature.asyncness.is_none()
        && signature.generics.params.is_empty();
    fits.then_some(method)
}

fn typed(input: &FnArg) -> Option<&Type> {
    match input {
        FnArg::Typed(typed) => Some(&typed.ty),
        FnArg::Receiver(_) => None,
    }
}

/// The trait's method.
pub(crate) fn method() -> TokenStream {
    quote! {
        fn build(
            notifier: ::std::boxed::Box<dyn ::goose_extension::Notifier>,
            requires: ::goose_extension::Requirements,
        ) -> Self {
            Self::new(notifier, requires)
        }
    }
}
