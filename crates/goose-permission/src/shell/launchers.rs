//! Programs that run commands or code that is not analysed: interpreters, launchers, editors, build tools.
//!
//! Their words do not show whether they do something that a rule denies.

use super::{Coverage, Form, word::Word};

#[rustfmt::skip]
/// Programs that run other programs, or code in their own language.
const LAUNCHERS: [&str; 276] = [
    ".", "R", "Rscript", "ansible", "ansible-playbook", "arch", "asdf", "ash", "at", "awk", "aws-vault",
    "bash", "batch", "box64", "bpython", "bun", "bunx", "bwrap", "caffeinate", "capsh", "catatonit",
    "catchsegv", "cgexec", "chamber", "choom", "chpst", "chronic", "chroot", "chrt", "clisp", "conda",
    "coproc", "cpulimit", "crontab", "cscript", "csh", "csharp", "daemonize", "dash", "dbus-launch",
    "dbus-run-session", "dc", "deno", "direnv", "distrobox", "docker", "doppler", "dotenv", "dotnet",
    "dtruss", "dumb-init", "ed", "elixir", "elvish", "emacs", "emacsclient", "entr", "envconsul", "envdir",
    "envuidgid", "erl", "eval", "ex", "expect", "fakechroot", "fakeroot", "faketime", "fetchmail", "firejail",
    "fish", "flatpak", "flock", "fnm", "fswatch", "ftp", "gawk", "gdb", "ghci", "gnome-terminal", "gnuplot",
    "gosu", "gpg-agent", "groovy", "gtester", "guile", "gvim", "hatch", "hyperfine", "i386", "iex", "ifne",
    "invoke", "ipython", "irb", "janet", "java", "joe", "jshell", "julia", "konsole", "kotlin", "ksh",
    "ksh93", "kubectl", "launchctl", "ld.so", "less", "linux32", "linux64", "lldb", "lockf", "lockrun",
    "logrotate", "lp", "ltrace", "lua", "luajit", "lxc", "m4", "machinectl", "mail", "mailx", "mamba", "man",
    "mariadb", "mawk", "micro", "micromamba", "mise", "mispipe", "mksh", "mono", "more", "mosh", "mutt",
    "mysql", "nano", "nawk", "nc", "ncat", "nerdctl", "newgrp", "nix", "nix-shell", "node", "nodejs",
    "nodemon", "nodenv", "npx", "nsenter", "nu", "numactl", "nvim", "ocaml", "octave", "open", "openvt",
    "osascript", "parallel", "pdksh", "pee", "perf", "perl", "php", "pico", "pipenv", "pipx", "pkexec", "pm2",
    "podman", "poetry", "posh", "powershell", "prlimit", "procmail", "proot", "proxychains", "psql", "pueue",
    "pwsh", "pyenv", "pypy", "python", "racket", "rbenv", "rlogin", "rlwrap", "rr", "rsh", "ruby",
    "run-parts", "run0", "runas", "runcon", "runghc", "runhaskell", "runsv", "runuser", "rvim", "rye",
    "s6-setuidgid", "sandbox-exec", "sbcl", "scala", "scheme", "screen", "script", "scriptreplay", "sed",
    "sendmail", "setarch", "setlock", "setpriv", "setuidgid", "sftp", "sg", "sh", "snap", "socat",
    "softlimit", "source", "sqlite", "sqlite3", "ssh", "ssh-agent", "sshpass", "start-stop-daemon", "startx",
    "strace", "su", "su-exec", "swift", "swipl", "systemctl", "systemd-inhibit", "systemd-nspawn",
    "systemd-run", "taskset", "tclsh", "telnet", "timelimit", "tini", "tmux", "toolbox", "torify", "torsocks",
    "trickle", "ts-node", "tsocks", "tsp", "tsx", "unbuffer", "unshare", "uvx", "vagrant", "valgrind", "vi",
    "view", "vim", "vimdiff", "vimtutor", "vipe", "volta", "watch", "wine", "wish", "x-terminal-emulator",
    "x86_64", "xcrun", "xdg-open", "xinit", "xonsh", "xterm", "xvfb-run", "yash", "zsh",
];

#[rustfmt::skip]
/// Programs that run commands from the files of a project.
const BUILDERS: [&str; 25] = [
    "ant", "bazel", "bmake", "buck", "cmake", "ctest", "doit", "fab", "gmake", "gradle", "gradlew", "just",
    "make", "meson", "mvn", "mvnw", "ninja", "nox", "pdflatex", "rake", "samu", "scons", "task", "tox",
    "xelatex",
];

