//! A whole extension: `impl Type { … }` or `impl Extension for Type { … }`, with tools among the methods.
//!
//! Methods go where they belong (the trait's to the trait, all others to the type), `#[tool]`s stay for the
//! other macro to expand, and what the author left out of the trait is written here.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{
    Attribute, Ident, ImplItem, ImplItemFn, ItemImpl, Meta, Path, Token, ext::IdentExt as _, parse_quote,
};

use crate::{
    args::{ExtensionArgs, ToolArgs},
    checks::{as_method, check_hidden_tool, check_method, refuse_generic_arguments},
    errors::Errors,
    names::{self, extension_name},
    tool::{cfgs, function_name, is_tool, tool_name},
    trait_methods::{self, Blanks, TRAIT_METHODS},
    types::last_segment,
};

/// Expands `#[extension(args)] item`.
pub(crate) fn expand(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let args = ExtensionArgs::parse(args, &mut errors);
    let Ok(block) = syn::parse2::<ItemImpl>(item.clone()) else {
        let message = "`#[extension]` goes on `impl Type { … }` or `impl Extension for Type { … }`";
        errors.push(syn::Error::new(Span::call_site(), message));
        return with_errors(item, &errors);
    };
    match extension_type(&block, &mut errors) {
        Some(type_name) => Block::sort(block, type_name, &mut errors).expand(&args, errors),
        None => with_errors(without_tools(block), &errors),
    }
}

/// The name of the type that `block` makes an extension.
fn extension_type(block: &ItemImpl, errors: &mut Errors) -> Option<Ident> {
    let foreign = block.trait_.as_ref().map(|(_, path, _)| path).filter(|path| !is_extension(path));
    if let Some(path) = foreign {
        errors.at(path, "`#[extension]` goes on the type itself or on its `impl Extension for …`");
        return None;
    }
    let segment = last_segment(&block.self_ty);
    if segment.is_none() {
        errors.at(&block.self_ty, "an extension is a type with a name");
    }
    segment.map(|segment| segment.ident.clone())
}

