//! [`Numbers`]: the numbers that may be said, because somebody said them or a result has them. A small model makes up others.

use std::collections::HashSet;

/// The least number of digits of a number that is looked at. One digit is counted easily enough.
const LEAST_DIGITS: usize = 2;

/// How many parts a version or a time has at most.
const MAX_PARTS: usize = 6;

/// The numbers that are known.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// As they were written.
    known: HashSet<String>,
    /// Their values.
    values: HashSet<u64>,
}

impl Numbers {
    /// Takes in a text. How many lines it has may be said, too.
    pub(super) fn add(&mut self, text: &str) {
        for number in numbers(text) {
            self.values.extend(value(&number).map(f64::to_bits));
            // What a version or a time begins or ends with is known with it.
            let parts = parts(&number);
            if parts.len() > MAX_PARTS {
                self.known.insert(parts.join("."));
                continue;
            }
            for from in 0..parts.len() {
                for to in from + 1..=parts.len() {
                    self.known.insert(parts[from..to].join("."));
                }
            }
        }
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        // The first may be a heading.
        self.known.extend([lines, lines.saturating_sub(1)].map(|count| count.to_string()));
    }

    /// The first number of an answer that is not known.
    pub(super) fn unfounded(&self, answer: &str) -> Option<String> {
        numbers(answer).into_iter().find(|number| {
            let digits = number.chars().filter(char::is_ascii_digit).count();
            digits >= LEAST_DIGITS && !self.has(number)
        })
    }

    fn has(&self, number: &str) -> bool {
        let is_value = |value: f64| self.values.contains(&value.to_bits());
        // A part of a hundred may be told as a percentage.
        let is_same = value(number).is_some_and(|value| is_value(value) || is_value(value / 100.0));
        is_same || self.known.contains(&parts(number).join("."))
    }
}

/// The numbers of a text, without what only groups their digits: `1,200` is `1200`.
fn numbers(text: &str) -> Vec<String> {
    let mut numbers = Vec::new();
    let mut number = String::new();
    let signs: Vec<char> = text.chars().collect();
    for (at, sign) in signs.iter().enumerate() {
        let next_is_digit = signs.get(at + 1).is_some_and(char::is_ascii_digit);
        let is_inside = !number.is_empty() && next_is_digit;
        match sign {
            '0'..='9' => number.push(*sign),
            '.' | ':' if is_inside => number.push(*sign),
            ',' if is_inside && groups(&signs[at + 1..]) => {}
            _ if !number.is_empty() => numbers.push(std::mem::take(&mut number)),
            _ => {}
        }
    }
    numbers.extend(Some(number).filter(|number| !number.is_empty()));
    numbers
}

/// The parts of a version, a time or a fraction; zeros before them do not count.
fn parts(number: &str) -> Vec<&str> {
    number.split(['.', ':']).map(|part| part.trim_start_matches('0')).collect()
}

/// Whether three digits come, and no more.
fn groups(signs: &[char]) -> bool {
    signs.iter().take_while(|sign| sign.is_ascii_digit()).count() == 3
}

fn value(number: &str) -> Option<f64> {
    number.parse::<f64>().ok().filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unfounded(known: &str, answer: &str) -> Option<String> {
        let mut numbers = Numbers::default();
        numbers.add(known);
        numbers.unfounded(answer)
    }

    #[test]
    fn what_a_result_has_may_be_said() {
        let known = "rust 1.95.0\nprice 1200.50\nrate 0.19\nopen 08:30\n2024-03-17\nok 0042";
        for answer in [
            "It is 1.95.0, or 1.95.",
            "It costs 1,200.50.",
            "That is 1200.5.",
            "The rate is 19%.",
            "It opens at 8:30 or 08:30.",
            "On 2024-03-17, at 17.",
            "There are 6 lines, 9 words.",
            "Number 42.",
            "No number at all",
        ] {
            assert_eq!(unfounded(known, answer), None, "{answer}");
        }
    }

    #[test]
    fn others_may_not() {
        assert_eq!(unfounded("rust 1.95.0", "It is 1.51.0.").as_deref(), Some("1.51.0"));
        assert_eq!(unfounded("a\nb", "There are 12, not 2.").as_deref(), Some("12"));
        assert_eq!(unfounded("port 8080", "The port is 80.").as_deref(), Some("80"));
        assert_eq!(unfounded("1,200", "It is 200.").as_deref(), Some("200"));
    }

    #[test]
    fn very_many_parts_cost_little() {
        let many = "1.".repeat(20_000) + "1";
        assert_eq!(unfounded(&many, "It is 22.").as_deref(), Some("22"));
    }

    #[test]
    fn lines_may_be_counted() {
        let eleven = "x\n".repeat(11);
        assert_eq!(unfounded(&eleven, "There are 11."), None);
        assert_eq!(unfounded(&eleven, "There are 10, without the first."), None);
        assert_eq!(unfounded(&eleven, "There are 12.").as_deref(), Some("12"));
    }
}
