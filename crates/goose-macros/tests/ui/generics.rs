//! A tool has one schema.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    #[tool]
    fn generic<T: Serialize>(&self, value: T) -> T {
        value
    }

    #[tool]
    fn lifetime<'a>(&self, text: &'a str) -> &'a str {
        text
    }

    #[tool]
    fn hidden(&self, text: impl Into<String>) -> String {
        text.into()
    }

    #[tool]
    fn bounded(&self)
    where
        Self: Sized,
    {
    }
}

fn main() {}
