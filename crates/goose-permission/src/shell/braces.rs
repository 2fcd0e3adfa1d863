//! Brace expansion, as bash does it: `{a,b}`, `{1..3}`.

use super::word::Unknown;

/// Maximum number of words that braces may expand to.
const MAX_WORDS: usize = 64;

/// Maximum number of braces and commas in a word.
pub(super) const MAX_BRACES: usize = 256;

/// Maximum number of items of a range.
const MAX_COUNT: i64 = 64;

/// A part of a word before its braces are expanded.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Text(String),
    /// An unquoted `{`, `}` or `,`.
    Brace(u8),
    Unknown(Unknown),
}

/// Returns the words that a word expands to, itself if it has no braces to expand; `None` if there are too
/// many.
pub(super) fn expand(items: &[Item]) -> Option<Vec<Vec<Item>>> {
    let mut from = 0;
    while let Some(open) = items[from..].iter().position(|item| is(item, b'{')).map(|at| from + at) {
        from = open + 1;
        let Some((parts, close)) = parts(items, open) else { continue };
        let heads: Vec<Vec<Item>> = match parts.as_slice() {
            [one] => match range(one) {
                Some(texts) => texts?.into_iter().map(|text| vec![text]).collect(),
                // `{a}` is not a list.
                None => continue,
            },
            parts => parts.iter().map(|part| expand(part)).collect::<Option<Vec<_>>>()?.concat(),
        };
        let tails = expand(&items[close + 1..])?;
        if heads.len() * tails.len() > MAX_WORDS {
            return None;
        }
        let start = &items[..open];
        let join = |head: &Vec<Item>| {
            let head = head.clone();
            tails.iter().map(move |tail| [start, &head, tail].concat())
        };
        return Some(heads.iter().flat_map(join).collect());
    }
    Some(vec![items.to_vec()])
}

fn is(item: &Item, byte: u8) -> bool {
    matches!(item, Item::Brace(brace) if *brace == byte)
}

/// Returns the parts between the commas of a brace, and the position of its end; `None` if it has no end.
fn parts(items: &[Item], open: usize) -> Option<(Vec<&[Item]>, usize)> {
    let (mut depth, mut from, mut parts) = (0_usize, open + 1, Vec::new());
    for (at, item) in items.iter().enumerate().skip(open + 1) {
        match item {
            Item::Brace(b'{') => depth += 1,
            Item::Brace(b'}') if depth > 0 => depth -= 1,
            Item::Brace(b'}') => {
                parts.push(&items[from..at]);
                return Some((parts, at));
            }
            Item::Brace(b',') if depth == 0 => {
                parts.push(&items[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// Returns the items of `1..3`, `a..c`, `Some(None)` if there are too many; `None` if it is not a range.
fn range(items: &[Item]) -> Option<Option<Vec<Item>>> {
    let [Item::Text(text)] = items else { return None };
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => (*first, *last, step.parse::<i64>().ok()?.unsigned_abs().max(1)),
        _ => return None,
    };
    let letter = |text: &str| match text.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(i64::from(*byte)),
        _ => None,
    };
    let number = |text: &str| text.parse::<i64>().ok();
    let is_letters = letter(first).is_some();
    let (from, to) = match is_letters {
        true => (letter(first)?, letter(last)?),
        false => (number(first)?, number(last)?),
    };
    let Some(count) = i64::try_from(from.abs_diff(to) / step).ok().filter(|count| *count < MAX_COUNT) else {
        return Some(None);
    };
    let is_padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.len() > 1;
    let width = if is_padded(first) || is_padded(last) { first.len().max(last.len()) } else { 0 };
    let sign = if from <= to { 1 } else { -1 };
    let step = i64::try_from(step).ok()?;
    let value = |index: i64| {
        let value = from + sign * step * index;
        match u8::try_from(value) {
            Ok(byte) if is_letters => char::from(byte).to_string(),
            _ => format!("{value:0width$}"),
        }
    };
    Some(Some((0..=count).map(|index| Item::Text(value(index))).collect()))
}
