//! The text of pages, in the order in which it is drawn. Where it stands decides where a word or a line ends.

use std::{
    collections::HashMap,
    fmt::Write as _,
    rc::Rc,
    time::{Duration, Instant},
};

use super::{
    PdfError,
    file::{Page, PdfFile},
    font::Font,
    object::{Dict, Lexer, Object},
};

/// Maximum nesting of drawings within drawings, and of saved states.
const MAX_FORMS: usize = 8;
const MAX_STATES: usize = 256;

/// Maximum number of operands of an operator.
const MAX_OPERANDS: usize = 64;

/// Time after which the text so far is returned.
const TIME_LIMIT: Duration = Duration::from_secs(8);

/// Gap between characters that is a blank, and difference of height that is another line, in parts of the size.
const BLANK: f64 = 0.18;
const LINE: f64 = 0.4;

/// Transformation of coordinates.
type Matrix = [f64; 6];

const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

fn times([a, b, c, d, e, f]: Matrix, m: Matrix) -> Matrix {
    [
        a * m[0] + b * m[2],
        a * m[1] + b * m[3],
        c * m[0] + d * m[2],
        c * m[1] + d * m[3],
        e * m[0] + f * m[2] + m[4],
        e * m[1] + f * m[3] + m[5],
    ]
}

/// Returns the text of the pages from one on, up to a length.
pub(super) fn text(
    file: &PdfFile<'_>,
    pages: &[Page],
    first: usize,
    limit: usize,
) -> Result<String, PdfError> {
    let mut reader = Reader { fonts: HashMap::new(), unknown: 0, until: Instant::now() + TIME_LIMIT, limit };
    let mut shown = String::new();
    let mut is_empty = true;
    for (number, page) in (first..).zip(&pages[first - 1..]) {
        let mut text = PageText::default();
        reader.page(file, page, &mut text)?;
        is_empty &= text.out.trim().is_empty();
        // Writing to a string cannot fail.
        let _ = write!(shown, "## Page {number} of {}\n\n{}\n\n", pages.len(), text.out.trim());
        let is_late = Instant::now() > reader.until;
        if (shown.len() > limit || is_late) && number < pages.len() {
            let _ = write!(shown, "[cut; go on with page {}]", number + 1);
            break;
        }
        if is_late {
            shown.push_str("[cut: this page takes too long]");
        }
    }
    if reader.unknown > 0 {
        let _ = write!(
            shown,
            "[{} characters are left out: their fonts do not say which they are]",
            reader.unknown
        );
    }
    if is_empty {
        shown.push_str("[The pages have no text. They may be scans; see `extract_images`.]");
    }
    Ok(shown.trim_end().to_owned())
}

struct Reader {
    /// Fonts by the number of their object.
    fonts: HashMap<u32, Rc<Font>>,
    unknown: usize,
    until: Instant,
    limit: usize,
}

/// Text of a page so far.
#[derive(Default)]
struct PageText {
    out: String,
    /// Position at which the last character ended.
    end: Option<(f64, f64)>,
}

/// State of drawing.
#[derive(Clone)]
struct State {
    matrix: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    char_space: f64,
    word_space: f64,
    scale: f64,
    leading: f64,
}

impl State {
    /// Applies an operator that sets a value of the state.
    fn set(&mut self, operator: &str, number: impl Fn(usize) -> f64) {
        match operator {
            "cm" => self.matrix = times([0, 1, 2, 3, 4, 5].map(number), self.matrix),
            "Tf" => self.size = number(1),
            "Tc" => self.char_space = number(0),
            "Tw" => self.word_space = number(0),
            "Tz" => self.scale = number(0) / 100.0,
            "TL" => self.leading = number(0),
            "TD" => self.leading = -number(1),
            "\"" => (self.word_space, self.char_space) = (number(0), number(1)),
            _ => {}
        }
    }
}

