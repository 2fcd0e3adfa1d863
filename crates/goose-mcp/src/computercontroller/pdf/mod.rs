//! `pdf_tool`: text and images of a PDF.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `object.rs` | objects, and the lexer that reads them |
//! | `file.rs` | the objects of a file, found by looking through all of it, and its pages |
//! | `filter.rs` | packed streams |
//! | `encoding.rs`, `font.rs` | codes of a font as characters, with their widths |
//! | `text.rs` | the text of a page, in the order in which it is drawn |
//! | `image.rs` | images as PNG or JPEG |
//!
//! The table of objects in a file is not used: it is the first thing that is wrong in a damaged file.

mod encoding;
mod file;
mod filter;
mod font;
mod image;
mod object;
mod text;

use goose_extension::{ContentBlock, prelude::*};

use self::{file::PdfFile, image::Found};
use super::{ComputerController, blocking, document::Document, failed};

/// Maximum length of the text in an answer.
const MAX_SHOWN_BYTES: usize = 100 * 1024;

/// Maximum number of images, and size of those in an answer.
const MAX_IMAGES: usize = 50;
const MAX_SHOWN_IMAGES: usize = 5;
const MAX_IMAGE_BYTES: usize = 1024 * 1024;

/// What to get from a PDF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum PdfOperation {
    ExtractText,
    ExtractImages,
}

/// Error in a PDF.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct PdfError(pub(super) String);

impl ComputerController {
    /// Read a PDF. Returns its text page by page, cut if long, or its images with the files that they are saved in. Fails if it is
    /// not a PDF or is encrypted.
    #[tool(title = "PDF", group = "read", read_only, open_world = false)]
    pub(super) async fn pdf_tool(
        &self,
        /// The PDF
        path: String,
        /// `extract_text` or `extract_images`
        operation: PdfOperation,
        /// First page to read, 1 to 100000; default 1
        #[arg(min = 1, max = 100_000)]
        page: Option<usize>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let (place, backend) = (self.resolve_path(&path, context)?, self.backend(context));
        let cache = self.cache.clone();
        blocking(move || {
            let document = Document::open(&*backend, place)?;
            let invalid = |error: PdfError| document.invalid("a PDF", error);
            let file = PdfFile::open(&document.bytes).map_err(invalid)?;
            let first = page.unwrap_or(1);
            let pages = file.pages().map_err(invalid)?;
            if first > pages.len() {
                return Err(failed(format!(
                    "{} has {} pages, so there is no page {first}.",
                    document.place,
                    pages.len()
                )));
            }
            if operation == PdfOperation::ExtractText {
                return text::text(&file, &pages, first, MAX_SHOWN_BYTES)
                    .map(ToolOutput::text)
                    .map_err(invalid);
            }
            let images = image::images(&file, &pages[first - 1..], first, MAX_IMAGES).map_err(invalid)?;
            Ok(show_images(images, |image| {
                let name = format!("page{}", image.page);
                Some(cache.as_ref()?.save(&name, image.extension, &image.bytes))
            }))
        })
        .await
    }
}

fn show_images(
    images: Vec<Found>,
    save: impl Fn(&image::PageImage) -> Option<std::io::Result<std::path::PathBuf>>,
) -> ToolOutput {
    let (mut lines, mut blocks) = (Vec::new(), Vec::new());
    for image in images {
        match image {
            Found::Image(image) => {
                let saved = match save(&image) {
                    Some(Ok(path)) => format!("saved to {}", path.display()),
                    Some(Err(error)) => format!("not saved: {error}"),
                    None => "not saved".to_owned(),
                };
                lines.push(format!(
                    "page {}: {}x{} {}, {saved}",
                    image.page, image.width, image.height, image.extension
                ));
                if blocks.len() < MAX_SHOWN_IMAGES && image.bytes.len() <= MAX_IMAGE_BYTES {
                    let kind = if image.extension == "png" { "image/png" } else { "image/jpeg" };
                    blocks.push(ContentBlock::from(Image::new(image.bytes, kind)));
                }
            }
            Found::Unsupported(page, what) => {
                lines.push(format!("page {page}: an image that is not supported ({what})"))
            }
        }
    }
    let text = if lines.is_empty() { "There are no images.".to_owned() } else { lines.join("\n") };
    ToolOutput::content([ContentBlock::text(text)].into_iter().chain(blocks))
}
