//! [`Growth`]: an upper bound for the size of the texts that a template can make. minijinja has no limit for the
//! size of a value, so a template that could double one again and again is refused before it is rendered.
//!
//! A name that is set from `n` other names is at most `n` times as large as these; filters that quote add a factor.
//! Values that a loop sets are forgotten after it. Texts that filters and blocks make are counted while they are made.

use super::literal::{Tag, TagKind, tags};

/// Maximum size of a text or list that a template can make, in bytes.
const MAX_GROWN: usize = 8 * 1024 * 1024;

/// Maximum size of everything that a rendering writes, in bytes.
pub(super) const MAX_OUTPUT: usize = 1024 * 1024;

/// Maximum number of instructions of a rendering. Templates of real recipes need a few hundred.
const MAX_STEPS: u64 = 100_000;

/// Factor by which quotes and escapes make a text longer.
const QUOTING: usize = 6;

/// Bytes of a number in a list, and numbers of the largest range.
const NUMBER_BYTES: usize = 8;
const MAX_RANGE: usize = 100_000;

/// Maximum length of the code of a tag, without its texts, and number of `elif`. Each operator of a tag, and each
/// `elif`, is a call within another one in the parser.
const MAX_CODE: usize = 1_000;
const MAX_ELIFS: usize = 200;

/// Filters and methods that make lists.
const LIST_MAKERS: &[&str] = &[
    "batch",
    "chain",
    "dict",
    "dictsort",
    "groupby",
    "items",
    "keys",
    "lines",
    "list",
    "range",
    "rsplit",
    "slice",
    "split",
    "splitlines",
    "values",
    "zip",
];

/// Words of expressions and statements that name no value.
const WORDS: &[&str] = &[
    "and", "elif", "else", "false", "filter", "for", "if", "in", "is", "none", "not", "or", "set", "true",
    "with",
];

/// Bounds of the texts that a template makes.
#[derive(Debug, Clone)]
pub(super) struct Growth {
    /// Bytes of the texts and ranges.
    base: usize,
    /// Factor by which a value can become larger.
    factor: usize,
    /// Longest text between two tags of a block whose output is kept.
    kept_text: usize,
}

/// Limits of one rendering.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Number of instructions.
    pub(super) steps: u64,
    /// Bytes that filters and blocks make.
    pub(super) made: usize,
}

impl Growth {
    /// Computes the bounds of texts that include each other.
    pub(super) fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let files: Vec<(&str, Vec<Tag<'_>>)> = texts.map(|text| (text, tags(text))).collect();
        let has_lists = files.iter().flat_map(|(_, tags)| tags).any(makes_lists);
        let mut growth = Self { base: 0, factor: 1, kept_text: 0 };
        for (text, tags) in &files {
            growth.base += text.len() + tags.iter().map(range_bytes).sum::<usize>();
            growth.add(tags, has_lists);
        }
        growth
    }

