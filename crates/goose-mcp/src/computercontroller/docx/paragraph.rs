//! New paragraphs. Each names its namespaces, whatever prefixes the document uses.

use std::fmt::Write as _;

use super::{
    super::xml::{Result, error, escaped},
    Style,
};

pub(super) const WORD: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";

/// Place of text between the margins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Alignment {
    Left,
    Center,
    Right,
    Justified,
}

/// Properties of a paragraph and of its text, as XML.
#[derive(Debug, Default)]
pub(super) struct Look {
    paragraph: String,
    text: String,
}

impl Look {
    pub(super) fn new(level: Option<u32>, style: &Style) -> Result<Self> {
        let mut look = Self::default();
        // The order of the properties is fixed. Writing to a string cannot fail.
        if let Some(level) = level {
            let _ = write!(look.paragraph, r#"<w:pStyle w:val="Heading{level}"/>"#);
        }
        if let Some(alignment) = style.alignment {
            let value = match alignment {
                Alignment::Left => "left",
                Alignment::Center => "center",
                Alignment::Right => "right",
                Alignment::Justified => "both",
            };
            let _ = write!(look.paragraph, r#"<w:jc w:val="{value}"/>"#);
        }
        if let Some(level) = level {
            let _ = write!(look.paragraph, r#"<w:outlineLvl w:val="{}"/>"#, level - 1);
        }
        for (is_set, tag) in [(style.bold, "<w:b/>"), (style.italic, "<w:i/>")] {
            look.text.push_str(if is_set { tag } else { "" });
        }
        if let Some(color) = &style.color {
            let color = color.trim_start_matches('#');
            if color.len() != 6 || !color.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return error(format!("`{color}` is not a colour; write `FF0000`"));
            }
            let _ = write!(look.text, r#"<w:color w:val="{color}"/>"#);
        }
        if let Some(size) = style.size {
            if !(4..=200).contains(&size) {
                return error(format!("the size {size} is not within 4 to 200 half points"));
            }
            let _ = write!(look.text, r#"<w:sz w:val="{size}"/>"#);
        }
        look.text.push_str(if style.underline { r#"<w:u w:val="single"/>"# } else { "" });
        Ok(look)
    }

    /// Returns a paragraph with this text.
    pub(super) fn paragraph(&self, text: &str) -> String {
        let properties = |tag: &str, inner: &str| match inner.is_empty() {
            true => String::new(),
            false => format!("<w:{tag}>{inner}</w:{tag}>"),
        };
        format!(
            r#"<w:p xmlns:w="{WORD}">{}<w:r>{}<w:t xml:space="preserve">{}</w:t></w:r></w:p>"#,
            properties("pPr", &self.paragraph),
            properties("rPr", &self.text),
            escaped(text)
        )
    }
}
