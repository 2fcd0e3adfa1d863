//! `goose permissions list`: the rules, the protected files, and rules that name no known tool.

use std::{io, path::Path, process::ExitCode};

use goose::permission::{Effect, ProtectedFile, Rule};
use serde::Serialize;

use super::{Place, style};
use crate::{
    args::JsonArgs,
    builtins, escape,
    output::{self, BAD, FAINT, NAME, Output, WARNING},
};

/// Width of the column of effects.
const EFFECTS: usize = 5;

/// The document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    mode: &'static str,
    from: Option<&'a str>,
    file: Option<&'a Path>,
    problem: Option<&'a str>,
    rules: Vec<Row>,
    protected: &'a [Protected],
    unknown_tools: Vec<String>,
}

/// Files that need approval in every mode.
#[derive(Serialize)]
struct Protected {
    group: &'static str,
    access: &'static str,
    path: String,
    reason: &'static str,
}

impl Protected {
    fn new(file: ProtectedFile) -> Self {
        let access = match (file.reads, file.writes) {
            (true, true) => "read and write",
            (true, false) => "read",
            _ => "write",
        };
        Self { group: file.group, access, path: file.path, reason: file.reason }
    }

    /// The path as people write it: most are meant in any folder.
    fn shown(&self) -> &str {
        self.path.strip_prefix("/**/").unwrap_or(&self.path)
    }
}

#[derive(Serialize)]
struct Row {
    effect: &'static str,
    tool: String,
    rule: String,
}

impl Row {
    fn new(rule: &Rule) -> Self {
        let tool = rule.text().split_whitespace().next().unwrap_or_default();
        Self { effect: rule.effect().as_str(), tool: tool.to_owned(), rule: rule.text().to_owned() }
    }
}

/// Shows the rules.
pub(super) fn run(place: &Place, form: &JsonArgs) -> anyhow::Result<ExitCode> {
    let permissions = &place.permissions;
    let (rules, problem) = rules(place);
    let protected: Vec<Protected> = permissions.protected_files().into_iter().map(Protected::new).collect();
    let unknown = unknown(place);
    let document = || Document {
        mode: place.mode().as_str(),
        from: place.mode_from.as_deref(),
        file: permissions.file(),
        problem: problem.as_deref(),
        rules: rules.iter().map(Row::new).collect(),
        protected: &protected,
        unknown_tools: unknown.iter().map(ToString::to_string).collect(),
    };
    output::print(form, document, |out| {
        print(out, place, &rules, &unknown)?;
        print_protected(out, &protected)?;
        print_problem(out, problem.as_deref())
    })
}

/// Shows the rules of a session, with those that end with it and without the protected files.
pub(super) fn show(place: &Place) -> io::Result<()> {
    let mut out = Output::new();
    let (rules, problem) = rules(place);
    print(&mut out, place, &rules, &unknown(place))?;
    let of_session = place.permissions.session_rules();
    if !of_session.is_empty() {
        out.line("")?;
        out.line(out.paint(NAME, "Rules of this session"))?;
        of_session.iter().try_for_each(|rule| print_rule(&mut out, rule))?;
    }
    print_problem(&mut out, problem.as_deref())?;
    out.line("")?;
    let more = "To change the mode: /mode MODE. Protected files: `goose permissions list`";
    out.line(out.paint(FAINT, more))?;
    out.finish()
}

/// Returns the rules of the file, those that win first, or the problem with it.
fn rules(place: &Place) -> (Vec<Rule>, Option<String>) {
    match place.permissions.rules() {
        Ok(rules) => {
            let mut rules = rules.to_vec();
            rules.sort_by_key(|rule| std::cmp::Reverse(rule.effect()));
            (rules, None)
        }
        Err(error) => {
            (Vec::new(), Some(format!("{error}. Until this is fixed, every tool call needs approval.")))
        }
    }
}

/// Returns the rules that name no known tool.
fn unknown(place: &Place) -> Vec<Rule> {
    let extensions: Vec<&str> = place.settings.extensions().iter().map(|entry| entry.key.as_str()).collect();
    let own: Vec<String> = builtins::tools().iter().map(|tool| tool.name().to_owned()).collect();
    place.permissions.rules_without_tool(&extensions, &own).unwrap_or_default()
}

fn print_problem(out: &mut Output, problem: Option<&str>) -> io::Result<()> {
    match problem {
        Some(problem) => out.line(format_args!("{} {}", out.paint(BAD, "problem:"), escape::text(problem))),
        None => Ok(()),
    }
}

fn print(out: &mut Output, place: &Place, rules: &[Rule], unknown: &[Rule]) -> io::Result<()> {
    let from = place.mode_from.as_deref().unwrap_or("the default");
    let mode = out.paint(NAME, place.mode());
    out.line(format_args!("Mode: {mode}  {}", out.paint(FAINT, format!("({})", escape::line(from)))))?;
    let file = place.permissions.file().map(|file| file.display().to_string()).unwrap_or_default();
    out.line("")?;
    out.line(format_args!("{}  {}", out.paint(NAME, "Rules"), out.paint(FAINT, escape::line(&file))))?;
    if rules.is_empty() {
        out.line("  none")?;
    }
    for rule in rules {
        print_rule(out, rule)?;
    }
    if !unknown.is_empty() {
        out.line("")?;
        out.line(out.paint(WARNING, "These rules name no known tool; check their spelling:"))?;
        for rule in unknown {
            print_rule(out, rule)?;
        }
    }
    Ok(())
}

/// Prints the protected files by group.
fn print_protected(out: &mut Output, protected: &[Protected]) -> io::Result<()> {
    out.line("")?;
    out.line(format_args!("{}  these need approval in every mode", out.paint(NAME, "Protected files")))?;
    for files in protected.chunk_by(|one, next| one.group == next.group) {
        out.line("")?;
        out.line(format_args!("  {}", files[0].group))?;
        for access in ["read and write", "write", "read"] {
            let of_access = files.iter().filter(|file| file.access == access);
            let paths: Vec<&str> = of_access.map(Protected::shown).collect();
            if !paths.is_empty() {
                out.line(format_args!("    {}", out.paint(FAINT, format!("{access}:"))))?;
                out.indented(6, anstyle::Style::new(), &escape::line(&paths.join("  ")))?;
            }
        }
    }
    Ok(())
}

fn print_rule(out: &mut Output, rule: &Rule) -> io::Result<()> {
    let effect = out.paint(style(rule.effect()), format!("{:EFFECTS$}", rule.effect().as_str()));
    let pinned = match (rule.effect(), rule.fingerprint()) {
        (Effect::Allow, Some(_)) => "  (while the tool is unchanged)",
        _ => "",
    };
    out.line(format_args!("  {effect}  {}{}", escape::line(rule.text()), out.paint(FAINT, pinned)))
}