    /// Adds the tags of one text.
    fn add(&mut self, tags: &[Tag<'_>], has_lists: bool) {
        let (mut named, mut peak) = (vec![1_usize], 1);
        let (mut kept_blocks, mut end) = (0_usize, 0);
        for tag in tags {
            if kept_blocks > 0 {
                self.kept_text = self.kept_text.max(tag.range.start - end);
            }
            end = tag.range.end;
            let current = named.last().copied().unwrap_or(1);
            let grown = current.saturating_mul(factor(tag, has_lists));
            peak = peak.max(grown);
            match tag.keyword().filter(|_| tag.kind == TagKind::Statement) {
                Some("set") if is_assignment(tag) => {
                    named.pop();
                    named.push(grown);
                }
                Some("set" | "filter" | "block") => kept_blocks += 1,
                Some("endset" | "endfilter" | "endblock") => kept_blocks = kept_blocks.saturating_sub(1),
                Some("for" | "with") => named.push(grown),
                Some("endfor" | "endwith") if named.len() > 1 => {
                    named.pop();
                }
                _ => {}
            }
        }
        self.factor = self.factor.saturating_mul(peak);
    }

    /// Returns the limits of a rendering with values of this size.
    ///
    /// # Errors
    ///
    /// Fails if a text could become too large.
    pub(super) fn limits(&self, values: usize) -> Result<Limits, String> {
        let allowed = MAX_GROWN / self.factor;
        let made = allowed.saturating_sub(self.base.saturating_add(values)).min(MAX_OUTPUT);
        if made == 0 {
            return Err(format!(
                "the template may join texts to more than {MAX_GROWN} bytes; use '~', '+', lists and 'tojson' less often, above \
                 all in 'set' and 'for'"
            ));
        }
        let kept = allowed.saturating_mul(8).checked_div(self.kept_text).unwrap_or(usize::MAX);
        Ok(Limits { steps: MAX_STEPS.min(u64::try_from(kept).unwrap_or(u64::MAX)), made })
    }
}

/// Returns the position and the problem of a tag that could nest too deep for the parser.
pub(super) fn check_depth(tags: &[Tag<'_>]) -> Result<(), (usize, String)> {
    let mut elifs = 0;
    for tag in tags {
        elifs += usize::from(tag.kind == TagKind::Statement && tag.keyword() == Some("elif"));
        let problem = if tag.inner.len() > MAX_CODE && tag.without_strings().len() > MAX_CODE {
            format!("the tag has more than {MAX_CODE} characters beside its texts; use several")
        } else if elifs > MAX_ELIFS {
            format!("the template has more than {MAX_ELIFS} 'elif'; use fewer")
        } else {
            continue;
        };
        return Err((tag.range.start, problem));
    }
    Ok(())
}

/// Returns the problem of a tag that uses what has no limit.
pub(super) fn check_tag(tag: &Tag<'_>) -> Result<(), String> {
    let code = tag.without_strings();
    let words: Vec<Word<'_>> = words(&code).collect();
    let has = |text: &str| words.iter().any(|word| word.text == text);
    if code.contains('*') {
        return Err("'*' is not available, because it could repeat a text without a limit".to_owned());
    }
    if tag.keyword() == Some("for") && has("recursive") {
        return Err(
            "'recursive' is not available, because such a loop could grow a text without a limit".to_owned()
        );
    }
    if has("map") && words.iter().any(|word| word.text == "default" && word.is_argument()) {
        return Err(
            "'map' takes no 'default' here, because it could repeat a text without a limit".to_owned()
        );
    }
    Ok(())
}

/// Returns true for `set` with a value; without one it keeps the output of a block.
fn is_assignment(tag: &Tag<'_>) -> bool {
    let code = tag.without_strings();
    let value = code.find('=');
    value.is_some_and(|value| code.find('|').is_none_or(|filter| value < filter))
}

/// Returns the factor by which the value of a tag can be larger than the values that it uses.
fn factor(tag: &Tag<'_>, has_lists: bool) -> usize {
    let code = tag.without_strings();
    let values = match tag.keyword() {
        Some("for") => code.split_once(" in ").map_or(code.as_str(), |(_, values)| values),
        _ => &code,
    };
    let joins = values.contains(['~', '+', '[', '{', ','])
        || words(values).any(|it| matches!(it.text, "chain" | "zip"));
    let names = words(values).filter(Word::is_name).count();
    let mut factor = if joins { names.max(1) } else { 1 };
    // In a text, a list has its texts with quotes. Filters also have their names in strings, as in `map('tojson')`.
    let quotes = |word: &Word<'_>| match word.text {
        "pprint" | "tojson" => true,
        "string" => has_lists,
        _ => false,
    };
    let quoting = words(tag.inner).filter(quotes).count() + usize::from(has_lists && values.contains('~'));
    for _ in 0..quoting {
        factor = factor.saturating_mul(QUOTING);
    }
    factor
}

fn makes_lists(tag: &Tag<'_>) -> bool {
    let is_naming = matches!(tag.keyword(), Some("set" | "with" | "for")) && tag.kind == TagKind::Statement;
    let code = tag.without_strings();
    code.contains(['[', '{'])
        || is_naming && code.contains(',')
        || words(tag.inner).any(|word| LIST_MAKERS.contains(&word.text))
}

/// Returns the size of the ranges of a tag: the largest one, unless their ends are numbers.
fn range_bytes(tag: &Tag<'_>) -> usize {
    let code = tag.without_strings();
    let ranges = words(&code).filter(|word| word.text == "range").map(|word| {
        let arguments = word.after.trim_start().trim_start_matches('(').split(')').next().unwrap_or_default();
        let ends: Option<Vec<usize>> = arguments.split(',').map(|end| end.trim().parse().ok()).collect();
        let largest = ends.and_then(|ends| ends.into_iter().max()).unwrap_or(MAX_RANGE);
        largest.min(MAX_RANGE) * NUMBER_BYTES
    });
    ranges.sum()
}

/// Word of an expression.
struct Word<'c> {
    text: &'c str,
    before: &'c str,
    after: &'c str,
}

