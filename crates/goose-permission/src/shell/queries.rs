//! Programs of which some commands only show something: a table of these commands and their options.
//!
//! Before adding a command, read all of its options. An option that is not listed makes the command unknown.

use super::word::{Word, texts};

/// Commands of a program that only show something.
struct Query {
    program: &'static str,
    /// Words that start the command: `compose ps`. With a dot at the end, no other operands follow.
    commands: &'static [&'static str],
    /// Options without a value. With `…`, any option may follow the command.
    flags: &'static [&'static str],
    /// Options with a value, in the next word or after `=`.
    valued: &'static [&'static str],
}

const ANY_OPTION: &str = "…";

#[rustfmt::skip]
const QUERIES: [Query; 25] = [
    Query {
        program: "apt",
        commands: &["list", "show", "policy", "search"],
        flags: &["--installed", "--upgradable", "-a"],
        valued: &[],
    },
    Query { program: "dmesg", commands: &["."], flags: &["-T", "-H", "--ctime", "-k", "-x", "-t"], valued: &["-l", "--level"] },
    Query {
        // Full descriptions and configurations may contain secrets.
        program: "docker",
        commands: &[
            "ps", "images", "logs", "version", "info", "port", "top", "stats", "history", "compose ps", "compose logs",
            "compose ls", "compose version", "compose images", "compose top", "container ls", "container ps", "image ls",
            "volume ls", "network ls", "context ls", "system df", "node ls", "service ls",
        ],
        flags: &[ANY_OPTION],
        valued: &["-f", "--file", "-p", "--project-name", "--profile"],
    },
    Query { program: "dpkg", commands: &["."], flags: &[], valued: &["-l", "-s", "-L", "-S", "--list", "--status"] },
    Query { program: "dpkg-query", commands: &["."], flags: &["-W", "-l"], valued: &["-W", "-l", "-L", "-s"] },
    Query { program: "getent", commands: &["services", "protocols", "group"], flags: &[], valued: &[] },
    Query { program: "helm", commands: &["list", "ls", "status", "history", "version", "repo list"], flags: &["-A", "--all-namespaces", "-a"], valued: &["-n", "--namespace"] },
    Query {
        program: "ip",
        commands: &[
            "addr.", "addr show", "addr list", "address.", "address show", "a.", "a show", "link.", "link show", "route.",
            "route show", "r.", "neigh.", "neigh show", "rule.", "rule show",
        ],
        flags: &["-br", "-brief", "-4", "-6", "-o", "-j", "-c", "-d", "-s"],
        valued: &[],
    },
    Query {
        program: "journalctl",
        commands: &[""],
        flags: &[
            "--no-pager", "-b", "-k", "-r", "-e", "-x", "-xe", "-q", "--user", "--reverse", "--no-hostname", "--utc", "--disk-usage",
            "--list-boots", "--dmesg",
        ],
        valued: &[
            "-u", "--unit", "--user-unit", "-n", "--lines", "--since", "-S", "--until", "-U", "-p", "--priority", "-t", "--identifier",
            "-g", "--grep", "-o", "--output", "-b", "--boot",
        ],
    },
    Query { program: "locale", commands: &["."], flags: &["-a", "-m"], valued: &[] },
    Query { program: "lsmod", commands: &["."], flags: &[], valued: &[] },
    Query { program: "lspci", commands: &["."], flags: &["-v", "-vv", "-k", "-nn", "-n", "-t"], valued: &["-s", "-d"] },
    Query { program: "lsusb", commands: &["."], flags: &["-v", "-t"], valued: &["-d", "-s"] },
    Query { program: "findmnt", commands: &[""], flags: &["-l", "-a"], valued: &["-t", "-o"] },
    Query { program: "loginctl", commands: &["list-sessions.", "list-users.", "session-status", "user-status"], flags: &["--no-pager"], valued: &[] },
    Query { program: "hostnamectl", commands: &[".", "status."], flags: &[], valued: &[] },
    Query { program: "nvidia-smi", commands: &["."], flags: &["-L"], valued: &[] },
    Query { program: "rpm", commands: &[""], flags: &["-q", "-qa", "-qi", "-ql", "-qf", "-qR"], valued: &[] },
    Query {
        program: "rustup",
        commands: &["toolchain list", "show active-toolchain.", "show home.", "target list", "component list", "which"],
        flags: &["--installed", "-v", "--verbose"],
        valued: &["--toolchain"],
    },
    Query { program: "sw_vers", commands: &["."], flags: &["-productVersion"], valued: &[] },
    Query {
        program: "systemctl",
        commands: &[
            ".", "status", "is-active", "is-enabled", "is-failed", "is-system-running", "list-units", "list-unit-files", "list-timers",
            "list-sockets", "list-dependencies", "get-default",
        ],
        flags: &["--no-pager", "--all", "-a", "-l", "--full", "--user", "--failed", "--no-legend", "--plain", "--quiet", "-q"],
        valued: &["--type", "-t", "--state", "-n", "--lines"],
    },
    Query { program: "timedatectl", commands: &[".", "status.", "show."], flags: &["--no-pager"], valued: &[] },
    Query { program: "ulimit", commands: &["."], flags: &["-a", "-n", "-u", "-s", "-c"], valued: &[] },
    Query { program: "vmstat", commands: &["."], flags: &["-s", "-a", "-w", "-d"], valued: &[] },
    Query { program: "who", commands: &["."], flags: &["-a", "-b", "-q", "-H", "-u"], valued: &[] },
];

