//! Suggestions for misspelled commands and flags. clap compares letters without regard to swapped ones: it has none for
//! `rnu`, and `--mode` for `--modle`.

use std::ffi::OsString;

use clap::{
    Command, Error,
    error::{ContextKind, ContextValue},
};

/// Maximum number of typing errors in a word.
const MAX_ERRORS: usize = 2;

/// Commands of goose 1.52 that are not here, and what to use instead.
const ELSEWHERE: [(&str, &str); 6] = [
    ("gateway", GATEWAY),
    ("gw", GATEWAY),
    (
        "term",
        "to go on with the latest session of a folder: goose run --resume 'TEXT'. Nothing is hooked into your shell",
    ),
    (
        "plugin",
        "skills go into the folder 'skills' and agents into 'agents' in the config folder (`goose info` shows it), \
         MCP servers into config.yaml",
    ),
    ("update", "install the new version the way this one was installed"),
    (
        "search",
        "`goose models list` has the models that goose knows; `goose models use FILE` uses any GGUF file",
    ),
];

const GATEWAY: &str = "goose has no gateways to messengers. Other programs use the agents with `goose serve` or \
                       `goose mcp agents`, or run tasks with `goose run --output-format stream-json`";

/// Flags of goose 1.52 that are not here, and what to use instead.
const FLAGS_ELSEWHERE: [(&str, &str); 4] = [
    ("--container", "to run an extension in a container: --with-extension 'docker exec -i ID COMMAND'"),
    ("--nostr", NOSTR),
    ("--relay", NOSTR),
    ("--check", "to test the connection to the provider: goose doctor"),
];

const NOSTR: &str =
    "to pass a session on: goose session export -o FILE.json, and goose session import FILE.json";

/// Replaces the suggestion of an error by the command or flag with the fewest typing errors.
pub(crate) fn improved(mut error: Error, mut root: Command, args: &[OsString]) -> Error {
    root.build();
    let mut command = root;
    for word in args.iter().skip(1).filter_map(|word| word.to_str()) {
        match command.find_subcommand(word) {
            Some(next) => command = next.clone(),
            None => break,
        }
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    if let Some(typed) = text(ContextKind::InvalidSubcommand) {
        if let Some(advice) = advice(&ELSEWHERE, &typed) {
            error.remove(ContextKind::SuggestedSubcommand);
            error.insert(ContextKind::Suggested, advice);
            return error;
        }
        let names = command.get_subcommands().flat_map(Command::get_name_and_visible_aliases);
        if let Some(name) = nearest(&typed, names.map(str::to_owned)) {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![name]));
        }
    } else if let Some(typed) = text(ContextKind::InvalidArg) {
        if let Some(advice) = advice(&FLAGS_ELSEWHERE, &typed) {
            error.remove(ContextKind::SuggestedArg);
            error.insert(ContextKind::Suggested, advice);
            return error;
        }
        let flags = command.get_arguments().filter(|flag| !flag.is_hide_set());
        let flags = flags.filter_map(|flag| Some(format!("--{}", flag.get_long()?)));
        if let Some(flag) = nearest(&typed, flags) {
            error.insert(ContextKind::SuggestedArg, ContextValue::String(flag));
            error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
        }
    }
    error
}

fn advice(elsewhere: &[(&str, &'static str)], typed: &str) -> Option<ContextValue> {
    let (_, advice) = elsewhere.iter().find(|(name, _)| *name == typed)?;
    Some(ContextValue::StyledStrs(vec![(*advice).into()]))
}

fn nearest(typed: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let rated = names.map(|name| (strsim::osa_distance(typed, &name), name));
    let (errors, name) = rated.min_by_key(|(errors, _)| *errors)?;
    // In a short word, two errors make another word.
    (errors <= MAX_ERRORS.min(typed.len() / 3)).then_some(name)
}
