//! From the command line to a conversation: settings, model, store, permissions, extensions, exchange.
//!
//! Everything here happens before the model is asked for the first time, so nothing is done that the first request does
//! not need: no history, no list of sessions, no grammar. A new session is created on threads of its own meanwhile.

use std::{fs, io::Read as _, path::Path, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow, bail, ensure};
use goose::{
    agent_manager::{AgentManager, OpenOptions},
    agents::{
        catalog::{AgentCatalog, UnknownAgent},
        manifest::{AgentManifest, AgentMode},
        orchestrator_agent::SplitSetting,
    },
    config::{Paths, Profile, Settings, SettingsSource, TrustStore},
    exchange::{Event, Exchange, replay},
    permission::Permissions,
    session::{
        LoadedSession, NewSession, PendingSession, Session, SessionStore, SessionSummary, schedule::JobId,
    },
};
use goose_mcp::LocalBackend;
use serde_json::Value;

use super::{explained, project, run::recipe::RecipeRun, session::importable};
use crate::{
    args::{Consent, ConversationArgs, ExtensionArgs, ModelArgs},
    builtins::SERVICES,
    choice::{self, Verbosity},
    escape,
    local::{self, Fetching},
    output::WARNING,
    runtime::agent_manager,
    selection, stderr,
    terminal::{
        input::Input,
        notify::{self, Notify},
    },
};

/// The time that everything may take to end.
pub(crate) const END_TIME: Duration = Duration::from_secs(5);

/// The same if goose is asked to end, after the reply had its time already: five seconds in all.
pub(crate) const LEAVE_TIME: Duration = Duration::from_secs(2);

/// The largest schema.
const MAX_SCHEMA_BYTES: u64 = 1024 * 1024;

/// The conversation that the command line asks for.
pub(crate) struct SetupOptions<'a> {
    pub(crate) model: &'a ModelArgs,
    pub(crate) conversation: &'a ConversationArgs,
    pub(crate) which: &'a ExtensionArgs,
    /// Additional instructions for the model.
    pub(crate) system: Option<&'a str>,
    /// The schema that the answer must fit.
    pub(crate) schema: Option<&'a Value>,
    pub(crate) keep: Keep,
    /// The job that the conversation is a run of.
    pub(crate) scheduled_by: Option<&'a JobId>,
    /// Says whether the person is told what goose chooses.
    pub(crate) verbosity: Verbosity,
    /// The first request, if it is known.
    pub(crate) request: Option<&'a str>,
    /// The recipe that is run.
    pub(crate) recipe: Option<&'a RecipeRun>,
    pub(crate) checkpoints: Checkpoints,
}

/// Says whether changes of files can be taken back, which only a conversation at the terminal has commands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checkpoints {
    Kept,
    NotKept,
}

/// Says whether the conversation is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Saved,
    Unsaved,
}

/// A conversation that is ready to begin.
pub(crate) struct Assembled {
    pub(crate) exchange: Exchange,
    pub(crate) permissions: Arc<Permissions>,
    /// The earlier conversation, if it is resumed.
    pub(crate) before: Option<EarlierSession>,
    /// Notifies the user who looks elsewhere.
    pub(crate) notify: Notify,
    agents: AgentManager,
}

/// The conversation as it was.
pub(crate) struct EarlierSession {
    pub(crate) summary: SessionSummary,
    pub(crate) unfinished: bool,
    /// The number of steps that cannot be read.
    pub(crate) skipped: usize,
    /// The events so far, if they can be shown.
    pub(crate) events: Vec<Event>,
}

impl EarlierSession {
    /// Returns what is shown of a session.
    pub(crate) fn of(opened: &LoadedSession) -> Self {
        Self {
            summary: opened.summary.clone(),
            unfinished: opened.unfinished,
            skipped: opened.skipped.len(),
            events: earlier_events(opened),
        }
    }
}

impl Assembled {
    /// The sessions.
    pub(crate) fn store(&self) -> &SessionStore {
        self.agents.store()
    }

    /// The manager of the session.
    pub(crate) fn manager(&self) -> &AgentManager {
        &self.agents
    }

