//! `goose agents`: the agents that can be chosen, their modes and tools; and new ones.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, ensure};
use clap::Subcommand;
use goose::{
    agent_manager::OpenOptions,
    agents::{
        agent::Agent,
        catalog::{AgentCatalog, AgentOrigin, CatalogEntry, read_agents, unknown_agent_keys},
        extension_manager::ExtensionStatus,
        manifest::{AgentManifest, AgentMode, GroupAccess},
        orchestrator_agent::RouteSettings,
    },
    config::Paths,
    services::Phase,
};
use goose_extension::ToolGroup;
use goose_fs::AtomicFile;
use serde_json::json;

use super::{explained, route};
use crate::{
    args::JsonArgs,
    builtins, escape,
    output::{BAD, FAINT, GOOD, NAME, Output, WARNING, print, print_json, say},
    runtime::{agent_manager, run_to_end},
    settings::{self, ConfigArgs},
    stderr,
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose agents list
  goose agents show coding-agent/backend
  goose agents tools coding-agent security --json
  goose agents route 'Add an endpoint for orders and test it'
  goose agents new reviewer
  goose agents validate .goose/agents/*

Start a session with one of them: goose session --agent coding-agent/backend";

const NEW_AGENT: &str = "\
# An agent of your own. `goose agents validate FILE` checks it; `--agent NAME` uses it.
name: {name}
description: One sentence about what it does.
modes:
  - slug: main
    description: One sentence about this mode.
    when_to_use: The requests that it is for.
    # Groups: read, edit, command, fetch, browser; the name of an extension; mcp for all services.
    tool_groups: [read, [edit, {fileRegex: '\\.md$', description: Markdown files only}]]
    dependencies: [developer]
    instructions: |
      What you do, what you do not do, and what you hand back.
";

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents and their modes
    #[command(after_help = "Examples:\n  goose agents list\n  goose agents list --json")]
    List(JsonArgs),
    /// Show an agent's manifest
    #[command(
        after_help = "Examples:\n  goose agents show coding-agent\n  goose agents show coding-agent/backend --json"
    )]
    Show {
        /// Name of the agent, such as 'coding-agent' or 'coding-agent/backend'
        agent: String,
        /// Print the manifest in the format of the Agent Communication Protocol
        #[arg(long)]
        acp: bool,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// Show the tools and services that a mode has here
    #[command(
        after_help = "Examples:\n  goose agents tools coding-agent\n  goose agents tools coding-agent security --json"
    )]
    Tools {
        /// Name of the agent
        agent: String,
        /// Name of the mode; the first one by default
        mode: Option<String>,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// Show which agent a request would go to; runs nothing
    #[command(after_help = "Examples:\n  goose agents route 'Add an endpoint for orders and test it'")]
    Route {
        /// The request
        #[arg(allow_hyphen_values = true)]
        text: String,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// Check agent files
    #[command(after_help = "Examples:\n  goose agents validate .goose/agents/*")]
    Validate {
        /// Files to check
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Create an agent in the config folder
    #[command(after_help = "Examples:\n  goose agents new reviewer\n  goose agents new reviewer --project")]
    New {
        /// Name of the agent
        name: String,
        /// Create it in .goose/agents of the working folder
        #[arg(long)]
        project: bool,
    },
}

/// Runs a subcommand.
pub(crate) fn run(command: AgentsCommand, config: &ConfigArgs) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let folder = settings::working_folder()?;
    match command {
        AgentsCommand::List(form) => list(&AgentCatalog::load(&paths, &folder), &form),
        AgentsCommand::Show { agent, acp, form } => {
            let (manifest, mode) = AgentCatalog::load(&paths, &folder).find(&agent)?;
            show(&manifest, agent.contains('/').then_some(&mode), acp, &form)
        }
        AgentsCommand::Tools { agent, mode, form } => {
            let name = mode.map_or_else(|| agent.clone(), |mode| format!("{agent}/{mode}"));
            let (manifest, mode) = AgentCatalog::load(&paths, &folder).find(&name)?;
            let settings = settings::look_in(&paths, config, Some(&folder)).settings?;
            let options = OpenOptions::new(settings.profile(None)?)
                .with_agent(manifest, mode)
                .with_working_dir(&folder);
            run_to_end(async {
                let agents = agent_manager(settings);
                let agent = agents.agent(options).await.map_err(explained)?;
                agent.toolset.list().await;
                let shown = tools(&agent, &form);
                agents.pool().shutdown().await;
                shown
            })
        }
        AgentsCommand::Route { text, form } => {
            let settings = RouteSettings::load(&settings::look(&paths, config).settings?)?;
            route::run(&AgentCatalog::load(&paths, &folder), settings, &text, &form)
        }
        AgentsCommand::Validate { files } => {
            let settings = settings::look_in(&paths, config, Some(&folder)).settings.ok();
            let catalog = AgentCatalog::load(&paths, &folder);
            let is_known = |name: &str| {
                let mut configured = settings.iter().flat_map(|settings| settings.extensions());
                builtins::find(name).is_some()
                    || configured.any(|entry| entry.is_called(name))
                    || catalog.agents.iter().any(|entry| entry.manifest.name == name)
            };
            validate(&files, &is_known)
        }
        AgentsCommand::New { name, project } => {
            let base = if project { folder.join(".goose") } else { paths.config };
            new(&name, &base.join("agents"))
        }
    }
}

fn list(catalog: &AgentCatalog, form: &JsonArgs) -> anyhow::Result<ExitCode> {
    let row = |entry: &CatalogEntry| {
        let modes: Vec<&str> = entry.manifest.modes.iter().map(|mode| mode.slug.as_str()).collect();
        let (source, file) = origin(&entry.origin);
        json!({
            "name": entry.manifest.name,
            "description": entry.manifest.description,
            "modes": modes,
            "source": source,
            "file": file,
        })
    };
    let document = || {
        let agents: Vec<_> = catalog.agents.iter().map(row).collect();
        let untrusted: Vec<&Path> = catalog.untrusted.iter().map(|file| file.path()).collect();
        let problems: Vec<_> =
            catalog.problems.iter().map(|(file, reason)| json!({"file": file, "reason": reason})).collect();
        let replaced: Vec<_> =
            catalog.replaced.iter().map(|(name, file)| json!({"agent": name, "file": file})).collect();
        json!({"agents": agents, "untrusted": untrusted, "problems": problems, "replaced": replaced})
    };
    print(form, document, |out| print_catalog(out, catalog))
}

fn print_catalog(out: &mut Output, catalog: &AgentCatalog) -> io::Result<()> {
    for entry in &catalog.agents {
        let (source, _) = origin(&entry.origin);
        let name = out.paint(NAME, escape::line(&entry.manifest.name));
        let details = format!("({source}) {}", escape::line(&entry.manifest.description));
        let details = out.paint(FAINT, details);
        out.line(format_args!("{name}  {details}"))?;
        let width = entry.manifest.modes.iter().map(|mode| mode.slug.len()).max().unwrap_or_default();
        for mode in &entry.manifest.modes {
            let about = out.paint(FAINT, escape::line(&mode.description));
            out.line(format_args!("  {:width$}  {about}", mode.slug))?;
        }
    }
    for (name, file) in &catalog.replaced {
        let line = format!("{} replaces the built-in agent {name}.", file.display());
        let line = out.paint(WARNING, escape::line(&line));
        out.line(line)?;
    }
    for (file, reason) in &catalog.problems {
        let (path, reason) = (out.paint(BAD, escape::path(file)), escape::text(reason));
        out.line(format_args!("{path}: {reason}"))?;
    }
    for file in &catalog.untrusted {
        let path = out.paint(WARNING, escape::path(file.path()));
        out.line(format_args!(
            "{path} is not used because it is not trusted. Trust it with `goose configure trust`."
        ))?;
    }
    Ok(())
}

fn origin(origin: &AgentOrigin) -> (&'static str, Option<&Path>) {
    match origin {
        AgentOrigin::Builtin => ("built in", None),
        AgentOrigin::User(path) => ("yours", Some(path)),
        AgentOrigin::Project(path) => ("project", Some(path)),
    }
}

fn show(
    manifest: &AgentManifest,
    mode: Option<&AgentMode>,
    acp: bool,
    form: &JsonArgs,
) -> anyhow::Result<ExitCode> {
    if acp {
        return print_json(&manifest.to_acp());
    }
    print(
        form,
        || manifest,
        |out| {
            let name = out.paint(NAME, escape::line(&manifest.name));
            out.line(format_args!("{name}  {}", escape::line(&manifest.description)))?;
            if let Some(connection) = &manifest.connection {
                out.line(format_args!("  reached   {}", escape::line(&connection.shown_target())))?;
            }
            let mut shown = manifest.modes.iter().filter(|it| mode.is_none_or(|mode| mode.slug == it.slug));
            shown.try_for_each(|mode| show_mode(out, mode))
        },
    )
}

fn show_mode(out: &mut Output, mode: &AgentMode) -> io::Result<()> {
    let group = |access: &GroupAccess| match &access.files {
        Some(files) => format!("{} ({files})", access.group),
        None => access.group.clone(),
    };
    let groups: Vec<String> = mode.tool_groups.iter().map(group).collect();
    let dependencies: Vec<&str> = mode.dependencies.iter().map(|dependency| dependency.name()).collect();
    let name = out.paint(NAME, escape::line(&mode.slug));
    out.line(format_args!("\n{name}  {}", escape::line(&mode.description)))?;
    let rows = [
        ("use for", mode.when_to_use.clone()),
        ("tools", groups.join(", ")),
        ("services", dependencies.join(", ")),
        ("models", mode.recommended_models.join(", ")),
    ];
    for (label, text) in rows.into_iter().filter(|(_, text)| !text.is_empty()) {
        out.line(format_args!("  {label:8}  {}", escape::line(&text)))?;
    }
    out.indented(2, FAINT, &mode.instructions)
}

fn tools(agent: &Agent, form: &JsonArgs) -> anyhow::Result<ExitCode> {
    let tools = agent.toolset.tools();
    let problems = problems(agent);
    let problem = |(name, reason): &(String, String)| json!({"name": name, "reason": reason});
    let document = || {
        let tools: Vec<_> = tools.iter().map(|tool| json!({"name": tool.name()})).collect();
        let unresolved: Vec<_> =
            agent.unresolved.iter().map(|it| json!({"name": it.name, "reason": it.to_string()})).collect();
        let mut document = json!({
            "agent": agent.manifest.name,
            "mode": agent.mode.slug,
            "tools": tools,
            "services": agent.extensions.names(),
            "unresolved": unresolved,
        });
        if !problems.is_empty() {
            document["problems"] = problems.iter().map(problem).collect();
        }
        document
    };
    let printed = print(form, document, |out| {
        for tool in tools.iter() {
            out.line(escape::line(tool.name()))?;
        }
        if tools.is_empty() {
            out.line("This mode has no tools.")?;
        }
        for unresolved in &agent.unresolved {
            let note = out.paint(FAINT, escape::text(&unresolved.to_string()).into_owned());
            out.line(note)?;
        }
        Ok(())
    })?;
    for (name, reason) in &problems {
        stderr::line(format_args!(
            "{WARNING}The tools of {} are missing: {}. Try it alone with: goose extension status {0}{WARNING:#}",
            escape::line(name),
            escape::text(reason.trim_end_matches('.'))
        ));
    }
    Ok(printed)
}

/// The services whose tools are not known because they did not start, each with the reason.
fn problems(agent: &Agent) -> Vec<(String, String)> {
    let services = agent.extensions.status().into_iter();
    let problem = |ExtensionStatus { name, service, .. }: ExtensionStatus| match service.phase {
        Phase::Starting => Some((name, "it has not started yet".to_owned())),
        Phase::Degraded | Phase::Dead => {
            Some((name, service.reason.unwrap_or_else(|| "it does not start".to_owned())))
        }
        _ => None,
    };
    services.filter(|status| status.tools == 0).filter_map(problem).collect()
}

/// Checks files. `is_known` says whether there is an extension or agent of a name.
fn validate(files: &[PathBuf], is_known: &dyn Fn(&str) -> bool) -> anyhow::Result<ExitCode> {
    let mut out = Output::new();
    let mut are_valid = true;
    for file in files {
        let path = escape::path(file);
        match read_agents(file) {
            Ok(agents) => {
                let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
                let unknown_keys = unknown_agent_keys(file).into_iter().map(|key| key.to_string());
                let unknown = agents.iter().flat_map(|agent| unknown_names(agent, is_known));
                let warnings: Vec<String> = unknown_keys.chain(unknown).collect();
                let (style, state) = if warnings.is_empty() { (GOOD, "ok ") } else { (WARNING, "warning") };
                let state = out.paint(style, state);
                out.line(format_args!("{state} {path}: {}", names.join(", ")))?;
                for warning in warnings {
                    let warning = out.paint(WARNING, escape::line(&warning).into_owned());
                    out.line(format_args!("    {warning}"))?;
                }
            }
            Err(error) => {
                are_valid = false;
                let bad = out.paint(BAD, "bad");
                out.line(format_args!("{bad} {path}: {}", escape::text(&error.to_string())))?;
            }
        }
    }
    out.finish()?;
    Ok(if are_valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The groups and dependencies of an agent that nothing has here. It is valid all the same: they may be installed
/// later.
fn unknown_names(agent: &AgentManifest, is_known: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut warnings = Vec::new();
    for mode in &agent.modes {
        let groups = mode.tool_groups.iter().map(|access| access.group.as_str());
        let is_group = |group: &str| group == "mcp" || group.parse::<ToolGroup>().is_ok();
        warnings.extend(groups.filter(|group| !is_group(group) && !is_known(group)).map(|group| {
            format!("{}: no group and no extension is called '{group}', so it gives no tools", mode.slug)
        }));
        let dependencies = mode.dependencies.iter().map(|dependency| dependency.name());
        warnings.extend(
            dependencies
                .filter(|name| !is_known(name))
                .map(|name| format!("{}: no extension and no agent is called '{name}'", mode.slug)),
        );
    }
    warnings
}

fn new(name: &str, folder: &Path) -> anyhow::Result<ExitCode> {
    let mode = AgentMode::new("main", ["read"], ["developer"]);
    let probe = AgentManifest { name: name.to_owned(), modes: vec![mode], ..AgentManifest::default() };
    probe.validate()?;
    let file = folder.join(format!("{name}.yaml"));
    ensure!(!file.exists(), "{} exists already; choose another name or edit it", file.display());
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    let text = NEW_AGENT.replace("{name}", name);
    AtomicFile::new(&file)
        .shared()
        .write(text.as_bytes())
        .with_context(|| format!("{} cannot be written", file.display()))?;
    say(&format!("Created {}. Edit it, then run: goose session --agent {name}", file.display()))
}
