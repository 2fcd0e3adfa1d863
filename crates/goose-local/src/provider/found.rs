//! What a search found, told so that a small model can count and copy it: how many matches each file has, then the lines.

use std::fmt::Write as _;

/// With how many matches the lines around them are left out.
const MANY: usize = 4;

/// A file with matches.
struct File<'a> {
    name: &'a str,
    lines: Vec<Line<'a>>,
}

struct Line<'a> {
    number: &'a str,
    is_match: bool,
    text: &'a str,
}

/// The lines that were shown, by file; none where the result has another form.
pub(super) fn lines(result: &str) -> Option<Vec<(String, String)>> {
    let text = |file: File<'_>| file.lines.iter().map(|line| line.text).collect::<Vec<_>>().join("\n");
    Some(files(result)?.into_iter().map(|file| (file.name.to_owned(), text(file))).collect())
}

fn files(result: &str) -> Option<Vec<File<'_>>> {
    result.split("\n\n").map(file).collect()
}

/// The result of `search`, with the file's name before each line; none where it has another form.
pub(super) fn by_line(result: &str) -> Option<String> {
    let files = files(result)?;
    let told = files.iter().flat_map(|file| {
        file.lines.iter().map(|line| match line.is_match {
            true => format!("{} line {}: {}", file.name, line.number, line.text),
            false => format!("{}: {}", file.name, line.text),
        })
    });
    Some(told.collect::<Vec<_>>().join("\n"))
}

/// The result of `search`, told anew; none where it has another form.
pub(super) fn told(result: &str) -> Option<String> {
    let files = files(result)?;
    let all: usize = files.iter().map(File::matches).sum();
    let mut told = String::new();
    for file in files {
        let count = file.matches();
        // Writing to a string cannot fail.
        let _ = writeln!(told, "{} ({count} {}):", file.name, if count == 1 { "match" } else { "matches" });
        for line in file.lines.iter().filter(|line| line.is_match || all < MANY) {
            let _ = writeln!(told, "line {}: {}", line.number, line.text);
        }
    }
    Some(told.trim_end().to_owned())
}

impl File<'_> {
    fn matches(&self) -> usize {
        self.lines.iter().filter(|line| line.is_match).count()
    }
}

fn file(block: &str) -> Option<File<'_>> {
    let (name, rest) = block.split_once('\n')?;
    let lines: Vec<Line<'_>> = rest.lines().filter(|line| *line != "--").map(line).collect::<Option<_>>()?;
    (!lines.is_empty()).then_some(File { name, lines })
}

fn line(line: &str) -> Option<Line<'_>> {
    let end = line.find(|sign: char| !sign.is_ascii_digit()).filter(|end| *end > 0)?;
    let (number, rest) = line.split_at(end);
    let (mark, text) = rest.split_at_checked(1)?;
    matches!(mark, ":" | "-").then_some(Line { number, is_match: mark == ":", text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_counted_by_file() {
        let found = "a.py\n1:# TODO: x\n2-def f():\n--\n9:# todo\n\ndocs/b.md\n3:TODO";
        assert_eq!(
            told(found).as_deref(),
            Some(
                "a.py (2 matches):\nline 1: # TODO: x\nline 2: def f():\nline 9: # todo\ndocs/b.md (1 match):\nline 3: TODO"
            )
        );
        let many = "a.py\n1:x\n2-y\n3:x\n4:x\n5:x";
        assert_eq!(
            told(many).as_deref(),
            Some("a.py (4 matches):\nline 1: x\nline 3: x\nline 4: x\nline 5: x")
        );
    }

    #[test]
    fn what_has_another_form_is_left_alone() {
        for other in ["No match. Ignored files…", "", "a.py\n1:x\n\n[Stopped at 100 matches.]", "a.py\nx"] {
            assert_eq!(told(other), None);
        }
    }
}
