//! Classification of a line by its start, one character at a time and as early as possible.

/// Maximum length of an undecided start; a longer one is text.
const MAX_UNDECIDED: usize = 256;

/// Maximum indentation.
const MAX_INDENT: usize = 40;

/// Width of a tab.
const TAB: usize = 4;

/// Start of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineStart {
    /// Number of `>` marks.
    pub(super) quotes: usize,
    /// Indentation after the quote marks.
    pub(super) indent: usize,
    pub(super) kind: Kind,
    /// Bytes used by the start; the rest of the line is its text.
    pub(super) used: usize,
}

/// Kind of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Blank,
    Text,
    Heading,
    Bullet,
    /// The number as it was written, with its dot: the first digits of the line's text.
    Number(String),
    Rule,
    /// Start of a code block.
    Fence {
        mark: char,
        length: usize,
        language: String,
    },
    TableRow,
}

/// Completeness of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Begun,
    Whole,
}

impl LineStart {
    /// Classifies a line; `None` if more of it is needed.
    pub(super) fn parse(line: &str, extent: Extent) -> Option<Self> {
        let extent = if line.len() > MAX_UNDECIDED { Extent::Whole } else { extent };
        let (quotes, indent, at) = margin(line);
        let (kind, used) = leaf(line.get(at..).unwrap_or_default(), extent)?;
        Some(Self { quotes, indent: indent.min(MAX_INDENT), kind, used: at + used })
    }
}

/// Returns the number of quote marks, the indentation after them, and their end.
fn margin(line: &str) -> (usize, usize, usize) {
    let (mut quotes, mut indent, mut at) = (0, 0, 0);
    let mut after_mark = false;
    for c in line.chars() {
        match c {
            '>' => (quotes, indent, after_mark) = (quotes + 1, 0, true),
            // One space belongs to the mark.
            ' ' if after_mark => after_mark = false,
            ' ' => indent += 1,
            '\t' => indent += TAB,
            _ => break,
        }
        at += c.len_utf8();
    }
    (quotes, indent, at)
}

fn leaf(rest: &str, extent: Extent) -> Option<(Kind, usize)> {
    let undecided = || if extent == Extent::Whole { Some((Kind::Text, 0)) } else { None };
    let Some(first) = rest.chars().next() else {
        return if extent == Extent::Whole { Some((Kind::Blank, 0)) } else { None };
    };
    match first {
        '#' => heading(rest).map_or_else(undecided, Some),
        '-' | '*' | '+' | '_' => marks(rest, first, extent),
        '0'..='9' => number(rest).map_or_else(undecided, Some),
        '`' | '~' => fence(rest, first, extent),
        '|' => Some((Kind::TableRow, 0)),
        _ => Some((Kind::Text, 0)),
    }
}

/// Parses `## ` and the like; `None` if there are only marks so far.
fn heading(rest: &str) -> Option<(Kind, usize)> {
    let level = run(rest, '#');
    let next = rest[level..].chars().next()?;
    let is_heading = level <= 6 && next == ' ';
    Some(if is_heading { (Kind::Heading, level + 1) } else { (Kind::Text, 0) })
}

/// Parses a rule, a list item, or text that starts with one of their marks.
fn marks(rest: &str, mark: char, extent: Extent) -> Option<(Kind, usize)> {
    let is_bullet = mark != '_';
    if rest.chars().any(|c| c != mark && c != ' ') {
        let item = is_bullet && rest[1..].starts_with(' ');
        return Some(if item { (Kind::Bullet, 2) } else { (Kind::Text, 0) });
    }
    if extent == Extent::Begun {
        return None;
    }
    let count = rest.matches(mark).count();
    Some(match count {
        3.. if mark != '+' => (Kind::Rule, rest.len()),
        1 if is_bullet => (Kind::Bullet, rest.len()),
        _ => (Kind::Text, 0),
    })
}

/// Parses `12. ` or `12) `; `None` if it may still become one.
fn number(rest: &str) -> Option<(Kind, usize)> {
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut after = rest[digits..].chars();
    let (dot, space) = (after.next()?, after.next());
    if digits > 9 || !matches!(dot, '.' | ')') {
        return Some((Kind::Text, 0));
    }
    Some(match space? {
        ' ' => (Kind::Number(rest[..=digits].to_owned()), digits + 2),
        _ => (Kind::Text, 0),
    })
}

fn fence(rest: &str, mark: char, extent: Extent) -> Option<(Kind, usize)> {
    let length = run(rest, mark);
    let is_over = rest.len() > length;
    if length < 3 {
        return if is_over || extent == Extent::Whole { Some((Kind::Text, 0)) } else { None };
    }
    let language = rest[length..].trim();
    // Marks after the text are code within a line.
    if mark == '`' && language.contains('`') || rest.len() > MAX_UNDECIDED {
        return Some((Kind::Text, 0));
    }
    if extent == Extent::Begun {
        return None;
    }
    let language = language.split([' ', ',', '{']).next().unwrap_or_default().to_owned();
    Some((Kind::Fence { mark, length, language }, rest.len()))
}

/// Counts an ASCII character at the start of a text.
pub(super) fn run(text: &str, mark: char) -> usize {
    text.len() - text.trim_start_matches(mark).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_it_begins_with() {
        let cases = [
            ("", Kind::Blank, 0),
            ("> ", Kind::Blank, 2),
            ("text", Kind::Text, 0),
            ("## Title", Kind::Heading, 3),
            ("##no", Kind::Text, 0),
            ("- item", Kind::Bullet, 2),
            ("* item", Kind::Bullet, 2),
            ("**bold**", Kind::Text, 0),
            ("* * *", Kind::Rule, 5),
            ("---", Kind::Rule, 3),
            ("--", Kind::Text, 0),
            ("-", Kind::Bullet, 1),
            ("12. x", Kind::Number("12.".to_owned()), 4),
            ("1) x", Kind::Number("1)".to_owned()), 3),
            ("1.5 x", Kind::Text, 0),
            ("2024", Kind::Text, 0),
            ("| a |", Kind::TableRow, 0),
            ("```a``` b", Kind::Text, 0),
            ("`code`", Kind::Text, 0),
            ("~5", Kind::Text, 0),
        ];
        for (line, kind, used) in cases {
            let start = LineStart::parse(line, Extent::Whole).unwrap();
            assert_eq!((start.kind, start.used), (kind, used), "{line:?}");
        }
    }

    #[test]
    fn margins_are_counted() {
        let start = LineStart::parse("> >   - x", Extent::Whole).unwrap();
        assert_eq!((start.quotes, start.indent, start.kind, start.used), (2, 2, Kind::Bullet, 8));
        let fence = LineStart::parse("  ```rust,no_run", Extent::Whole).unwrap();
        assert_eq!(fence.indent, 2);
        assert_eq!(fence.kind, Kind::Fence { mark: '`', length: 3, language: "rust".to_owned() });
    }

    #[test]
    fn what_more_could_change_is_undecided() {
        for line in ["", "  ", "> ", "#", "-", "- ", "**", "12", "12.", "`", "```ru"] {
            assert_eq!(LineStart::parse(line, Extent::Begun), None, "{line:?}");
        }
    }
}
