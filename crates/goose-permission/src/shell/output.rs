//! Commands whose output is known well enough to name files: those that list files, pass on lines of their
//! input, or print their words.
//!
//! Before adding an option, make sure that it cannot print any other text.

use super::word::{Word, texts};

/// Output of a command, as far as it is known.
#[derive(Debug)]
pub(super) enum Output<'w> {
    Nothing,
    /// These words; `ends_line` if a line end certainly follows.
    Words {
        words: &'w [Word],
        ends_line: bool,
    },
    /// A part of this word.
    Part {
        word: &'w Word,
        part: fn(&str) -> &str,
    },
    /// Another path of the same file.
    Same(&'w Word),
    /// Names of files in the folders that the command names.
    Listed,
    /// Path of a file that is not in a folder of secrets: a program, the root of the repository.
    Existing,
    /// Lines of its input.
    Input,
    /// The current folder.
    Folder,
    /// A number, a date or the name of a commit: a name that is not hidden.
    Name,
    Unknown,
}

fn when(holds: bool, output: Output<'_>) -> Output<'_> {
    if holds { output } else { Output::Unknown }
}

/// Returns the output of a command.
pub(super) fn output(words: &[Word]) -> Output<'_> {
    let Some((program, rest)) = words.split_first() else { return Output::Nothing };
    let texts = texts(rest);
    let is_known = |accepts: fn(&[&str]) -> bool| texts.as_deref().is_some_and(accepts);
    match program.program().unwrap_or_default() {
        ":" | "[" | "break" | "cd" | "continue" | "exit" | "read" | "set" | "sleep" | "test" | "true"
        | "wait" => Output::Nothing,
        "echo" => echoed(rest),
        "printf" => formatted(rest),
        "basename" => part(rest),
        "dirname" => match rest {
            [word] if !word.may_be_option() => Output::Part { word, part: dirname },
            _ => Output::Unknown,
        },
        "realpath" => match rest {
            [word] if !word.may_be_option() => Output::Same(word),
            _ => Output::Unknown,
        },
        "readlink" => match rest {
            [option, word] if option.text.as_deref() == Some("-f") && !word.may_be_option() => {
                Output::Same(word)
            }
            _ => Output::Unknown,
        },
        "pwd" => when(rest.is_empty(), Output::Folder),
        "which" => when(is_known(|texts| texts.iter().all(|text| is_program(text))), Output::Existing),
        "command" => when(
            is_known(
                |texts| matches!(texts, ["-v", programs @ ..] if programs.iter().all(|text| is_program(text))),
            ),
            Output::Existing,
        ),
        "mktemp" => when(is_known(|texts| texts.is_empty() || texts == ["-d"]), Output::Existing),
        "date" => when(is_known(|texts| texts.iter().all(|text| is_date(text))), Output::Name),
        "arch" | "hostname" | "nproc" | "uname" | "whoami" => {
            when(is_known(|texts| texts.iter().all(|text| text.starts_with('-'))), Output::Name)
        }
        "id" => when(is_known(|texts| matches!(texts, ["-u" | "-g" | "-un" | "-gn"])), Output::Name),
        "seq" | "wc" => when(is_known(|texts| texts.iter().all(|text| is_count(text))), Output::Name),
        "git" => git(rest, texts.as_deref()),
        "find" => when(rest.iter().all(finds), Output::Listed),
        "ls" | "fd" | "fdfind" | "rg" | "grep" | "egrep" | "fgrep" if lists(words) => Output::Listed,
        _ => when(is_known_filter(words), Output::Input),
    }
}

fn echoed(rest: &[Word]) -> Output<'_> {
    match rest.first().and_then(|word| word.text.as_deref()) {
        Some("-n") => Output::Words { words: &rest[1..], ends_line: false },
        Some(text) if text.starts_with('-') => Output::Unknown,
        // A word that is not known may be an option.
        None if rest.first().is_some_and(Word::may_be_option) => {
            Output::Words { words: rest, ends_line: false }
        }
        _ => Output::Words { words: rest, ends_line: true },
    }
}

fn formatted(rest: &[Word]) -> Output<'_> {
    let Some((format, words)) = rest.split_first() else { return Output::Unknown };
    match format.text.as_deref() {
        Some("%s\\n" | "%s\n") => Output::Words { words, ends_line: true },
        Some(text) if words.is_empty() && text.replace("\\t", "").replace("\\n", "").trim().is_empty() => {
            Output::Nothing
        }
        Some("%s") if words.len() == 1 && !words[0].splits() && words[0].alternatives().is_empty() => {
            Output::Words { words, ends_line: false }
        }
        Some(text) if words.is_empty() && !text.contains(['%', '\\']) => {
            Output::Words { words: &rest[..1], ends_line: false }
        }
        _ => Output::Unknown,
    }
}

