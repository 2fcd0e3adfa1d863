//! Commands that run other commands, and the commands inside them.

use super::{
    Coverage,
    word::{Unknown, Word, texts},
};

/// Commands that a command runs.
pub(super) enum Unwrapped {
    /// Only itself.
    Plain,
    /// Another command.
    Inner { words: Vec<Word>, variables: Vec<String>, coverage: Coverage },
    /// A known script.
    Script(String),
    /// An unknown command. The reason follows the command's text in a doubt.
    Opaque(&'static str),
}

/// Options of a wrapper.
struct Options {
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options with a value, in the next word or in the same one.
    valued: &'static [&'static str],
    /// Number of the wrapper's own words before the command.
    operands: usize,
}

const NONE: Options = Options { flags: &[], valued: &[], operands: 0 };

const UNCLEAR: Unwrapped = Unwrapped::Opaque("runs a command in a way that is not understood");

const ODD_SHELL: &str = "starts a shell in a way that is not understood";

/// Removes the outermost wrapper.
///
/// `input` is the stream that the command reads.
pub(super) fn unwrap(words: &[Word], input: usize) -> Unwrapped {
    let Some(program) = words.first().and_then(Word::program) else { return Unwrapped::Plain };
    let rest = &words[1..];
    match program {
        "env" => environment(rest),
        "command" | "builtin" | "exec" => shell_builtin(program, rest),
        "nohup" | "busybox" | "toybox" => inner(rest, &NONE, Coverage::Segment),
        "time" => inner(rest, &Options { flags: &["-p"], ..NONE }, Coverage::Segment),
        "nice" => inner(rest, &Options { valued: &["-n", "--adjustment"], ..NONE }, Coverage::Segment),
        "ionice" => inner(rest, &Options { valued: &["-c", "-n"], ..NONE }, Coverage::Segment),
        "setsid" => inner(rest, &Options { flags: &["-w", "-f", "-c"], ..NONE }, Coverage::Segment),
        "stdbuf" => inner(rest, &Options { valued: &["-i", "-o", "-e"], ..NONE }, Coverage::Segment),
        "timeout" => inner(
            rest,
            &Options {
                flags: &["--foreground", "--preserve-status", "-v", "--verbose"],
                valued: &["-k", "--kill-after", "-s", "--signal"],
                operands: 1,
            },
            Coverage::Segment,
        ),
        "sudo" | "doas" => inner(
            rest,
            &Options {
                flags: &["-n", "-E", "-H", "-k", "-S", "-b", "--"],
                valued: &["-u", "-g"],
                operands: 0,
            },
            Coverage::Nothing,
        ),
        "xargs" => xargs(rest, input),
        "sh" | "bash" | "dash" | "ash" => shell(rest),
        "zsh" | "ksh" | "fish" | "csh" | "tcsh" => another_shell(rest),
        "eval" => evaluated(rest),
        _ => Unwrapped::Plain,
    }
}

/// A command that a program runs in addition to its own work.
pub(super) struct Carried {
    pub(super) words: Vec<Word>,
    /// True if the command runs in the folder of the file that was found.
    pub(super) is_elsewhere: bool,
}

/// Returns the commands that a program runs in addition to its own work: those after `find -exec`. They get
/// the files of the stream `found`.
pub(super) fn carried(words: &[Word], found: usize) -> Vec<Carried> {
    let is_end = |word: &Word| matches!(word.text.as_deref(), Some(";" | "+"));
    let program = words.first().and_then(Word::program);
    if !program.is_some_and(|name| matches!(name, "find" | "fd" | "fdfind")) {
        return Vec::new();
    }
    let starts = |word: &Word| word.text.as_deref().and_then(|text| starts_command(text, program)).is_some();
    let mut carried = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let text = word.text.as_deref().unwrap_or_default();
        let Some(first) = starts_command(text, program) else { continue };
        let glued = (!first.is_empty()).then(|| Word::literal(first));
        // At most up to the next one, so that each word is read once.
        let rest = words[index + 1..].iter().take_while(|word| !is_end(word) && !starts(word)).cloned();
        let found = Unknown::Stream { stream: found, is_split: false };
        let mut inner = with_input(glued.into_iter().chain(rest), &["{}"], &found);
        // `fd` has `{/}` and others, which are parts of paths.
        let is_part = |word: &Word| program != Some("find") && word.may_hold("{");
        inner.iter_mut().filter(|word| is_part(word)).for_each(|word| *word = anything());
        // The files that were found.
        inner.push(Word::unknown_words(&["", ""], &found));
        carried.push(Carried { words: inner, is_elsewhere: text.ends_with("dir") });
    }
    carried
}

