//! The resources: three with an address of their own, and one address with a hole in it.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use goose_extension::{ContentBlock, Resource, ResourceContents, ResourceTemplate, prelude::*};

use super::media;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

pub(crate) fn list() -> Vec<Resource> {
    let described = [
        (TEXT, "Static text", "A text that stays the same", "text/plain"),
        (BINARY, "Static binary", "A picture that stays the same", "image/png"),
        (WATCHED, "Watched resource", "A text whose changes one can hear of", "text/plain"),
    ];
    described
        .map(|(uri, name, description, mime_type)| {
            Resource::new(uri, name).with_description(description).with_mime_type(mime_type)
        })
        .into()
}

pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new("test://template/{id}/data", "Data by number")
        .with_description("Data made from the number in the address")
        .with_mime_type("application/json")
}

pub(crate) fn read(uri: &str) -> ToolResult<ResourceContents> {
    match uri {
        TEXT => Ok(plain(uri, "This is the content of the static text resource.")),
        WATCHED => Ok(plain(uri, "This is the content of the watched resource.")),
        BINARY => {
            Ok(ResourceContents::blob(BASE64.encode(media::PIXEL_PNG), uri).with_mime_type("image/png"))
        }
        _ => from_template(uri)
            .ok_or_else(|| ToolError::ResourceNotFound(format!("There is no resource `{uri}` here."))),
    }
}

/// A resource together with its content, as part of an answer.
pub(crate) fn embedded(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(mime_type))
}

fn plain(uri: &str, text: &str) -> ResourceContents {
    ResourceContents::text(text, uri).with_mime_type("text/plain")
}

fn from_template(uri: &str) -> Option<ResourceContents> {
    let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
    let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
    (!id.is_empty() && !id.contains('/'))
        .then(|| ResourceContents::text(data.to_string(), uri).with_mime_type("application/json"))
}
