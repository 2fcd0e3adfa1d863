//! `goose schedule`: recipes that run at times.
//!
//! - `args`: arguments; `runner`: runs what is due; `beside_server`: does so for `goose serve`; `list`: shows the jobs.

pub(crate) mod args;
pub(crate) mod beside_server;
mod list;
mod runner;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, anyhow, bail, ensure};
use goose::{
    config::Paths,
    recipe::RecipeFile,
    session::{
        SessionStore,
        schedule::{JobId, NewJob, read_old_jobs},
    },
};
use jiff::tz::TimeZone;

use self::args::{AddArgs, CRON_HELP, ScheduleCommand, WhichJob};
use super::explained;
use crate::{
    escape,
    output::{WARNING, say},
    runtime::run_to_end,
    settings::ConfigArgs,
    stderr,
};

/// File of goose 1.52 with its jobs.
const OLD_FILE: &str = "schedule.json";

/// Folder with the time zones of the system.
const ZONES: &str = "/usr/share/zoneinfo";

/// Maximum size of a time zone.
const MAX_ZONE_BYTES: u64 = 64 * 1024;

/// Maximum number of parameters.
const MAX_PARAMETERS: usize = 100;

/// Runs a subcommand.
pub(crate) fn run(command: ScheduleCommand, config: &ConfigArgs) -> anyhow::Result<ExitCode> {
    if matches!(command, ScheduleCommand::CronHelp) {
        return say(CRON_HELP);
    }
    let paths = Paths::from_env()?;
    let store = SessionStore::at(SessionStore::file(&paths));
    let zone = user_zone();
    run_to_end(async {
        import_old(&store, &paths, &zone).await?;
        match command {
            ScheduleCommand::Add(args) => add(&store, args, &zone).await,
            ScheduleCommand::List(form) => list::jobs(&store, &form, &zone).await,
            ScheduleCommand::Sessions { which, limit, form } => {
                let id = existing(&store, &which).await?;
                list::sessions(&store, &id, limit, &form).await
            }
            ScheduleCommand::Remove(which) => {
                let id = existing(&store, &which).await?;
                store.remove_job(&id).await.map_err(explained)?;
                say(&format!("Removed the job {id}. Its sessions stay."))
            }
            ScheduleCommand::Pause(which) => pause(&store, &which, true, &zone).await,
            ScheduleCommand::Resume(which) => pause(&store, &which, false, &zone).await,
            ScheduleCommand::RunNow(which) => {
                let id = existing(&store, &which).await?;
                runner::run_now(&store, &id, config, &zone).await
            }
            ScheduleCommand::Run { once } => runner::run(&store, config, once, &zone).await,
            ScheduleCommand::ServicesStatus | ScheduleCommand::ServicesStop => say(
                "There is no service. Jobs run while `goose schedule run` or `goose serve --enable-scheduler` does.",
            ),
            ScheduleCommand::CronHelp => Ok(ExitCode::SUCCESS),
        }
    })
}

/// Returns the time zone of the user. `TZ` may name a zone, for which the system's own file is read: the list of
/// all zones, which is large, is not needed.
pub(crate) fn user_zone() -> TimeZone {
    let named = env::var("TZ").ok().and_then(|name| {
        let name = name.trim_start_matches(':');
        let is_name = !name.is_empty() && !name.starts_with('/') && !name.contains("..");
        let file = Path::new(ZONES).join(Some(name).filter(|_| is_name)?);
        TimeZone::tzif(name, &goose_fs::read_regular(&file, MAX_ZONE_BYTES).ok()?).ok()
    });
    named.unwrap_or_else(TimeZone::system)
}

/// Returns the id of a job that exists.
async fn existing(store: &SessionStore, which: &WhichJob) -> anyhow::Result<JobId> {
    let id: JobId = which.id().parse()?;
    let found = store.job(&id).await.map_err(explained)?;
    found.ok_or_else(|| anyhow!("There is no job '{id}'. `goose schedule list` shows all jobs."))?;
    Ok(id)
}