/// Position of text.
struct Place {
    /// Start of the line.
    line: Matrix,
    /// Position of the next character.
    next: Matrix,
}

impl Place {
    const START: Self = Self { line: IDENTITY, next: IDENTITY };

    /// Applies an operator that moves the position.
    fn move_by(&mut self, operator: &str, number: impl Fn(usize) -> f64, leading: f64) {
        self.line = match operator {
            "BT" => IDENTITY,
            "Tm" => [0, 1, 2, 3, 4, 5].map(number),
            "Td" | "TD" => times([1.0, 0.0, 0.0, 1.0, number(0), number(1)], self.line),
            "T*" | "'" | "\"" => times([1.0, 0.0, 0.0, 1.0, 0.0, -leading], self.line),
            _ => return,
        };
        self.next = self.line;
    }
}

impl Reader {
    fn page(&mut self, file: &PdfFile<'_>, page: &Page, text: &mut PageText) -> Result<(), PdfError> {
        let contents = match file.get(&page.dict, "Contents") {
            Object::Array(parts) => parts,
            _ => page.dict.get("Contents").cloned().into_iter().collect(),
        };
        let mut bytes = Vec::new();
        for part in &contents {
            bytes.extend(file.unpacked(part)?);
            bytes.push(b'\n');
        }
        let empty = Dict::new();
        let resources = page.resources.dict().unwrap_or(&empty);
        let state = State {
            matrix: IDENTITY,
            font: None,
            size: 1.0,
            char_space: 0.0,
            word_space: 0.0,
            scale: 1.0,
            leading: 0.0,
        };
        self.content(file, &bytes, resources, state, text, 0)
    }

    fn content(
        &mut self,
        file: &PdfFile<'_>,
        bytes: &[u8],
        resources: &Dict,
        mut state: State,
        text: &mut PageText,
        depth: usize,
    ) -> Result<(), PdfError> {
        let mut lexer = Lexer::new(bytes, 0);
        let (mut operands, mut saved) = (Vec::<Object>::new(), Vec::new());
        let mut place = Place::START;
        while let Some(object) = lexer.object() {
            let Object::Operator(operator) = object else {
                if operands.len() < MAX_OPERANDS {
                    operands.push(object);
                }
                continue;
            };
            if text.out.len() > self.limit || Instant::now() > self.until {
                return Ok(());
            }
            let number = |index: usize| operands.get(index).and_then(Object::number).unwrap_or(0.0);
            let name = || operands.first().and_then(Object::name).unwrap_or_default();
            state.set(&operator, number);
            place.move_by(&operator, number, state.leading);
            match operator.as_str() {
                "q" if saved.len() < MAX_STATES => saved.push(state.clone()),
                "Q" => state = saved.pop().unwrap_or(state),
                "Tf" => state.font = self.font(file, resources, name()),
                "Tj" | "TJ" | "'" => self.show(&operands, &state, &mut place.next, text),
                "\"" => {
                    self.show(operands.get(2..).unwrap_or_default(), &state, &mut place.next, text);
                }
                "Do" if depth < MAX_FORMS => self.form(file, resources, name(), &state, text, depth)?,
                "ID" => skip_image(bytes, &mut lexer),
                _ => {}
            }
            operands.clear();
        }
        Ok(())
    }

    /// Goes through a drawing within the page.
    fn form(
        &mut self,
        file: &PdfFile<'_>,
        resources: &Dict,
        name: &str,
        state: &State,
        text: &mut PageText,
        depth: usize,
    ) -> Result<(), PdfError> {
        let forms = file.get_dict(resources, "XObject");
        let Some(object) = forms.get(name) else { return Ok(()) };
        let Some((dict, _)) = file.stream(object) else { return Ok(()) };
        if file.get(&dict, "Subtype").name() != Some("Form") {
            return Ok(());
        }
        let mut inner = state.clone();
        if let Some(matrix) = file.get(&dict, "Matrix").array() {
            let number = |index: usize| matrix.get(index).and_then(Object::number).unwrap_or(0.0);
            inner.matrix = times([0, 1, 2, 3, 4, 5].map(number), inner.matrix);
        }
        let own = file.get_dict(&dict, "Resources");
        let resources = if own.is_empty() { resources } else { &own };
        self.content(file, &file.unpacked(object)?, resources, inner, text, depth + 1)
    }

