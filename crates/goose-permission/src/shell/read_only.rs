//! Commands that are known to change nothing: programs, without the options that write or run something.
//!
//! Before adding a program, read all of its options. Programs that are not listed need approval.

use super::{
    awk, builtins, git, queries, sed, variables,
    word::{Word, texts},
};

/// Check of a program's arguments.
enum Check {
    /// No option writes a file or starts a program.
    Anything,
    /// None of these options may be present: short letters, and long names, also abbreviated.
    Without { short: &'static str, long: &'static [&'static str] },
    /// This function accepts the arguments.
    Own(fn(&[Word]) -> bool),
}

use Check::{Anything, Own, Without};

const NO_OUTPUT_FILE: Check = Without { short: "o", long: &["--output"] };

fn read_only_check(program: &str) -> Option<Check> {
    Some(match program {
        "b2sum" | "basename" | "cal" | "cat" | "cksum" | "cmp" | "column" | "comm" | "cut" | "df"
        | "dirname" | "du" | "echo" | "egrep" | "expand" | "expr" | "false" | "fgrep" | "fmt" | "fold"
        | "free" | "getconf" | "grep" | "groups" | "hd" | "head" | "hexdump" | "id" | "join" | "logname"
        | "lsb_release" | "ls" | "lsblk" | "lscpu" | "md5sum" | "netstat" | "nl" | "nproc" | "numfmt"
        | "od" | "paste" | "pgrep" | "printenv" | "pwd" | "readlink" | "realpath" | "rev" | "seq"
        | "sha1sum" | "sha224sum" | "sha256sum" | "sha384sum" | "sha512sum" | "sleep" | "stat" | "sum"
        | "tac" | "tail" | "tr" | "true" | "tsort" | "tty" | "type" | "uname" | "unexpand" | "uptime"
        | "wc" | "which" | "whoami" | ":" => Anything,
        "base32" | "base64" | "diff" | "shuf" => NO_OUTPUT_FILE,
        "jq" => Own(filters_json),
        "tree" => Without { short: "oR", long: &["--output"] },
        "sort" => Without {
            short: "oT",
            long: &["--output", "--compress-program", "--temporary-directory", "--files0-from"],
        },
        "rg" => Without { short: "z", long: &["--pre", "--pre-glob", "--hostname-bin", "--search-zip"] },
        "fd" | "fdfind" => Without { short: "xX", long: &["--exec", "--exec-batch"] },
        "date" => Own(shows_date),
        "file" => {
            Without { short: "Cfmz", long: &["--compile", "--files-from", "--magic-file", "--uncompress"] }
        }
        "printf" => Own(builtins::is_plain_printf),
        "read" => Own(builtins::is_plain_read),
        "set" => Own(builtins::is_plain_set),
        "break" | "continue" | "exit" | "return" | "shift" => Own(is_number_or_none),
        "c++filt" | "nm" | "objdump" | "readelf" | "size" | "strings" => Own(reads_objects),
        "less" => Own(shows_pages),
        "tar" => Own(lists_archive),
        "unzip" => {
            Own(|rest| matches!(texts(rest).as_deref(), Some(["-l" | "-Z1", file]) if !file.starts_with('-')))
        }
        "man" => Own(shows_manual),
        "yq" => Own(filters_yaml),
        "bzcat" | "xzcat" | "zcat" => Own(|rest| rest.iter().all(|word| !word.may_be_option())),
        "top" => Own(shows_processes_once),
        "find" => Own(is_plain_find),
        "arch" | "hostname" | "wait" | "env" => Own(<[Word]>::is_empty),
        "ps" => Own(shows_processes),
        "awk" | "gawk" | "mawk" | "nawk" => Own(awk::prints_only),
        "lsof" => Without { short: "D", long: &[] },
        "ss" => Without { short: "DFK", long: &["--diag", "--filter", "--kill"] },
        "sed" => Own(sed::prints_only),
        "uniq" => Own(has_one_operand),
        "xxd" => Own(dumps),
        "command" => {
            Own(|rest| matches!(rest.first().and_then(|word| word.text.as_deref()), Some("-v" | "-V")))
        }
        "git" => Own(git::is_read_only),
        _ => return None,
    })
}

/// Returns true for a program that changes nothing with some arguments.
pub(super) fn is_checked(program: &str) -> bool {
    matches!(program, "test" | "[") || read_only_check(program).is_some()
}

/// Returns true if a command is known to change nothing.
pub(crate) fn is_read_only(words: &[Word]) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    // Only by its bare name: a program with a path may be anything.
    let Some(program) = program.text.as_deref() else { return false };
    if is_version(rest) && ["bash", "clang", "docker", "gcc", "git", "make"].contains(&program) {
        return true;
    }
    if matches!(program, "test" | "[") {
        return builtins::is_plain_test(words);
    }
    match read_only_check(program) {
        Some(Anything) => true,
        Some(Without { short, long }) => {
            rest.iter().all(|word| !word.may_be_option() || avoids(word, short, long))
        }
        Some(Own(check)) => check(rest),
        None => queries::is_query(program, rest),
    }
}

/// Returns the first of these variables that may change the effect of a command.
pub(crate) fn risky_variable<'v>(words: &[Word], variables: &'v [String]) -> Option<&'v str> {
    // `IFS` only tells `read` where to split a line.
    let is_read = words.first().and_then(|word| word.text.as_deref()) == Some("read");
    let is_fine = |name: &&String| variables::is_harmless(name) || (is_read && *name == "IFS");
    variables.iter().find(|name| !is_fine(name)).map(String::as_str)
}