/// Returns true for a command of the table.
pub(super) fn is_query(program: &str, rest: &[Word]) -> bool {
    let Some(words) = texts(rest) else { return false };
    match program {
        "kubectl" => kubectl(&words),
        _ => QUERIES.iter().filter(|query| query.program == program).any(|query| query.accepts(&words)),
    }
}

impl Query {
    fn accepts(&self, words: &[&str]) -> bool {
        self.operands(words).is_some_and(|operands| self.starts(&operands))
    }

    /// Returns true if these operands start one of the commands.
    fn starts(&self, operands: &[&str]) -> bool {
        self.commands.iter().any(|command| {
            let start: Vec<&str> = command.trim_end_matches('.').split_whitespace().collect();
            operands.starts_with(&start) && (!command.ends_with('.') || operands.len() == start.len())
        })
    }

    /// Returns the words without options and their values; `None` if an option is not known.
    fn operands<'w>(&self, words: &[&'w str]) -> Option<Vec<&'w str>> {
        let (mut operands, mut words) = (Vec::new(), words.iter());
        while let Some(word) = words.next() {
            let name = word.split('=').next().unwrap_or(word);
            match *word {
                word if !word.starts_with('-') => operands.push(word),
                word if self.valued.contains(&word) => {
                    // Some options have a value only if they want one.
                    words.next().filter(|next| !next.starts_with('-') || self.flags.contains(&word))?;
                }
                word if self.flags.contains(&word) || self.has_value(name, word) => {}
                _ if self.flags.contains(&ANY_OPTION) && self.starts(&operands) => {}
                _ => return None,
            }
        }
        Some(operands)
    }

    /// Returns true for `--lines=20`, `-n20`.
    fn has_value(&self, name: &str, word: &str) -> bool {
        let is_short =
            |option: &&&str| option.len() == 2 && !word.starts_with("--") && word.starts_with(**option);
        let has_digits = |option: &&str| word[option.len()..].bytes().all(|byte| byte.is_ascii_digit());
        (name.len() < word.len() && self.valued.contains(&name))
            || self.valued.iter().find(is_short).is_some_and(has_digits)
    }
}

/// Returns true for kubectl commands that show logs, and list or describe resources. Their full definitions
/// may contain secrets.
fn kubectl(words: &[&str]) -> bool {
    #[rustfmt::skip]
    const KINDS: [&str; 32] = [
        "all", "cj", "cronjob", "cronjobs", "daemonsets", "deploy", "deployment", "deployments", "ds", "endpoints", "events", "hpa", "ing",
        "ingress", "job", "jobs", "namespaces", "no", "node", "nodes", "ns", "po", "pod", "pods", "pv", "pvc", "rs", "service",
        "services", "statefulsets", "sts", "svc",
    ];
    #[rustfmt::skip]
    const QUERY: Query = Query {
        program: "kubectl",
        commands: &[
            "get", "describe", "logs", "top", "version.", "api-resources.", "explain", "config current-context.", "config get-contexts.",
            "cluster-info.", "rollout status", "rollout history", "auth can-i",
        ],
        flags: &[
            "-A", "--all-namespaces", "-owide", "-oname", "--no-headers", "--show-labels", "-p", "--previous", "--timestamps",
            "--all-containers", "--client", "--short", "--prefix", "--output=wide", "--output=name", "-o=wide", "-o=name", "-w",
        ],
        valued: &[
            "-n", "--namespace", "-l", "--selector", "-c", "--container", "--tail", "--since", "--sort-by", "--context",
            "--field-selector", "--all-containers", "--timeout", "--limit-bytes",
        ],
    };
    let mut words = words.to_vec();
    // These forms show no more than the state.
    while let Some(at) =
        words.windows(2).position(|pair| matches!(pair, ["-o" | "--output", "wide" | "name"]))
    {
        words.drain(at..at + 2);
    }
    let is_kind = |kinds: &&str| {
        let kinds = kinds.split('/').next().unwrap_or(kinds);
        kinds.split(',').all(|kind| KINDS.contains(&kind))
    };
    QUERY.operands(&words).is_some_and(|operands| {
        let shows_state = match operands.as_slice() {
            ["get" | "describe", rest @ ..] => rest.first().is_some_and(is_kind),
            _ => true,
        };
        QUERY.starts(&operands) && shows_state
    })
}
