//! Commands that run other commands: what is left when they are taken off.

use super::{Says, word::Word};

/// What a command runs.
pub(super) enum Unwrapped {
    /// Only itself.
    Plain,
    /// Another command.
    Inner { words: Vec<Word>, variables: Vec<String>, says: Says },
    /// A script that is known.
    Script(String),
    /// Something that is not known; the words go behind the command's own text.
    Opaque(&'static str),
}

/// The options of a wrapper.
struct Options {
    /// Without a value.
    flags: &'static [&'static str],
    /// With a value in the next word. In the same word, everything that begins so is one as well.
    valued: &'static [&'static str],
    /// How many words belong to the wrapper before the command begins.
    operands: usize,
}

const NONE: Options = Options { flags: &[], valued: &[], operands: 0 };

const UNCLEAR: Unwrapped = Unwrapped::Opaque("runs a command in a way that is not understood");

/// Takes the outermost wrapper off.
pub(super) fn unwrap(words: &[Word]) -> Unwrapped {
    let Some(program) = words.first().and_then(Word::program) else { return Unwrapped::Plain };
    let rest = &words[1..];
    match program {
        "env" => environment(rest),
        "command" | "builtin" | "exec" => shell_builtin(program, rest),
        "nohup" | "busybox" | "toybox" => inner(rest, &NONE, Says::All),
        "time" => inner(rest, &Options { flags: &["-p"], ..NONE }, Says::All),
        "nice" => inner(rest, &Options { valued: &["-n", "--adjustment"], ..NONE }, Says::All),
        "ionice" => inner(rest, &Options { valued: &["-c", "-n"], ..NONE }, Says::All),
        "setsid" => inner(rest, &Options { flags: &["-w", "-f", "-c"], ..NONE }, Says::All),
        "stdbuf" => inner(rest, &Options { valued: &["-i", "-o", "-e"], ..NONE }, Says::All),
        "timeout" => inner(
            rest,
            &Options {
                flags: &["--foreground", "--preserve-status", "-v", "--verbose"],
                valued: &["-k", "--kill-after", "-s", "--signal"],
                operands: 1,
            },
            Says::All,
        ),
        "sudo" | "doas" => inner(
            rest,
            &Options {
                flags: &["-n", "-E", "-H", "-k", "-S", "-b", "--"],
                valued: &["-u", "-g"],
                operands: 0,
            },
            Says::Nothing,
        ),
        "xargs" => xargs(rest),
        "sh" | "bash" | "dash" | "ash" => shell(rest),
        "zsh" | "ksh" | "fish" | "csh" | "tcsh" => another_shell(rest),
        "eval" => evaluated(rest),
        "alias" | "trap" | "enable" | "complete" | "bind" | "fc" => {
            Unwrapped::Opaque("changes what later commands mean")
        }
        _ => Unwrapped::Plain,
    }
}

/// Commands that a program runs besides itself: what stands behind `find -exec`.
pub(super) fn carried(words: &[Word]) -> Vec<Vec<Word>> {
    const STARTS: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let is = |word: &Word, texts: &[&str]| word.text.as_deref().is_some_and(|text| texts.contains(&text));
    if !words.first().and_then(Word::program).is_some_and(|name| matches!(name, "find" | "fd" | "fdfind")) {
        return Vec::new();
    }
    let mut carried = Vec::new();
    for (index, _) in words.iter().enumerate().filter(|(_, word)| is(word, &STARTS)) {
        let mut inner: Vec<Word> =
            words[index + 1..].iter().take_while(|word| !is(word, &[";", "+"])).cloned().collect();
        // The files that were found.
        inner.push(Word::anything());
        carried.push(inner);
    }
    carried
}

/// The command behind a wrapper's own options.
fn inner(rest: &[Word], options: &Options, says: Says) -> Unwrapped {
    match skip(rest, options) {
        Some([]) => Unwrapped::Plain,
        Some(words) => Unwrapped::Inner { words: words.to_vec(), variables: Vec::new(), says },
        None => UNCLEAR,
    }
}

