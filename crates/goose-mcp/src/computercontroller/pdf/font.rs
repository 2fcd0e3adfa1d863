//! [`Font`]: codes in a text as characters, with their widths.

use std::collections::HashMap;

use super::{
    encoding,
    file::PdfFile,
    object::{Dict, Lexer, Object},
};

/// Width of a character of an unknown font, in thousandths of its size.
const USUAL_WIDTH: f64 = 500.0;

/// Maximum number of characters that a font maps.
const MAX_CODES: usize = 200_000;

/// A font of a page.
pub(super) struct Font {
    /// Characters by code, as the file itself names them.
    unicode: HashMap<u32, String>,
    /// Characters by code of a simple font.
    table: Vec<String>,
    /// Bytes of a code.
    bytes: usize,
    widths: HashMap<u32, f64>,
    default_width: f64,
}

/// A character that is drawn.
pub(super) struct Glyph<'f> {
    /// None if the font does not say which one it is.
    pub(super) text: Option<&'f str>,
    pub(super) width: f64,
    /// True for the code 32 of one byte, which is widened between words.
    pub(super) is_blank: bool,
}

impl Font {
    pub(super) fn new(file: &PdfFile<'_>, dict: &Dict) -> Self {
        let is_composite = file.get(dict, "Subtype").name() == Some("Type0");
        let mut font = Self {
            unicode: HashMap::new(),
            table: if is_composite { Vec::new() } else { simple_table(file, dict) },
            bytes: if is_composite { 2 } else { 1 },
            widths: HashMap::new(),
            default_width: USUAL_WIDTH,
        };
        match is_composite {
            true => font.read_composite_widths(file, dict),
            false => font.read_widths(file, dict),
        }
        if let Some(map) = dict.get("ToUnicode")
            && let Ok(map) = file.unpacked(map)
        {
            font.read_map(&map);
        }
        font
    }

    fn read_widths(&mut self, file: &PdfFile<'_>, dict: &Dict) {
        let first = file.get(dict, "FirstChar").index().unwrap_or(0) as u32;
        let widths = file.get(dict, "Widths");
        // The widths of a font whose glyphs are drawings are in units of its own.
        let matrix = file.get(dict, "FontMatrix");
        let unit = matrix
            .array()
            .and_then(|matrix| matrix.first()?.number())
            .map_or(1.0, |unit| unit.abs() * 1000.0);
        for (code, width) in (first..=first.saturating_add(255)).zip(widths.array().unwrap_or_default()) {
            if let Some(width) = file.resolve(width).number() {
                self.widths.insert(code, width * unit);
            }
        }
    }

    fn read_composite_widths(&mut self, file: &PdfFile<'_>, dict: &Dict) {
        self.default_width = 1000.0;
        let descendants = file.get(dict, "DescendantFonts");
        let first = descendants.array().and_then(<[Object]>::first).map(|font| file.resolve(font));
        let Some(Object::Dict(descendant)) = first else { return };
        self.default_width = file.get(&descendant, "DW").number().unwrap_or(1000.0);
        let widths = file.get(&descendant, "W");
        let mut rest = widths.array().unwrap_or_default();
        while let [first, second, after @ ..] = rest {
            let Some(start) = first.index() else { return };
            match (file.resolve(second), after) {
                (Object::Array(list), _) => {
                    for (code, width) in (start as u32..).zip(&list) {
                        self.insert_width(code, width);
                    }
                    rest = after;
                }
                (end, [width, after @ ..]) => {
                    let end = end.index().unwrap_or(start).min(start.saturating_add(0xFFFF));
                    for code in start..=end {
                        self.insert_width(code as u32, width);
                    }
                    rest = after;
                }
                _ => return,
            }
        }
    }

    fn insert_width(&mut self, code: u32, width: &Object) {
        if let Some(width) = width.number().filter(|_| self.widths.len() < MAX_CODES) {
            self.widths.insert(code, width);
        }
    }

    /// Reads the characters that the file itself names.
    fn read_map(&mut self, map: &[u8]) {
        let mut lexer = Lexer::new(map, 0);
        let mut operands: Vec<Object> = Vec::new();
        while let Some(object) = lexer.object() {
            let Object::Operator(word) = &object else {
                if operands.len() < MAX_CODES {
                    operands.push(object);
                }
                continue;
            };
            match word.as_str() {
                "endcodespacerange" => {
                    if let Some(Object::Text(code)) = operands.first() {
                        self.bytes = code.len().clamp(1, 4);
                    }
                }
                "endbfchar" => operands.chunks_exact(2).for_each(|pair| {
                    if let [Object::Text(code), Object::Text(text)] = pair {
                        self.insert(number(code), utf16(text));
                    }
                }),
                "endbfrange" => operands.chunks_exact(3).for_each(|range| self.read_range(range)),
                _ => {}
            }
            operands.clear();
        }
    }

    fn read_range(&mut self, range: &[Object]) {
        let [Object::Text(first), Object::Text(last), target] = range else { return };
        let (first, last) = (number(first), number(last));
        let last = last.min(first.saturating_add(0xFFFF));
        match target {
            Object::Text(text) => {
                let mut units = utf16_units(text);
                for code in first..=last {
                    self.insert(code, String::from_utf16_lossy(&units));
                    if let Some(unit) = units.last_mut() {
                        *unit = unit.wrapping_add(1);
                    }
                }
            }
            Object::Array(texts) => {
                for (code, text) in (first..=last).zip(texts) {
                    if let Object::Text(text) = text {
                        self.insert(code, utf16(text));
                    }
                }
            }
            _ => {}
        }
    }

    fn insert(&mut self, code: u32, text: String) {
        if self.unicode.len() < MAX_CODES {
            self.unicode.insert(code, text);
        }
    }

    /// Returns the characters of a text.
    pub(super) fn glyphs<'f>(&'f self, text: &'f [u8]) -> impl Iterator<Item = Glyph<'f>> {
        text.chunks(self.bytes).map(move |bytes| {
            let code = number(bytes);
            let named = || self.table.get(code as usize).map(String::as_str).filter(|text| !text.is_empty());
            let text = self.unicode.get(&code).map(String::as_str).or_else(named);
            let width = self.widths.get(&code).copied().unwrap_or(self.default_width);
            Glyph { text, width, is_blank: self.bytes == 1 && code == 32 }
        })
    }
}

fn simple_table(file: &PdfFile<'_>, dict: &Dict) -> Vec<String> {
    let encoding = file.get(dict, "Encoding");
    let Object::Dict(encoding) = encoding else { return encoding::table(encoding.name()) };
    let mut table = encoding::table(file.get(&encoding, "BaseEncoding").name());
    let mut code = 0;
    for object in file.get(&encoding, "Differences").array().unwrap_or_default() {
        match file.resolve(object) {
            Object::Name(name) => {
                if let Some(place) = table.get_mut(code) {
                    *place = encoding::glyph(&name).unwrap_or_default();
                }
                code += 1;
            }
            object => code = object.index().unwrap_or(code),
        }
    }
    table
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn utf16_units(text: &[u8]) -> Vec<u16> {
    text.chunks(2)
        .map(|pair| u16::from(pair[0]) << 8 | u16::from(pair.get(1).copied().unwrap_or(0)))
        .collect()
}

fn utf16(text: &[u8]) -> String {
    match text {
        [one] => char::from(*one).to_string(),
        text => String::from_utf16_lossy(&utf16_units(text)),
    }
}
