//! The check that every image and sound passes before it enters a conversation: size, base64, media type.
//!
//! A model service refuses a whole conversation for one bad block in it, so the bridge, the loop and the providers all check.

/// The largest image or sound, as base64. Anthropic's limit, the smallest of the services'.
pub const MAX_MEDIA_BYTES: usize = 5 * 1024 * 1024;

/// The longest media type that a message quotes.
const MAX_TYPE_CHARS: usize = 64;

/// The reason why a medium cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaFault {
    /// It has more than [`MAX_MEDIA_BYTES`].
    TooLarge,
    /// Its data is not base64.
    NotBase64,
}

/// Checks the base64 data of an image or a sound.
///
/// # Errors
///
/// The reason why it cannot be sent.
pub fn check_media(data: &str) -> Result<(), MediaFault> {
    if data.len() > MAX_MEDIA_BYTES {
        return Err(MediaFault::TooLarge);
    }
    is_base64(data).then_some(()).ok_or(MediaFault::NotBase64)
}

/// Returns the canonical name of an image type that model services accept.
pub fn accepted_image_type(media_type: &str) -> Option<&'static str> {
    match media_type.to_ascii_lowercase().as_str() {
        "image/png" => Some("image/png"),
        "image/jpeg" | "image/jpg" => Some("image/jpeg"),
        "image/gif" => Some("image/gif"),
        "image/webp" => Some("image/webp"),
        _ => None,
    }
}

/// Returns a media type as a message may quote it: it comes from outside.
pub fn media_type_for_message(media_type: &str) -> String {
    media_type.chars().filter(|c| !c.is_control()).take(MAX_TYPE_CHARS).collect()
}

/// Checks length, alphabet and padding; nothing is decoded.
fn is_base64(text: &str) -> bool {
    let body = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !text.is_empty() && text.len().is_multiple_of(4) && body.bytes().all(fits)
}
