//! [`Page`]: as much of a file as a small model is shown at once, from the top, without the numbers of the lines, which it
//! would copy into files.

/// How much of a file is shown, in characters.
pub(super) const MAX_FILE_CHARS: usize = 4_000;

/// How `read` says that there is more.
const MORE: &str = "[lines ";

/// How a page ends that is not the last.
const GOES_ON: &str = "[The file goes on: ";

/// A part of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) text: String,
    /// The line with which it goes on.
    pub(super) goes_on: Option<usize>,
}

impl Page {
    /// What `read` gave. What is no numbered text stays as it is.
    pub(super) fn of(read: &str) -> Self {
        let whole = || Self { text: read.to_owned(), goes_on: None };
        let mut lines: Vec<&str> = read.lines().collect();
        let more = lines.pop_if(|last| last.starts_with(MORE));
        let Some(numbered) = lines.iter().map(|line| numbered(line)).collect::<Option<Vec<_>>>() else {
            return whole();
        };
        let Some((last, _)) = numbered.last() else { return whole() };
        let mut goes_on = more.map(|_| last + 1);
        let mut text = String::new();
        let mut chars = 0;
        for (number, line) in &numbered {
            chars += line.chars().count() + 1;
            if chars > MAX_FILE_CHARS && !text.is_empty() {
                goes_on = Some(*number);
                break;
            }
            text.push_str(line);
            text.push('\n');
        }
        if let Some(next) = goes_on {
            text.push_str(&format!("{GOES_ON}read it with \"offset\":{next}]"));
        }
        Self { text: text.trim_end_matches('\n').to_owned(), goes_on }
    }

    /// The file's own lines.
    pub(super) fn lines(&self) -> &str {
        let end = self.goes_on.and_then(|_| self.text.rfind(GOES_ON));
        end.map_or(self.text.as_str(), |end| self.text[..end].trim_end_matches('\n'))
    }
}

fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.split_once('\t')?;
    Some((number.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_file_is_shown_whole_without_numbers() {
        let page = Page::of("1\tone\n2\ttwo\tand\n3\t");
        assert_eq!(page, Page { text: "one\ntwo\tand".to_owned(), goes_on: None });
        for other in ["a.txt is empty", "", "1\tone\n[UTF-16]"] {
            assert_eq!(Page::of(other).text, other);
        }
    }

    #[test]
    fn a_long_one_goes_on_with_the_line_that_was_not_shown() {
        let read: String = (1..=1000).map(|line| format!("{line}\t{}\n", "x".repeat(40))).collect();
        let page = Page::of(&format!("{read}[lines 1-1000 of 5000; go on with offset 1001]"));
        let next = page.goes_on.unwrap();
        assert_eq!(page.text.lines().count(), next);
        assert!(next > 90 && next < 110 && page.text.ends_with(&format!("\"offset\":{next}]")), "{next}");
        let rest = Page::of("99\tone\n[lines 99-99 of 5000; go on with offset 100]");
        assert_eq!(rest.goes_on, Some(100));
    }

    #[test]
    fn one_very_long_line_is_shown_all_the_same() {
        let page = Page::of(&format!("1\t{}\n2\tend", "x".repeat(MAX_FILE_CHARS * 2)));
        assert_eq!(page.goes_on, Some(2));
    }
}
