//! Options that make a well-known program run another one, or work on another project than the one it is in. A rule that
//! ends in `*` does not mean them: whoever wants them writes them out.

use super::word::Word;

/// The options of a program: long names as they begin, and short ones.
struct Steering {
    long: &'static [&'static str],
    short: &'static [&'static str],
}

fn of(program: &str) -> Option<Steering> {
    let (long, short): (&'static [&'static str], &'static [&'static str]) = match program {
        "cargo" => (&["--config", "--manifest-path", "--lockfile-path"], &["-Z", "-C"]),
        "git" => (
            &[
                "--upload-pack",
                "--receive-pack",
                "--exec",
                "--exec-path",
                "--config-env",
                "--git-dir",
                "--work-tree",
            ],
            &["-c", "-C", "-x"],
        ),
        "kubectl" => (&["--kubeconfig", "--server"], &["-s"]),
        "npm" => (&["--"], &["-"]),
        "pytest" => (
            &["--rootdir", "--confcutdir", "--override-ini", "--pyargs", "--config-file", "--pdbcls"],
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
            ],
            &[],
        ),
        _ => return None,
    };
    Some(Steering { long, short })
}

/// Whether, among these further words of a program, one steers it elsewhere, or may.
pub(in crate::permission) fn is_steered(program: &Word, further: &[Word]) -> bool {
    let Some(name) = program.program() else { return true };
    let Some(steering) = of(name) else { return false };
    // What stands behind `--` is for what the program runs.
    let own = further.iter().take_while(|word| word.text.as_deref() != Some("--"));
    own.filter(|word| word.may_be_option()).any(|word| match word.text.as_deref() {
        None => true,
        Some(text) if name == "go" => steers(&format!("--{}", text.trim_start_matches('-')), &steering),
        Some(text) => steers(text, &steering),
    })
}

fn steers(text: &str, steering: &Steering) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    match text.starts_with("--") {
        // Shorter forms count as well.
        true => steering.long.iter().any(|bad| bad.starts_with(name) || *bad == "--"),
        false => steering.short.iter().any(|bad| text.starts_with(bad)),
    }
}
