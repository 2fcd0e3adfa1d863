//! Licence expressions, as in `(MIT OR Apache-2.0) AND Unicode-3.0`.

/// Returns whether the allowed licences are enough for an expression. One that cannot be read is not met.
pub(crate) fn is_met(expression: &str, allowed: &[&str]) -> bool {
    // Before there were expressions, `/` stood for a choice.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words, allowed };
    parser.choice() == Some(true) && parser.words.is_empty()
}

/// Evaluates the words from left to right. `None` stands for a syntax error.
struct Parser<'a> {
    words: &'a [&'a str],
    allowed: &'a [&'a str],
}

impl<'a> Parser<'a> {
    fn choice(&mut self) -> Option<bool> {
        let mut is_met = self.all()?;
        while self.take("OR") {
            is_met |= self.all()?;
        }
        Some(is_met)
    }

    fn all(&mut self) -> Option<bool> {
        let mut is_met = self.one()?;
        while self.take("AND") {
            is_met &= self.one()?;
        }
        Some(is_met)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let is_met = self.choice()?;
            return self.take(")").then_some(is_met);
        }
        let licence = self.next()?;
        if self.take("WITH") {
            let exception = self.next()?;
            return Some(self.allowed.contains(&format!("{licence} WITH {exception}").as_str()));
        }
        Some(self.allowed.contains(&licence))
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }
}

#[test]
fn expressions_are_met_by_enough_licences() {
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT", true),
        ("GPL-3.0-only/MIT", true),
        ("MIT AND GPL-3.0-only", false),
        ("MIT AND GPL-3.0-only OR ISC", true),
        ("MIT AND (GPL-3.0-only OR ISC)", true),
        ("(MIT OR ISC) AND GPL-3.0-only", false),
        ("MIT WITH Some-exception", false),
        ("MIT WITH Some-exception OR ISC", true),
        ("", false),
        ("MIT ISC", false),
        ("(MIT", false),
        ("MIT OR", false),
    ] {
        assert_eq!(is_met(expression, &["MIT", "ISC"]), expected, "{expression}");
    }
}
