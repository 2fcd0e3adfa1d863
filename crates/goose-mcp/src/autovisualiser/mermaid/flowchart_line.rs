//! [`Reader`]: the nodes of a flowchart and the lines between them, as one line of the text has them.

use super::{
    super::fault::Checked,
    lines::{End, Stroke},
    shapes::Shape,
    source::{Line, fault, label},
};

/// Opening and closing marks of labels, longest first.
const BRACKETS: [(&str, &str, Shape); 14] = [
    ("(((", ")))", Shape::Circle),
    ("((", "))", Shape::Circle),
    ("([", "])", Shape::Stadium),
    ("[[", "]]", Shape::Subroutine),
    ("[(", ")]", Shape::Cylinder),
    ("[/", "/]", Shape::Slanted),
    ("[/", "\\]", Shape::Slanted),
    ("[\\", "\\]", Shape::Slanted),
    ("[\\", "/]", Shape::Slanted),
    ("{{", "}}", Shape::Hexagon),
    ("(", ")", Shape::Rounded),
    ("[", "]", Shape::Rect),
    ("{", "}", Shape::Diamond),
    (">", "]", Shape::Flag),
];

/// Rest of a line that is being read.
pub(super) struct Reader<'a> {
    pub(super) rest: &'a str,
    pub(super) line: &'a Line,
}

impl<'a> Reader<'a> {
    pub(super) fn skip(&mut self, chars: &[char]) {
        self.rest = self.rest.trim_start_matches(chars);
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub(super) fn id(&mut self) -> Checked<&'a str> {
        let mut end = 0;
        let chars: Vec<(usize, char)> = self.rest.char_indices().collect();
        for (at, &(_, c)) in chars.iter().enumerate() {
            let next = chars.get(at + 1).map(|(_, next)| *next);
            let is_joint = matches!(c, '-' | '.') && next.is_some_and(char::is_alphanumeric) && at > 0;
            if !(c.is_alphanumeric() || c == '_' || is_joint) {
                break;
            }
            end = chars.get(at + 1).map_or(self.rest.len(), |(index, _)| *index);
        }
        let (id, rest) = self.rest.split_at(end);
        if id.is_empty() {
            let shown: String = self.rest.chars().take(20).collect();
            return Err(fault(
                self.line,
                &format!("a node was expected at {shown:?}. Write for example: A[Start] --> B[End]"),
            ));
        }
        self.rest = rest;
        Ok(id)
    }

    /// Reads the shape and the label of a node, if there are any.
    pub(super) fn shape(&mut self) -> Checked<Option<(Shape, Vec<String>)>> {
        if self.take("@{") {
            return self.attributes().map(Some);
        }
        // `>` opens a flag only where it directly follows the name.
        for (open, close, shape) in BRACKETS {
            let Some(rest) = self.rest.strip_prefix(open) else { continue };
            let quoted = rest.trim_start().strip_prefix('"').and_then(|text| {
                let end = text.find('"')?;
                text[end + 1..].trim_start().strip_prefix(close).map(|after| (&text[..end], after))
            });
            let plain = || rest.find(close).map(|end| (&rest[..end], &rest[end + close.len()..]));
            if let Some((text, after)) = quoted.or_else(plain) {
                self.rest = after;
                return Ok(Some((shape, label(text))));
            }
        }
        match self.rest.chars().next() {
            Some(open @ ('[' | '(' | '{')) => {
                Err(fault(self.line, &format!("a label that starts with `{open}` is not closed.")))
            }
            _ => Ok(None),
        }
    }