/// Returns true if a program changes nothing with any arguments, so that a rule may allow all of them.
pub(crate) fn is_always_read_only(program: &str) -> bool {
    matches!(read_only_check(program), Some(Anything))
}

/// Returns true if an option is known and is none of these.
pub(super) fn avoids(word: &Word, short: &str, long: &[&str]) -> bool {
    let Some(text) = word.text.as_deref().or_else(|| word.option_name()) else { return false };
    if text.starts_with("--") {
        let name = text.split('=').next().unwrap_or(text);
        return name == "--" || !long.iter().any(|bad| bad.starts_with(name));
    }
    !text[1..].chars().any(|letter| short.contains(letter))
}

fn is_version(rest: &[Word]) -> bool {
    matches!(rest, [one] if one.text.as_deref() == Some("--version"))
}

/// Returns true for `node --version`, `pip list`. They change nothing unless a file in the folder selects
/// another program, as with rustup or pyenv.
pub(crate) fn asks_version(words: &[Word]) -> bool {
    #[rustfmt::skip]
    const PROGRAMS: [&str; 46] = [
        "ansible", "aws", "black", "bun", "cargo", "clang++", "cmake", "conda", "curl", "deno", "dotnet", "esbuild", "eslint",
        "ffmpeg", "g++", "gcloud", "gem", "gh", "go", "helm", "java", "javac", "jq", "kubectl", "mypy", "mysql", "ninja", "node", "npm",
        "perl", "php", "pip", "pip3", "pipx", "podman", "psql", "python", "python3", "ruby", "ruff", "rustc", "rustup", "sqlite3",
        "swift", "uv", "wget",
    ];
    let Some((program, rest)) = words.split_first() else { return false };
    let (program, rest) = (program.text.as_deref().unwrap_or_default(), texts(rest).unwrap_or_default());
    match (program, rest.as_slice()) {
        (program, ["--version" | "-V" | "-version"]) => PROGRAMS.contains(&program),
        ("node" | "npm" | "php", ["-v"]) | ("go" | "helm", ["version"]) => true,
        ("go", ["env", names @ ..]) => names.iter().all(|name| !name.starts_with('-') && !name.contains('=')),
        ("rustc", ["--print", what]) => !what.contains('='),
        ("pip" | "pip3", ["list" | "freeze", options @ ..]) => {
            options.iter().all(|option| option.starts_with("--format="))
        }
        ("pip" | "pip3", ["show", name]) => !name.starts_with('-'),
        _ => false,
    }
}

/// Returns true for a `find` that only runs other commands, which are judged separately.
pub(crate) fn only_carries(words: &[Word]) -> bool {
    let is_find = words.first().and_then(|word| word.text.as_deref()) == Some("find");
    is_find && find_without(&words[1..], &[])
}

fn is_plain_find(rest: &[Word]) -> bool {
    find_without(rest, &["-exec", "-execdir"])
}

