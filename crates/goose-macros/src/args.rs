//! The arguments of `#[tool(…)]` and `#[extension(…)]`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Expr, ExprArray, ExprLit, Ident, Lit, LitStr, Type, parse::ParseStream, spanned::Spanned as _};

use crate::{
    entries::{flag, read_entries, text, value},
    errors::Errors,
    names::check_tool_name,
};

const TOOL_KEYS: [&str; 10] = [
    "name",
    "description",
    "title",
    "group",
    "read_only",
    "destructive",
    "idempotent",
    "open_world",
    "timeout",
    "output",
];

/// The words for groups, and the variants of `ToolGroup` they stand for.
const GROUPS: [(&str, &str); 5] =
    [("read", "Read"), ("edit", "Edit"), ("command", "Command"), ("fetch", "Fetch"), ("browser", "Browser")];

/// The hints about a tool's effects, as keys of the attribute and methods of `ToolAnnotations`.
const HINTS: [&str; 4] = ["read_only", "destructive", "idempotent", "open_world"];

/// A tool's attribute, checked.
#[derive(Default)]
pub(crate) struct ToolArgs {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) timeout: Option<Timeout>,
    title: Option<Expr>,
    groups: Vec<Ident>,
    hints: Vec<(Ident, bool)>,
    pub(crate) output: Option<Type>,
}

/// The time limit of a call, and its place in the source.
pub(crate) struct Timeout {
    pub(crate) key: Ident,
    millis: u64,
}