    /// Ends everything in good order, or at least in time.
    pub(crate) async fn close(self, within: Duration) {
        let all = async {
            self.exchange.close().await;
            self.agents.pool().shutdown().await;
        };
        // What has not ended by then is ended with the process.
        let _ = tokio::time::timeout(within, all).await;
    }
}

/// Puts a conversation in a folder together, with new services or those of another session of the process.
///
/// # Errors
///
/// Returns an error that says what is missing or wrong, and what to do about it.
pub(crate) async fn assemble(
    agents: Option<AgentManager>,
    folder: &Path,
    setup: &SetupOptions<'_>,
    paths: &Paths,
    input: &Arc<Input>,
) -> anyhow::Result<Assembled> {
    let (agents, session) = match agents {
        Some(agents) => {
            let session = session(agents.store(), folder, setup).await?;
            (agents, session)
        }
        None => with_new_services(folder, setup, paths, input).await?,
    };
    let last = match &session {
        Kept::Resumed(session) => session.summary.agent.clone(),
        _ => None,
    };
    let agent = agent(setup, last.as_deref(), paths, folder, input).await?;
    // An external agent needs no model of goose's own.
    let is_external = agent.as_ref().is_some_and(|(manifest, _)| manifest.connection.is_some());
    let profile = profile(agents.settings(), setup, is_external).await?;
    let notify = agents.settings().get(notify::KEY)?.unwrap_or_default();
    let mut options = OpenOptions::new(profile).with_working_dir(folder);
    if setup.checkpoints == Checkpoints::Kept {
        options = options.with_backend(Arc::new(LocalBackend)).with_checkpoints();
    }
    let (mut options, before) = match session {
        Kept::New(session) => (options.with_pending_session(session), None),
        Kept::Resumed(session) => {
            let before = EarlierSession::of(&session);
            (options.with_session(*session), Some(before))
        }
        Kept::Not => (options.with_session(Session::unsaved()), None),
    };
    if let Some((manifest, mode)) = agent {
        options = match setup.conversation.agent {
            Some(_) => options.with_agent(manifest, mode),
            None => options.with_last_agent(manifest, mode),
        };
    }
    let exchange = agents.open(said(options, setup)?).await.map_err(explained)?;
    exchange.set_attended(stderr::can_ask());
    let permissions = Arc::clone(exchange.permissions());
    if let Some(problem) = permissions.problem() {
        stderr::line(format_args!("{}", escape::text(&problem)));
    }
    Ok(Assembled { exchange, permissions, before, notify, agents })
}

/// Returns a manager with new services, and the session to open.
async fn with_new_services(
    folder: &Path,
    setup: &SetupOptions<'_>,
    paths: &Paths,
    input: &Arc<Input>,
) -> anyhow::Result<(AgentManager, Kept)> {
    let store = SessionStore::at(SessionStore::file(paths));
    // The first session that is saved creates the store, so this is said once.
    if setup.keep == Keep::Saved
        && setup.verbosity != Verbosity::Quiet
        && let Some(line) = importable(&store)
    {
        stderr::line(line);
    }
    let (session, settings) =
        tokio::join!(session(&store, folder, setup), settings(paths, folder, setup, input));
    let (session, settings) = (session?, settings?);
    Ok((agent_manager(settings).with_store(store), session))
}

/// The agent that the command line names, else the one that the session was last used with. None is the default one.
async fn agent(
    setup: &SetupOptions<'_>,
    last: Option<&str>,
    paths: &Paths,
    folder: &Path,
    input: &Arc<Input>,
) -> anyhow::Result<Option<(Arc<AgentManifest>, AgentMode)>> {
    let Some(name) = setup.conversation.agent.as_deref() else {
        let Some(name) = last else { return Ok(None) };
        return Ok(match AgentCatalog::load(paths, folder).find(name) {
            Ok(found) => Some(found),
            Err(error) => {
                let why = escape::text(&error.to_string()).into_owned();
                stderr::line(format_args!("{WARNING}The session's agent is not used: {why}.{WARNING:#}"));
                None
            }
        });
    };
    let catalog = AgentCatalog::load(paths, folder);
    let error = match catalog.find(name) {
        Ok(found) => return Ok(Some(found)),
        Err(error) => error,
    };
    let consent = Consent::new(setup.model.trust_project, project::TRUST_PROJECT);
    let store = TrustStore::new(paths);
    for file in &catalog.untrusted {
        if !project::agreed(&store, file, consent, input).await? {
            bail!("{error}. {} is not trusted; trust it with --trust-project.", file.path().display());
        }
    }
    let catalog = AgentCatalog::load(paths, folder);
    Ok(Some(catalog.find(name).map_err(|error| not_found(&error, name, &catalog))?))
}

