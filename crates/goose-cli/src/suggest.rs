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
const ELSEWHERE: [(&str, &str); 5] = [
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
];

const GATEWAY: &str = "goose has no gateways to messengers. Other programs run tasks with \
                       `goose run --output-format stream-json`, or use the agents with `goose mcp agents`";

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
        if let Some((_, advice)) = ELSEWHERE.iter().find(|(name, _)| *name == typed) {
            error.remove(ContextKind::SuggestedSubcommand);
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*advice).into()]));
            return error;
        }
        let names = command.get_subcommands().flat_map(Command::get_name_and_visible_aliases);
        if let Some(name) = nearest(&typed, names.map(str::to_owned)) {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![name]));
        }
    } else if let Some(typed) = text(ContextKind::InvalidArg) {
        let flags = command.get_arguments().filter(|flag| !flag.is_hide_set());
        let flags = flags.filter_map(|flag| Some(format!("--{}", flag.get_long()?)));
        if let Some(flag) = nearest(&typed, flags) {
            error.insert(ContextKind::SuggestedArg, ContextValue::String(flag));
            error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
        }
    }
    error
}

fn nearest(typed: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let rated = names.map(|name| (strsim::osa_distance(typed, &name), name));
    let (errors, name) = rated.min_by_key(|(errors, _)| *errors)?;
    // In a short word, two errors make another word.
    (errors <= MAX_ERRORS.min(typed.len() / 3)).then_some(name)
}