impl ToolArgs {
    /// Reads the attribute; what is wrong with it goes to `errors`.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut args = Self::default();
        read_entries("tool", tokens, &TOOL_KEYS, errors, |key, input| args.read(key, input));
        args.check_hints(errors);
        args
    }

    fn read(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match key.to_string().as_str() {
            "name" => self.name = Some(tool_name(value(key, input)?)?),
            "description" => self.description = Some(text(key, input)?),
            "title" => self.title = Some(text(key, input)?),
            "group" => self.groups = groups(value(key, input)?)?,
            "timeout" => {
                let millis = millis(&value(key, input)?)?;
                self.timeout = Some(Timeout { key: key.clone(), millis });
            }
            "output" => self.output = Some(value(key, input)?),
            _ => self.hints.push((key.clone(), flag(key, input)?)),
        }
        Ok(())
    }

    fn check_hints(&self, errors: &mut Errors) {
        let set = |name: &str| self.hints.iter().any(|(hint, on)| hint == name && *on);
        if let Some((destructive, _)) = self.hints.iter().find(|(hint, _)| hint == "destructive")
            && set("destructive")
            && set("read_only")
        {
            errors.at(destructive, "a tool that is `read_only` cannot be `destructive`");
        }
    }

    /// The calls that add everything optional to a `Tool`.
    pub(crate) fn with_calls(&self) -> TokenStream {
        let title = self.title.iter().map(|title| quote!(.with_title(#title)));
        let output = self
            .output
            .iter()
            .map(|output| quote!(.with_output_schema(::goose_extension::schema::output_schema::<#output>())));
        let timeout = self.timeout.iter().map(
            |Timeout { millis, .. }| quote!(.with_timeout(::core::time::Duration::from_millis(#millis))),
        );
        let (groups, annotations) = (self.group_call(), self.annotation_call());
        quote!(#(#title)* #(#output)* #(#timeout)* #groups #annotations)
    }

    fn group_call(&self) -> Option<TokenStream> {
        let groups = &self.groups;
        let call = || quote!(.with_groups([#(::goose_extension::ToolGroup::#groups),*]));
        (!groups.is_empty()).then(call)
    }

    fn annotation_call(&self) -> Option<TokenStream> {
        let hints = HINTS.iter().filter_map(|name| self.hints.iter().find(|(hint, _)| hint == name));
        let calls = hints.map(|(hint, on)| quote!(.#hint(#on)));
        let call = || quote!(.with_annotations(::goose_extension::ToolAnnotations::new()#(#calls)*));
        (!self.hints.is_empty()).then(call)
    }
}

fn tool_name(name: LitStr) -> syn::Result<LitStr> {
    check_tool_name(&name.value()).map_err(|reason| syn::Error::new(name.span(), reason))?;
    Ok(name)
}

fn groups(groups: Expr) -> syn::Result<Vec<Ident>> {
    let mut errors = Errors::default();
    let found = match groups {
        Expr::Array(ExprArray { elems, .. }) => {
            elems.iter().filter_map(|one| errors.keep(group(one))).collect()
        }
        one => errors.keep(group(&one)).into_iter().collect(),
    };
    errors.into_result().map(|()| found)
}

fn group(group: &Expr) -> syn::Result<Ident> {
    let word = match group {
        Expr::Lit(ExprLit { lit: Lit::Str(word), .. }) => word.value(),
        _ => String::new(),
    };
    match GROUPS.iter().find(|(name, _)| *name == word) {
        Some((_, variant)) => Ok(Ident::new(variant, Span::call_site())),
        None => Err(syn::Error::new(
            group.span(),
            "a tool's group is \"read\", \"edit\", \"command\", \"fetch\" or \"browser\"",
        )),
    }
}

/// `"500ms"`, `"30s"`, `"2m"`, or an integer number of seconds.
fn millis(timeout: &Lit) -> syn::Result<u64> {
    let found = match timeout {
        Lit::Int(seconds) if matches!(seconds.suffix(), "ms" | "s" | "m") => {
            let message = format!("a time with a unit is a string: \"{seconds}\"");
            return Err(syn::Error::new(timeout.span(), message));
        }
        Lit::Int(seconds) if seconds.suffix().is_empty() => {
            seconds.base10_parse().ok().and_then(|seconds: u64| seconds.checked_mul(1000))
        }
        Lit::Str(text) => duration(text.value().trim()),
        _ => None,
    };
    found.filter(|millis| *millis > 0).ok_or_else(|| {
        let message = "a timeout is a time above zero: \"500ms\", \"30s\", \"2m\", or a number of seconds";
        syn::Error::new(timeout.span(), message)
    })
}

fn duration(text: &str) -> Option<u64> {
    let digits = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim_start() {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

const EXTENSION_KEYS: [&str; 4] = ["name", "description", "instructions", "version"];

/// The texts of an extension, by the name of the `Extension` method that returns them.
#[derive(Default)]
pub(crate) struct ExtensionArgs {
    texts: Vec<(Ident, Expr)>,
}

impl ExtensionArgs {
    /// Reads the attribute; what is wrong with it goes to `errors`.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut args = Self::default();
        read_entries("extension", tokens, &EXTENSION_KEYS, errors, |key, input| args.read(key, input));
        args
    }

    fn read(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        let text: Expr = value(key, input)?;
        if let Expr::Lit(ExprLit { lit, .. }) = &text {
            match lit {
                Lit::Str(name) if key == "name" && name.value().trim().is_empty() => {
                    return Err(syn::Error::new(name.span(), "an extension's name cannot be empty"));
                }
                Lit::Str(_) => {}
                _ => return Err(syn::Error::new(lit.span(), "expected a string")),
            }
        }
        self.texts.push((key.clone(), text));
        Ok(())
    }

    /// The text for `key`, where there is one.
    pub(crate) fn get(&self, key: &str) -> Option<&Expr> {
        self.texts.iter().find(|(known, _)| known == key).map(|(_, text)| text)
    }

    /// Reports texts for which the author also wrote the method.
    pub(crate) fn check_written(&self, written: &[Ident], errors: &mut Errors) {
        for (key, _) in self.texts.iter().filter(|(key, _)| written.contains(key)) {
            errors.at(key, format!("`{key}` is given twice: here and as a method"));
        }
    }
}
