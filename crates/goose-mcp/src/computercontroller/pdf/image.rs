//! Images of pages as PNG or JPEG.

use std::collections::HashSet;

use super::{
    super::png::{self, Pixels},
    PdfError,
    file::{MAX_STREAM_BYTES, Page, PdfFile},
    filter,
    object::{Dict, Object},
};

/// Maximum nesting of drawings within drawings.
const MAX_FORMS: usize = 4;

/// An image as a file.
pub(super) struct PageImage {
    pub(super) page: usize,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) extension: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// An image of a page.
pub(super) enum Found {
    Image(PageImage),
    /// Its page, and its kind.
    Unsupported(usize, String),
}

/// Returns the images of pages, each once.
pub(super) fn images(
    file: &PdfFile<'_>,
    pages: &[Page],
    first: usize,
    limit: usize,
) -> Result<Vec<Found>, PdfError> {
    let mut search = Search { file, seen: HashSet::new(), found: Vec::new(), limit };
    for (number, page) in (first..).zip(pages) {
        if let Some(resources) = page.resources.dict() {
            search.look(resources, number, 0)?;
        }
    }
    Ok(search.found)
}

struct Search<'s, 'f> {
    file: &'s PdfFile<'f>,
    seen: HashSet<u32>,
    found: Vec<Found>,
    limit: usize,
}

impl Search<'_, '_> {
    fn look(&mut self, resources: &Dict, page: usize, depth: usize) -> Result<(), PdfError> {
        for object in self.file.get_dict(resources, "XObject").values() {
            let Object::Ref(number) = object else { continue };
            if self.found.len() >= self.limit || !self.seen.insert(*number) {
                continue;
            }
            let Some((dict, data)) = self.file.stream(object) else { continue };
            match self.file.get(&dict, "Subtype").name() {
                Some("Image") => {
                    let found = image(self.file, &dict, data, page)?;
                    self.found.push(found);
                }
                Some("Form") if depth < MAX_FORMS => {
                    let inner = self.file.get_dict(&dict, "Resources");
                    self.look(&inner, page, depth + 1)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn image(file: &PdfFile<'_>, dict: &Dict, data: &[u8], page: usize) -> Result<Found, PdfError> {
    let size = |key: &str| file.get(dict, key).index().and_then(|size| u32::try_from(size).ok()).unwrap_or(0);
    let (width, height) = (size("Width"), size("Height"));
    let unsupported = |what: &str| Ok(Found::Unsupported(page, what.to_owned()));
    let unpacked = filter::decode(file, dict, data)?;
    let (extension, bytes) = match unpacked.image_filter.as_deref() {
        Some("DCTDecode" | "DCT") => ("jpg", unpacked.bytes),
        Some(other) => return unsupported(other),
        None => {
            let bits = file.get(dict, "BitsPerComponent").index().unwrap_or(1);
            let pixels = u64::from(width) * u64::from(height);
            if pixels == 0 || pixels > MAX_STREAM_BYTES as u64 / 3 {
                return unsupported(&format!("{width}x{height}"));
            }
            let space = file.get(dict, "ColorSpace");
            let Some((kind, rows)) =
                colors(file, &space, &unpacked.bytes, (width as usize, height as usize), bits)
            else {
                return unsupported(&format!("{bits} bits, {}", name_of(&space)));
            };
            match png::encode(width, height, kind, &rows) {
                Ok(bytes) => ("png", bytes),
                Err(error) => return unsupported(&error.to_string()),
            }
        }
    };
    Ok(Found::Image(PageImage { page, width, height, extension, bytes }))
}

fn name_of(space: &Object) -> String {
    let first = space.array().and_then(<[Object]>::first).unwrap_or(space);
    first.name().unwrap_or("unknown colours").to_owned()
}

/// Returns the pixels in gray or red, green and blue.
fn colors(
    file: &PdfFile<'_>,
    space: &Object,
    bytes: &[u8],
    (width, height): (usize, usize),
    bits: usize,
) -> Option<(Pixels, Vec<u8>)> {
    if !matches!(bits, 1 | 2 | 4 | 8) {
        return None;
    }
    let parts = space.array().unwrap_or_default();
    let samples = |count: usize, scale: bool| samples(bytes, width * count, height, bits, scale);
    let count = match name_of(space).as_str() {
        "DeviceGray" | "CalGray" | "G" => 1,
        "DeviceRGB" | "CalRGB" | "RGB" => 3,
        "DeviceCMYK" | "CMYK" => 4,
        "ICCBased" => file.get(&file.stream(parts.get(1)?)?.0, "N").index()?,
        "Indexed" | "I" => {
            let (kind, palette) = palette(file, parts)?;
            let size = kind.bytes();
            let mut rows = Vec::with_capacity(width * height * size);
            for index in samples(1, false)? {
                let start = usize::from(index) * size;
                rows.extend_from_slice(palette.get(start..start + size).unwrap_or(&[0, 0, 0][..size]));
            }
            return Some((kind, rows));
        }
        // A mask has no colours.
        "unknown colours" if bits == 1 => 1,
        _ => return None,
    };
    match count {
        1 => Some((Pixels::Gray, samples(1, true)?)),
        3 => Some((Pixels::Rgb, samples(3, true)?)),
        4 => {
            let ink =
                |value: u8, black: u8| ((255 - u16::from(value)) * (255 - u16::from(black)) / 255) as u8;
            let inks = samples(4, true)?;
            let pixel = |cmyk: &[u8]| [ink(cmyk[0], cmyk[3]), ink(cmyk[1], cmyk[3]), ink(cmyk[2], cmyk[3])];
            Some((Pixels::Rgb, inks.chunks_exact(4).flat_map(pixel).collect()))
        }
        _ => None,
    }
}

/// Returns the colours that the samples of an indexed colour space stand for.
fn palette(file: &PdfFile<'_>, space: &[Object]) -> Option<(Pixels, Vec<u8>)> {
    let palette = match file.resolve(space.get(3)?) {
        Object::Text(palette) => palette,
        _ => file.unpacked(space.get(3)?).ok()?,
    };
    let base = file.resolve(space.get(1)?);
    let components = match name_of(&base).as_str() {
        "DeviceGray" => 1,
        "DeviceRGB" | "CalRGB" => 3,
        "ICCBased" => file.get(&file.stream(base.array()?.get(1)?)?.0, "N").index()?,
        _ => return None,
    };
    match components {
        1 => Some((Pixels::Gray, palette)),
        3 => Some((Pixels::Rgb, palette)),
        _ => None,
    }
}

/// Returns one byte for each sample. Missing ones are 0.
fn samples(bytes: &[u8], per_row: usize, height: usize, bits: usize, scale: bool) -> Option<Vec<u8>> {
    let stride = per_row.checked_mul(bits)?.div_ceil(8);
    let total = per_row.checked_mul(height).filter(|total| *total <= MAX_STREAM_BYTES * 2)?;
    let mut samples = Vec::with_capacity(total);
    let largest = (1_u16 << bits) - 1;
    for row in 0..height {
        for column in 0..per_row {
            let bit = column * bits;
            let byte = bytes.get(row * stride + bit / 8).copied().unwrap_or(0);
            let sample = u16::from(byte) >> (8 - bits - bit % 8) & largest;
            samples.push(if scale { (sample * 255 / largest) as u8 } else { sample as u8 });
        }
    }
    Some(samples)
}
