//! Which methods can be tools.

use syn::{FnArg, ImplItemFn, Receiver, Signature};

use crate::{errors::Errors, tool::is_tool, tool_args::ToolArgs};

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
    match signature.inputs.first() {
        Some(FnArg::Receiver(receiver)) => {
            if let Err(error) = fits(receiver) {
                errors.push(error);
            }
        }
        _ => errors.at(&signature.ident, "a tool is a method: it takes `&self`"),
    }
}

fn fits(receiver: &Receiver) -> syn::Result<()> {
    let message = match (&receiver.reference, receiver.mutability, &receiver.colon_token) {
        (Some((_, None)), None, None) => return Ok(()),
        (Some((_, Some(lifetime))), None, None) => {
            return Err(syn::Error::new_spanned(lifetime, "a tool takes `&self` without a lifetime"));
        }
        (Some(_), Some(_), None) => {
            "a tool takes `&self`: calls run at the same time; keep what changes in a `Mutex` or an atomic"
        }
        _ => "a tool takes `&self`: the extension outlives the call",
    };
    Err(syn::Error::new_spanned(receiver, message))
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