/// Returns the output of `basename`. With a suffix, only a known name can be without it.
fn part(rest: &[Word]) -> Output<'_> {
    match rest {
        [word] if !word.may_be_option() => Output::Part { word, part: basename },
        _ => Output::Unknown,
    }
}

fn basename(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

fn dirname(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => "/",
        Some((folder, _)) => folder,
        None => ".",
    }
}

/// Returns true for `-5`, `10`, `-l`, `-c` and the like, without files.
fn is_count(text: &str) -> bool {
    matches!(text, "-l" | "-w" | "-c" | "-m")
        || text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit())
}

fn is_program(text: &str) -> bool {
    !text.starts_with('-') && text.chars().any(|c| c.is_ascii_alphanumeric()) && !text.contains('/')
}

fn is_date(text: &str) -> bool {
    // Other directives print blanks and slashes.
    let is_plain = |part: &str| part.starts_with(|c: char| "YymdHMSjabeFTsNZzuVG".contains(c));
    let mut parts = text.split('%');
    let is_text = |c: char| c.is_ascii_alphanumeric() || "-_:+".contains(c);
    text == "-u"
        || (text.starts_with('+')
            && text.replace('%', "").chars().all(is_text)
            && parts.next().is_some()
            && parts.all(is_plain))
}

/// Returns true for a word of a `find` that prints only names.
fn finds(word: &Word) -> bool {
    const OTHERS: [&str; 6] = ["-printf", "-fprintf", "-fprint", "-ls", "-fls", "-files0-from"];
    match word.text.as_deref() {
        Some(text) => !OTHERS.contains(&text),
        None => word.is_pattern(),
    }
}

/// Options by their letters, and by their names, also with a value.
struct Options {
    letters: &'static str,
    long: &'static [&'static str],
}

impl Options {
    /// Returns true if all options are among these. Operands are known, or have only wildcards.
    fn accept(&self, rest: &[Word]) -> bool {
        rest.iter().all(|word| match word.text.as_deref() {
            None => word.is_pattern(),
            Some("--") => true,
            Some(text) => match (text.strip_prefix("--"), text.strip_prefix('-')) {
                (Some(long), _) => self.long.contains(&long.split('=').next().unwrap_or(long)),
                (_, Some(letters)) => {
                    letters.bytes().all(|byte| byte.is_ascii_digit())
                        || letters.chars().all(|letter| self.letters.contains(letter))
                }
                _ => true,
            },
        })
    }
}

/// Returns true for a search or listing that prints only names of files.
fn lists(words: &[Word]) -> bool {
    const LS: Options = Options {
        letters: "1aAdrRtSUXpcuvL",
        long: &["all", "almost-all", "directory", "reverse", "recursive", "sort", "group-directories-first"],
    };
    const FD: Options = Options {
        letters: "HIutedgpE0aLs",
        long: &["hidden", "no-ignore", "type", "extension", "glob", "exclude", "max-depth", "full-path"],
    };
    const GREP: Options = Options {
        letters: "rRlLinwEFPIshZ",
        long: &["include", "exclude", "exclude-dir", "files-with-matches", "recursive", "ignore-case"],
    };
    const RG: Options = Options {
        letters: "litgnNwFSu.",
        long: &[
            "files",
            "files-with-matches",
            "glob",
            "iglob",
            "type",
            "hidden",
            "sort",
            "max-depth",
            "ignore-case",
            "fixed-strings",
            "word-regexp",
        ],
    };
    let (program, rest) = (words.first().and_then(Word::program).unwrap_or_default(), &words[1..]);
    // What follows `--`, and the values of options, are no options.
    let end = rest.iter().position(|word| word.text.as_deref() == Some("--")).unwrap_or(rest.len());
    let is_value = |pair: &[Word]| {
        matches!(pair[0].text.as_deref(), Some("-g" | "-t" | "--glob" | "--type"))
            && pair[1].text.as_deref().is_none_or(|text| text.starts_with('-'))
    };
    if rest.windows(2).any(is_value) {
        return false;
    }
    let has = |letter: char, long: &[&str]| {
        rest[..end].iter().filter_map(|word| word.text.as_deref()).any(|text| match text.strip_prefix("--") {
            Some(name) => long.contains(&name),
            None => text.starts_with('-') && text.contains(letter),
        })
    };
    match program {
        "ls" => LS.accept(rest),
        "fd" | "fdfind" => FD.accept(rest),
        "rg" => has('l', &["files", "files-with-matches"]) && RG.accept(rest),
        _ => has('l', &["files-with-matches"]) && GREP.accept(rest),
    }
}

