//! `docx_tool`: texts.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `read.rs` | the text, with headings, lists and tables |
//! | `paragraph.rs` | new paragraphs |
//! | `replace.rs` | text that runs hold in pieces, replaced |
//! | `write.rs` | paragraphs and images put in, and new documents |

mod paragraph;
mod read;
mod replace;
mod write;

use std::sync::Arc;

use goose_extension::{Backend, prelude::*};

use self::paragraph::{Alignment, Look};
use super::{
    ComputerController, blocking,
    document::Document,
    failed,
    xml::{FormatError, Result as FormatResult},
};
use crate::developer::ResolvedPath;

/// Operations that write.
pub(super) const WRITING: &[&str] = &["append", "replace", "structured", "add_image"];

/// What to do with a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum DocxOperation {
    ExtractText,
    Append,
    Replace,
    Structured,
    AddImage,
}

/// Style of the text of `structured`.
#[derive(Debug, Clone, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Style {
    /// Bold text, default false
    bold: bool,
    /// Italic text, default false
    italic: bool,
    /// Underlined text, default false
    underline: bool,
    /// Size of letters, 4 to 200 half points; default that of the document
    size: Option<u32>,
    /// Colour such as `FF0000`, default that of the document
    color: Option<String>,
    /// `left`, `center`, `right` or `justified`, default left
    alignment: Option<Alignment>,
}

impl ComputerController {
    /// Read or change a docx document; operations that add create it. Returns its text as Markdown, or what was changed. Fails
    /// if it is not a document, is protected, or has no such text.
    #[tool(title = "Text document", group = ["read", "edit"], destructive, open_world = false)]
    #[expect(clippy::too_many_arguments, reason = "these are the parameters of the tool")]
    pub(super) async fn docx_tool(
        &self,
        /// The document
        path: String,
        /// `extract_text`, `append`, `replace`, `structured` or `add_image`
        operation: DocxOperation,
        /// Text to add, one paragraph for each line, or the new text for `replace`; default none
        #[arg(default)]
        content: String,
        /// Text to replace, everywhere; default none
        old_text: Option<String>,
        /// Level of a heading for `structured`, 1 to 9; default a paragraph
        #[arg(min = 1, max = 9)]
        level: Option<u32>,
        /// Style for `structured`, default that of the document
        style: Option<Style>,
        /// PNG or JPEG file for `add_image`; default none
        image_path: Option<String>,
        context: &CallContext,
    ) -> ToolResult<String> {
        let (place, backend) = (self.resolve_path(&path, context)?, self.backend(context));
        let image = image_path.map(|image| self.resolve_path(&image, context)).transpose()?;
        let changes = Arc::clone(&self.changes);
        blocking(move || {
            if operation == DocxOperation::ExtractText {
                let document = Document::open(&*backend, place)?;
                return read::text(&document.bytes).map_err(|error| document.invalid("a document", error));
            }
            let _turn = changes.lock();
            let edit = Edit { operation, content, old_text, level, style: style.unwrap_or_default() };
            edit.run(&*backend, place, image)
        })
        .await
    }
}

/// A change of a document.
struct Edit {
    operation: DocxOperation,
    content: String,
    old_text: Option<String>,
    level: Option<u32>,
    style: Style,
}

impl Edit {
    fn run(
        &self,
        backend: &dyn Backend,
        place: ResolvedPath,
        image: Option<ResolvedPath>,
    ) -> ToolResult<String> {
        let document = match self.operation {
            DocxOperation::Replace => Document::open(backend, place)?,
            _ => Document::open_or_new(backend, place, || {
                write::new_document().map_err(|error| failed(error.to_string()))
            })?,
        };
        let image = match (self.operation, image) {
            (DocxOperation::AddImage, Some(image)) => Some(Document::open(backend, image)?),
            (DocxOperation::AddImage, None) => {
                return Err(failed("`image_path` is missing: name a PNG or JPEG file."));
            }
            _ => None,
        };
        let changed = self.apply(&document.bytes, image.as_ref().map(|image| image.bytes.as_slice()));
        let (bytes, what) = changed.map_err(|error| document.invalid("a document", error))?;
        document.replace(backend, &bytes)?;
        let verb = if document.is_new() { "Created" } else { "Updated" };
        Ok(format!("{verb} {}: {what}", document.place))
    }

    fn apply(&self, bytes: &[u8], image: Option<&[u8]>) -> FormatResult<(Vec<u8>, String)> {
        match (self.operation, image) {
            (DocxOperation::Replace, _) => {
                let old = self.old_text.as_deref().filter(|text| !text.is_empty());
                let old = old.ok_or_else(|| FormatError::Other("`old_text` is missing".to_owned()))?;
                let (bytes, count) = replace::replace(bytes, old, &self.content)?;
                Ok((bytes, format!("replaced {count} times")))
            }
            (_, Some(image)) => {
                Ok((write::add_image(bytes, image, &self.content)?, "added the image".to_owned()))
            }
            (operation, None) => {
                let look = match operation {
                    DocxOperation::Structured => Look::new(self.level, &self.style)?,
                    _ => Look::default(),
                };
                let paragraphs: Vec<String> = self.content.lines().map(|line| look.paragraph(line)).collect();
                let bytes = write::append(bytes, &paragraphs.concat())?;
                Ok((bytes, format!("added {} paragraphs", paragraphs.len())))
            }
        }
    }
}
