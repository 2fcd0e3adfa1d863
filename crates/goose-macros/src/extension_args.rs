//! What is written in `#[extension(…)]`.

use proc_macro2::TokenStream;
use syn::{Expr, ExprLit, Ident, Lit, parse::ParseStream};

use crate::{
    entries::{read_entries, value},
    errors::Errors,
};

const KEYS: [&str; 4] = ["name", "description", "instructions", "version"];

/// The texts of an extension, by the name of the `Extension` method that returns them.
#[derive(Default)]
pub(crate) struct ExtensionArgs {
    texts: Vec<(Ident, Expr)>,
}

impl ExtensionArgs {
    /// Reads the attribute; what is wrong with it goes to `errors`.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut args = Self::default();
        read_entries("extension", tokens, &KEYS, errors, |key, input| args.read(key, input));
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
