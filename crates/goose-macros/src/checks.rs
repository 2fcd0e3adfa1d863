//! Checks: which methods can be tools, and mistakes in the methods of an `#[extension]` block that `#[tool]` cannot
//! see.

use proc_macro2::Span;
use syn::{
    Attribute, FnArg, GenericParam, Generics, Ident, ImplItemFn, Meta, Path, Signature, Token,
    punctuated::Punctuated,
    visit_mut::{self, VisitMut},
};

use crate::{
    args::ToolArgs,
    errors::Errors,
    tool::{is_tool, names_tool},
    trait_methods::TRAIT_METHODS,
    types::names,
};

/// Reports what keeps `method` from being a tool.
pub(crate) fn check_signature(method: &ImplItemFn, args: &ToolArgs, errors: &mut Errors) {
    let signature = &method.sig;
    if is_from_async_trait(signature) {
        let message = "write `#[extension]` above `#[async_trait]`, or leave `#[async_trait]` out";
        errors.at(&signature.ident, message);
        return;
    }
    check_receiver(signature, errors);
    check_generics(signature, errors);
    if let Some(unsafety) = signature.unsafety {
        errors.at(unsafety, "a tool is called with whatever a model sends, so it cannot be `unsafe`");
    }
    if let Some(second) = method.attrs.iter().find(|attribute| is_tool(attribute)) {
        errors.at(second, "a method has one `#[tool]`");
    }
    if let Some(timeout) = &args.timeout
        && signature.asyncness.is_none()
    {
        errors.at(&timeout.key, "a sync method cannot be interrupted; make it `async`");
    }
}

fn check_receiver(signature: &Signature, errors: &mut Errors) {
    let Some(receiver) = signature.receiver() else {
        errors.at(&signature.ident, "a tool is a method: it takes `&self`");
        return;
    };
    match (&receiver.reference, receiver.mutability, &receiver.colon_token) {
        (Some((_, None)), None, None) => {}
        (Some((_, Some(lifetime))), None, None) => {
            errors.at(lifetime, "a tool takes `&self` without a lifetime");
        }
        (Some(_), Some(_), None) => errors.at(
            receiver,
            "a tool takes `&self`: calls run at the same time; keep what changes in a `Mutex` or an atomic",
        ),
        _ => errors.at(receiver, "a tool takes `&self`: the extension outlives the call"),
    }
}

fn check_generics(signature: &Signature, errors: &mut Errors) {
    let generics = &signature.generics;
    if !generics.params.is_empty() {
        errors.at(&generics.params, "a tool has one schema, so its method cannot be generic");
    } else if let Some(clause) = &generics.where_clause {
        errors.at(clause, "a tool's method cannot have a `where` clause; put it on the `impl` block");
    }
}

/// `#[async_trait]` has been here first and has rewritten the method.
fn is_from_async_trait(signature: &Signature) -> bool {
    signature.generics.lifetimes().any(|lifetime| lifetime.lifetime.ident == "async_trait")
}

/// Checks a method that is not a tool. `in_trait` says that the block is `impl Extension for …`.
pub(crate) fn check_method(method: &ImplItemFn, in_trait: bool, errors: &mut Errors) {
    let ident = &method.sig.ident;
    let of_trait = TRAIT_METHODS.iter().any(|name| ident == name);
    if of_trait && in_trait {
        if ident == "call" {
            errors.at(ident, "`call` checks the arguments and then calls `call_checked`; write that one");
        }
        check_unconditional(method, errors);
    } else if method.sig.receiver().is_none() {
        // A function without `&self` is the type's own, whatever its name.
    } else if of_trait {
        let message = format!(
            "`{ident}` is a method of `Extension`, but here it would be one of the type, and nobody would call it; \
             write `#[extension] impl Extension for …`, or choose another name"
        );
        errors.at(ident, message);
    } else if let Some(meant) = near_miss(&ident.to_string()).filter(|_| in_trait) {
        let message = format!(
            "`Extension` has no `{ident}`; it has `{meant}`. If this is a tool, mark it with `#[tool]`; if it is a \
             helper, put it in an `impl` block of the type"
        );
        errors.at(ident, message);
    }
}