    /// Reads `@{ shape: rect, label: "Start" }`.
    fn attributes(&mut self) -> Checked<(Shape, Vec<String>)> {
        let end = self.rest.find('}').ok_or_else(|| fault(self.line, "`@{` is not closed."))?;
        let (text, rest) = (&self.rest[..end], &self.rest[end + 1..]);
        self.rest = rest;
        let value = |name: &str| {
            let start = text.find(&format!("{name}:"))? + name.len() + 1;
            let value = text[start..].trim_start();
            Some(match value.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().unwrap_or_default(),
                None => value.split(',').next().unwrap_or_default().trim(),
            })
        };
        let shape = match value("shape").unwrap_or_default() {
            "rounded" | "event" => Shape::Rounded,
            "stadium" | "pill" | "terminal" => Shape::Stadium,
            "circle" | "circ" | "dbl-circ" | "start" | "stop" => Shape::Circle,
            "diam" | "diamond" | "decision" | "question" => Shape::Diamond,
            "hex" | "hexagon" | "prepare" => Shape::Hexagon,
            "cyl" | "cylinder" | "db" | "database" => Shape::Cylinder,
            "subproc" | "subprocess" | "subroutine" | "fr-rect" => Shape::Subroutine,
            "lean-r" | "lean-l" | "in-out" | "out-in" => Shape::Slanted,
            _ => Shape::Rect,
        };
        Ok((shape, label(value("label").unwrap_or_default())))
    }

    /// Reads a line between nodes: its style, its ends and its label.
    pub(super) fn edge(&mut self) -> Checked<(Stroke, (End, End), Vec<String>)> {
        let wrong = |reader: &Self| {
            let shown: String = reader.rest.chars().take(20).collect();
            fault(reader.line, &format!("a line such as --> was expected at {shown:?}."))
        };
        if self.take("~~~") {
            self.rest = self.rest.trim_start_matches('~');
            return Ok((Stroke::Hidden, (End::None, End::None), Vec::new()));
        }
        let start = match self.rest.chars().next() {
            Some('<') => End::Arrow,
            Some('o') => End::Circle,
            Some('x') => End::Cross,
            _ => End::None,
        };
        if start != End::None {
            self.rest = &self.rest[1..];
        }
        let (stroke, body) = match self.rest.as_bytes() {
            [b'-', b'-', ..] => (Stroke::Normal, '-'),
            [b'=', b'=', ..] => (Stroke::Thick, '='),
            [b'-', b'.', ..] => (Stroke::Dotted, '.'),
            _ => return Err(wrong(self)),
        };
        let mut text = String::new();
        let mut end = self.edge_end(body);
        if end.is_none() {
            // `-- text -->`: up to the second part of the line.
            let close = match body {
                '-' => "--",
                '=' => "==",
                _ => ".-",
            };
            let at = self.rest.find(close).ok_or_else(|| wrong(self))?;
            text = self.rest[..at].to_owned();
            self.rest = &self.rest[at..];
            end = self.edge_end(body);
        }
        let end = end.ok_or_else(|| wrong(self))?;
        self.skip(&[' ', '\t']);
        if self.take("|") {
            let close = self
                .rest
                .find('|')
                .ok_or_else(|| fault(self.line, "a label that starts with `|` is not closed."))?;
            text = self.rest[..close].to_owned();
            self.rest = &self.rest[close + 1..];
        }
        let label = if text.trim().is_empty() { Vec::new() } else { label(&text) };
        Ok((stroke, (start, end), label))
    }

    /// Reads the rest of a line up to its end: `-->`, `---`, `-.->`, `==>`. Returns `None` after its first part, behind which a label
    /// stands.
    fn edge_end(&mut self, body: char) -> Option<End> {
        let before = self.rest;
        let is_dotted = body == '.';
        let trimmed = match is_dotted {
            true => before.trim_start_matches('-').trim_start_matches('.'),
            false => before.trim_start_matches(body),
        };
        let length = before.len() - trimmed.len();
        let (rest, is_closed) = match trimmed.strip_prefix('-').filter(|_| is_dotted) {
            Some(rest) => (rest, true),
            None => (trimmed, !is_dotted),
        };
        self.rest = rest;
        let next = rest.chars().nth(1);
        let ends_word = next.is_none_or(|next| !next.is_alphanumeric());
        let end = match rest.chars().next() {
            Some('>') if is_closed => End::Arrow,
            Some('o') if is_closed && ends_word => End::Circle,
            Some('x') if is_closed && ends_word => End::Cross,
            _ if is_closed && (length >= 3 || is_dotted) => return Some(End::None),
            _ => return None,
        };
        self.rest = &rest[1..];
        Some(end)
    }
}
