//! The smallest picture and the shortest sound.

/// A PNG file with one white pixel.
pub(crate) const PIXEL_PNG: &[u8] = b"\x89PNG\r\n\x1a\n\
    \0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\
    \0\0\0\x0aIDATx\x9cc\xf8\x0f\0\x01\x01\x01\0\xb18\xf6\x14\
    \0\0\0\0IEND\xaeB`\x82";

/// A WAV file with a millisecond of silence: one channel of 8 bits, 8000 times a second.
pub(crate) const SILENCE_WAV: &[u8] = b"RIFF\x2c\0\0\0WAVE\
    fmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0\
    data\x08\0\0\0\x80\x80\x80\x80\x80\x80\x80\x80";