/// Reports a `#[tool]` that may not be there: the list of tools is made before `cfg_attr` is known.
pub(crate) fn check_hidden_tool(method: &ImplItemFn, errors: &mut Errors) {
    let hides_tool =
        |attribute: &&Attribute| conditional(attribute).iter().any(|meta| names_tool(meta.path()));
    for attribute in method.attrs.iter().filter(hides_tool) {
        errors.at(attribute, "a tool cannot depend on `cfg_attr`; write `#[cfg(…)]` and `#[tool]`");
    }
}

/// Refuses `cfg` on methods: the generated code depends on which methods are there, and `cfg` is decided later.
fn check_unconditional(method: &ImplItemFn, errors: &mut Errors) {
    let decides = |attribute: &&Attribute| {
        attribute.path().is_ident("cfg")
            || conditional(attribute).iter().any(|meta| meta.path().is_ident("cfg"))
    };
    for attribute in method.attrs.iter().filter(decides) {
        let message =
            "a method of `Extension` cannot depend on `cfg` here; use `cfg` in its body or on the block";
        errors.at(attribute, message);
    }
}

/// The attributes that a `cfg_attr` stands for when its condition holds.
fn conditional(attribute: &Attribute) -> Vec<Meta> {
    if !attribute.path().is_ident("cfg_attr") {
        return Vec::new();
    }
    let metas = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    metas.map(|metas| metas.into_iter().skip(1).collect()).unwrap_or_default()
}

/// The method of the trait that `name` is a misspelling of.
fn near_miss(name: &str) -> Option<&'static str> {
    let distance = |meant: &str| strsim::osa_distance(name, meant);
    let allowed = |meant: &str| if meant.len() <= 5 { 1 } else { 2 };
    TRAIT_METHODS
        .into_iter()
        .filter(|meant| distance(meant) <= allowed(meant))
        .min_by_key(|meant| distance(meant))
}

/// Reports arguments whose type depends on the parameters of the block, and says whether there were any.
pub(crate) fn refuse_generic_arguments(
    method: &ImplItemFn,
    generics: &Generics,
    errors: &mut Errors,
) -> bool {
    let parameters: Vec<&Ident> = generics.params.iter().filter_map(parameter_name).collect();
    let mut uses = Uses { parameters: &parameters, found: Vec::new() };
    for input in &method.sig.inputs {
        if let FnArg::Typed(typed) = input
            && !names(&typed.ty, "Arguments")
        {
            uses.visit_type_mut(&mut typed.ty.clone());
        }
    }
    for (name, span) in &uses.found {
        let message = format!(
            "arguments are read into a structure of their own, which does not know `{name}`; take all of them as \
             `Arguments<…>`, with a type of yours that has `{name}` in it"
        );
        errors.push(syn::Error::new(*span, message));
    }
    !uses.found.is_empty()
}

fn parameter_name(parameter: &GenericParam) -> Option<&Ident> {
    match parameter {
        GenericParam::Type(parameter) => Some(&parameter.ident),
        GenericParam::Const(parameter) => Some(&parameter.ident),
        GenericParam::Lifetime(_) => None,
    }
}

struct Uses<'a> {
    parameters: &'a [&'a Ident],
    found: Vec<(Ident, Span)>,
}

impl VisitMut for Uses<'_> {
    fn visit_path_mut(&mut self, path: &mut Path) {
        if let Some(first) = path.segments.first().map(|segment| &segment.ident)
            && self.parameters.contains(&first)
        {
            self.found.push((first.clone(), first.span()));
        }
        visit_mut::visit_path_mut(self, path);
    }
}

/// The rest of a refused tool: a method, so that its callers cause no further errors.
pub(crate) fn as_method(mut method: ImplItemFn) -> ImplItemFn {
    method.attrs.retain(|attribute| !is_tool(attribute));
    for input in &mut method.sig.inputs {
        if let FnArg::Typed(typed) = input {
            typed.attrs.clear();
        }
    }
    method
}

#[cfg(test)]
mod tests {
    use super::near_miss;

    #[test]
    fn misspellings_are_near() {
        for (name, meant) in [
            ("pormpt", Some("prompt")),
            ("prompts", Some("prompt")),
            ("promt", Some("prompt")),
            ("instruction", Some("instructions")),
            ("statsu", Some("status")),
            ("calls", Some("call")),
            ("after", None),
            ("search", None),
        ] {
            assert_eq!(near_miss(name), meant, "{name}");
        }
    }
}
