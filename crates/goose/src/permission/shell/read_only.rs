//! What is known to change nothing: programs, and which of their options are left out because they write or run something.
//!
//! Whoever adds a program here has read all of its options. What is not here is asked.

use super::{git, word::Word};

/// How a program's arguments are looked at.
enum Check {
    /// No option writes a file or starts a program.
    Anything,
    /// None of these options may be there: short letters, and long names, of which shorter forms count as well.
    Without { short: &'static str, long: &'static [&'static str] },
    /// The rest has a rule of its own.
    Own(fn(&[Word]) -> bool),
}

use Check::{Anything, Own, Without};

const NO_OUTPUT_FILE: Check = Without { short: "o", long: &["--output"] };

fn check_of(program: &str) -> Option<Check> {
    Some(match program {
        "basename" | "cat" | "cksum" | "cmp" | "comm" | "cut" | "df" | "dirname" | "du" | "echo"
        | "egrep" | "expand" | "expr" | "false" | "fgrep" | "fmt" | "fold" | "free" | "grep" | "groups"
        | "head" | "id" | "join" | "ls" | "md5sum" | "nl" | "nproc" | "od" | "paste" | "pgrep"
        | "printenv" | "ps" | "pwd" | "readlink" | "realpath" | "rev" | "seq" | "sha1sum" | "sha256sum"
        | "sha512sum" | "sleep" | "stat" | "strings" | "tac" | "tail" | "tr" | "true" | "type" | "uname"
        | "unexpand" | "uptime" | "wc" | "which" | "whoami" | ":" => Anything,
        "diff" | "jq" => NO_OUTPUT_FILE,
        "tree" => Without { short: "oR", long: &["--output"] },
        "sort" => Without { short: "oT", long: &["--output", "--compress-program", "--temporary-directory"] },
        "rg" => Without { short: "z", long: &["--pre", "--pre-glob", "--hostname-bin", "--search-zip"] },
        "date" => Own(shows_date),
        "file" => Without { short: "Cmz", long: &["--compile", "--magic-file", "--uncompress"] },
        "printf" => Without { short: "v", long: &[] },
        "test" | "[" => Own(is_plain_test),
        "find" => Own(is_plain_find),
        "sed" => Own(prints_lines),
        "uniq" => Own(has_one_operand),
        "env" => Own(<[Word]>::is_empty),
        "command" => {
            Own(|rest| matches!(rest.first().and_then(|word| word.text.as_deref()), Some("-v" | "-V")))
        }
        "git" => Own(git::is_read_only),
        _ => return None,
    })
}

/// Whether a command is known to change nothing.
pub(in crate::permission) fn is_read_only(words: &[Word]) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    // By its name alone: what is in a folder may be anything.
    let Some(program) = program.text.as_deref() else { return false };
    if asks_version(program, rest) {
        return true;
    }
    match check_of(program) {
        Some(Anything) => true,
        Some(Without { short, long }) => {
            rest.iter().all(|word| !word.may_be_option() || avoids(word, short, long))
        }
        Some(Own(check)) => check(rest),
        None => false,
    }
}

/// Whether every way to call a program changes nothing, so that a rule may allow it whole.
pub(in crate::permission) fn is_always_read_only(program: &str) -> bool {
    matches!(check_of(program), Some(Anything))
}

/// Whether an option is known and none of these.
pub(super) fn avoids(word: &Word, short: &str, long: &[&str]) -> bool {
    let Some(text) = word.text.as_deref() else { return false };
    if text.starts_with("--") {
        let name = text.split('=').next().unwrap_or(text);
        return name == "--" || !long.iter().any(|bad| bad.starts_with(name));
    }
    !text[1..].chars().any(|letter| short.contains(letter))
}

/// `git --version`, which every program of this list answers and does nothing else. Programs that a folder's own files
/// can replace by others, as those of rustup, pyenv or nvm, are not in it.
fn asks_version(program: &str, rest: &[Word]) -> bool {
    const PROGRAMS: [&str; 6] = ["bash", "clang", "docker", "gcc", "git", "make"];
    let only = match rest {
        [one] => one.text.as_deref(),
        _ => None,
    };
    PROGRAMS.contains(&program) && only == Some("--version")
}

/// `-v` looks a variable up, and evaluates what stands in brackets.
fn is_plain_test(rest: &[Word]) -> bool {
    rest.iter().all(|word| !matches!(word.text.as_deref(), Some("-v" | "-R")))
}

fn is_plain_find(rest: &[Word]) -> bool {
    const BAD: [&str; 9] =
        ["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"];
    rest.iter().all(|word| match word.text.as_deref() {
        Some(text) => !BAD.contains(&text),
        None => !word.may_be_option(),
    })
}

/// `sed -n '10,20p' file`, and nothing else that sed can.
fn prints_lines(rest: &[Word]) -> bool {
    let [quiet, script, files @ ..] = rest else { return false };
    let is_print = |script: &str| {
        script.strip_suffix('p').is_some_and(|lines| {
            !lines.is_empty()
                && lines.bytes().all(|byte| byte.is_ascii_digit() || byte == b',' || byte == b'$')
        })
    };
    quiet.text.as_deref() == Some("-n")
        && script.text.as_deref().is_some_and(is_print)
        && files.iter().all(|file| !file.may_be_option())
}

/// The second file of `uniq` is written.
fn has_one_operand(rest: &[Word]) -> bool {
    let known: Option<Vec<&str>> = rest.iter().map(|word| word.text.as_deref()).collect();
    let is_flag = |text: &&str| {
        text.len() > 1 && text.starts_with('-') && text[1..].bytes().all(|byte| b"cdiuz".contains(&byte))
    };
    let Some(words) = known else { return false };
    let others: Vec<&str> = words.into_iter().filter(|text| !is_flag(text)).collect();
    others.len() <= 1 && others.iter().all(|text| !text.starts_with('-'))
}

/// A date that stands alone would be set.
fn shows_date(rest: &[Word]) -> bool {
    rest.iter().all(|word| {
        word.text.as_deref().is_some_and(|text| {
            text.starts_with('+')
                || matches!(text, "-u" | "--utc" | "-R" | "-I" | "-Is" | "-Iseconds")
                || text.starts_with("--date=")
                || text.starts_with("--iso-8601")
        })
    })
}
