//! Places where a request could be cut: list items, ends of sentences, commas and "and", outside of quotes and brackets.

/// The longest part in quotes or brackets, in bytes. A sign that is not closed by then was none.
const MAX_QUOTED: usize = 1_500;

/// Words between two clauses.
const BETWEEN: [&str; 19] = [
    " and ",
    " and, ",
    " & ",
    " + ",
    " plus ",
    " then ",
    " then, ",
    " while ",
    " but ",
    " afterwards ",
    " as well as ",
    " followed by ",
    " along with ",
    " after that ",
    " meanwhile ",
    " finally ",
    " after ",
    " once ",
    " as soon as ",
];

/// Signs between two clauses.
const SIGNS: [&str; 6] = [" - ", " – ", " — ", " / ", " // ", " | "];

/// Signs that say that what follows comes after.
const ARROWS: [&str; 4] = [" -> ", " => ", " → ", " >> "];

/// A place where a text could be cut: the end of a piece, and the start of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) end: usize,
    pub(crate) start: usize,
    pub(crate) sign: &'static str,
}

/// All places where the text could be cut, in order; the last one is its end.
pub(crate) fn cuts(text: &str) -> Vec<Cut> {
    let shielded = shielded(text);
    let mut cuts = Vec::new();
    let mut items = 0;
    for (at, c) in text.char_indices() {
        if shielded.get(at).copied().unwrap_or(false) {
            continue;
        }
        let (before, rest) = text.split_at(at);
        if let Some(length) = item(rest, before, items + 1) {
            items += 1;
            cuts.push(Cut { end: at, start: at + length, sign: "i" });
        } else {
            cuts.extend(cut(before, rest, c));
        }
    }
    if items < 2 {
        for cut in cuts.iter_mut().filter(|cut| cut.sign == "i") {
            cut.sign = "l";
        }
    }
    cuts.push(Cut { end: text.len(), start: text.len(), sign: "" });
    cuts
}

/// The cut at a character, if there is one.
fn cut(before: &str, rest: &str, c: char) -> Option<Cut> {
    let at = before.len();
    let after = at + c.len_utf8();
    let next = rest.get(c.len_utf8()..).unwrap_or_default();
    let sign = |signs: &[&str]| signs.iter().find(|sign| rest.starts_with(**sign)).map(|sign| sign.len());
    match c {
        '\n' => Some(Cut { end: at, start: after, sign: "l" }),
        ';' => Some(Cut { end: at, start: after, sign: ";" }),
        '.' | '!' | '?' if next.starts_with(char::is_whitespace) && !is_abbreviation(before) => {
            Some(Cut { end: after, start: after, sign: if c == '?' { "?" } else { "." } })
        }
        ',' if next.starts_with(' ') => Some(Cut { end: at, start: after, sign: "," }),
        '(' if is_aside(rest, 0) => Some(Cut { end: at, start: after, sign: "(" }),
        '—' => Some(Cut { end: at, start: after, sign: "-" }),
        ' ' if BETWEEN.iter().any(|word| starts_with_ignoring_case(rest, word)) => {
            Some(Cut { end: at, start: after, sign: "w" })
        }
        ' ' => {
            let signs = sign(&SIGNS).map(|length| Cut { end: at, start: at + length, sign: "-" });
            signs.or_else(|| sign(&ARROWS).map(|length| Cut { end: at, start: at + length, sign: ">" }))
        }
        _ => None,
    }
}

fn starts_with_ignoring_case(text: &str, lower: &str) -> bool {
    text.get(..lower.len()).is_some_and(|start| start.eq_ignore_ascii_case(lower))
}

fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_start_matches('(').to_ascii_lowercase();
    let is_known = matches!(
        word.as_str(),
        "e.g" | "i.e" | "vs" | "etc" | "approx" | "nr" | "dr" | "mr" | "mrs" | "ms" | "st" | "resp" | "incl"
    );
    is_known || (word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// The length of the sign that begins an item of a list here: a bullet or a number at the start of a line, or inside of a line the
/// expected number.
fn item(rest: &str, before: &str, expected: usize) -> Option<usize> {
    if !(before.is_empty() || before.ends_with(char::is_whitespace)) {
        return None;
    }
    let at_line_start = before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
    match at_line_start {
        true => bullet(rest).or_else(|| numbered(rest, None)),
        false => numbered(rest, Some(expected)).or_else(|| rest.starts_with("• ").then_some("• ".len())),
    }
}

fn bullet(rest: &str) -> Option<usize> {
    let signs = ["- [ ] ", "* [ ] ", "- ", "* ", "• ", "– ", "+ "];
    signs.iter().find(|sign| rest.starts_with(**sign)).map(|sign| sign.len())
}

/// The length of a number or letter with a sign after it, such as `2.`, `(2)`, `b)`.
fn numbered(rest: &str, expected: Option<usize>) -> Option<usize> {
    let words = ["(", "#", "step ", "Step ", "task ", "Task "];
    let opened = words.iter().find(|word| rest.starts_with(**word)).map_or(0, |word| word.len());
    let rest = rest.get(opened..)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (value, length) = match digits {
        0 => (
            usize::from(rest.bytes().next().filter(u8::is_ascii_alphabetic)?.to_ascii_lowercase() - b'a') + 1,
            1,
        ),
        1 | 2 => (rest.get(..digits)?.parse().ok()?, digits),
        _ => return None,
    };
    let sign = rest.get(length..)?.chars().next()?;
    let is_sign = sign == ')' || (digits > 0 && matches!(sign, '.' | ':'));
    let has_space = rest.get(length + sign.len_utf8()..)?.starts_with(' ');
    let fits = expected.is_none_or(|expected| expected == value);
    (is_sign && has_space && fits && value > 0).then_some(opened + length + 1)
}

/// Places that are never cut: in quotes, in brackets, in code.
fn shielded(text: &str) -> Vec<bool> {
    let mut shielded = vec![false; text.len()];
    let mut open: Option<(usize, char)> = None;
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        match open {
            Some((start, close)) if c == close => {
                shielded.get_mut(start..at).into_iter().flatten().for_each(|place| *place = true);
                open = None;
            }
            Some((start, _)) if at - start > MAX_QUOTED => open = None,
            Some(_) => {}
            None => open = closing(text, at, c, last).map(|close| (at, close)),
        }
        last = c;
    }
    shielded
}

/// The sign that closes what a character opens.
fn closing(text: &str, at: usize, c: char, last: char) -> Option<char> {
    let begins = !last.is_alphanumeric();
    match c {
        '"' => Some('"'),
        '“' => Some('”'),
        '`' => Some('`'),
        '[' => Some(']'),
        '{' => Some('}'),
        '\'' if begins => Some('\''),
        // Brackets that hold words, not the number of an item.
        '(' if begins && !is_aside(text, at) => {
            text.get(at + 1..)?.find(')').filter(|length| *length > 2).map(|_| ')')
        }
        _ => None,
    }
}

/// Returns true for a bracket that holds more work: "(and test it)".
fn is_aside(text: &str, at: usize) -> bool {
    let inner = text.get(at + 1..).unwrap_or_default();
    ["and ", "also ", "then ", "plus ", "afterwards "]
        .iter()
        .any(|word| starts_with_ignoring_case(inner, word))
}
