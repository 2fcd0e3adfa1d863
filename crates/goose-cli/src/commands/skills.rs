//! `goose skills`: the skills that agents are told about.

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::anyhow;
use clap::Subcommand;
use goose::{
    config::Paths,
    platform::{Skill, SkillPlaces},
};
use serde_json::json;

use crate::{
    args::JsonArgs,
    output::{BAD, FAINT, NAME, Output, WARNING, print},
    settings::{ConfigArgs, working_folder},
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose skills list
  goose skills show code-review
  goose skills validate .claude/skills/*

A skill is a folder with a SKILL.md. They are found in skills/ in the config
folder, in ~/.agents/skills and ~/.claude/skills, and in .goose/skills,
.agents/skills and .claude/skills of a project that you trust.";

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List the skills
    List(JsonArgs),
    /// Show the text of a skill
    Show {
        /// Name of the skill
        name: String,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// Check skills
    Validate {
        /// Folders of skills, or their SKILL.md files
        #[arg(required = true, value_name = "SKILL")]
        skills: Vec<PathBuf>,
    },
}

/// Runs a subcommand.
pub(crate) fn run(command: SkillsCommand, _: &ConfigArgs) -> anyhow::Result<ExitCode> {
    match command {
        SkillsCommand::List(form) => {
            let found = find()?;
            print(&form, || found.iter().map(row).collect::<Vec<_>>(), |out| list(out, &found))
        }
        SkillsCommand::Show { name, form } => {
            let found = find()?;
            let skill = found.iter().find(|skill| skill.name == name).ok_or_else(|| {
                anyhow!("there is no skill '{name}'; `goose skills list` shows those that there are")
            })?;
            print(
                &form,
                || row(skill),
                |out| {
                    let text = out.foreign(skill.text.trim_end()).into_owned();
                    out.line(text)
                },
            )
        }
        SkillsCommand::Validate { skills } => validate(&skills),
    }
}

/// Returns the skills of the working folder, trusted or not.
pub(crate) fn find() -> anyhow::Result<Vec<Skill>> {
    let folder = working_folder()?;
    let home = env::var_os("HOME");
    Ok(SkillPlaces::new(&Paths::from_env()?, &folder, home.as_deref().map(Path::new)).find())
}

fn row(skill: &Skill) -> serde_json::Value {
    json!({
        "name": skill.name,
        "description": skill.description,
        "source": skill.origin,
        "path": skill.path,
        "trusted": skill.is_trusted,
        "problems": skill.problems(),
    })
}

/// Lists skills.
pub(crate) fn list(out: &mut Output, found: &[Skill]) -> std::io::Result<()> {
    if found.is_empty() {
        return out.line("There are no skills. `goose skills --help` says where they are searched.");
    }
    for skill in found {
        let name = out.foreign(&skill.name).into_owned();
        let origin = out.paint(FAINT, format!("({})", skill.origin));
        out.line(format_args!("{} {origin}", out.paint(NAME, name)))?;
        out.indented(4, anstyle::Style::new(), &skill.description)?;
        if !skill.is_trusted {
            out.indented(4, WARNING, "not trusted, so not used; `goose configure trust` asks you")?;
        }
    }
    Ok(())
}

fn validate(skills: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let mut out = Output::new();
    let mut is_valid = true;
    for path in skills {
        let problems = match Skill::open(path) {
            Ok(skill) => skill.problems(),
            Err(error) => vec![error.to_string()],
        };
        is_valid &= problems.is_empty();
        let shown = path.display().to_string();
        let shown = out.foreign(&shown).into_owned();
        if problems.is_empty() {
            out.line(format_args!("{shown}: valid"))?;
        }
        for problem in problems {
            let problem = out.paint(BAD, out.foreign(&problem).into_owned());
            out.line(format_args!("{shown}: {problem}"))?;
        }
    }
    out.finish()?;
    Ok(if is_valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
