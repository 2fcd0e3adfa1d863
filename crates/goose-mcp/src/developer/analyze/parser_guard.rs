//! Code as the parser may get it.
//!
//! Parsers are C, and some keep what they remember of a file in a buffer of 1,024 bytes without looking whether it
//! fits: a hostile file would end the whole program, and no thread or handler can prevent that. So what fills those
//! buffers never reaches them. Which are meant was found by reading the scanners of all grammars:
//!
//! - Python's keeps two bytes for each open indentation, behind up to 257 others. Indentations grow, so there are never
//!   more of them than columns: a file that is indented too far is not read.
//! - Ruby's keeps the words of open here-documents, each with its length in one byte. They are taken out, whole: what
//!   stands in them is text.
//! - The others keep a few numbers, or look.
//!
//! An unknown bug in a scanner still ends the program.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
};

/// Maximum indentation of a line of Python: 257 + 2 · 380 bytes fit.
const MAX_INDENT_COLUMNS: usize = 380;
/// Width of a tab in Python's scanner.
const TAB_COLUMNS: usize = 8;

/// The code as a parser of this language may get it, with the same number of lines; nothing if it may not.
pub(super) fn sanitize<'a>(language: &str, code: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    match language {
        "Python" => (widest_indent(code) <= MAX_INDENT_COLUMNS).then_some(Cow::Borrowed(code)),
        "Ruby" if code.windows(2).any(|pair| pair == b"<<") => Some(Cow::Owned(without_here_documents(code))),
        _ => Some(Cow::Borrowed(code)),
    }
}

/// The widest indentation. One that goes on behind a `\` at the end of a line counts as one.
fn widest_indent(code: &[u8]) -> usize {
    let mut widest = 0;
    let mut indent = Some(0);
    for (at, byte) in code.iter().enumerate() {
        indent = match (byte, indent) {
            (b'\n', Some(columns)) if code[..at].ends_with(b"\\") || code[..at].ends_with(b"\\\r") => {
                Some(columns)
            }
            (b'\n', _) => Some(0),
            (b' ', Some(columns)) => Some(columns + 1),
            (b'\t', Some(columns)) => Some(columns + TAB_COLUMNS),
            (b'\r' | b'\x0c' | b'\\', columns) => columns,
            _ => None,
        };
        widest = widest.max(indent.unwrap_or_default());
    }
    widest
}

/// Ruby without here-documents: each becomes an empty string and empty lines. What only looks like the begin of one
/// gets a blank, which makes it the operator.
fn without_here_documents(code: &[u8]) -> Vec<u8> {
    let lines = || code.split(|byte| *byte == b'\n').enumerate();
    let last: HashMap<&[u8], usize> = lines().map(|(number, line)| (line.trim_ascii(), number)).collect();
    let mut tame = Vec::with_capacity(code.len());
    let mut open: VecDeque<&[u8]> = VecDeque::new();
    for (number, line) in lines() {
        if number > 0 {
            tame.push(b'\n');
        }
        match open.front() {
            Some(word) if *word == line.trim_ascii() => drop(open.pop_front()),
            Some(_) => {}
            None => {
                let ends_later = |word: &[u8]| last.get(word).is_some_and(|last| *last > number);
                open.extend(sanitize_line(line, &mut tame, ends_later));
            }
        }
    }
    tame
}

/// Adds a line of Ruby, and returns the words of the here-documents that begin in it.
fn sanitize_line<'a>(
    line: &'a [u8],
    tame: &mut Vec<u8>,
    ends_later: impl Fn(&[u8]) -> bool,
) -> Vec<&'a [u8]> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.windows(2).position(|pair| pair == b"<<") {
        tame.extend_from_slice(&rest[..at]);
        rest = &rest[at + 2..];
        match here_document(rest) {
            Some((word, behind)) if ends_later(word) => {
                tame.extend_from_slice(b"\"\"");
                words.push(word);
                rest = behind;
            }
            _ if rest.starts_with(b"=") => tame.extend_from_slice(b"<<"),
            _ => tame.extend_from_slice(b"<< "),
        }
    }
    tame.extend_from_slice(rest);
    words
}

/// The word of a here-document, and what stands behind it, where `<<` begins one.
fn here_document(behind: &[u8]) -> Option<(&[u8], &[u8])> {
    let behind = behind.strip_prefix(b"-").or_else(|| behind.strip_prefix(b"~")).unwrap_or(behind);
    let (word, rest) = match behind {
        [quote @ (b'"' | b'\'' | b'`'), quoted @ ..] => {
            let end = quoted.iter().position(|byte| byte == quote)?;
            (&quoted[..end], &quoted[end + 1..])
        }
        _ => {
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
            let end = behind.iter().position(|byte| !is_part(byte)).unwrap_or(behind.len());
            behind.split_at(end)
        }
    };
    // `class <<self` begins something else.
    (!word.is_empty() && word != b"self").then_some((word, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ruby(code: &str) -> String {
        String::from_utf8(without_here_documents(code.as_bytes())).unwrap()
    }

    #[test]
    fn here_documents_go_and_the_rest_stays() {
        assert_eq!(
            ruby("f(<<~A, <<-'B c').x\n a\n A\n#{b}\nB c\ndef g\n"),
            "f(\"\", \"\").x\n\n\n\n\ndef g\n"
        );
        assert_eq!(ruby("a << b\na <<B\na <<= 1\n"), "a <<  b\na << B\na <<= 1\n");
        assert_eq!(ruby("class <<self\ndef f\nself\nend\n"), "class << self\ndef f\nself\nend\n");
        assert_eq!(ruby("<<<A<<A\nx"), "<< <A<< A\nx");
    }

    #[test]
    fn indents_are_measured_as_the_scanner_does() {
        for (code, widest) in [("  a\n\tb   \n", 8), ("a    b", 0), (" \\\n  \\\r\n\tx", 11), ("    \n x", 4)]
        {
            assert_eq!(widest_indent(code.as_bytes()), widest, "{code:?}");
        }
        assert!(sanitize("Python", " ".repeat(381).as_bytes()).is_none());
    }

    proptest! {
        /// Whatever the file is, the scanner sees no word behind `<<`, and each line stays where it was.
        #[test]
        fn no_here_document_is_left(code in "[<~=A\"'\n -]{0,60}") {
            let tame = ruby(&code);
            prop_assert_eq!(tame.matches('\n').count(), code.matches('\n').count());
            for (at, _) in tame.match_indices("<<") {
                let next = tame[at + 2..].chars().next();
                prop_assert!(matches!(next, None | Some(' ' | '=')), "{:?}", tame);
            }
        }
    }
}
