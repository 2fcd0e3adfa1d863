//! git commands that only read.

use super::{
    read_only::avoids,
    word::{Word, texts},
};
use crate::protected::known_parts;

/// Options of the commands that show differences and commits which write a file, run a program, or read
/// submodules.
const BAD_LONG: [&str; 10] = [
    "--batch-command",
    "--submodule",
    "--recurse-submodules",
    "--output",
    "--output-directory",
    "--ext-diff",
    "--textconv",
    "--filters",
    "--open-files-in-pager",
    "--contents",
];

/// Returns true if git changes nothing with these arguments. Options before the command can change its whole
/// meaning.
pub(super) fn is_read_only(rest: &[Word]) -> bool {
    let text = |index: usize| rest.get(index).and_then(|word| word.text.as_deref());
    let rest = match (text(0), text(1)) {
        (Some("--no-pager"), _) => &rest[1..],
        (Some("-C"), Some(".")) => &rest[2..],
        _ => rest,
    };
    let Some((command, rest)) = rest.split_first() else { return false };
    let Some(command) = command.text.as_deref() else { return false };
    match command {
        "blame" | "cat-file" | "check-ignore" | "cherry" | "describe" | "diff" | "diff-tree" | "log"
        | "ls-files" | "ls-tree" | "name-rev" | "range-diff" | "whatchanged" | "merge-base" | "rev-list"
        | "rev-parse" | "shortlog" | "show" | "show-ref" | "status" | "count-objects" | "for-each-ref" => {
            rest.iter().all(|word| !word.may_be_option() || avoids(word, "", &BAD_LONG))
                && !shows_untracked(command, rest)
        }
        "grep" => {
            rest.iter().all(|word| !word.may_be_option() || avoids(word, "O", &BAD_LONG))
                && !shows_untracked(command, rest)
        }
        "branch" => lists(rest, &["--list", "-l", "--contains", "--merged", "--no-merged"], &BRANCH_OPTIONS),
        "tag" => lists(rest, &["--list", "-l", "--contains", "--merged", "--points-at"], &[]),
        "remote" => is_one_of(rest, &[&[], &["-v"], &["--verbose"]]),
        "reflog" => shows_log(rest),
        "stash" => shows_stash(rest),
        "worktree" => is_one_of(rest, &[&["list"]]),
        "submodule" => is_one_of(rest, &[&["status"]]),
        "config" => gets(rest),
        _ => false,
    }
}

/// Returns true if a command may show files that were not tracked when `git stash -u` put them away. They are in the
/// third parent of a stash, where they have lost the folders and names that protect them.
fn shows_untracked(command: &str, rest: &[Word]) -> bool {
    const OF_CONTENT: [&str; 9] =
        ["blame", "cat-file", "diff", "diff-tree", "grep", "log", "range-diff", "show", "whatchanged"];
    /// Starts of options that show each parent of a commit, also abbreviated.
    const PARENTS: [&str; 2] = ["-m", "--diff-m"];
    /// Starts of options that show the differences of all commits of a log.
    const DIFFERENCES: [&str; 13] =
        ["-p", "-u", "-U", "-c", "-L", "-W", "--bin", "--cc", "--color-w", "--dd", "--pat", "--un", "--word"];
    const ALL_COMMITS: [&str; 6] = ["--all", "--alt", "--glob", "--ref", "--walk-reflogs", "-g"];
    if !OF_CONTENT.contains(&command) {
        return false;
    }
    let texts = || rest.iter().filter_map(|word| word.text.as_deref());
    let has = |starts: &[&str]| texts().any(|text| starts.iter().any(|start| text.starts_with(start)));
    let is_log = matches!(command, "log" | "whatchanged");
    let follows = has(&PARENTS) || command == "whatchanged" || (is_log && has(&DIFFERENCES));
    let mut revisions = rest.iter().take_while(|word| word.text.as_deref() != Some("--"));
    (follows && has(&ALL_COMMITS)) || has(&["--stdin"]) || revisions.any(|word| is_untracked(word, follows))
}