/// Programs that run something if one of these is among their arguments: commands, and options.
const WITH_WORDS: [(&str, &[&str]); 28] = [
    ("bundle", &["exec"]),
    ("cargo", &["--config", "-Z"]),
    ("composer", &["exec", "run", "run-script", "run-scripts"]),
    ("cpio", &["-i", "--extract", "--rsh-command"]),
    ("docker-compose", &["run", "exec", "up"]),
    ("find", &["-ok", "-okdir"]),
    ("g++", &["-wrapper", "-fplugin"]),
    ("gcc", &["-wrapper", "-fplugin"]),
    ("gh", &["alias", "extension"]),
    ("go", &["run", "generate", "tool"]),
    ("install", &["--strip-program"]),
    ("ip", &["exec"]),
    ("npm", &["exec", "x", "run", "run-script", "rum", "urn", "explore", "create", "init", "-c", "--call"]),
    ("pax", &["-r"]),
    ("pacman", &["--config", "--hookdir"]),
    ("pip", &["--python"]),
    ("pnpm", &["exec", "dlx", "run", "create"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("rustup", &["run"]),
    ("scp", &["-S", "-o", "-F"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    (
        "tar",
        &[
            "-I",
            "-F",
            "-P",
            "--absolute-names",
            "--use-compress-program",
            "--checkpoint-action",
            "--to-command",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    ("unzip", &["-:"]),
    ("uv", &["run", "tool"]),
    ("wget", &["--use-askpass"]),
    ("yarn", &["exec", "dlx", "run", "create", "node"]),
    ("zip", &["-TT", "--unzip-command"]),
];

/// Programs of [`LAUNCHERS`] that run something only if one of these is among their words.
const ONLY_WITH: [(&str, &[&str]); 4] = [
    ("docker", CONTAINER),
    ("podman", CONTAINER),
    ("nerdctl", CONTAINER),
    ("kubectl", &["exec", "run", "debug", "attach", "plugin"]),
];

const CONTAINER: &[&str] =
    &["run", "exec", "compose", "build", "buildx", "create", "container", "service", "stack", "plugin"];

/// Folders of system programs.
const SYSTEM: [&str; 7] =
    ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/libexec/", "/opt/homebrew/bin/"];

const RUNS_CODE: &str = "runs code that is not checked";

/// Returns true if a program is a launcher, by its name with or without a version: `python3.12`.
pub(crate) fn is_launcher(program: &str) -> bool {
    is_one_of(program, &LAUNCHERS)
        || ["ld-linux", "ld-musl", "ld64", "qemu-"].iter().any(|name| program.starts_with(name))
}

/// Searches a sorted list for a name, with or without a version.
fn is_one_of(program: &str, all: &[&str]) -> bool {
    let versioned = program.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    all.binary_search(&program).is_ok() || all.binary_search(&versioned).is_ok()
}

/// Returns the reason why the code that a command runs is not known, for a command that does not only read.
pub(super) fn opaque_reason(words: &[Word]) -> Option<&'static str> {
    let first = words.first()?.text.as_deref()?;
    let (program, rest) = (words.first()?.program()?, &words[1..]);
    if first.contains('/') && !SYSTEM.iter().any(|folder| first.strip_prefix(folder) == Some(program)) {
        return Some("is not a system program and may do anything");
    }
    if let Some((_, needed)) = ONLY_WITH.iter().find(|(name, _)| *name == program) {
        return has_one_of(rest, needed).then_some(RUNS_CODE);
    }
    // The first word of `tar` is a bundle of letters, with or without a dash.
    let bundle = rest.first().and_then(|word| word.text.as_deref()).filter(|_| program == "tar");
    if bundle.is_some_and(|letters| !letters.starts_with('-') && letters.contains(['I', 'F', 'P'])) {
        return Some(RUNS_CODE);
    }
    let has_words = WITH_WORDS.iter().any(|(name, words)| *name == program && has_one_of(rest, words));
    let is_git = program == "git" && git_runs(rest);
    (has_words || is_git || is_launcher(program) || is_one_of(program, &BUILDERS)).then_some(RUNS_CODE)
}

/// Returns true if one of these is among the words. Abbreviated options and letters in bundles count.
fn has_one_of(rest: &[Word], wanted: &[&str]) -> bool {
    rest.iter()
        .filter_map(|word| word.text.as_deref())
        .any(|text| wanted.iter().any(|one| is_word(text, one)))
}

fn is_word(text: &str, wanted: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    match wanted.strip_prefix('-') {
        None => text == wanted,
        Some(long) if long.starts_with('-') => name.len() > 2 && wanted.starts_with(name),
        // A letter, alone or in a bundle.
        Some(letter) if letter.len() == 1 => text
            .strip_prefix('-')
            .is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter)),
        Some(_) => text.starts_with(wanted),
    }
}

/// Built-in commands of git. Others may be aliases.
#[rustfmt::skip]
const GIT: [&str; 74] = [
    "add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file",
    "check-ignore", "checkout", "cherry", "cherry-pick", "clean", "clone", "commit", "commit-tree", "config",
    "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree", "fetch", "for-each-ref",
    "format-patch", "fsck", "gc", "grep", "hash-object", "help", "init", "log", "ls-files", "ls-remote",
    "ls-tree", "merge", "merge-base", "merge-tree", "mv", "name-rev", "notes", "prune", "pull", "push",
    "range-diff", "read-tree", "rebase", "reflog", "remote", "repack", "request-pull", "reset", "restore",
    "rev-list", "rev-parse", "revert", "rm", "send-pack", "shortlog", "show", "show-branch", "show-ref",
    "sparse-checkout", "stash", "status", "submodule", "switch", "tag", "version", "whatchanged", "worktree",
];

/// Returns true if git runs another program because of its words: configuration, aliases, commands for each
/// commit.
fn git_runs(rest: &[Word]) -> bool {
    const PLAIN: [&str; 4] = ["--no-pager", "--version", "--no-optional-locks", "--literal-pathspecs"];
    let mut rest = rest;
    let command = loop {
        let Some((first, others)) = rest.split_first() else { return false };
        let Some(text) = first.text.as_deref() else { return true };
        rest = match text {
            "-C" => others.get(1..).unwrap_or_default(),
            _ if PLAIN.contains(&text) => others,
            _ if text.starts_with('-') => return true,
            _ => {
                rest = others;
                break text;
            }
        };
    };
    let text = |index: usize| rest.get(index).and_then(|word| word.text.as_deref());
    let options: &[&str] = match command {
        "bisect" => return text(0) == Some("run"),
        "submodule" => return has_one_of(rest, &["foreach"]),
        "config" => return !text(0).is_some_and(|key| key.starts_with("user.")),
        "rebase" => &["-x", "--exec"],
        "grep" => &["-O", "--open-files-in-pager"],
        "clone" | "init" => &["-c", "--config", "--template", "-u", "--upload-pack"],
        "fetch" | "pull" | "push" | "ls-remote" | "archive" | "send-pack" => {
            &["--upload-pack", "--receive-pack", "--exec", "--remote"]
        }
        "diff" | "log" | "show" => &["--ext-diff", "--textconv"],
        _ => &[],
    };
    !GIT.contains(&command)
        || has_one_of(rest, options)
        || rest.iter().any(|word| word.pieces().iter().any(|piece| piece.contains("ext::")))
}

/// Returns the usual form of a git command: `git push` for `git-push` and `git send-pack`. Rules are written
/// for this one.
pub(super) fn git_by_other_name(words: &[Word]) -> Option<Form> {
    let program = words.first()?.program()?;
    let is_push = |name: &str| matches!(name, "push" | "send-pack" | "http-push");
    let (command, rest) = match program.strip_prefix("git-") {
        Some(command) => (command, &words[1..]),
        None if program == "git" => {
            let at = words
                .iter()
                .position(|word| word.text.as_deref().is_some_and(|text| is_push(text) && text != "push"))?;
            ("push", &words[at + 1..])
        }
        None => return None,
    };
    let command = if is_push(command) { "push" } else { command };
    let mut same = vec![Word::literal("git"), Word::literal(command)];
    same.extend(rest.iter().cloned());
    Some(Form::new(same, Coverage::Nothing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_for_binary_search() {
        assert!(LAUNCHERS.is_sorted() && BUILDERS.is_sorted());
        for program in ["python3.12", "perl", "ld-linux-x86-64.so.2", "lua5.4", ".", "sh"] {
            assert!(is_launcher(program), "{program}");
        }
        for program in ["", "3", "ls", "cargo", "..."] {
            assert!(!is_launcher(program), "{program}");
        }
    }
}