async fn add(store: &SessionStore, args: AddArgs, zone: &TimeZone) -> anyhow::Result<ExitCode> {
    let here = env::current_dir().context("the working folder does not exist; change to one that does")?;
    let folder = args.dir.map_or(Ok(here.clone()), |dir| {
        dir.canonicalize().with_context(|| format!("{} cannot be used (--dir)", dir.display()))
    })?;
    let job = NewJob {
        id: args.schedule_id.parse()?,
        cron: args.cron.parse()?,
        recipe: recipe_file(&args.recipe_source, &here)?,
        parameters: parameters(&args.params)?,
        working_dir: folder,
        missed: args.missed.into(),
        is_paused: args.paused,
        is_imported: false,
    };
    if !store.add_job(&job, zone).await.map_err(explained)? {
        bail!("There is a job '{0}' already. Remove it first, with `goose schedule remove {0}`.", job.id);
    }
    let added = store.job(&job.id).await.map_err(explained)?.and_then(|job| job.next_at);
    let when = match added {
        Some(at) => format!("It runs next at {}, while `goose schedule run` does.", list::moment(at, zone)),
        None => "Its expression matches no time in the next years.".to_owned(),
    };
    say(&format!("Added the job {}. {when}", job.id))
}

/// Returns the recipe as `goose run --recipe` takes it in another folder: a file by its full path, or a name.
fn recipe_file(source: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let path = folder.join(source);
    if path.is_file() {
        let path = path.canonicalize().with_context(|| format!("{} cannot be used", path.display()))?;
        RecipeFile::open(&path)?.definition()?;
        return Ok(path);
    }
    let is_name = !source.is_empty() && source.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    ensure!(
        is_name && !source.ends_with(".yaml") && !source.ends_with(".json"),
        "There is no recipe {}.",
        path.display()
    );
    Ok(source.into())
}

fn parameters(given: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    ensure!(given.len() <= MAX_PARAMETERS, "A job has at most {MAX_PARAMETERS} parameters.");
    let pair = |text: &String| {
        let pair = text.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.to_owned()));
        pair.filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| anyhow!("'{text}' is not a parameter (--params); write KEY=VALUE."))
    };
    given.iter().map(pair).collect()
}

async fn pause(
    store: &SessionStore,
    which: &WhichJob,
    is_paused: bool,
    zone: &TimeZone,
) -> anyhow::Result<ExitCode> {
    let id = existing(store, which).await?;
    store.pause_job(&id, is_paused, zone).await.map_err(explained)?;
    let next = store.job(&id).await.map_err(explained)?.and_then(|job| job.next_at);
    say(&match (is_paused, next) {
        (true, _) => format!("Paused the job {id}. Resume it with `goose schedule resume {id}`."),
        (false, Some(at)) => format!("Resumed the job {id}. It runs next at {}.", list::moment(at, zone)),
        (false, None) => format!("Resumed the job {id}, which matches no time in the next years."),
    })
}

/// Reads the jobs of goose 1.52. Those that are known or were removed are left as they are.
async fn import_old(store: &SessionStore, paths: &Paths, zone: &TimeZone) -> anyhow::Result<()> {
    let file = paths.data.join(OLD_FILE);
    let old = match read_old_jobs(&file) {
        Ok(old) => old,
        Err(error) => {
            warn(&format!("{} cannot be read: {error}", file.display()));
            return Ok(());
        }
    };
    let mut added = Vec::new();
    for job in &old.jobs {
        if store.add_job(job, zone).await.map_err(explained)? {
            added.push(job.id.to_string());
        }
    }
    if !added.is_empty() {
        stderr::line(format_args!(
            "Added jobs from {}: {}. `goose schedule remove` removes those that another program runs.",
            escape::path(&file),
            added.join(", ")
        ));
        for problem in &old.problems {
            warn(&format!("{}: {problem}", file.display()));
        }
    }
    Ok(())
}

fn warn(text: &str) {
    stderr::line(format_args!("{WARNING}{}{WARNING:#}", escape::text(text)));
}
