//! Options that make a well-known program run another one, or work on another project. The `*` at the end of
//! an allow rule does not match them: the rule must name them.

use super::{launchers, read_only, word::Word};

/// Options of a program that make it run another one, or work on another project.
struct ExecOptions {
    programs: &'static [&'static str],
    long: &'static [&'static str],
    short: &'static [&'static str],
}

const EXEC_OPTIONS: [ExecOptions; 7] = [
    ExecOptions {
        programs: &["cargo"],
        long: &[
            "--config",
            "--manifest-path",
            "--lockfile-path",
            "--target-dir",
            "--artifact-dir",
            "--out-dir",
        ],
        short: &["-Z", "-C"],
    },
    ExecOptions {
        programs: &["git"],
        long: &[
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "--exec-path",
            "--config-env",
            "--git-dir",
            "--work-tree",
            "--output",
            "--ext-diff",
            "--textconv",
            "--open-files-in-pager",
        ],
        short: &["-c", "-C", "-x"],
    },
    ExecOptions {
        programs: &["make", "gmake"],
        long: &["--eval", "--file", "--makefile", "--directory", "--include-dir", "--environment-overrides"],
        short: &["-f", "-C", "-E", "-I", "-e"],
    },
    ExecOptions {
        programs: &["kubectl"],
        long: &["--kubeconfig", "--server", "--cache-dir", "--profile", "--log-file"],
        short: &["-s"],
    },
    // Every option of npm sets a configuration value, such as the shell that runs scripts.
    ExecOptions { programs: &["npm"], long: &["--"], short: &["-"] },
    ExecOptions {
        programs: &["pytest"],
        long: &[
            "--rootdir",
            "--confcutdir",
            "--override-ini",
            "--pyargs",
            "--config-file",
            "--pdbcls",
            "--basetemp",
            "--junitxml",
            "--junit-xml",
            "--log-file",
        ],
        short: &["-p", "-c", "-o"],
    },
    // `go` accepts one dash or two.
    ExecOptions {
        programs: &["go"],
        long: &[
            "--toolexec",
            "--exec",
            "--vettool",
            "--modfile",
            "--overlay",
            "--C",
            "--ldflags",
            "--gcflags",
            "--gccgoflags",
            "--asmflags",
            "--compiler",
            "--pkgdir",
            "--o",
            "--outputdir",
            "--coverprofile",
            "--cpuprofile",
            "--memprofile",
            "--blockprofile",
            "--mutexprofile",
            "--trace",
        ],
        short: &[],
    },
];

/// Returns true if one of a program's words, from the `count`th on, is or may be such an option.
pub(crate) fn has_exec_option(words: &[Word], count: usize) -> bool {
    let (Some(program), further) = (words.first(), words.get(count..).unwrap_or_default()) else {
        return true;
    };
    // A command that only reads without these words must also do so with them.
    let reads = |words: &[Word]| read_only::is_read_only(words) || read_only::only_carries(words);
    if !further.is_empty() && reads(&words[..count]) && !reads(words) {
        return true;
    }
    // `git bisect run`, `tar --to-command`.
    let is_obscure = matches!(program.program(), Some("git" | "rsync" | "tar" | "zip"))
        && launchers::opaque_reason(&words[..count]).is_none()
        && launchers::opaque_reason(words).is_some();
    if is_obscure {
        return true;
    }
    let Some(name) = program.program() else { return true };
    let Some(options) = EXEC_OPTIONS.iter().find(|options| options.programs.contains(&name)) else {
        return false;
    };
    let end = further.iter().position(|word| word.text.as_deref() == Some("--")).unwrap_or(further.len());
    // The words after `--` are for the program that it runs.
    let (own, passed) = further.split_at(end);
    let has_option = own.iter().filter(|word| word.may_be_option()).any(|word| match word.text.as_deref() {
        None => true,
        Some(text) => is_exec_option(text, name, options),
    });
    // `make SHELL=x`.
    let sets = |word: &Word| word.pieces().iter().any(|piece| piece.contains('='));
    let is_set =
        matches!(name, "make" | "gmake") && further.iter().any(|word| word.text.is_none() || sets(word));
    has_option || is_set || (name == "cargo" && (has_odd_target(own) || logs_to_file(passed)))
}

fn is_exec_option(text: &str, program: &str, options: &ExecOptions) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    // `has_odd_target` checks this option; it does not abbreviate `--target-dir`.
    if program == "cargo" && name == "--target" {
        return false;
    }
    if program == "go" {
        return options.long.iter().any(|bad| bad.trim_start_matches('-') == name.trim_start_matches('-'));
    }
    match text.starts_with("--") {
        // Programs accept abbreviations of long options.
        true => options.long.iter().any(|bad| bad.starts_with(name) || *bad == "--"),
        // A letter may be anywhere in a bundle: `-vZ`.
        false => options.short.iter().any(|bad| name[1..].contains(bad.trim_start_matches('-'))),
    }
}

/// Returns true for `--target x.json`, which describes a machine and names programs.
fn has_odd_target(own: &[Word]) -> bool {
    let is_odd = |text: &str| text.contains('/') || text.ends_with(".json");
    own.iter().enumerate().any(|(index, word)| match word.text.as_deref() {
        Some("--target") => own.get(index + 1).is_none_or(|word| word.text.as_deref().is_none_or(is_odd)),
        Some(text) => text.strip_prefix("--target=").is_some_and(is_odd),
        None => false,
    })
}

/// Returns true for `cargo test -- --logfile=x`, which writes a file.
fn logs_to_file(passed: &[Word]) -> bool {
    passed.iter().filter_map(|word| word.text.as_deref()).any(|text| text.starts_with("--logfile"))
}