/// Returns true for a revision such as `stash@{0}^3`, and for one that a search finds. The first two parents of a stash
/// have tracked files only. `follows` says that parents are shown too.
fn is_untracked(word: &Word, follows: bool) -> bool {
    let text = known_parts(word).join("*");
    let of_revision = |revision: &str| {
        let commit = revision.split(':').next().unwrap_or_default().trim_start_matches('^');
        let (name, steps) = commit.split_at(commit.find(['@', '^', '~']).unwrap_or(commit.len()));
        let steps =
            steps.split_once('}').filter(|_| steps.starts_with("@{")).map_or(steps, |(_, steps)| steps);
        let is_far = |parent: &str| {
            let digits: String = parent.chars().take_while(char::is_ascii_digit).collect();
            parent.starts_with('*')
                || digits.parse::<u64>().is_ok_and(|number| number > 2)
                || digits.len() > 9
        };
        let leaves_stash = match steps.as_bytes() {
            [] => !follows,
            [b'^']
            | [b'^', b'^' | b'~' | b'1' | b'2', ..]
            | [b'~']
            | [b'~', b'^' | b'~' | b'1'..=b'9', ..] => true,
            _ => false,
        };
        commit.split('^').skip(1).any(is_far) || (matches!(name, "stash" | "refs/stash") && !leaves_stash)
    };
    let is_unknown_stash = word.text.is_none() && text.contains("stash");
    let is_search = text.starts_with(":/") || text.contains("^{/");
    !text.starts_with('-') && (is_unknown_stash || is_search || text.split("..").any(of_revision))
}

const BRANCH_OPTIONS: [&str; 8] = ["-a", "-r", "-v", "-vv", "-av", "--all", "--remotes", "--show-current"];

/// Returns true for commands that list without operands, or with operands and a listing option.
fn lists(rest: &[Word], listing: &[&str], others: &[&str]) -> bool {
    let Some(words) = texts(rest) else { return false };
    let is_listing = words.iter().any(|word| listing.contains(word));
    // They list in another order or form.
    let is_form = |word: &str| {
        word.starts_with("--sort=")
            || word.starts_with("--format=")
            || word.strip_prefix("-n").is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
    };
    words.iter().all(|word| {
        listing.contains(word)
            || others.contains(word)
            || is_form(word)
            || (is_listing && !word.starts_with('-'))
    })
}

/// Returns true for `git reflog`, `git reflog show main -5`.
fn shows_log(rest: &[Word]) -> bool {
    let Some(mut words) = texts(rest) else { return false };
    if words.first() == Some(&"show") {
        words.remove(0);
    }
    let is_count = |word: &&str| {
        let digits = word.trim_start_matches("-n").trim_start_matches('-');
        digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    // Other words after `reflog` alone may be commands such as `expire`.
    let is_form = |word: &str| word.starts_with("--date=") || word.starts_with("--format=");
    words
        .iter()
        .all(|word| is_count(word) || matches!(*word, "--all" | "--oneline" | "HEAD") || is_form(word))
}

/// Returns true for `git stash list`, `git stash show -p stash@{0}`.
fn shows_stash(rest: &[Word]) -> bool {
    match texts(rest).as_deref() {
        Some(["list", options @ ..]) => options.iter().all(|option| {
            matches!(*option, "--oneline" | "--stat")
                || option.starts_with("--format=")
                || option.starts_with("--date=")
        }),
        Some(["show", words @ ..]) => words.iter().all(|word| {
            matches!(*word, "-p" | "--patch" | "--stat" | "--name-only")
                || word.starts_with("stash@")
                || word.bytes().all(|byte| byte.is_ascii_digit())
        }),
        _ => false,
    }
}

fn is_one_of(rest: &[Word], forms: &[&[&str]]) -> bool {
    texts(rest).is_some_and(|words| forms.contains(&words.as_slice()))
}

/// Returns true for `git config --get user.name`, `git config --list`.
fn gets(rest: &[Word]) -> bool {
    match texts(rest).as_deref() {
        Some(["--list" | "-l"]) => true,
        Some(["--get" | "--get-all", name]) => !name.starts_with('-'),
        Some([name]) => name.contains('.') && !name.starts_with('-'),
        _ => false,
    }
}