/// Returns true for a search without these options, without options that change something, and without a list
/// of files.
fn find_without(rest: &[Word], others: &[&str]) -> bool {
    const BAD: [&str; 8] =
        ["-ok", "-okdir", "-delete", "-files0-from", "-fprint", "-fprint0", "-fprintf", "-fls"];
    rest.iter().all(|word| match word.text.as_deref() {
        Some(text) => !BAD.contains(&text) && !others.contains(&text),
        None => !word.may_be_option(),
    })
}

/// Returns true for `jq '.a' x.json` with a known filter that reads no other files.
fn filters_json(rest: &[Word]) -> bool {
    let is_plain = |word: &Word| match word.text.as_deref() {
        Some(text) if text.starts_with('-') => avoids(word, "fL", &["--from-file", "--library-path"]),
        Some(text) => !text.contains("import") && !text.contains("include"),
        None => !word.may_be_option(),
    };
    let filter = rest.iter().find(|word| !word.may_be_option());
    let gives_values = |word: &Word| word.text.as_deref().is_some_and(|text| text.starts_with("--"));
    let is_known = match rest.iter().any(gives_values) {
        true => rest.iter().all(|word| word.text.is_some()),
        false => filter.is_some_and(|filter| filter.text.is_some()),
    };
    is_known && rest.iter().all(is_plain)
}

/// Returns true for the arguments of `exit`, `exit 1`, `exit $?`.
fn is_number_or_none(rest: &[Word]) -> bool {
    match rest {
        [] => true,
        [one] => match one.text.as_deref() {
            Some(text) => !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()),
            None => !one.splits() && one.pieces().iter().all(String::is_empty),
        },
        _ => false,
    }
}

/// Returns true for programs that show the content of object files. A plugin is a program, and `@x` is a file
/// with more options.
fn reads_objects(rest: &[Word]) -> bool {
    rest.iter().all(|word| match word.text.as_deref() {
        Some(text) => avoids_if_option(word, "", &["--plugin"]) && !text.starts_with('@'),
        None => !word.may_be_option(),
    })
}

/// Returns true for `less -N x`, without commands and other files.
fn shows_pages(rest: &[Word]) -> bool {
    rest.iter().all(|word| match word.text.as_deref() {
        Some(text) => match text.strip_prefix('-') {
            Some(letters) => letters.chars().all(|letter| "NSRFXinsMeqg".contains(letter)),
            None => !text.starts_with('+'),
        },
        None => !word.may_be_option(),
    })
}

/// Returns true for `tar -tzf x.tar.gz`.
fn lists_archive(rest: &[Word]) -> bool {
    let Some([letters, file]) = texts(rest).as_deref().and_then(|texts| <[&str; 2]>::try_from(texts).ok())
    else {
        return false;
    };
    let letters = letters.strip_prefix('-').unwrap_or(letters);
    letters.contains('t')
        && letters.ends_with('f')
        && letters.chars().all(|letter| "tvzjJf".contains(letter))
        && !file.starts_with('-')
        && !file.contains(':')
}

fn avoids_if_option(word: &Word, short: &str, long: &[&str]) -> bool {
    !word.may_be_option() || avoids(word, short, long)
}

/// Returns true for `man -k socket`, `man 5 passwd`. Files of the project are not pages of the system.
fn shows_manual(rest: &[Word]) -> bool {
    let is_name = |text: &&str| {
        matches!(*text, "-k" | "-f" | "-w" | "-a")
            || (!text.starts_with('-') && !text.contains('/') && !text.is_empty())
    };
    texts(rest).is_some_and(|words| !words.is_empty() && words.iter().all(is_name))
}

/// Returns true for `yq '.a' x.yaml` with a known filter that reads no other files and variables.
fn filters_yaml(rest: &[Word]) -> bool {
    let is_plain = |word: &Word| match word.text.as_deref() {
        Some(text) if text.starts_with('-') => {
            matches!(text, "-r" | "-P" | "-N" | "-e" | "-o=json" | "-o=yaml" | "-p=json" | "-p=yaml" | "-j")
        }
        Some(text) => !["load", "env", "ENV", "eval", "import", "include", "system"]
            .iter()
            .any(|name| text.contains(name)),
        None => !word.may_be_option(),
    };
    rest.first().is_some_and(|word| word.text.is_some()) && rest.iter().all(is_plain)
}

