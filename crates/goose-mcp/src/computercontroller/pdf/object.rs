//! Objects, and the [`Lexer`] that reads them from bytes.

use std::collections::BTreeMap;

/// Maximum nesting of arrays and dictionaries.
const MAX_DEPTH: usize = 64;

/// Maximum number of elements of an array or dictionary.
const MAX_ELEMENTS: usize = 1_000_000;

pub(super) type Dict = BTreeMap<String, Object>;

/// An object, or an operator of a page.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Object {
    Null,
    Number(f64),
    Name(String),
    Text(Vec<u8>),
    Array(Vec<Object>),
    Dict(Dict),
    /// Another object, by its number.
    Ref(u32),
    Operator(String),
}

impl Object {
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns a number that is a size or an index.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is in the range")]
    pub(super) fn index(&self) -> Option<usize> {
        self.number()
            .filter(|number| (0.0..=f64::from(u32::MAX)).contains(number))
            .map(|number| number as usize)
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(array) => Some(array),
            _ => None,
        }
    }

    pub(super) fn dict(&self) -> Option<&Dict> {
        match self {
            Self::Dict(dict) => Some(dict),
            _ => None,
        }
    }
}

/// Reads objects.
pub(super) struct Lexer<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\0' | b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

fn is_regular(byte: u8) -> bool {
    !is_space(byte) && !b"()<>[]{}/%".contains(&byte)
}

impl<'a> Lexer<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'%' => {
                    while self.peek().is_some_and(|byte| byte != b'\n' && byte != b'\r') {
                        self.at += 1
                    }
                }
                byte if is_space(byte) => self.at += 1,
                _ => return,
            }
        }
    }

    /// Returns the next object; `None` at the end, and where it is not one.
    pub(super) fn object(&mut self) -> Option<Object> {
        self.nested(0)
    }

    fn nested(&mut self, depth: usize) -> Option<Object> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_space();
        match self.peek()? {
            b'/' => Some(Object::Name(self.name())),
            b'(' => Some(Object::Text(self.text())),
            b'<' if self.bytes.get(self.at + 1) == Some(&b'<') => self.dict(depth),
            b'<' => Some(Object::Text(self.hex())),
            b'[' => self.array(depth),
            b'+' | b'-' | b'.' | b'0'..=b'9' => Some(self.number()),
            b']' | b'>' | b')' | b'{' | b'}' => {
                self.at += 1;
                Some(Object::Null)
            }
            _ => {
                let word = self.word();
                Some(match word.as_str() {
                    "null" => Object::Null,
                    "true" => Object::Number(1.0),
                    "false" => Object::Number(0.0),
                    _ => Object::Operator(word),
                })
            }
        }
    }

    fn word(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(is_regular) {
            self.at += 1;
        }
        String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned()
    }

    fn name(&mut self) -> String {
        self.at += 1;
        let word = self.word();
        if !word.contains('#') {
            return word;
        }
        let (mut name, mut rest) = (Vec::new(), word.as_bytes());
        while let Some((&byte, after)) = rest.split_first() {
            let code = after.get(..2).and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
            (rest, _) = match (byte, code) {
                (b'#', Some(code)) => (&after[2..], name.push(code)),
                _ => (after, name.push(byte)),
            };
        }
        String::from_utf8_lossy(&name).into_owned()
    }

    fn number(&mut self) -> Object {
        let number = self.plain_number();
        // `12 0 R` is another object.
        let is_whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
        let back = self.at;
        if is_whole {
            self.skip_space();
            if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                self.plain_number();
                self.skip_space();
                let is_alone = self.bytes.get(self.at + 1).is_none_or(|byte| !is_regular(*byte));
                if self.peek() == Some(b'R') && is_alone {
                    self.at += 1;
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "it is in the range"
                    )]
                    return Object::Ref(number as u32);
                }
            }
        }
        self.at = back;
        Object::Number(number)
    }

    fn plain_number(&mut self) -> f64 {
        let start = self.at;
        while self.peek().is_some_and(|byte| matches!(byte, b'+' | b'-' | b'.' | b'0'..=b'9')) {
            self.at += 1;
        }
        let text = str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
        text.parse().unwrap_or(0.0)
    }

    fn text(&mut self) -> Vec<u8> {
        self.at += 1;
        let (mut text, mut depth) = (Vec::new(), 1);
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' => depth += 1,
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                b'\\' => {
                    text.extend(self.escape());
                    continue;
                }
                _ => {}
            }
            text.push(byte);
        }
        text
    }

    fn escape(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(match byte {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 12,
            b'\r' => {
                self.at += usize::from(self.peek() == Some(b'\n'));
                return None;
            }
            b'\n' => return None,
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.peek() else { break };
                    code = code * 8 + u32::from(digit - b'0');
                    self.at += 1;
                }
                (code & 0xFF) as u8
            }
            other => other,
        })
    }

    fn hex(&mut self) -> Vec<u8> {
        self.at += 1;
        let mut digits = Vec::new();
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == b'>' {
                break;
            }
            digits.extend(char::from(byte).to_digit(16).map(|digit| digit as u8));
        }
        digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)).collect()
    }

    fn array(&mut self, depth: usize) -> Option<Object> {
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            self.skip_space();
            if self.peek()? == b']' {
                self.at += 1;
                return Some(Object::Array(elements));
            }
            elements.push(self.nested(depth + 1)?);
            if elements.len() > MAX_ELEMENTS {
                return None;
            }
        }
    }

    fn dict(&mut self, depth: usize) -> Option<Object> {
        self.at += 2;
        let mut dict = Dict::new();
        loop {
            self.skip_space();
            match self.peek()? {
                b'>' => {
                    self.at += 1;
                    self.at += usize::from(self.peek() == Some(b'>'));
                    return Some(Object::Dict(dict));
                }
                b'/' => {
                    let key = self.name();
                    let value = self.nested(depth + 1)?;
                    dict.insert(key, value);
                    if dict.len() > MAX_ELEMENTS {
                        return None;
                    }
                }
                // The end of the object without the end of the dictionary.
                _ => match self.nested(depth + 1)? {
                    Object::Operator(word) if word == "endobj" || word == "stream" => {
                        return Some(Object::Dict(dict));
                    }
                    _ => {}
                },
            }
        }
    }
}
