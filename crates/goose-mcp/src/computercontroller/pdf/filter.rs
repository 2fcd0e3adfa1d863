//! Packed streams.

use std::io::Read as _;

use flate2::read::ZlibDecoder;

use super::{
    PdfError,
    file::{MAX_STREAM_BYTES, PdfFile},
    object::{Dict, Object},
};

/// Maximum number of filters of a stream.
const MAX_FILTERS: usize = 8;

type Result<T> = std::result::Result<T, PdfError>;

/// A stream, and the filter of images that is left.
pub(super) struct Unpacked {
    pub(super) bytes: Vec<u8>,
    pub(super) image_filter: Option<String>,
}

/// Unpacks a stream. What is damaged is returned as far as it can be read.
pub(super) fn decode(file: &PdfFile<'_>, dict: &Dict, data: &[u8]) -> Result<Unpacked> {
    let list = |long: &str, short: &str| match file.get(dict, long) {
        Object::Null => file.get(dict, short),
        object => object,
    };
    let several = |object: Object| match object {
        Object::Array(all) => all.iter().map(|one| file.resolve(one)).collect(),
        Object::Null => Vec::new(),
        one => vec![one],
    };
    let (filters, parameters) = (several(list("Filter", "F")), several(list("DecodeParms", "DP")));
    if filters.len() > MAX_FILTERS {
        return Err(PdfError(format!("a stream in it has more than {MAX_FILTERS} filters")));
    }
    let mut bytes = data.to_vec();
    for (index, filter) in filters.iter().enumerate() {
        let empty = Dict::new();
        let parameters = parameters.get(index).and_then(Object::dict).unwrap_or(&empty);
        bytes = match filter.name().unwrap_or_default() {
            "FlateDecode" | "Fl" => predicted(file, parameters, inflate(&bytes)?),
            "LZWDecode" | "LZW" => {
                let early = file.get(parameters, "EarlyChange").index() != Some(0);
                predicted(file, parameters, lzw(&bytes, early)?)
            }
            "ASCIIHexDecode" | "AHx" => ascii_hex(&bytes),
            "ASCII85Decode" | "A85" => ascii_85(&bytes),
            "RunLengthDecode" | "RL" => run_length(&bytes)?,
            other => {
                file.count_unpacked(bytes.len())?;
                return Ok(Unpacked { bytes, image_filter: Some(other.to_owned()) });
            }
        };
        file.count_unpacked(bytes.len())?;
    }
    Ok(Unpacked { bytes, image_filter: None })
}

fn checked(bytes: Vec<u8>) -> Result<Vec<u8>> {
    match bytes.len() <= MAX_STREAM_BYTES {
        true => Ok(bytes),
        false => Err(PdfError(format!("a stream in it unpacks to more than {MAX_STREAM_BYTES} bytes"))),
    }
}

fn inflate(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    // An error leaves what was read before it.
    let _ = ZlibDecoder::new(bytes).take(MAX_STREAM_BYTES as u64 + 1).read_to_end(&mut unpacked);
    checked(unpacked)
}

fn lzw(bytes: &[u8], early: bool) -> Result<Vec<u8>> {
    const CLEAR: usize = 256;
    const END: usize = 257;
    // Each entry is its predecessor and one more byte, with its length.
    let mut table: Vec<(usize, u8, usize)> = Vec::new();
    let (mut out, mut width, mut previous) = (Vec::new(), 9_u32, None::<usize>);
    let (mut bits, mut held) = (0_u32, 0_u32);
    let mut input = bytes.iter();
    let reset = |table: &mut Vec<(usize, u8, usize)>| {
        table.clear();
        table.extend((0..=255_u8).map(|byte| (usize::MAX, byte, 1)));
        table.extend([(usize::MAX, 0, 0); 2]);
    };
    reset(&mut table);
    loop {
        while held < width {
            let Some(byte) = input.next() else { return Ok(out) };
            bits = bits << 8 | u32::from(*byte);
            held += 8;
        }
        held -= width;
        let code = (bits >> held & ((1 << width) - 1)) as usize;
        match code {
            END => return Ok(out),
            CLEAR => {
                reset(&mut table);
                (width, previous) = (9, None);
                continue;
            }
            _ => {}
        }
        let start = out.len();
        match (table.get(code), previous) {
            (Some(_), _) => push_entry(&table, code, &mut out),
            (None, Some(before)) if code == table.len() => {
                push_entry(&table, before, &mut out);
                let first = out[start];
                out.push(first);
            }
            _ => return Ok(out),
        }
        if out.len() > MAX_STREAM_BYTES {
            return checked(out);
        }
        if let (Some(before), Some(first)) = (previous, out.get(start))
            && table.len() < 4096
        {
            let length = table[before].2 + 1;
            table.push((before, *first, length));
        }
        previous = Some(code);
        width = match table.len() + usize::from(early) {
            0..512 => 9,
            512..1024 => 10,
            1024..2048 => 11,
            _ => 12,
        };
    }
}