/// Returns the text attached to an option that starts a command; `None` if it is another option.
fn starts_command<'t>(text: &'t str, program: Option<&str>) -> Option<&'t str> {
    const OF_FIND: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
    if program == Some("find") {
        return OF_FIND.contains(&text).then_some("");
    }
    match ["--exec-batch", "--exec"].into_iter().find_map(|option| text.strip_prefix(option)) {
        Some("") => Some(""),
        Some(value) => value.strip_prefix('='),
        None if text.starts_with("--") => None,
        None => {
            text.strip_prefix('-')?.split_once(['x', 'X']).map(|(_, value)| value.trim_start_matches('='))
        }
    }
}

/// Returns the words, with text from a stream instead of placeholders.
fn with_input(words: impl IntoIterator<Item = Word>, placeholders: &[&str], input: &Unknown) -> Vec<Word> {
    let filled = |word: Word| {
        let held: Vec<_> = placeholders.iter().filter(|placeholder| word.may_hold(placeholder)).collect();
        match (held.as_slice(), word.text.as_deref()) {
            ([], _) => word,
            ([one], Some(text)) => Word::unknown_words(&text.split(**one).collect::<Vec<_>>(), input),
            _ => anything(),
        }
    };
    words.into_iter().map(filled).collect()
}

/// Returns the command after a wrapper's own options.
fn inner(rest: &[Word], options: &Options, coverage: Coverage) -> Unwrapped {
    match skip(rest, options) {
        Some([]) => Unwrapped::Plain,
        Some(words) => Unwrapped::Inner { words: words.to_vec(), variables: Vec::new(), coverage },
        None => UNCLEAR,
    }
}

/// Returns the words after the options; `None` if one is unknown.
fn skip<'w>(mut words: &'w [Word], options: &Options) -> Option<&'w [Word]> {
    while let Some((first, rest)) = words.split_first().filter(|(first, _)| first.may_be_option()) {
        let text = first.text.as_deref()?;
        words = match text {
            "--" => return rest.get(options.operands..),
            _ if options.flags.contains(&text) => rest,
            // A value that may become several words may contain the command.
            _ if options.valued.contains(&text) => {
                rest.split_first().filter(|(value, _)| value.text.is_some())?.1
            }
            _ if options.valued.iter().any(|option| has_value(text, option)) => rest,
            _ if is_number(text) => rest,
            _ => return None,
        };
    }
    // If the wrapper's own words may become several, the start of the command is not known.
    let own = words.get(..options.operands.min(words.len()))?;
    own.iter().all(|word| word.text.is_some()).then(|| words.get(options.operands..).unwrap_or_default())
}

/// Returns true for `-n5`, `--signal=KILL`.
fn has_value(text: &str, option: &str) -> bool {
    text.strip_prefix(option)
        .is_some_and(|value| !value.is_empty() && (!option.starts_with("--") || value.starts_with('=')))
}

/// Returns true for `-10`, as in `nice -10`.
fn is_number(text: &str) -> bool {
    text.len() > 1 && text[1..].bytes().all(|byte| byte.is_ascii_digit())
}

fn environment(rest: &[Word]) -> Unwrapped {
    const OPTIONS: Options =
        Options { flags: &["-", "-i", "--ignore-environment"], valued: &["-u", "--unset"], operands: 0 };
    let Some(mut words) = skip(rest, &OPTIONS) else { return UNCLEAR };
    let mut variables = Vec::new();
    while let Some((first, rest)) = words.split_first() {
        let Some(text) = first.text.as_deref() else { return UNCLEAR };
        let Some((name, _)) = text.split_once('=') else { break };
        variables.push(name.to_owned());
        words = rest;
    }
    match words {
        [] => Unwrapped::Plain,
        _ => Unwrapped::Inner { words: words.to_vec(), variables, coverage: Coverage::Segment },
    }
}

fn shell_builtin(program: &str, rest: &[Word]) -> Unwrapped {
    match (program, rest.first().and_then(|word| word.text.as_deref())) {
        // Prints the path of a command.
        ("command", Some("-v" | "-V")) => Unwrapped::Plain,
        ("command", _) => inner(rest, &Options { flags: &["-p"], ..NONE }, Coverage::Segment),
        ("exec", _) => {
            inner(rest, &Options { flags: &["-c", "-l"], valued: &["-a"], operands: 0 }, Coverage::Segment)
        }
        _ => inner(rest, &NONE, Coverage::Segment),
    }
}