/// Explains why an agent is missing, if a file or an entry of its name cannot be used.
fn not_found(error: &UnknownAgent, name: &str, catalog: &AgentCatalog) -> anyhow::Error {
    let agent = name.split('/').next().unwrap_or(name);
    let is_its = |(path, reason): &&(PathBuf, String)| {
        path.file_stem().is_some_and(|stem| stem == agent) || reason.contains(&format!("'{agent}'"))
    };
    match catalog.problems.iter().find(is_its) {
        Some((path, reason)) => {
            let path = path.display();
            anyhow!("there is no agent '{agent}', because {path} cannot be used: {reason}")
        }
        None => anyhow!("{error}"),
    }
}

/// The profile, with a model in any case, unless the session's agent is an external one.
async fn profile(
    settings: &Settings,
    setup: &SetupOptions<'_>,
    is_external: bool,
) -> anyhow::Result<Profile> {
    let mut profile = settings.profile(setup.model.profile.as_deref())?;
    if setup.which.no_profile {
        profile.extensions.clear();
        profile.adds_dependencies = false;
    }
    match is_external {
        _ if profile.processor.is_some() => {}
        true => {
            // For another agent of the session. Nothing is downloaded for that.
            let choice = choice::choose(settings).await.map(|choice| choice.model);
            profile.processor = choice.filter(|model| !settings.registry().is_embedded(model));
        }
        false => profile.processor = Some(choice::chosen(settings, setup.verbosity).await?),
    }
    Ok(profile)
}

/// Adds the other options of the command line.
fn said(mut options: OpenOptions, setup: &SetupOptions<'_>) -> anyhow::Result<OpenOptions> {
    if let Some(RecipeRun { recipe, file }) = setup.recipe {
        options = options.with_recipe(recipe, file)?;
    }
    options = options.with_extensions(selection::flags(setup.which)?);
    if let Some(request) = setup.request {
        options = options.with_request(request);
    }
    if let Some(system) = setup.system {
        options = options.with_instructions(system);
    }
    if let Some(schema) = setup.schema {
        options = options.with_response_schema(schema.clone());
    }
    match (setup.conversation.split, setup.conversation.no_split) {
        (true, _) => options = options.with_split(SplitSetting::Auto),
        (_, true) => options = options.with_split(SplitSetting::Off),
        (false, false) => {}
    }
    if let Some(turns) = setup.conversation.max_turns {
        options = options.with_max_turns(turns);
    }
    if let Some(repetitions) = setup.conversation.max_tool_repetitions {
        options = options.with_max_repetitions(repetitions);
    }
    Ok(options)
}

async fn settings(
    paths: &Paths,
    folder: &Path,
    setup: &SetupOptions<'_>,
    input: &Arc<Input>,
) -> anyhow::Result<Settings> {
    let args = setup.model;
    let consent = Consent::new(args.trust_project, project::TRUST_PROJECT);
    let project = project::trusted(paths, folder, consent, input).await?;
    let consent = Consent::new(args.yes, local::YES);
    let fetching = Fetching { consent, verbosity: setup.verbosity, input: Arc::clone(input) };
    let source = SettingsSource::of_this_process(paths.clone())
        .with_builtins(SERVICES)
        .with_project(project)
        .with_config_file(args.config.clone())
        .with_flags(setup.recipe.iter().flat_map(|run| run.recipe.setting_values()))
        .with_flag("GOOSE_PROVIDER", args.provider.as_deref())
        .with_flag("GOOSE_MODEL", args.model.as_deref())
        .with_flag("GOOSE_MODE", args.mode.as_deref())
        .with_factory(local::factory(paths, Some(fetching)));
    Ok(Settings::load(source)?)
}

