//! Suggests the rule that "always" would store: narrow, and only if it is safe.

use std::{path::Path, sync::Arc};

use goose_extension::FetchedHost;

use super::{
    call::{CallToJudge, Origin},
    paths::Bases,
    rule::{Effect, FETCH, Rule, SHELL},
    shell::{self, Access, Coverage, Form, Segment, Word},
    tool_fingerprint::ToolFingerprint,
};

/// Commands that "always" allows with any further words. They build and test the user's project, or only show
/// something.
const OPEN: [&str; 42] = [
    "cargo bench",
    "cargo build",
    "cargo check",
    "cargo clippy",
    "cargo doc",
    "cargo fmt",
    "cargo test",
    "docker images",
    "docker logs",
    "docker ps",
    "gh issue list",
    "gh issue view",
    "gh pr checks",
    "gh pr diff",
    "gh pr list",
    "gh pr view",
    "gh run list",
    "gh run view",
    "git add",
    "git commit",
    "git fetch",
    "go build",
    "go fmt",
    "go test",
    "go vet",
    "gofmt",
    "kubectl describe",
    "kubectl get",
    "kubectl logs",
    "mkdir",
    "npm run build",
    "npm run lint",
    "npm run test",
    "npm test",
    "pnpm test",
    "pytest",
    "python -m pytest",
    "python3 -m pytest",
    "python3 -m unittest",
    "rustfmt",
    "touch",
    "yarn test",
];

/// Programs that run the script which is their first word. Without options before it, nothing else decides
/// what runs.
const INTERPRETERS: [&str; 10] =
    ["bash", "bun", "lua", "node", "perl", "php", "python", "python3", "ruby", "sh"];

/// Commands of interpreters that "always" offers with exactly their words.
const EXACT: [&str; 2] = ["python -m venv", "python3 -m venv"];

/// Programs that run other commands or are destructive. For these and for all
/// [launchers](shell::is_launcher), "always" is not offered, not even for the exact words.
const NEVER: [&str; 29] = [
    "busybox", "chmod", "chown", "curl", "dd", "doas", "env", "exec", "ionice", "kill", "killall", "ln",
    "mkfs", "mount", "nice", "nohup", "pip", "pkill", "rm", "rmdir", "rsync", "scp", "shred", "sudo", "tee",
    "toybox", "truncate", "unlink", "xargs",
];

/// Suggests a rule for a command, without its wrappers.
pub(super) fn command(call: &CallToJudge<'_>, segment: &Segment, bases: Bases<'_>) -> Option<Rule> {
    let is_offered = |form: &Form| {
        let program = form.words.first().and_then(|word| word.text.as_deref());
        start(&form.words, &OPEN).is_some()
            || start(&form.words, &EXACT).is_some()
            || program.is_some_and(|program| !is_never(program))
            || runs_script(&form.words, bases)
    };
    if !segment.forms.iter().all(is_offered) {
        return None;
    }
    let words = &segment.forms.iter().rfind(|form| form.coverage == Coverage::Segment)?.words;
    let texts = || words.iter().map(|word| word.text.as_deref()).collect::<Option<Vec<&str>>>();
    let program = words.first()?.text.as_deref()?;
    let pattern = match start(words, &OPEN) {
        Some(open) => format!("{open} *"),
        None if shell::is_always_read_only(program) => format!("{program} *"),
        None => texts()?.iter().map(|text| quoted(text)).collect::<Option<Vec<_>>>()?.join(" "),
    };
    let rule = rule(call, &format!("{} {pattern}", subject(call)))?;
    rule.command().is_some_and(|pattern| pattern.allows(words)).then_some(rule)
}

/// Returns the words at the start of a command that are one of these commands.
fn start(words: &[Word], commands: &[&str]) -> Option<String> {
    let first_words = |count: usize| -> Option<String> {
        let texts: Option<Vec<&str>> = words.get(..count)?.iter().map(|word| word.text.as_deref()).collect();
        Some(texts?.join(" "))
    };
    (1..=3).filter_map(first_words).find(|start| commands.contains(&start.as_str()))
}