    fn font(&mut self, file: &PdfFile<'_>, resources: &Dict, name: &str) -> Option<Rc<Font>> {
        let fonts = file.get_dict(resources, "Font");
        let object = fonts.get(name)?;
        if let Object::Ref(number) = object
            && let Some(font) = self.fonts.get(number)
        {
            return Some(Rc::clone(font));
        }
        let Object::Dict(dict) = file.resolve(object) else { return None };
        let font = Rc::new(Font::new(file, &dict));
        if let Object::Ref(number) = object {
            self.fonts.insert(*number, Rc::clone(&font));
        }
        Some(font)
    }

    fn show(&mut self, operands: &[Object], state: &State, matrix: &mut Matrix, text: &mut PageText) {
        let Some(font) = &state.font else { return };
        let pieces = match operands.first() {
            Some(Object::Array(pieces)) => pieces.as_slice(),
            Some(_) => &operands[..1],
            None => return,
        };
        for piece in pieces {
            match piece {
                Object::Number(back) => {
                    let x = -back / 1000.0 * state.size * state.scale;
                    *matrix = times([1.0, 0.0, 0.0, 1.0, x, 0.0], *matrix);
                }
                Object::Text(codes) => {
                    for glyph in font.glyphs(codes) {
                        let space = state.char_space + if glyph.is_blank { state.word_space } else { 0.0 };
                        let place = times(*matrix, state.matrix);
                        let size = (place[2].hypot(place[3]) * state.size.abs()).max(0.1);
                        let width = (glyph.width / 1000.0 * state.size + space) * state.scale;
                        *matrix = times([1.0, 0.0, 0.0, 1.0, width, 0.0], *matrix);
                        let after = times(*matrix, state.matrix);
                        self.unknown += usize::from(glyph.text.is_none());
                        text.push(
                            glyph.text.unwrap_or_default(),
                            (place[4], place[5]),
                            (after[4], after[5]),
                            size,
                        );
                    }
                }
                _ => {}
            }
        }
    }
}

impl PageText {
    /// Adds a character that is drawn from one point to another.
    fn push(&mut self, text: &str, from: (f64, f64), to: (f64, f64), size: f64) {
        if let Some((x, y)) = self.end {
            let is_line = (from.1 - y).abs() > LINE * size;
            let is_gap = from.0 - x > BLANK * size || x - from.0 > size;
            let has_blank = self.out.ends_with([' ', '\n']) || self.out.is_empty() || text.starts_with(' ');
            if is_line {
                let trimmed = self.out.trim_end_matches(' ').len();
                self.out.truncate(trimmed);
                let lines = if (from.1 - y).abs() > 2.0 * size { "\n\n" } else { "\n" };
                self.out.push_str(if self.out.is_empty() { "" } else { lines });
            } else if is_gap && !has_blank {
                self.out.push(' ');
            }
        }
        self.out
            .extend(text.chars().map(|c| if c == '\u{a0}' { ' ' } else { c }).filter(|c| !c.is_control()));
        self.end = Some(to);
    }
}

/// Skips the bytes of an image within the page.
fn skip_image(bytes: &[u8], lexer: &mut Lexer<'_>) {
    let rest = bytes.get(lexer.at..).unwrap_or_default();
    let is_end = |window: &[u8]| {
        window[0].is_ascii_whitespace() && &window[1..3] == b"EI" && window[3].is_ascii_whitespace()
    };
    lexer.at = rest.windows(4).position(is_end).map_or(bytes.len(), |at| lexer.at + at + 3);
}
