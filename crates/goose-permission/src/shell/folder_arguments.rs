//! Folders that a command uses: those that it names or walks, and the default one if it names none.

use super::{
    read_only::is_read_only,
    word::{Reach, Word},
};
use crate::{glob::Glob, protected::known_parts, secrets_below::Names};

/// Programs that walk folders.
const WALKERS: [&str; 16] = [
    "ack", "ag", "cp", "du", "fd", "fdfind", "find", "mv", "rg", "rsync", "scp", "tar", "tree", "zip", "7z",
    "git",
];

/// Letters of options that take no value in any search program.
const PLAIN_LETTERS: &str = "rRniIlLcHhosvwxEFPaqb";

/// Returns true if a command uses everything below a folder.
pub(crate) fn looks_below(words: &[Word]) -> bool {
    let Some(program) = words.first().and_then(Word::program) else { return true };
    match program {
        "grep" | "egrep" | "fgrep" => {
            has_letter(words, "rRd") || has_long(words, &["--recursive", "--dereference", "--directories"])
        }
        "ls" => has_letter(words, "R") || has_long(words, &["--rec"]),
        _ => WALKERS.contains(&program),
    }
}

/// Returns true if a command shows names, sizes and other metadata of files but not their content.
pub(crate) fn shows_names_only(words: &[Word]) -> bool {
    const PROGRAMS: [&str; 9] = ["du", "file", "find", "ls", "readlink", "realpath", "stat", "tree", "wc"];
    const OF_GIT: [&str; 8] = [
        "check-ignore",
        "count-objects",
        "describe",
        "for-each-ref",
        "ls-files",
        "ls-tree",
        "merge-base",
        "rev-parse",
    ];
    let is_one = match words.first().and_then(Word::program) {
        Some("git") => {
            words.get(1).and_then(|word| word.text.as_deref()).is_some_and(|it| OF_GIT.contains(&it))
        }
        program => program.is_some_and(|program| PROGRAMS.contains(&program)),
    };
    is_one && is_read_only(words) && !words.iter().any(|word| word.text.as_deref().is_some_and(reads_names))
}

/// Returns true if a word is the value of a test of `find`, or of an option of git that takes no file.
pub(crate) fn is_no_file(words: &[Word], index: usize) -> bool {
    const TESTS: [&str; 9] =
        ["-ilname", "-iname", "-ipath", "-iregex", "-lname", "-name", "-path", "-regex", "-wholename"];
    const TEXTS: [&str; 8] = [
        "--after=",
        "--author=",
        "--before=",
        "--committer=",
        "--format=",
        "--grep=",
        "--since=",
        "--until=",
    ];
    let before = index.checked_sub(1).and_then(|index| words[index].text.as_deref()).unwrap_or_default();
    match words.first().and_then(Word::program) {
        Some("find") => TESTS.contains(&before),
        Some("git") => words[index].option_name().is_some_and(|name| TEXTS.contains(&name)),
        _ => false,
    }
}

/// Returns true for a program with an option to read the names of its files from a file, which it then shows.
pub(crate) fn may_read_names(words: &[Word]) -> bool {
    words.first().and_then(Word::program).is_some_and(|program| matches!(program, "du" | "file" | "wc"))
}

/// Returns the names in a folder that a command walks to show the content of files; `None` if it shows none.
pub(crate) fn shows_below(words: &[Word]) -> Option<Names> {
    let program = words.first().and_then(Word::program)?;
    if !matches!(program, "grep" | "egrep" | "fgrep" | "diff" | "git" | "rg") {
        return None;
    }
    // Files that `xargs` adds are not options.
    let known: Vec<Word> = words.iter().filter(|word| word.text.is_some()).cloned().collect();
    let shows_all = match program {
        // It compares the files of two folders, with `-r` also those below.
        "diff" => true,
        // Options may be abbreviated. Outside of the repository, `git diff` is not about commits.
        "git" => has_long(&known, &["--no-i", "--u"]) || compares_files(words),
        "rg" if has_letter(&known, "u.") || has_long(&known, &["--hid", "--unr", "--no-ig"]) => true,
        // Files that match a glob are read even if they are hidden.
        "rg" if !globs_of_rg(words).is_empty() => true,
        "rg" => return Some(Names::NotHidden),
        _ => looks_below(&known),
    };
    shows_all.then_some(Names::All)
}

/// Returns true for a `git diff` of two operands, or of a path outside of the working folder, which may compare
/// files that are not part of the repository.
pub(crate) fn compares_files(words: &[Word]) -> bool {
    let is_outside = |text: &str| text.starts_with(['/', '~']) || text.split('/').any(|name| name == "..");
    let mut operands = words.iter().skip(1).filter(|word| !word.may_be_option());
    operands.next().and_then(|word| word.text.as_deref()) == Some("diff")
        && (operands.clone().count() > 1
            || operands.any(|word| word.pieces().first().is_none_or(|piece| is_outside(piece))))
}