fn with_errors(rest: TokenStream, errors: &Errors) -> TokenStream {
    let errors = errors.to_compile_errors();
    quote!(#errors #rest)
}

/// The author's block, taken apart.
struct Block {
    /// The block without its items and trait.
    head: ItemImpl,
    /// The trait, as the author wrote it.
    trait_path: Option<Path>,
    type_name: Ident,
    trait_items: Vec<ImplItem>,
    own_items: Vec<ImplItem>,
    tools: Vec<ToolMethod>,
}

/// A `#[tool]` of the block.
struct ToolMethod {
    name: String,
    ident: Ident,
    /// The place of the name, for messages.
    named_at: TokenStream,
    cfgs: Vec<Attribute>,
    /// True if `#[tool]` will write a function for it; without `&self` it only reports the mistake.
    is_method: bool,
}

impl Block {
    fn sort(mut block: ItemImpl, type_name: Ident, errors: &mut Errors) -> Self {
        block.attrs.retain(|attribute| !is_async_trait(attribute));
        let items = std::mem::take(&mut block.items);
        let trait_path = block.trait_.take().map(|(_, path, _)| path);
        let (trait_items, own_items, tools) = Default::default();
        let mut sorted = Self { head: block, trait_path, type_name, trait_items, own_items, tools };
        items.into_iter().for_each(|item| sorted.add(item, errors));
        if sorted.trait_path.is_some() && !sorted.own_items.is_empty() {
            sorted.head.attrs.iter_mut().for_each(soften);
        }
        sorted
    }

    fn add(&mut self, item: ImplItem, errors: &mut Errors) {
        let ImplItem::Fn(method) = item else {
            self.own_items.push(item);
            return;
        };
        check_hidden_tool(&method, errors);
        if let Some(tool) = ToolMethod::from_method(&method) {
            if refuse_generic_arguments(&method, &self.head.generics, errors) {
                self.own_items.push(ImplItem::Fn(as_method(method)));
                return;
            }
            self.tools.push(tool);
            self.own_items.push(ImplItem::Fn(method));
            return;
        }
        check_method(&method, self.trait_path.is_some(), errors);
        let of_trait = TRAIT_METHODS.iter().any(|name| method.sig.ident == name);
        let items =
            if self.trait_path.is_some() && of_trait { &mut self.trait_items } else { &mut self.own_items };
        items.push(ImplItem::Fn(method));
    }

    fn expand(self, args: &ExtensionArgs, mut errors: Errors) -> TokenStream {
        let written: Vec<Ident> = self.trait_items.iter().filter_map(method_name).collect();
        args.check_written(&written, &mut errors);
        check_names(&self.tools, &mut errors);
        let (own, registry) = (self.own_impl(), self.registry_impl());
        let trait_impl = self.trait_impl(args, &written);
        let build = self.build_impl();
        let errors = errors.to_compile_errors();
        quote!(#own #registry #trait_impl #build #errors)
    }

    fn own_impl(&self) -> TokenStream {
        let block = ItemImpl { items: self.own_items.clone(), ..self.head.clone() };
        if block.items.is_empty() { TokenStream::new() } else { block.into_token_stream() }
    }

    /// The block's head for something generated: without the author's attributes, except for `cfg`.
    fn generated(&self) -> ItemImpl {
        let mut head = self.head.clone();
        head.attrs = cfgs(&self.head.attrs).cloned().collect();
        head
    }

    fn is_generic(&self) -> bool {
        !self.head.generics.params.is_empty()
    }

    fn registry_impl(&self) -> TokenStream {
        let additions = self.tools.iter().filter(|tool| tool.is_method).map(|tool| {
            let (cfgs, function) = (&tool.cfgs, function_name(&tool.ident));
            quote!(#(#cfgs)* let registry = registry.with(Self::#function());)
        });
        let make = quote! {
            || {
                let registry = ::goose_extension::ToolRegistry::new();
                #(#additions)*
                registry
            }
        };
        let find = if self.is_generic() {
            quote!(::goose_extension::macros::registry_of::<Self>(#make))
        } else {
            quote! {
                static REGISTRY: ::std::sync::OnceLock<::goose_extension::ToolRegistry> =
                    ::std::sync::OnceLock::new();
                REGISTRY.get_or_init(#make)
            }
        };
        let bounds = self.is_generic().then(self_bounds).map(|bounds| quote!(where #bounds));
        let mut block = self.generated();
        block.items.push(ImplItem::Verbatim(quote! {
            /// The tools of this type and the methods behind them.
            #[allow(dead_code, reason = "a hand-written `tools` and `call_tool` need not use it")]
            fn tool_registry() -> &'static ::goose_extension::ToolRegistry #bounds { #find }
        }));
        block.into_token_stream()
    }

    fn trait_impl(&self, args: &ExtensionArgs, written: &[Ident]) -> TokenStream {
        let mut block = if self.trait_path.is_some() { self.head.clone() } else { self.generated() };
        let path = self.trait_path.clone().unwrap_or_else(|| parse_quote!(::goose_extension::Extension));
        block.trait_ = Some((None, path, Token![for](Span::call_site())));
        self.bind_self(&mut block);
        let blanks = Blanks {
            args,
            written,
            default_name: extension_name(&self.type_name.unraw().to_string()),
            default_description: names::description(&self.head.attrs),
        };
        block.items = self.trait_items.clone();
        block.items.push(ImplItem::Verbatim(blanks.fill()));
        quote!(#[::goose_extension::macros::async_trait] #block)
    }

    /// An instance of a generic type is an extension where it may be shared; its own bounds need not say so.
    fn bind_self(&self, block: &mut ItemImpl) {
        if self.is_generic() {
            let bounds = self_bounds();
            block.generics.make_where_clause().predicates.push(parse_quote!(#bounds));
        }
    }

    fn build_impl(&self) -> TokenStream {
        self.own_items
            .iter()
            .filter_map(|item| trait_methods::constructor(item, &self.type_name))
            .map(|new| {
                let mut block = self.generated();
                // Where there is no `new`, there is nothing to build with.
                block.attrs.extend(cfgs(&new.attrs).cloned());
                let path = parse_quote!(::goose_extension::BuildExtension);
                block.trait_ = Some((None, path, Token![for](Span::call_site())));
                self.bind_self(&mut block);
                block.items.push(ImplItem::Verbatim(trait_methods::method()));
                block.into_token_stream()
            })
            .collect()
    }
}

impl ToolMethod {
    fn from_method(method: &ImplItemFn) -> Option<Self> {
        let attribute = method.attrs.iter().find(|attribute| is_tool(attribute))?;
        let tokens = match &attribute.meta {
            Meta::List(list) => list.tokens.clone(),
            _ => TokenStream::new(),
        };
        // `#[tool]` itself reports what is wrong in it.
        let args = ToolArgs::parse(tokens, &mut Errors::default());
        Some(Self {
            name: tool_name(&args, &method.sig.ident),
            named_at: args.name.map_or_else(|| method.sig.ident.to_token_stream(), |name| quote!(#name)),
            ident: method.sig.ident.clone(),
            cfgs: cfgs(&method.attrs).cloned().collect(),
            is_method: method.sig.receiver().is_some(),
        })
    }
}

/// Reports tools of the same name, unless `cfg` may keep them apart.
fn check_names(tools: &[ToolMethod], errors: &mut Errors) {
    for (position, tool) in tools.iter().enumerate() {
        let same = |other: &&ToolMethod| other.name == tool.name && other.cfgs.is_empty();
        if tool.cfgs.is_empty() && tools.iter().take(position).any(|other| same(&other)) {
            errors.at(&tool.named_at, format!("there are two tools called `{}`", tool.name));
        }
    }
}

/// An attribute that is repeated on two blocks: what it expects may be in either, so it is only allowed.
fn soften(attribute: &mut Attribute) {
    if let Meta::List(list) = &attribute.meta
        && list.path.is_ident("expect")
    {
        let lints = &list.tokens;
        *attribute = parse_quote!(#[allow(#lints)]);
    }
}

fn self_bounds() -> TokenStream {
    quote!(Self: ::core::marker::Send + ::core::marker::Sync + 'static)
}

fn is_extension(path: &Path) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == "Extension")
}

fn is_async_trait(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "async_trait")
}

fn method_name(item: &ImplItem) -> Option<Ident> {
    match item {
        ImplItem::Fn(method) => Some(method.sig.ident.clone()),
        _ => None,
    }
}

/// The rest of a refused block: everything but its tools.
fn without_tools(mut block: ItemImpl) -> TokenStream {
    block.items.retain(|item| !matches!(item, ImplItem::Fn(method) if method.attrs.iter().any(is_tool)));
    block.into_token_stream()
}
