//! What a parameter is in JSON, as far as its type is written: only well-known names are recognised, and nothing is
//! said about the author's own types and aliases.

use syn::Type;

use crate::types::{last_segment, peel};

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
    pub(crate) fn of(ty: &Type) -> Option<Self> {
        match peel(ty) {
            Type::Slice(_) => Some(Self::List),
            Type::Array(_) | Type::Tuple(_) => Some(Self::Fixed),
            Type::Reference(reference) => Self::of(&reference.elem),
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
