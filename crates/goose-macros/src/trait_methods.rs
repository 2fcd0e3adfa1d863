//! Generated parts of an extension: the methods of `Extension` and the constructor.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{FnArg, Ident, ImplItem, ImplItemFn, ReturnType, Type};

use crate::{args::ExtensionArgs, types::names};

/// Every method of the trait. What else stands in an `impl Extension for …` belongs to the type itself.
pub(crate) const TRAIT_METHODS: [&str; 23] = [
    "name",
    "description",
    "instructions",
    "tools",
    "status",
    "call_tool",
    "version",
    "prompt",
    "call",
    "call_checked",
    "preview",
    "features",
    "freshness",
    "changes",
    "offer",
    "list_resources",
    "list_resource_templates",
    "read_resource",
    "subscribe",
    "unsubscribe",
    "list_prompts",
    "get_prompt",
    "complete",
];

/// Methods that show which optional part an extension has, and its field of `Features`.
const FEATURES: [(&[&str], &str); 4] = [
    (&["list_resources", "list_resource_templates", "read_resource"], "resources"),
    (&["subscribe"], "subscriptions"),
    (&["list_prompts", "get_prompt"], "prompts"),
    (&["complete"], "completions"),
];

/// The parts that the methods are generated from.
pub(crate) struct Blanks<'a> {
    pub(crate) args: &'a ExtensionArgs,
    /// The methods that the author wrote.
    pub(crate) written: &'a [Ident],
    pub(crate) default_name: String,
    pub(crate) default_description: Option<TokenStream>,
}

impl Blanks<'_> {
    /// All methods that are missing.
    pub(crate) fn fill(&self) -> TokenStream {
        let methods = [
            ("name", self.text("name", &self.default_name)),
            ("description", self.description()),
            ("instructions", self.text("instructions", "")),
            ("version", self.version()),
            ("tools", tools()),
            ("status", status()),
            ("call_tool", self.call_tool()),
            ("call_checked", self.call_checked()),
            ("features", self.features()),
        ];
        methods.into_iter().filter(|(name, _)| !self.has(name)).map(|(_, method)| method).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.written.iter().any(|method| method == name)
    }

    fn text(&self, key: &str, default: &str) -> TokenStream {
        let text = match self.args.get(key) {
            Some(text) => quote!(#text),
            None => quote!(#default),
        };
        text_method(key, &text)
    }

    fn description(&self) -> TokenStream {
        match (&self.default_description, self.args.get("description")) {
            (Some(text), None) => text_method("description", text),
            _ => self.text("description", ""),
        }
    }

    /// Unless given, the version of the author's crate rather than of the one that defines the trait.
    fn version(&self) -> TokenStream {
        let own = || quote!(::core::option_env!("CARGO_PKG_VERSION").unwrap_or("0.0.0"));
        text_method("version", &self.args.get("version").map_or_else(own, |text| quote!(#text)))
    }

    fn call_tool(&self) -> TokenStream {
        // A `call_checked` of the author's own is the one door to the tools, so this goes through it.
        let body = if self.has("call_checked") {
            quote! {
                let arguments = parameters.into_iter().collect();
                let context = ::goose_extension::CallContext::new();
                ::goose_extension::Extension::call(self, tool_name, arguments, &context).await?.into_value()
            }
        } else {
            quote!(Self::tool_registry().call_tool(self, tool_name, parameters).await)
        };
        quote! {
            async fn call_tool(
                &self,
                tool_name: &str,
                parameters: ::std::collections::HashMap<
                    ::std::string::String,
                    ::goose_extension::macros::serde_json::Value
                >,
            ) -> ::goose_extension::ToolResult<::goose_extension::macros::serde_json::Value> {
                #body
            }
        }
    }

    fn call_checked(&self) -> TokenStream {
        // The provided one goes through a `call_tool` of the author's own.
        if self.has("call_tool") {
            return TokenStream::new();
        }
        quote! {
            async fn call_checked(
                &self,
                tool_name: &str,
                arguments: ::goose_extension::CheckedArguments,
                context: &::goose_extension::CallContext,
            ) -> ::goose_extension::ToolResult<::goose_extension::ToolOutput> {
                Self::tool_registry().call_checked(self, tool_name, arguments, context).await
            }
        }
    }

    fn features(&self) -> TokenStream {
        let fields = FEATURES.iter().map(|(methods, field)| {
            let field = Ident::new(field, Span::call_site());
            let is_there = methods.iter().any(|method| self.has(method));
            quote!(#field: #is_there)
        });
        quote! {
            fn features(&self) -> ::goose_extension::Features {
                ::goose_extension::Features { #(#fields),* }
            }
        }
    }
}

fn text_method(name: &str, text: &TokenStream) -> TokenStream {
    let name = Ident::new(name, Span::call_site());
    quote!(fn #name(&self) -> &str { #text })
}

fn tools() -> TokenStream {
    quote! {
        fn tools(&self) -> &[::goose_extension::Tool] {
            Self::tool_registry().tools()
        }
    }
}

fn status() -> TokenStream {
    quote! {
        async fn status(
            &self,
        ) -> ::goose_extension::AnyhowResult<
            ::std::collections::HashMap<::std::string::String, ::goose_extension::macros::serde_json::Value>
        > {
            ::core::result::Result::Ok(::std::collections::HashMap::new())
        }
    }
}

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