/// Returns true for `top -b -n 1`, which accepts no commands.
fn shows_processes_once(rest: &[Word]) -> bool {
    matches!(texts(rest).as_deref(), Some(["-b", "-n", "1"] | ["-bn1"] | ["-b", "-n1"] | ["-bn", "1"]))
}

/// Returns true for forms of `ps` that show no variables of processes. With any other words it may read the letters
/// after a dash in another way, in which `e` shows them.
fn shows_processes(rest: &[Word]) -> bool {
    /// Exact forms, with `COLUMNS` and `NUMBERS` for such lists.
    #[rustfmt::skip]
    const FORMS: [&str; 34] = [
        "", "a", "aux", "auxf", "auxw", "auxww", "ax", "axf", "axjf", "axo COLUMNS", "axu", "f", "u", "ux", "x", "xf",
        "-A", "-A -o COLUMNS", "-Ao COLUMNS", "-a", "-e", "-e -o COLUMNS", "-eF", "-ef", "-ef --forest", "-ely", "-eo COLUMNS",
        "-f", "-fp NUMBERS", "-l", "-o COLUMNS", "-o COLUMNS -p NUMBERS", "-p NUMBERS", "-p NUMBERS -o COLUMNS",
    ];
    #[rustfmt::skip]
    const COLUMNS: [&str; 36] = [
        "%cpu", "%mem", "args", "cmd", "comm", "command", "cputime", "etime", "etimes", "group", "gid", "lstart", "ni", "nice", "nlwp",
        "pcpu", "pgid", "pid", "pmem", "ppid", "pri", "psr", "rss", "ruser", "sid", "size", "start", "stat", "state", "sz", "time", "tty",
        "uid", "user", "vsz", "wchan",
    ];
    let is_column = |name: &str| COLUMNS.contains(&name.trim_end_matches('='));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // These only change the order and the first line.
    let is_order = |word: &str| match word.strip_prefix("--sort=") {
        Some(names) => names.split(',').all(|name| is_column(name.trim_start_matches(['-', '+']))),
        None => matches!(word, "--no-headers"),
    };
    let fits = |form: &str, words: &[&str]| {
        let parts: Vec<&str> = form.split_whitespace().collect();
        let is_part = |(part, word): (&&str, &&str)| match *part {
            "COLUMNS" => word.split(',').all(is_column),
            "NUMBERS" => word.split(',').all(is_number),
            part => part == *word,
        };
        parts.len() == words.len() && parts.iter().zip(words).all(is_part)
    };
    let Some(mut words) = texts(rest) else { return false };
    words.retain(|word| !is_order(word));
    FORMS.iter().any(|form| fits(form, &words))
}

/// Returns true if `xxd` has at most one file: the second one is written.
fn dumps(rest: &[Word]) -> bool {
    let (mut words, mut files) = (rest.iter(), 0);
    while let Some(word) = words.next() {
        match word.text.as_deref() {
            Some("-p" | "-ps" | "-u" | "-b" | "-e" | "-i") => {}
            Some("-l" | "-s" | "-c" | "-g" | "-o") => {
                if !words.next().is_some_and(|value| value.text.as_deref().is_some_and(is_offset)) {
                    return false;
                }
            }
            Some(text) if !text.starts_with('-') => files += 1,
            None if !word.splits() && !word.may_be_option() => files += 1,
            _ => return false,
        }
    }
    files <= 1
}

fn is_offset(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit() || b"x+-".contains(&byte))
}

/// Returns true if `uniq` has at most one file: the second one is written.
fn has_one_operand(rest: &[Word]) -> bool {
    let is_flag = |text: &&str| {
        text.len() > 1 && text.starts_with('-') && text[1..].bytes().all(|byte| b"cdiuz".contains(&byte))
    };
    let Some(words) = texts(rest) else { return false };
    let others: Vec<&str> = words.into_iter().filter(|text| !is_flag(text)).collect();
    others.len() <= 1 && others.iter().all(|text| !text.starts_with('-'))
}

/// Returns true if `date` shows a date. An argument without an option sets it.
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