/// Returns the names that a command shows when it lists files.
pub(crate) fn listed_names(words: &[Word]) -> Names {
    let shows_hidden = match words.first().and_then(Word::program) {
        Some("ls") => has_letter(words, "aAf") || has_long(words, &["--a"]),
        Some("fd" | "fdfind") => has_letter(words, "HuI") || has_long(words, &["--hid", "--unr", "--no-ig"]),
        _ => true,
    };
    if shows_hidden { Names::All } else { Names::NotHidden }
}

/// Returns the names of the files that `grep --include=…` reads; none if it may read others.
pub(crate) fn included_names(words: &[Word]) -> Vec<Glob> {
    let program = words.first().and_then(Word::program);
    if program == Some("rg") {
        let globs = globs_of_rg(words);
        let is_name = |glob: &String| !glob.contains(['/', '?', '[', '{', '\\']);
        return if globs.iter().all(is_name) {
            globs.iter().map(|glob| Glob::new(glob)).collect()
        } else {
            Vec::new()
        };
    }
    let is_grep = program.is_some_and(|program| program.ends_with("grep"));
    let mut names = Vec::new();
    // With these, a word that looks like an option may be a pattern or a file.
    let is_other = |text: &str| {
        text == "--"
            || text.starts_with("--reg")
            || text.starts_with("--fi")
            || (text.starts_with('-')
                && !text.starts_with("--")
                && text.ends_with(['e', 'f', 'A', 'B', 'C', 'm', 'd', 'D']))
    };
    if words.iter().any(|word| word.text.as_deref().is_some_and(is_other)) {
        return Vec::new();
    }
    for word in words.iter().skip(1).filter(|word| is_grep && word.may_be_option()) {
        let text = match word.reach() {
            Reach::Exactly(text) => text.to_owned(),
            // All files that the word may expand to match this glob.
            Reach::Below(_) => known_parts(word).join("*"),
            Reach::Anywhere => return Vec::new(),
        };
        match text.strip_prefix("--include=") {
            Some(name) if !name.contains(['?', '[', '\\']) => names.push(Glob::new(name)),
            // Other forms of these options, and files with such names, add more.
            _ if text.starts_with('*') || text.starts_with("--in") => return Vec::new(),
            _ if text.starts_with("--ex") && !text.starts_with("--exclude-dir=") => return Vec::new(),
            _ => {}
        }
    }
    names
}

/// Returns the globs of the files that `rg` reads.
fn globs_of_rg(words: &[Word]) -> Vec<String> {
    let mut globs = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let text = known_parts(word).join("*");
        let value = match text.strip_prefix("-g") {
            None if !text.starts_with("--gl") && !text.starts_with("--igl") => continue,
            None => text.split_once('=').map(|(_, value)| value.to_owned()),
            Some(value) => Some(value.trim_start_matches('=').to_owned()).filter(|value| !value.is_empty()),
        };
        let next = || words.get(index + 1).map(|word| known_parts(word).join("*")).unwrap_or_default();
        globs.push(value.unwrap_or_else(next));
    }
    globs.retain(|glob| !glob.starts_with('!'));
    globs
}

/// Returns true if a command moves, replaces or removes whole folders, or writes into them.
pub(crate) fn handles_folders(words: &[Word]) -> bool {
    const HANDLERS: [&str; 18] = [
        "chattr", "chgrp", "chmod", "chown", "cp", "docker", "find", "install", "ln", "mount", "mv",
        "podman", "rm", "rmdir", "rsync", "setfacl", "tar", "unzip",
    ];
    words.first().and_then(Word::program).is_none_or(|program| HANDLERS.contains(&program))
}

/// Returns the folder that a command uses by default, if it names none.
pub(crate) fn unnamed(words: &[Word]) -> Option<&'static str> {
    let (program, rest) = (words.first().and_then(Word::program)?, &words[1..]);
    let is_meant = match program {
        "find" => rest.first().is_none_or(Word::may_be_option),
        "rg" | "ag" | "ack" => !names_where(rest),
        "grep" | "egrep" | "fgrep" => looks_below(words) && !names_where(rest),
        "ls" => looks_below(words) && !has_operand(rest),
        "tree" | "du" | "fd" | "fdfind" => !has_operand(rest),
        "git" => git_means_all(rest),
        _ => false,
    };
    is_meant.then_some(".")
}

/// Returns true unless the words of a program are never files.
pub(crate) fn takes_files(words: &[Word]) -> bool {
    const OTHERS: [&str; 25] = [
        ":", "[", "basename", "break", "cd", "continue", "declare", "dirname", "echo", "exit", "export",
        "expr", "false", "kill", "local", "printf", "pwd", "read", "readonly", "return", "seq", "sleep",
        "test", "true", "unset",
    ];
    !words.first().and_then(Word::program).is_some_and(|program| OTHERS.contains(&program))
}