/// Returns true for a command that prints whole lines of its input, and nothing else.
fn is_known_filter(words: &[Word]) -> bool {
    const SORT: Options = Options { letters: "urnfhVzRbg", long: &["unique", "reverse"] };
    const GREP: Options = Options {
        letters: "viwEFxPs",
        long: &["invert-match", "ignore-case", "extended-regexp", "line-buffered"],
    };
    const NONE: Options = Options { letters: "", long: &[] };
    let (program, rest) = (words.first().and_then(Word::program).unwrap_or_default(), &words[1..]);
    let Some(texts) = texts(rest) else { return false };
    // A number without a dash is a file.
    let are_numbers = || {
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let mut words = texts.iter();
        while let Some(word) = words.next() {
            let is_number = match word.strip_prefix("-n").or_else(|| word.strip_prefix('-')) {
                Some("") if *word == "-n" => {
                    words.next().is_some_and(|next| is_digits(next.trim_start_matches(['-', '+'])))
                }
                Some(digits) => is_digits(digits),
                None => false,
            };
            if !is_number {
                return false;
            }
        }
        true
    };
    let operands = texts.iter().filter(|text| !text.starts_with('-')).count();
    match program {
        "head" | "tail" | "shuf" => are_numbers(),
        "cat" | "tac" => texts.is_empty(),
        "sort" => SORT.accept(rest) && operands == 0,
        "uniq" => Options { letters: "udi", ..NONE }.accept(rest) && operands == 0,
        "grep" | "egrep" | "fgrep" => GREP.accept(rest) && operands == 1,
        "sed" => match texts.as_slice() {
            ["-n", script] => {
                let numbers = script.strip_suffix('p').unwrap_or("-");
                numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b',')
            }
            _ => false,
        },
        _ => false,
    }
}

/// Returns true for a git command that prints the name or the number of a commit.
fn names_commit(texts: &[&str]) -> bool {
    let is_revision = |text: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "~^@-/".contains(c);
        text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@') && text.chars().all(is_plain)
    };
    match texts {
        ["rev-parse", options @ ..] => {
            let known = |text: &&str| {
                matches!(
                    *text,
                    "--short" | "--abbrev-ref" | "--verify" | "-q" | "HEAD" | "@" | "HEAD~1" | "HEAD^"
                )
            };
            options.iter().all(known)
        }
        ["describe", options @ ..] => {
            let known =
                |text: &&str| matches!(*text, "--tags" | "--always" | "--dirty" | "--abbrev=0" | "--long");
            options.iter().all(known)
        }
        ["merge-base", revisions @ ..] => revisions.iter().all(is_revision),
        ["rev-list", options @ ..] => {
            options.iter().all(|text| matches!(*text, "--count" | "-1" | "-n1") || is_revision(text))
        }
        ["branch", "--show-current"] => true,
        _ => false,
    }
}

/// Returns the output of a git command.
fn git<'w>(rest: &'w [Word], texts: Option<&[&str]>) -> Output<'w> {
    const LISTS: Options = Options {
        letters: "zcmosliwEFI",
        long: &[
            "cached",
            "staged",
            "modified",
            "others",
            "exclude-standard",
            "full-name",
            "name-only",
            "diff-filter",
            "relative",
            "no-renames",
            "short",
            "porcelain",
            "files-with-matches",
        ],
    };
    let has = |all: &[&str]| rest.iter().any(|word| word.text.as_deref().is_some_and(|it| all.contains(&it)));
    let lists = match rest.first().and_then(|word| word.text.as_deref()) {
        Some("ls-files") => true,
        Some("diff") => has(&["--name-only"]),
        Some("grep") => has(&["-l", "--files-with-matches", "--name-only"]),
        Some("status") => has(&["-s", "--short", "--porcelain"]),
        _ => false,
    };
    let has_magic = rest.iter().any(|word| word.text.as_deref().is_some_and(|text| text.starts_with(':')));
    match texts {
        Some(texts) if names_commit(texts) => Output::Name,
        _ if has_magic => Output::Unknown,
        Some(["rev-parse", "--show-toplevel" | "--git-dir" | "--show-cdup"]) => Output::Existing,
        _ if lists && LISTS.accept(&rest[1..]) => Output::Listed,
        _ => Output::Unknown,
    }
}
