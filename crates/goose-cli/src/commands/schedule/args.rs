//! Arguments of `goose schedule`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use goose::session::schedule::MissedRuns;

use crate::args::JsonArgs;

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose schedule add --schedule-id report --cron '0 9 * * 1-5' --recipe-source report.yaml
  goose schedule list
  goose schedule run

Jobs run while `goose schedule run` or `goose serve --enable-scheduler` does.
Several may run at the same time: each run of a job happens once. With --once it
runs what is due and ends, for cron or systemd timers. Times are those of your
time zone; `goose schedule cron-help` explains the expressions.";

pub(super) const CRON_HELP: &str = "\
A cron expression has five fields, or six with the seconds first:

  minute (0-59)  hour (0-23)  day of the month (1-31)  month (1-12)  day of the week (0-7)

  *        any value                    1,15     one of several values
  1-5      a range                      */10     every tenth value
  MON-FRI  names of days and months     L        the last day of the month
  15W      the weekday next to the 15th 5L, 5#2  the last, the second Friday

Sunday is 0 and 7. If the day of the month and the day of the week are both
given, one of them is enough.

  0 * * * *        every hour                 @hourly
  */15 9-17 * * *  every quarter of an hour from 9:00 to 17:45
  0 9 * * *        every day at 9:00          @daily is midnight
  0 9 * * MON-FRI  on weekdays at 9:00
  0 17 * * 5       on Fridays at 17:00        @weekly is Sunday at midnight
  0 9 1 * *        on the first of the month  @monthly is midnight
  30 0 9 * * *     every day at 9:00:30

Times are those of your time zone. A time that the change to summer time skips
is an hour later on that day; a time that happens twice runs the first time.";

/// Commands about scheduled jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum ScheduleCommand {
    /// Add a job: a recipe, and the times at which it runs
    #[command(
        after_help = "Examples:\n  goose schedule add --schedule-id report --cron '0 9 * * 1-5' --recipe-source report.yaml\n  goose schedule add --schedule-id tidy --cron @weekly --recipe-source tidy.yaml --params folder=notes --missed skip"
    )]
    Add(AddArgs),
    /// List the jobs, with their next runs and the outcome of the last ones
    #[command(after_help = "Examples:\n  goose schedule list\n  goose schedule list --json")]
    List(JsonArgs),
    /// Remove a job; its sessions stay
    #[command(after_help = "Examples:\n  goose schedule remove report")]
    Remove(WhichJob),
    /// List the sessions of a job, newest first
    #[command(after_help = "Examples:\n  goose schedule sessions report --limit 5")]
    Sessions {
        #[command(flatten)]
        which: WhichJob,
        /// Maximum number to show
        #[arg(short, long, value_name = "N")]
        limit: Option<u32>,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// Run a job now, whether it is paused or not
    #[command(after_help = "Examples:\n  goose schedule run-now report")]
    RunNow(WhichJob),
    /// Stop running a job until it is resumed
    #[command(after_help = "Examples:\n  goose schedule pause report")]
    Pause(WhichJob),
    /// Run a paused job again, from its next time on
    #[command(after_help = "Examples:\n  goose schedule resume report")]
    Resume(WhichJob),
    /// Run the jobs when they are due, until it is stopped with Ctrl-C
    #[command(after_help = "Examples:\n  goose schedule run\n  goose schedule run --once")]
    Run {
        /// Run what is due now, and exit
        #[arg(long)]
        once: bool,
    },
    /// Explain cron expressions
    CronHelp,
    #[command(hide = true)]
    ServicesStatus,
    #[command(hide = true)]
    ServicesStop,
}

/// Arguments of `goose schedule add`.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Id of the job: letters, digits, '_', '-' and '.'
    #[arg(long, value_name = "ID", visible_alias = "id")]
    pub(super) schedule_id: String,
    /// Cron expression, such as '0 9 * * 1-5' or '@daily'
    #[arg(long, value_name = "CRON")]
    pub(super) cron: String,
    /// Recipe: a file, or the name of one that `goose recipe list` shows
    #[arg(long, value_name = "RECIPE", visible_alias = "recipe")]
    pub(super) recipe_source: String,
    /// Parameter of the recipe
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) params: Vec<String>,
    /// Folder that the recipe runs in; this one by default
    #[arg(long, value_name = "FOLDER")]
    pub(super) dir: Option<PathBuf>,
    /// What to do when the time passed while no scheduler ran
    #[arg(long, value_enum, default_value_t)]
    pub(super) missed: Missed,
    /// Do not run it until it is resumed
    #[arg(long)]
    pub(super) paused: bool,
}

/// Treatment of missed runs.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum Missed {
    /// Run once for all missed times
    #[default]
    Once,
    /// Wait for the next time
    Skip,
}

impl From<Missed> for MissedRuns {
    fn from(missed: Missed) -> Self {
        match missed {
            Missed::Once => Self::Once,
            Missed::Skip => Self::Skip,
        }
    }
}

/// The job to work on.
#[derive(Debug, Args)]
pub(crate) struct WhichJob {
    /// Id of the job
    #[arg(value_name = "ID", required_unless_present = "schedule_id")]
    id: Option<String>,
    /// Id of the job
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    schedule_id: Option<String>,
}

impl WhichJob {
    /// Returns the id that was given.
    pub(super) fn id(&self) -> &str {
        [&self.id, &self.schedule_id].into_iter().find_map(|id| id.as_deref()).unwrap_or_default()
    }
}
