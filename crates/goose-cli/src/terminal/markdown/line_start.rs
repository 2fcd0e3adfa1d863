//! How a line begins, which says what it is. Looked at one character at a time, and decided as early as it can be.

/// How much of a line may be undecided. A line that is still unclear then is text.
const MAX_UNDECIDED: usize = 256;

/// The deepest indent that is kept.
const MAX_INDENT: usize = 40;

/// How far a tab indents.
const TAB: usize = 4;

/// The begin of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineStart {
    /// How many `>` stand before it.
    pub(super) quotes: usize,
    /// How many columns of space come then.
    pub(super) indent: usize,
    pub(super) kind: Kind,
    /// How many bytes of the line all this takes; the rest is its text.
    pub(super) used: usize,
}

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Blank,
    Text,
    Heading,
    Bullet,
    /// The number as it was written, with its dot: the first digits of the line's text.
    Number(String),
    Rule,
    /// Code begins.
    Fence {
        mark: char,
        length: usize,
        language: String,
    },
    TableRow,
}

/// Whether there may be more of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Begun,
    Whole,
}

impl LineStart {
    /// Looks at a line; `None` where more of it must be seen.
    pub(super) fn of(line: &str, extent: Extent) -> Option<Self> {
        let extent = if line.len() > MAX_UNDECIDED { Extent::Whole } else { extent };
        let (quotes, indent, at) = margin(line);
        let (kind, used) = leaf(line.get(at..).unwrap_or_default(), extent)?;
        Some(Self { quotes, indent: indent.min(MAX_INDENT), kind, used: at + used })
    }
}

/// The quote marks, the indent after them, and where they end.
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

/// `## ` and the like; `None` where only marks have come.
fn heading(rest: &str) -> Option<(Kind, usize)> {
    let level = run(rest, '#');
    let next = rest[level..].chars().next()?;
    let is_heading = level <= 6 && next == ' ';
    Some(if is_heading { (Kind::Heading, level + 1) } else { (Kind::Text, 0) })
}

/// A rule, an item, or text that begins with one of their marks.
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

/// `12. ` or `12) `; `None` where it may still become one.
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

/// How often a character comes first. All of them are ASCII.
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
            let start = LineStart::of(line, Extent::Whole).unwrap();
            assert_eq!((start.kind, start.used), (kind, used), "{line:?}");
        }
    }

    #[test]
    fn margins_are_counted() {
        let start = LineStart::of("> >   - x", Extent::Whole).unwrap();
        assert_eq!((start.quotes, start.indent, start.kind, start.used), (2, 2, Kind::Bullet, 8));
        let fence = LineStart::of("  ```rust,no_run", Extent::Whole).unwrap();
        assert_eq!(fence.indent, 2);
        assert_eq!(fence.kind, Kind::Fence { mark: '`', length: 3, language: "rust".to_owned() });
    }

    #[test]
    fn what_more_could_change_is_undecided() {
        for line in ["", "  ", "> ", "#", "-", "- ", "**", "12", "12.", "`", "```ru"] {
            assert_eq!(LineStart::of(line, Extent::Begun), None, "{line:?}");
        }
    }
}
