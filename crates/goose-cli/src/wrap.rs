//! Line breaks for terminals.

/// Width of text on a terminal.
pub(crate) const WIDTH: usize = 79;

/// Breaks a line at spaces. A word that is too long is not broken.
pub(crate) fn wrapped(line: &str, width: usize) -> Vec<&str> {
    let (mut lines, mut rest) = (Vec::new(), line.trim_end());
    while let Some(end) = rest.char_indices().nth(width).map(|(end, _)| end) {
        let space = if rest[end..].starts_with(' ') { Some(end) } else { rest[..end].rfind(' ') };
        let space = space.filter(|at| !rest[..*at].trim().is_empty());
        let Some(at) = space.or_else(|| rest[end..].find(' ').map(|at| end + at)) else { break };
        lines.push(rest[..at].trim_end());
        rest = rest[at..].trim_start();
    }
    lines.push(rest);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("a-very-long-word and more", 8), ["a-very-long-word", "and more"]);
        assert_eq!(wrapped("  keeps its indent when short", 99), ["  keeps its indent when short"]);
        assert_eq!(wrapped("ümläut ümläut", 6), ["ümläut", "ümläut"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