impl Word<'_> {
    /// Returns true for the name of an argument, as in `f(name=1)`, and of a variable that is set.
    fn is_argument(&self) -> bool {
        let after = self.after.trim_start();
        after.starts_with('=') && !after.starts_with("==")
    }

    /// Returns true for a variable whose value is used.
    fn is_name(&self) -> bool {
        let is_part = self.before.trim_end().ends_with(['.', '|']);
        let is_called = self.after.trim_start().starts_with('(');
        let is_number = self.text.starts_with(|c: char| c.is_ascii_digit());
        !is_part
            && !is_called
            && !is_number
            && !self.is_argument()
            && !WORDS.contains(&self.text.to_ascii_lowercase().as_str())
    }
}

fn words(code: &str) -> impl Iterator<Item = Word<'_>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at + code[at..].find(is_part)?;
        let end = code[begin..].find(|c| !is_part(c)).map_or(code.len(), |length| begin + length);
        at = end;
        Some(Word { text: &code[begin..end], before: &code[..begin], after: &code[end..] })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor_of(text: &str) -> usize {
        Growth::of([text].into_iter()).factor
    }

    #[test]
    fn names_in_joins_and_quoting_filters_are_factors() {
        for (text, expected) in [
            ("plain {{ a }} {{ a | upper }}", 1),
            ("{{ a ~ '-' ~ b ~ '-' }}", 2),
            ("{% set s = s ~ 'line' %}{% set s = s ~ 'line' %}", 1),
            ("{% set a = a ~ a %}{% set a = a + a %}{{ a }}", 4),
            ("{% for x in [a, b] %}{{ x }}{% endfor %}{% for x in [a, b] %}{{ x }}{% endfor %}", 2),
            ("{% for x in [a, b] %}{% for y in [x, x] %}{{ y }}{% endfor %}{% endfor %}", 4),
            ("{% set a = [a, a] %}{{ a | string }}", 2 * QUOTING),
            ("{% set a = a | tojson %}{{ a | map('tojson') }}", QUOTING * QUOTING),
            ("{% set a = dict(k=a, l=a) %}", 2),
            ("{% set a = a | zip(a) %}", 2),
            ("{{ 'x' if a == b else c }}", 1),
            ("{% for w in a.split(',') %}{{ w | trim }}{% endfor %}", 1),
        ] {
            assert_eq!(factor_of(text), expected, "{text}");
        }
    }

    #[test]
    fn small_ranges_are_small() {
        let base = |text: &str| Growth::of([text].into_iter()).base - text.len();
        assert_eq!(base("{% for i in range(3) %}{% endfor %}"), 3 * NUMBER_BYTES);
        assert_eq!(base("{% for i in range(1, 10) %}{% endfor %}"), 10 * NUMBER_BYTES);
        assert_eq!(base("{% for i in range(n) %}{% endfor %}"), MAX_RANGE * NUMBER_BYTES);
    }

    #[test]
    fn texts_in_kept_blocks_shorten_the_rendering() {
        let steps = |text: &str| Growth::of([text].into_iter()).limits(0).unwrap().steps;
        assert_eq!(steps("{% for i in a %}a long text{% endfor %}"), MAX_STEPS);
        let long = "x".repeat(100_000);
        assert!(steps(&format!("{{% set a %}}{long}{{% endset %}}")) < 1000);
        assert_eq!(steps(&format!("{{% set a = b %}}{long}{{% if a %}}{{% endif %}}")), MAX_STEPS);
    }
}
