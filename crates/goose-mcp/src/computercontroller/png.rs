//! Pixels as PNG.

use std::io::{self, Write as _};

use flate2::{Compression, Crc, write::ZlibEncoder};

/// Kind of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pixels {
    Gray,
    Rgb,
}

impl Pixels {
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::Rgb => 3,
        }
    }
}

/// Returns pixels with 8 bits for each colour, row by row, as a PNG file.
pub(super) fn encode(width: u32, height: u32, pixels: Pixels, rows: &[u8]) -> io::Result<Vec<u8>> {
    let stride = width as usize * pixels.bytes();
    if stride == 0 || rows.len() != stride * height as usize {
        return Err(io::Error::other("the image has another size than its pixels"));
    }
    let mut header = Vec::with_capacity(13);
    header.extend_from_slice(&width.to_be_bytes());
    header.extend_from_slice(&height.to_be_bytes());
    header.extend_from_slice(&[8, if pixels == Pixels::Gray { 0 } else { 2 }, 0, 0, 0]);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    for row in rows.chunks(stride) {
        // No filter: screens have large areas of one colour.
        packed.write_all(&[0])?;
        packed.write_all(row)?;
    }
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut png, *b"IHDR", &header);
    chunk(&mut png, *b"IDAT", &packed.finish()?);
    chunk(&mut png, *b"IEND", &[]);
    Ok(png)
}

fn chunk(png: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    let mut crc = Crc::new();
    crc.update(&kind);
    crc.update(data);
    png.extend_from_slice(&(data.len() as u32).to_be_bytes());
    png.extend_from_slice(&kind);
    png.extend_from_slice(data);
    png.extend_from_slice(&crc.sum().to_be_bytes());
}