/// The words after the options; `None` where one is not known.
fn skip<'w>(mut words: &'w [Word], options: &Options) -> Option<&'w [Word]> {
    while let Some((first, rest)) = words.split_first().filter(|(first, _)| first.may_be_option()) {
        let text = first.text.as_deref()?;
        words = match text {
            "--" => return rest.get(options.operands..),
            _ if options.flags.contains(&text) => rest,
            _ if options.valued.contains(&text) => rest.get(1..)?,
            _ if options.valued.iter().any(|option| has_value(text, option)) => rest,
            _ if is_number(text) => rest,
            _ => return None,
        };
    }
    // Where the wrapper's own words may become several, it is not known where the command begins.
    let own = words.get(..options.operands.min(words.len()))?;
    own.iter().all(|word| word.text.is_some()).then(|| words.get(options.operands..).unwrap_or_default())
}

/// `-n5`, `--signal=KILL`.
fn has_value(text: &str, option: &str) -> bool {
    text.strip_prefix(option)
        .is_some_and(|value| !value.is_empty() && (!option.starts_with("--") || value.starts_with('=')))
}

/// `nice -10`.
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
        _ => Unwrapped::Inner { words: words.to_vec(), variables, says: Says::All },
    }
}

fn shell_builtin(program: &str, rest: &[Word]) -> Unwrapped {
    match (program, rest.first().and_then(|word| word.text.as_deref())) {
        // Says where a command is.
        ("command", Some("-v" | "-V")) => Unwrapped::Plain,
        ("command", _) => inner(rest, &Options { flags: &["-p"], ..NONE }, Says::All),
        ("exec", _) => {
            inner(rest, &Options { flags: &["-c", "-l"], valued: &["-a"], operands: 0 }, Says::All)
        }
        _ => inner(rest, &NONE, Says::All),
    }
}

fn xargs(rest: &[Word]) -> Unwrapped {
    const OPTIONS: Options = Options {
        flags: &["-0", "--null", "-r", "--no-run-if-empty", "-t", "-x"],
        valued: &["-n", "-I", "-P", "-L", "-d", "-s", "--max-args", "--max-procs", "--delimiter"],
        operands: 0,
    };
    match skip(rest, &OPTIONS) {
        Some([]) => Unwrapped::Plain,
        Some(words) => {
            let mut words = words.to_vec();
            words.push(Word::anything());
            Unwrapped::Inner { words, variables: Vec::new(), says: Says::All }
        }
        None => UNCLEAR,
    }
}

/// `bash -c '…'`: the script is read; `bash script.sh` is a program of its own.
fn shell(rest: &[Word]) -> Unwrapped {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.text.as_deref() else {
            return Unwrapped::Opaque("starts a shell with what is not known before");
        };
        match text.strip_prefix('-') {
            Some("" | "-") | None => return Unwrapped::Plain,
            Some("o") => drop(words.next()),
            Some(letters)
                if letters.contains('c') && letters.bytes().all(|byte| b"ceuxlv".contains(&byte)) =>
            {
                return script(words.as_slice());
            }
            Some(letters) if letters.bytes().all(|byte| b"euxlv".contains(&byte)) => {}
            Some(_) => return Unwrapped::Opaque("starts a shell in a way that is not understood"),
        }
    }
    Unwrapped::Opaque("starts a shell that reads commands")
}

fn script(words: &[Word]) -> Unwrapped {
    match words {
        [first, ..] if !first.may_be_option() => match &first.text {
            Some(text) => Unwrapped::Script(text.clone()),
            None => Unwrapped::Opaque("starts a shell with what is not known before"),
        },
        _ => Unwrapped::Opaque("starts a shell in a way that is not understood"),
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
    let words: Option<Vec<&str>> = rest.iter().map(|word| word.text.as_deref()).collect();
    match words {
        Some(words) => Unwrapped::Script(words.join(" ")),
        None => Unwrapped::Opaque("evaluates what is not known before"),
    }
}