/// Returns the script that a command runs by its path: `./build.sh`, `python3 tests/all.py`, and the installed tool
/// that `npx tsc` runs.
pub(super) fn script(words: &[Word]) -> Option<String> {
    let mut texts = words.iter().map_while(|word| word.text.as_deref());
    let program = texts.next()?;
    let mut first = || texts.next().filter(|script| !script.starts_with('-'));
    match program {
        "npx" => first().map(|tool| format!("node_modules/.bin/{tool}")),
        program if INTERPRETERS.contains(&program) => first().map(str::to_owned),
        program => Some(program.to_owned()).filter(|program| program.contains('/')),
    }
}

/// Returns true if a command runs a script of the project.
fn runs_script(words: &[Word], bases: Bases<'_>) -> bool {
    let Some(script) = script(words).filter(|script| !script.starts_with(['/', '~'])) else { return false };
    let working = bases.known.resolve(bases.working);
    let (Ok(working), Ok(file)) = (working, bases.resolve(&script)) else { return false };
    file.is_file() && file.starts_with(working)
}

/// Suggests a rule for the files next to a file: only in a folder of the project, without hidden files, and
/// not for subfolders.
pub(super) fn path(access: Access, resolved: &Path, bases: Bases<'_>) -> Option<Rule> {
    let working = bases.known.resolve(bases.working).ok()?;
    let folder = resolved.parent().filter(|folder| folder.starts_with(&working))?;
    let home = bases.home.and_then(|home| bases.known.resolve(home).ok());
    if folder.parent().is_none() || home.is_some_and(|home| home.starts_with(folder)) {
        return None;
    }
    let inside = folder.strip_prefix(&working).ok()?;
    let is_hidden = inside.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'));
    let folder = folder.to_str().filter(|folder| !folder.contains('*') && folder.trim() == *folder)?;
    let verb = if access == Access::Read { "read" } else { "write" };
    let rule = Rule::parse(Effect::Allow, &format!("{verb} {folder}/*")).ok()?;
    rule.path().is_some_and(|pattern| !is_hidden && pattern.allows(resolved, bases)).then_some(rule)
}

/// Suggests a rule that allows a protected file, by its own path.
pub(super) fn protected(access: Access, resolved: &Path, bases: Bases<'_>) -> Option<Rule> {
    let path = resolved.to_str().filter(|path| !path.contains('*') && path.trim() == *path)?;
    let verb = if access == Access::Read { "read" } else { "write" };
    let rule = Rule::parse(Effect::Allow, &format!("{verb} {path}")).ok()?;
    rule.path().is_some_and(|pattern| pattern.allows(resolved, bases)).then_some(rule)
}

/// Suggests a rule for a host. With its port, a rule would also allow a public name that leads into a private network.
pub(super) fn host(host: &FetchedHost) -> Option<Rule> {
    let shown = if host.is_local() { host.to_string() } else { host.name().to_owned() };
    let rule = Rule::parse(Effect::Allow, &format!("{FETCH} {shown}")).ok()?;
    rule.host().is_some_and(|pattern| pattern.matches(host)).then_some(rule)
}

/// Suggests a rule for all calls of a tool with its current definition.
pub(super) fn tool(call: &CallToJudge<'_>) -> Option<Rule> {
    if call.may_destroy() { None } else { rule(call, call.name()) }
}

fn rule(call: &CallToJudge<'_>, text: &str) -> Option<Rule> {
    let rule = Rule::parse(Effect::Allow, text).ok()?;
    Some(match call.origin {
        Origin::Own => rule,
        Origin::Foreign => rule.with_tool_fingerprint(Arc::new(ToolFingerprint::new(call.tool))),
    })
}

fn subject<'a>(call: &CallToJudge<'a>) -> &'a str {
    match call.origin {
        Origin::Own if call.runs_script() => SHELL,
        Origin::Own => call.bare_name,
        Origin::Foreign => call.name(),
    }
}

/// Returns true if "always" is not offered for a program. This includes programs with a path: the next call
/// may replace the file.
fn is_never(program: &str) -> bool {
    let versioned = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    program.contains('/')
        || NEVER.contains(&program)
        || NEVER.contains(&versioned)
        || shell::is_launcher(program)
        || versioned.starts_with("mkfs")
}

/// Quotes a word for a pattern.
fn quoted(text: &str) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=+,@%~".contains(c);
    match text {
        _ if !text.is_empty() && text.chars().all(is_plain) => Some(text.to_owned()),
        _ if text.chars().any(char::is_control) => None,
        _ if !text.contains('\'') => Some(format!("'{text}'")),
        _ if !text.contains('"') => Some(format!("\"{text}\"")),
        _ => None,
    }
}