/// The session that the conversation is kept in.
enum Kept {
    New(PendingSession),
    Resumed(Box<LoadedSession>),
    Not,
}

async fn session(store: &SessionStore, folder: &Path, setup: &SetupOptions<'_>) -> anyhow::Result<Kept> {
    if setup.keep == Keep::Unsaved {
        return Ok(Kept::Not);
    }
    let args = setup.conversation;
    if resumes(args) {
        return Ok(Kept::Resumed(Box::new(resume(store, folder, args).await?)));
    }
    let mut new = NewSession::in_folder(folder);
    if let Some(name) = &args.name {
        new = new.named(name);
    }
    if let Some(job) = setup.scheduled_by {
        new = new.scheduled_by(job.parent()?);
    }
    Ok(Kept::New(store.start_creating(new)))
}

/// Returns the events of a session so far. Without a terminal, they are not shown.
fn earlier_events(opened: &LoadedSession) -> Vec<Event> {
    if !stderr::is_seen() {
        return Vec::new();
    }
    replay(&opened.summary.id, &opened.steps, 0).into_iter().map(|record| record.event).collect()
}

/// Returns true if an earlier session is to be resumed.
pub(crate) fn resumes(args: &ConversationArgs) -> bool {
    args.resume || args.session_id.is_some() || args.path.is_some() || args.fork
}

/// Returns the session that is to be resumed.
pub(crate) async fn resumed(
    store: &SessionStore,
    folder: &Path,
    args: &ConversationArgs,
) -> anyhow::Result<SessionSummary> {
    let of_file = args.path.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy());
    match args.session_id.as_deref().or(of_file.as_deref()).or(args.name.as_deref()) {
        Some(name) => store.find(name).await.map_err(explained),
        None => last(store, folder).await,
    }
}

async fn resume(
    store: &SessionStore,
    folder: &Path,
    args: &ConversationArgs,
) -> anyhow::Result<LoadedSession> {
    let session = resumed(store, folder, args).await?;
    if !args.fork {
        return store.open_session(&session.id).await.map_err(explained);
    }
    let copy = store.fork(&session.id, None).await.map_err(explained)?;
    let name = match (&args.session_id, &args.name) {
        (Some(_), Some(name)) => Some(name.clone()),
        // The original keeps its name, by which it was found.
        (None, Some(name)) => Some(format!("{name} (copy)")),
        (_, None) => None,
    };
    if let Some(name) = name {
        store.rename(copy.id(), &name).await.map_err(explained)?;
    }
    store.open_session(copy.id()).await.map_err(explained)
}

/// The last session of this folder.
async fn last(store: &SessionStore, folder: &Path) -> anyhow::Result<SessionSummary> {
    store.latest(Some(folder)).await.map_err(explained)?.ok_or_else(|| {
        anyhow!(
            "There is no session in this folder to resume. `goose session list` shows the sessions \
             of other folders; choose one with --session-id."
        )
    })
}

/// Reads the schema of `--schema`.
///
/// # Errors
///
/// Fails if the file cannot be read, is too large, or is not JSON.
pub(crate) fn schema(file: &Path) -> anyhow::Result<Value> {
    let advice = || format!("The schema in {} cannot be used (--schema)", file.display());
    let mut bytes = Vec::new();
    // The user may name a pipe here: `--schema <(make-schema)`.
    let opened = fs::File::open(file).with_context(advice)?;
    opened.take(MAX_SCHEMA_BYTES + 1).read_to_end(&mut bytes).with_context(advice)?;
    ensure!(
        bytes.len() as u64 <= MAX_SCHEMA_BYTES,
        "The schema in {} is larger than {MAX_SCHEMA_BYTES} bytes.",
        file.display()
    );
    serde_json::from_slice(&bytes).with_context(advice)
}

/// The file with lines that were typed.
pub(crate) fn history(paths: &Paths) -> PathBuf {
    paths.state.join("history.txt")
}
