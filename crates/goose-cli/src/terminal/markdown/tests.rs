//! Whole texts.

use anstream::adapter::strip_str;
use proptest::prelude::*;

use super::*;

const TEXT: &str = "\
# The *title*

Some **bold and
more** text with `code` and [a link](https://example.com/page) that is long enough to be broken.
- one
  - two with words that do not fit on one line at all
1. first
> quoted **text**
> - item

```rust
fn main() {
\tprintln!(\"hello\");
}
```
| name | value |
|------|-------|
| a    | `b|c` |

---
An open **mark and [bracket
end";

/// All that is shown, with its escapes.
fn shown<'a>(width: usize, pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut markdown = Markdown::new(width);
    let mut shown: String = pieces.into_iter().map(|piece| markdown.push(piece)).collect();
    shown.push_str(&markdown.finish());
    shown
}

fn plain_text(text: &str, width: usize) -> String {
    strip_str(&shown(width, [text])).to_string()
}

#[test]
fn every_kind_of_block_is_shown() {
    insta::assert_snapshot!(plain_text(TEXT, 40), @r#"
    The title

    Some bold and
    more text with code and a link
    (https://example.com/page) that is long
    enough to be broken.
    • one
      • two with words that do not fit on
        one line at all
    1. first
    │ quoted text
    │ • item

    fn main() {
        println!("hello");
    }
    name │ value
    ─────┼──────
    a    │ b|c

    ────────────────────────────────────────
    An open **mark and [bracket
    end
    "#);
}

#[test]
fn looks_are_escapes_of_the_terminal() {
    let text = "# Title\n**bold** *italic* `code` ~~gone~~\n```sh\necho \"hi\" # why\n```\n";
    insta::assert_snapshot!(shown(60, [text]).replace('\u{1b}', "ESC"), @r#"
    ESC[1mESC[4mTitleESC[0m
    ESC[1mboldESC[0m ESC[3mitalicESC[0m ESC[36mcodeESC[0m ESC[9mgoneESC[0m
    ESC[34mechoESC[0m ESC[32m"hi"ESC[0m ESC[2m# whyESC[0m
    "#);
}

#[test]
fn words_are_shown_as_soon_as_they_are_complete() {
    let mut markdown = Markdown::new(40);
    assert_eq!(markdown.push("Hello wor"), "Hello");
    assert_eq!(markdown.push("ld, "), " world,");
    assert_eq!(markdown.push("**not "), "");
    assert_eq!(markdown.push("yet** "), " \u{1b}[1mnot yet\u{1b}[0m");
    assert_eq!(markdown.finish(), "\n");
}

#[test]
fn code_is_shown_line_by_line() {
    let mut markdown = Markdown::new(40);
    assert_eq!(markdown.push("```\nfirst\nsec"), "first\n");
    assert_eq!(markdown.push("ond\n```\nafter\n"), "second\nafter\n");
}

/// Nothing that a model writes moves the cursor, hides or reorders text, however it is written.
#[test]
fn what_could_mislead_is_escaped_everywhere() {
    let bad = "\u{1b}[2J\u{202e}\u{200b}";
    let text = format!(
        "{bad}\n# {bad}\n- {bad}\n`{bad}` **{bad}**\n| {bad} |\n|---|\n| {bad} |\n\n```{bad}\n{bad}\n```\n\
         ```rust\n// {bad}\n```\n[{bad}](x{bad}y) &#27;[2J &#x202e; &#x9b;\n"
    );
    let shown = plain_text(&text, 200);
    assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{200b}', '\u{9b}']), "{shown:?}");
    assert_eq!(shown.matches("\\u{1b}").count(), 12, "{shown}");
}

#[test]
fn a_second_text_may_follow() {
    let mut markdown = Markdown::new(40);
    markdown.push("```\ncode");
    assert_eq!(markdown.finish(), "code\n");
    assert_eq!(markdown.push("text\n"), "text\n");
}

/// The work for a text, in bytes that were looked at.
fn work(text: &str) -> usize {
    let mut markdown = Markdown::new(80);
    let mut work = 0;
    for c in text.chars() {
        markdown.push(c.encode_utf8(&mut [0; 4]));
    }
    work += markdown.work;
    markdown.finish();
    work
}

#[test]
fn the_work_is_linear_whatever_comes() {
    let units = [
        "word ", "word", "**", "*a ", "[", "](", "`", "`` ` ", "> ", "- ", "#", "# ", "|a|b", "| a |\n",
        "\\", "_a", "~~", "<b", "&amp;", "1", "1. ", " ", "\n", "```\n", "漢", "-", "- \n", "\t", "![a](",
    ];
    for unit in units {
        let (small, large) = (work(&unit.repeat(2_000)), work(&unit.repeat(8_000)));
        assert!(large <= 5 * small + 100_000, "{unit:?}: {small} for 2,000, {large} for 8,000");
    }
}

/// Markdown, more or less.
fn markdown() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z]{1,12}",
        prop::sample::select(vec![
            " ",
            "\n",
            "\n\n",
            "**",
            "*",
            "_",
            "`",
            "```",
            "```rust\n",
            "# ",
            "- ",
            "1. ",
            "> ",
            "|",
            "|---|",
            "[",
            "]",
            "](",
            ")",
            "~~",
            "\\",
            "<",
            "&lt;",
            "漢",
            "🪿",
            "\t",
            "    ",
            "---",
            "\u{1b}",
            "\r\n",
            "é",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn the_pieces_do_not_matter(text in markdown(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        ends.retain(|end| text.is_char_boundary(*end));
        ends.extend([0, text.len()]);
        ends.sort_unstable();
        let pieces = ends.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        let chars: Vec<String> = text.chars().map(String::from).collect();
        let whole = shown(30, [text.as_str()]);
        prop_assert_eq!(&shown(30, pieces), &whole);
        prop_assert_eq!(&shown(30, chars.iter().map(String::as_str)), &whole);
    }

    #[test]
    fn no_letter_is_lost(text in markdown()) {
        // The language of a fence is not shown, and names of characters are not letters.
        let mut text = text.replace("```rust\n", "").replace("```", "").replace("&lt;", "").replace('\u{1b}', "");
        // Tildes make fences too.
        while text.contains("~~~") {
            text = text.replace("~~~", "~~");
        }
        prop_assert_eq!(letters(&plain_text(&text, 30)), letters(&text));
    }
}

/// Returns the sorted letters of a text: wrapped cells change their order.
fn letters(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = text.chars().filter(char::is_ascii_lowercase).collect();
    letters.sort_unstable();
    letters
}
