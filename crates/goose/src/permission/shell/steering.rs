//! Options that make a well-known program run another one, or work on another project than the one it is in. A rule that
//! ends in `*` does not mean them: whoever wants them writes them out.

use super::{launchers, read_only, word::Word};

/// The options of a program: long names as they begin, and short ones.
struct Steering {
    long: &'static [&'static str],
    short: &'static [&'static str],
}

fn of(program: &str) -> Option<Steering> {
    let (long, short): (&'static [&'static str], &'static [&'static str]) = match program {
        "cargo" => (
            &[
                "--config",
                "--manifest-path",
                "--lockfile-path",
                "--target-dir",
                "--artifact-dir",
                "--out-dir",
            ],
            &["-Z", "-C"],
        ),
        "git" => (
            &[
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
            &["-c", "-C", "-x"],
        ),
        "make" | "gmake" => (
            &["--eval", "--file", "--makefile", "--directory", "--include-dir", "--environment-overrides"],
            &["-f", "-C", "-E", "-I", "-e"],
        ),
        "kubectl" => (&["--kubeconfig", "--server", "--cache-dir", "--profile", "--log-file"], &["-s"]),
        "npm" => (&["--"], &["-"]),
        "pytest" => (
            &[
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
            &["-p", "-c", "-o"],
        ),
        // One dash or two.
        "go" => (
            &[
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
            &[],
        ),
        _ => return None,
    };
    Some(Steering { long, short })
}

/// Whether, among these words of a program from the `count`th on, one steers it elsewhere, or may.
pub(in crate::permission) fn is_steered(words: &[Word], count: usize) -> bool {
    let (Some(program), further) = (words.first(), words.get(count..).unwrap_or_default()) else {
        return true;
    };
    // What only reads without them must do so with them.
    let reads = |words: &[Word]| read_only::is_read_only(words) || read_only::only_carries(words);
    if !further.is_empty() && reads(&words[..count]) && !reads(words) {
        return true;
    }
    // `git bisect run`, `tar --to-command`.
    let is_obscure = matches!(program.program(), Some("git" | "rsync" | "tar" | "zip"))
        && launchers::runs(&words[..count]).is_none()
        && launchers::runs(words).is_some();
    if is_obscure {
        return true;
    }
    let Some(name) = program.program() else { return true };
    let Some(steering) = of(name) else { return false };
    let end = further.iter().position(|word| word.text.as_deref() == Some("--")).unwrap_or(further.len());
    // What stands behind `--` is for what the program runs.
    let (own, passed) = further.split_at(end);
    let steers_itself =
        own.iter().filter(|word| word.may_be_option()).any(|word| match word.text.as_deref() {
            None => true,
            Some(text) => steers(text, name, &steering),
        });
    // `make SHELL=x`.
    let sets = |word: &Word| word.pieces().iter().any(|piece| piece.contains('='));
    let is_set =
        matches!(name, "make" | "gmake") && further.iter().any(|word| word.text.is_none() || sets(word));
    steers_itself || is_set || (name == "cargo" && (has_odd_target(own) || logs_to_file(passed)))
}

fn steers(text: &str, program: &str, steering: &Steering) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    // It is looked at by itself, and no shorter form of others.
    if program == "cargo" && name == "--target" {
        return false;
    }
    if program == "go" {
        return steering.long.iter().any(|bad| bad.trim_start_matches('-') == name.trim_start_matches('-'));
    }
    match text.starts_with("--") {
        // Shorter forms count as well.
        true => steering.long.iter().any(|bad| bad.starts_with(name) || *bad == "--"),
        // Letters count wherever they stand in a bundle.
        false => steering.short.iter().any(|bad| name[1..].contains(bad.trim_start_matches('-'))),
    }
}

/// `--target x.json` describes another machine, and names programs.
fn has_odd_target(own: &[Word]) -> bool {
    let is_odd = |text: &str| text.contains('/') || text.ends_with(".json");
    own.iter().enumerate().any(|(index, word)| match word.text.as_deref() {
        Some("--target") => own.get(index + 1).is_none_or(|word| word.text.as_deref().is_none_or(is_odd)),
        Some(text) => text.strip_prefix("--target=").is_some_and(is_odd),
        None => false,
    })
}

/// `cargo test -- --logfile=x` writes a file.
fn logs_to_file(passed: &[Word]) -> bool {
    passed.iter().filter_map(|word| word.text.as_deref()).any(|text| text.starts_with("--logfile"))
}
