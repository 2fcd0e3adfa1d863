//! Builtin commands of the shell that evaluate their words again, or change the meaning of later commands.

use super::{
    variables,
    word::{Word, texts},
};

/// Returns the doubt about a builtin command.
pub(super) fn doubt(words: &[Word]) -> Option<&'static str> {
    const CHANGES: &str = "changes the meaning of later commands";
    const EVALUATES: &str = "may evaluate its arguments";
    let (program, rest) = (words.first().and_then(Word::program)?, &words[1..]);
    match program {
        "alias" | "bind" | "complete" | "compopt" | "enable" | "fc" | "hash" | "history" | "shopt"
        | "trap" | "unalias" => Some(CHANGES),
        "compgen" | "declare" | "getopts" | "let" | "local" | "mapfile" | "readarray" | "typeset" => {
            Some(EVALUATES)
        }
        "export" | "readonly" => (!rest.iter().all(is_plain_setting)).then_some(EVALUATES),
        "unset" => (!rest.iter().all(is_name_or_option)).then_some(EVALUATES),
        "read" => (!is_plain_read(rest)).then_some(EVALUATES),
        "printf" => (!is_plain_printf(rest)).then_some(EVALUATES),
        "set" => (!is_plain_set(rest)).then_some(CHANGES),
        "test" | "[" => (!is_plain_test(words)).then_some(EVALUATES),
        _ => None,
    }
}

/// Returns true if a shell parses the text as a name.
fn is_name(text: &str) -> bool {
    text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns true for `NAME`, `NAME=value`.
fn is_plain_setting(word: &Word) -> bool {
    let start = word.pieces().first().map_or("", String::as_str);
    match (start.split_once('='), &word.text) {
        // If it may become several words, some shells set all of them.
        (Some((name, _)), _) => is_name(name) && !word.splits(),
        (None, Some(text)) => is_name(text) || text == "-p",
        (None, None) => false,
    }
}

fn is_name_or_option(word: &Word) -> bool {
    word.text.as_deref().is_some_and(|text| is_name(text) || matches!(text, "-v" | "-f"))
}

/// Returns true for `read -r line` with variables that no program reads.
pub(super) fn is_plain_read(rest: &[Word]) -> bool {
    let names = match rest.first().and_then(|word| word.text.as_deref()) {
        Some("-r") => &rest[1..],
        _ => rest,
    };
    let is_local = |text: &str| is_name(text) && variables::is_local(text);
    !names.is_empty() && names.iter().all(|word| word.text.as_deref().is_some_and(is_local))
}

/// Returns true for a known format that does not store the output.
pub(super) fn is_plain_printf(rest: &[Word]) -> bool {
    let rest = match rest.first().and_then(|word| word.text.as_deref()) {
        Some("--") => &rest[1..],
        _ => rest,
    };
    let Some(format) = rest.first() else { return true };
    let Some(format) = format.text.as_deref() else { return false };
    let is_modifier = |c: char| c.is_ascii_digit() || " -+#.*'lhjztLq".contains(c);
    let stores = |conversion: &str| conversion.trim_start_matches(is_modifier).starts_with('n');
    !format.starts_with('-') && !format.replace("%%", "").split('%').skip(1).any(stores)
}

/// Returns true for `set -eu`, `set -o pipefail`, which affect only error handling and tracing.
pub(super) fn is_plain_set(rest: &[Word]) -> bool {
    let known = texts(rest);
    let mut words = known.as_deref().unwrap_or_default();
    let mut is_plain = !words.is_empty();
    while let [first, others @ ..] = words {
        let letters = first.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty());
        let takes_name = letters.is_some_and(|letters| letters.ends_with('o'));
        is_plain &= letters
            .is_some_and(|letters| letters.trim_end_matches('o').bytes().all(|byte| b"eux".contains(&byte)));
        words = match (takes_name, others) {
            (true, [name, others @ ..]) => {
                is_plain &= matches!(*name, "pipefail" | "errexit" | "nounset" | "xtrace");
                others
            }
            (true, []) => return false,
            (false, _) => others,
        };
    }
    is_plain
}

/// Returns true for a test whose operator is known. Unknown ones may look up a variable, which evaluates the
/// text in its brackets.
pub(super) fn is_plain_test(words: &[Word]) -> bool {
    const FILES: &str = "-b -c -d -e -f -g -h -k -L -n -p -r -s -S -t -u -w -x -z -O -G";
    const COMPARISONS: &str = "= == != -eq -ne -lt -le -gt -ge -nt -ot -ef";
    let text = |word: &Word| word.text.clone().unwrap_or_default();
    let mut rest = &words[1..];
    if words.first().and_then(Word::program) == Some("[") {
        match rest.split_last() {
            Some((last, others)) if text(last) == "]" => rest = others,
            _ => return false,
        }
    }
    if rest.len() > 1 && text(&rest[0]) == "!" {
        rest = &rest[1..];
    }
    let is_one_of = |word: &Word, all: &str| all.split(' ').any(|one| text(word) == one);
    if rest.iter().any(Word::splits) {
        return false;
    }
    match rest {
        [] | [_] => true,
        [operator, _] => is_one_of(operator, FILES),
        [_, operator, _] => is_one_of(operator, COMPARISONS),
        _ => false,
    }
}