/// Returns true if a command that only reads may show the content of files that its words name.
pub(crate) fn shows_content(words: &[Word]) -> bool {
    const OTHERS: [&str; 26] = [
        "date",
        "df",
        "docker",
        "free",
        "getconf",
        "groups",
        "hostname",
        "id",
        "journalctl",
        "kubectl",
        "lsblk",
        "lscpu",
        "lsof",
        "man",
        "netstat",
        "nproc",
        "pgrep",
        "ps",
        "ss",
        "systemctl",
        "top",
        "tr",
        "type",
        "uname",
        "uptime",
        "which",
    ];
    takes_files(words)
        && !shows_names_only(words)
        && !words.first().and_then(Word::program).is_some_and(|program| OTHERS.contains(&program))
}

/// Returns the folders that options select: `git -C x`, `tar --directory=x`. `None` is an unknown folder.
pub(crate) fn chosen(words: &[Word]) -> Vec<Option<String>> {
    const LONG: [&str; 8] =
        ["--directory", "--chdir", "--cwd", "--prefix", "--work-tree", "--git-dir", "--root", "--project"];
    let mut chosen = Vec::new();
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let Some(text) = word.text.as_deref() else { continue };
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if LONG.contains(&name) || matches!(text, "-C" | "-D") {
            match value {
                Some(value) => chosen.push(Some(value.to_owned())),
                None => chosen.extend(rest.clone().next().map(|word| word.text.clone())),
            }
        } else if let Some(value) = text.strip_prefix("-C").filter(|_| !text.starts_with("--")) {
            chosen.push(Some(value.to_owned()));
        } else if text.starts_with('-') && !text.starts_with("--") && text.ends_with('C') {
            chosen.extend(rest.clone().next().map(|word| word.text.clone()));
        }
    }
    chosen
}

/// Returns true if a search names both a pattern and a place, without options that may take one of them as a
/// value.
fn names_where(rest: &[Word]) -> bool {
    let is_plain = |word: &Word| {
        word.text.as_deref().is_some_and(|text| match text.strip_prefix("--") {
            Some(long) => long.contains('='),
            None => text[1..].chars().all(|letter| PLAIN_LETTERS.contains(letter)),
        })
    };
    let (options, operands): (Vec<&Word>, Vec<&Word>) = rest.iter().partition(|word| word.may_be_option());
    options.into_iter().all(is_plain) && operands.len() >= 2
}

/// Returns true if a word is neither an option nor possibly the value of one.
fn has_operand(rest: &[Word]) -> bool {
    let mut after_option = false;
    rest.iter().any(|word| {
        let is_operand = !word.may_be_option() && !after_option;
        after_option = word.may_be_option();
        is_operand
    })
}

/// Returns true for `git grep` and `git diff` without paths, which show the content of all files.
fn git_means_all(rest: &[Word]) -> bool {
    let text = |word: &Word| word.text.clone().unwrap_or_default();
    let searches = rest.iter().any(|word| matches!(text(word).as_str(), "grep" | "diff"));
    let names = rest.iter().position(|word| text(word) == "--").is_some_and(|at| at + 1 < rest.len());
    searches && !names
}

fn has_letter(words: &[Word], letters: &str) -> bool {
    words[1..].iter().filter(|word| word.may_be_option()).any(|word| match word.text.as_deref() {
        Some(text) => !text.starts_with("--") && text.contains(|c| letters.contains(c)),
        None => true,
    })
}

/// Returns true for one of these options, or of those that start with it. Options may be abbreviated.
fn has_long(words: &[Word], starts: &[&str]) -> bool {
    let texts = words[1..].iter().filter_map(|word| word.text.as_deref());
    texts.filter(|text| text.starts_with("--") && text.len() > 2).any(|text| {
        let name = text.split('=').next().unwrap_or(text);
        starts.iter().any(|start| text.starts_with(start) || start.starts_with(name))
    })
}

/// Returns true for an option that names a file with the names of other files.
pub(crate) fn reads_names(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    name.len() > 2
        && ["--files0-from", "--files-from", "--fromfile"].iter().any(|long| long.starts_with(name))
}

/// Returns true if a command follows links to folders.
pub(crate) fn follows_links(words: &[Word]) -> bool {
    let has =
        |all: &[&str]| words.iter().any(|word| word.text.as_deref().is_some_and(|it| all.contains(&it)));
    match words.first().and_then(Word::program) {
        Some("grep" | "egrep" | "fgrep") => has_letter(words, "R") || has_long(words, &["--dereference"]),
        Some("find") => has(&["-L", "-follow", "-H"]),
        Some("rg" | "fd" | "fdfind") => has_letter(words, "L") || has_long(words, &["--follow"]),
        program => program == Some("diff"),
    }
}