fn xargs(rest: &[Word], input: usize) -> Unwrapped {
    const OPTIONS: Options = Options {
        flags: &["-0", "--null", "-r", "--no-run-if-empty", "-t", "-x"],
        valued: &["-n", "-I", "-P", "-L", "-d", "-s", "--max-args", "--max-procs", "--delimiter"],
        operands: 0,
    };
    match skip(rest, &OPTIONS) {
        Some([]) => Unwrapped::Plain,
        Some(words) => {
            let own = &rest[..rest.len() - words.len()];
            let input = input_of_xargs(own, input);
            let mut words = with_input(words.to_vec(), &placeholders(own), &input);
            words.push(Word::unknown_words(&["", ""], &input));
            Unwrapped::Inner { words, variables: Vec::new(), coverage: Coverage::Segment }
        }
        None => UNCLEAR,
    }
}

/// Returns what `xargs` passes on. Its options decide where the input is split.
fn input_of_xargs(own: &[Word], stream: usize) -> Unknown {
    let mut texts = own.iter().filter_map(|word| word.text.as_deref());
    let is_delimiter = |text: &str| text.starts_with("-d") || text.starts_with("--delimiter");
    let has_delimiter = own.iter().any(|word| word.text.as_deref().is_some_and(is_delimiter));
    let is_line =
        own.iter().any(|word| matches!(word.text.as_deref(), Some("\\n" | "-d\\n" | "-d\n" | "\n")));
    if has_delimiter && !is_line {
        return Unknown::Anything;
    }
    let is_whole = |text: &str| matches!(text, "-0" | "--null") || text.starts_with("-I");
    Unknown::Stream { stream, is_split: !has_delimiter && !texts.any(is_whole) }
}

/// Returns a placeholder for any words.
fn anything() -> Word {
    Word::unknown_words(&["", ""], &Unknown::Anything)
}

/// Returns the texts that `xargs -I` may replace by its input, also within words: any of its own words may be
/// the value of this option. [`xargs`] rejects other forms of the option.
fn placeholders(own: &[Word]) -> Vec<&str> {
    let texts = || own.iter().filter_map(|word| word.text.as_deref());
    match texts().any(|text| text.starts_with("-I")) {
        true => texts()
            .map(|text| text.strip_prefix("-I").filter(|text| !text.is_empty()).unwrap_or(text))
            .collect(),
        false => Vec::new(),
    }
}

/// Returns the script of `bash -c '…'`. `bash script.sh` counts as a program.
fn shell(rest: &[Word]) -> Unwrapped {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.text.as_deref() else {
            return Unwrapped::Opaque("starts a shell with words that are only known at run time");
        };
        match text.strip_prefix('-') {
            // `+x` unsets an option.
            None if text.starts_with('+') => match &text[1..] {
                "o" if words.next().is_some_and(is_harmless_setting) => {}
                letters if !letters.is_empty() && letters.bytes().all(|byte| b"euxlv".contains(&byte)) => {}
                _ => return Unwrapped::Opaque(ODD_SHELL),
            },
            Some("" | "-") | None => return Unwrapped::Plain,
            Some("o") if words.next().is_some_and(is_harmless_setting) => {}
            Some(letters)
                if letters.contains('c') && letters.bytes().all(|byte| b"ceuxlv".contains(&byte)) =>
            {
                return script(words.as_slice());
            }
            Some(letters) if letters.bytes().all(|byte| b"euxlv".contains(&byte)) => {}
            Some(_) => return Unwrapped::Opaque(ODD_SHELL),
        }
    }
    Unwrapped::Opaque("starts a shell that reads commands")
}

/// Returns true for `-o pipefail` and others that do not affect parsing.
fn is_harmless_setting(name: &Word) -> bool {
    const NAMES: [&str; 6] = ["errexit", "noglob", "nounset", "pipefail", "posix", "xtrace"];
    name.text.as_deref().is_some_and(|name| NAMES.contains(&name))
}

fn script(words: &[Word]) -> Unwrapped {
    match words {
        [first, ..] if !first.may_be_option() => match &first.text {
            Some(text) => Unwrapped::Script(text.clone()),
            None => Unwrapped::Opaque("starts a shell with words that are only known at run time"),
        },
        _ => Unwrapped::Opaque(ODD_SHELL),
    }
}

fn another_shell(rest: &[Word]) -> Unwrapped {
    let runs_text = rest.is_empty()
        || rest
            .iter()
            .any(|word| word.may_be_option() && word.text.as_ref().is_none_or(|text| text.contains('c')));
    if runs_text { Unwrapped::Opaque("is in the language of another shell") } else { Unwrapped::Plain }
}

fn evaluated(rest: &[Word]) -> Unwrapped {
    match texts(rest) {
        // For some shells `--` ends the options, for others it is a command.
        Some(words) if words.first().is_some_and(|word| word.starts_with('-')) => UNCLEAR,
        Some(words) => Unwrapped::Script(words.join(" ")),
        None => Unwrapped::Opaque("evaluates words that are only known at run time"),
    }
}