fn push_entry(table: &[(usize, u8, usize)], code: usize, out: &mut Vec<u8>) {
    let start = out.len();
    let mut entry = code;
    while let Some((before, byte, _)) = table.get(entry) {
        out.push(*byte);
        entry = *before;
    }
    out[start..].reverse();
}

fn ascii_hex(bytes: &[u8]) -> Vec<u8> {
    let digits =
        bytes.iter().take_while(|byte| **byte != b'>').filter_map(|byte| char::from(*byte).to_digit(16));
    let digits: Vec<u8> = digits.map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)).collect()
}

fn ascii_85(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut group) = (Vec::new(), Vec::with_capacity(5));
    let bytes = bytes.strip_prefix(b"<~").unwrap_or(bytes);
    for byte in bytes.iter().take_while(|byte| **byte != b'~') {
        match byte {
            b'z' if group.is_empty() => out.extend_from_slice(&[0; 4]),
            b'!'..=b'u' => group.push(u32::from(byte - b'!')),
            _ => {}
        }
        if group.len() == 5 {
            push_group(&group, 4, &mut out);
            group.clear();
        }
    }
    if group.len() > 1 {
        let count = group.len() - 1;
        group.resize(5, 84);
        push_group(&group, count, &mut out);
    }
    out
}

fn push_group(group: &[u32], count: usize, out: &mut Vec<u8>) {
    let number = group.iter().fold(0_u32, |number, digit| number.wrapping_mul(85).wrapping_add(*digit));
    out.extend_from_slice(&number.to_be_bytes()[..count]);
}

fn run_length(bytes: &[u8]) -> Result<Vec<u8>> {
    let (mut out, mut rest) = (Vec::new(), bytes);
    while let Some((&length, after)) = rest.split_first() {
        let length = usize::from(length);
        if length == 128 || out.len() > MAX_STREAM_BYTES {
            break;
        }
        if length < 128 {
            let count = (length + 1).min(after.len());
            out.extend_from_slice(&after[..count]);
            rest = &after[count..];
        } else {
            let Some((byte, after)) = after.split_first() else { break };
            out.resize(out.len() + 257 - length, *byte);
            rest = after;
        }
    }
    checked(out)
}

/// Undoes the differences between neighbours.
fn predicted(file: &PdfFile<'_>, parameters: &Dict, bytes: Vec<u8>) -> Vec<u8> {
    let get = |key: &str, default| file.get(parameters, key).index().unwrap_or(default);
    let (predictor, colors, bits) = (get("Predictor", 1), get("Colors", 1), get("BitsPerComponent", 8));
    let pixel = (colors.saturating_mul(bits).saturating_add(7) / 8).clamp(1, 64);
    let Some(stride) =
        get("Columns", 1).checked_mul(colors.saturating_mul(bits)).map(|bits| bits.div_ceil(8))
    else {
        return bytes;
    };
    if stride == 0 || stride > MAX_STREAM_BYTES {
        return bytes;
    }
    match predictor {
        2 if bits == 8 => {
            let mut bytes = bytes;
            for row in bytes.chunks_mut(stride) {
                for at in pixel..row.len() {
                    row[at] = row[at].wrapping_add(row[at - pixel]);
                }
            }
            bytes
        }
        10.. => png_rows(&bytes, stride, pixel),
        _ => bytes,
    }
}

fn png_rows(bytes: &[u8], stride: usize, pixel: usize) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut above = vec![0; stride];
    for row in bytes.chunks(stride + 1) {
        let Some((kind, row)) = row.split_first() else { break };
        let mut current = row.to_vec();
        current.resize(stride, 0);
        for at in 0..stride {
            let left = if at >= pixel { current[at - pixel] } else { 0 };
            let corner = if at >= pixel { above[at - pixel] } else { 0 };
            let add = match kind {
                1 => left,
                2 => above[at],
                3 => u16::midpoint(left.into(), above[at].into()) as u8,
                4 => paeth(left, above[at], corner),
                _ => 0,
            };
            current[at] = current[at].wrapping_add(add);
        }
        out.extend_from_slice(&current[..row.len()]);
        above = current;
    }
    out
}

fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, above, corner].map(i16::from);
    let guess = a + b - c;
    let (to_a, to_b, to_c) = ((guess - a).abs(), (guess - b).abs(), (guess - c).abs());
    if to_a <= to_b && to_a <= to_c {
        left
    } else if to_b <= to_c {
        above
    } else {
        corner
    }
}
