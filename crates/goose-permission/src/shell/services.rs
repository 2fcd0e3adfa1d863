//! Commands of docker, kubectl and systemd that only show the state of services.

use super::{read_only::texts, word::Word};

/// Options of a command. Others, and words that are not known, may have another effect.
struct Options {
    /// Options without a value, or with one in the same word.
    flags: &'static [&'static str],
    /// Options with a value in the next word, or after `=`.
    valued: &'static [&'static str],
}

impl Options {
    /// Returns true if all options are among these.
    fn accept(&self, rest: &[&str]) -> bool {
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            let name = word.split('=').next().unwrap_or(word);
            let is_known = match *word {
                word if !word.starts_with('-') || self.flags.contains(&word) => true,
                word if self.valued.contains(&word) => {
                    words.next().is_some_and(|next| !next.starts_with('-'))
                }
                word if name.len() < word.len() => self.valued.contains(&name),
                // `-n20`
                word => self.valued.iter().any(|short| {
                    let value = word.strip_prefix(short).filter(|_| short.len() == 2).unwrap_or_default();
                    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
                }),
            };
            if !is_known {
                return false;
            }
        }
        true
    }
}

/// Returns true for docker commands that list containers, images and logs of the local service. Full
/// descriptions and configurations may contain secrets.
pub(super) fn docker(rest: &[Word]) -> bool {
    let Some(words) = texts(rest) else { return false };
    matches!(
        words.as_slice(),
        ["ps" | "images" | "logs" | "version" | "info" | "port" | "top", ..]
            | ["compose", "ps" | "logs" | "ls" | "version" | "images" | "top", ..]
            | ["container" | "image" | "volume" | "network", "ls", ..]
            | ["stats", "--no-stream", ..]
    )
}

/// Returns true for kubectl commands that show logs, and list or describe resources. Their full definitions
/// may contain secrets.
pub(super) fn kubectl(rest: &[Word]) -> bool {
    const KINDS: [&str; 25] = [
        "cronjobs",
        "daemonsets",
        "deploy",
        "deployment",
        "deployments",
        "events",
        "hpa",
        "ingress",
        "jobs",
        "namespaces",
        "node",
        "nodes",
        "ns",
        "po",
        "pod",
        "pods",
        "pv",
        "pvc",
        "replicasets",
        "rs",
        "service",
        "services",
        "statefulset",
        "statefulsets",
        "svc",
    ];
    const OPTIONS: Options = Options {
        flags: &[
            "-A",
            "--all-namespaces",
            "-owide",
            "--no-headers",
            "--show-labels",
            "-p",
            "--previous",
            "--timestamps",
            "--all-containers",
            "--client",
            "--short",
        ],
        valued: &[
            "-n",
            "--namespace",
            "-l",
            "--selector",
            "-c",
            "--container",
            "--tail",
            "--since",
            "--sort-by",
            "--context",
            "--field-selector",
            "--all-containers",
        ],
    };
    let Some(mut words) = texts(rest) else { return false };
    // These forms show no more than the state.
    words.retain(|word| !matches!(*word, "--output=wide" | "-o=wide" | "-owide" | "-oname"));
    while let Some(at) =
        words.windows(2).position(|pair| matches!(pair, ["-o" | "--output", "wide" | "name"]))
    {
        words.drain(at..at + 2);
    }
    let is_kind = |word: &&str| KINDS.contains(&word.split('/').next().unwrap_or(word));
    match words.as_slice() {
        ["get" | "describe", options @ ..] => {
            let operand = options.iter().find(|word| !word.starts_with('-'));
            OPTIONS.accept(options) && operand.is_some_and(is_kind) && options.first().is_some_and(is_kind)
        }
        ["logs" | "top" | "version" | "api-resources" | "explain", options @ ..] => OPTIONS.accept(options),
        ["config", "current-context" | "get-contexts"] | ["cluster-info"] => true,
        _ => false,
    }
}

/// Returns true for systemctl commands that show the state of units.
pub(super) fn systemctl(rest: &[Word]) -> bool {
    const OPTIONS: Options = Options {
        flags: &["--no-pager", "--all", "-a", "-l", "--full", "--user", "--failed", "--no-legend", "--plain"],
        valued: &["--type", "-t", "--state", "-n", "--lines"],
    };
    let Some(words) = texts(rest) else { return false };
    let mut operands = words.iter().filter(|word| !word.starts_with('-'));
    let shows = |command: &&str| {
        matches!(
            *command,
            "status"
                | "is-active"
                | "is-enabled"
                | "is-failed"
                | "list-units"
                | "list-unit-files"
                | "list-timers"
                | "list-sockets"
                | "list-dependencies"
        )
    };
    operands.next().is_some_and(shows) && OPTIONS.accept(&words)
}

/// Returns true for a journalctl that shows entries.
pub(super) fn journalctl(rest: &[Word]) -> bool {
    const OPTIONS: Options = Options {
        flags: &[
            "--no-pager",
            "-b",
            "-k",
            "-r",
            "-e",
            "-x",
            "-xe",
            "-q",
            "--user",
            "--reverse",
            "--no-hostname",
            "--utc",
            "--disk-usage",
            "--list-boots",
        ],
        valued: &[
            "-u",
            "--unit",
            "--user-unit",
            "-n",
            "--lines",
            "--since",
            "-S",
            "--until",
            "-U",
            "-p",
            "--priority",
            "-t",
            "--identifier",
            "-g",
            "--grep",
            "-o",
            "--output",
            "-b",
        ],
    };
    texts(rest).is_some_and(|words| OPTIONS.accept(&words))
}
