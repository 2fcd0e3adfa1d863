//! `goose review`: reviews a change with the configured model, and reports findings.
//!
//! `args`: arguments; `git`: the change, from git; `change`: the change as the model sees it; `report`: the findings.
//!
//! The model has goose's tools that read, and gives its answer in the form of a schema, as recipes with `response:` do.

pub(crate) mod args;
mod change;
mod git;
mod report;

use std::{io, process::ExitCode, sync::Arc};

use anyhow::ensure;
use goose::{
    agent_manager::AgentManager,
    agents::goose_agent::{CHANGE_REVIEWER, NAME},
    config::Paths,
    exchange::Outcome,
    session::synthetic,
};
use goose_extension::{Message, MessageContent, Role};

use self::{
    args::ReviewArgs,
    change::Change,
    git::{Comparison, Repository},
    report::{Report, Scope, schema},
};
use super::{
    conversation_setup::{Assembled, Checkpoints, END_TIME, Keep, LEAVE_TIME, SetupOptions, assemble},
    explained, run,
};
use crate::{
    args::{ConversationArgs, ExtensionArgs},
    choice::Verbosity,
    runtime::run_to_end,
    settings::{self, ConfigArgs, working_folder},
    signals::Signals,
    stderr,
    terminal::{
        follow::{Ending, Follower},
        input::Input,
        screen::{Detail, Screen},
    },
};

/// Exit code if the change was not reviewed, so that this is not mistaken for findings.
const NOT_REVIEWED: u8 = 2;

/// The end of a review.
enum Reviewed {
    Report(Box<Report>),
    /// There is no report: it was cancelled, or the reason has been shown.
    Ended(ExitCode),
}

/// A change, and where it comes from.
struct Found {
    repository: Repository,
    comparison: Comparison,
    scope: Scope,
    change: Change,
}

/// Reviews a change.
pub(crate) fn run(args: &ReviewArgs) -> anyhow::Result<ExitCode> {
    run_to_end(async {
        match review(args).await {
            Ok(Reviewed::Report(report)) => report.print(&args.form),
            Ok(Reviewed::Ended(code)) => Ok(code),
            Err(error) => {
                stderr::error(&format!("{error:#}"));
                Ok(ExitCode::from(NOT_REVIEWED))
            }
        }
    })
}

async fn review(args: &ReviewArgs) -> anyhow::Result<Reviewed> {
    let paths = Paths::from_env()?;
    let mut signals = Signals::listen()?;
    let found = match signals.unless_signalled(find(args, &paths)).await? {
        Ok(found) => found?,
        Err(asked) => return Ok(Reviewed::Ended(asked.code())),
    };
    let Found { repository, comparison, scope, change } = found;
    if change.is_empty() {
        return Ok(Reviewed::Report(Box::new(Report::empty(scope))));
    }
    ensure!(!change.files.is_empty(), "nothing of {} can be reviewed: {}", scope.words(), change.reasons());
    let input = Arc::new(Input::new(None));
    let (conversation, schema) = (conversation(args), schema(&change));
    let setup = SetupOptions {
        model: &args.model,
        conversation: &conversation,
        which: &ExtensionArgs::default(),
        system: args.system.as_deref(),
        schema: Some(&schema),
        keep: if args.no_session { Keep::Unsaved } else { Keep::Saved },
        scheduled_by: None,
        verbosity: if is_for_people(args) { Verbosity::Normal } else { Verbosity::Quiet },
        request: None,
        recipe: None,
        checkpoints: Checkpoints::NotKept,
    };
    let assembled = assemble(None, &repository.root, &setup, &paths, &input);
    let assembled = match signals.unless_signalled(assembled).await? {
        Ok(assembled) => assembled?,
        Err(asked) => return Ok(Reviewed::Ended(asked.code())),
    };
    let session = (!args.no_session).then(|| assembled.exchange.session_id().clone());
    let message = message(&scope, &change, &comparison);
    let ending = ask(args, assembled, message, &input, signals).await?;
    Ok(match ending {
        Ending::Finished(Outcome::Done { structured: Some(answer) }) => {
            Reviewed::Report(Box::new(Report::new(scope, change, answer, session)?))
        }
        Ending::Finished(outcome @ (Outcome::MaxTurns(_) | Outcome::Cancelled)) => {
            Reviewed::Ended(run::code(&outcome))
        }
        Ending::Finished(_) => Reviewed::Ended(ExitCode::from(NOT_REVIEWED)),
        Ending::Leave(code) => Reviewed::Ended(code),
    })
}

/// Finds the change that the arguments name.
async fn find(args: &ReviewArgs, paths: &Paths) -> anyhow::Result<Found> {
    let repository = Repository::find(&working_folder()?).await?;
    let scope = match &args.range {
        Some(range) => Scope::Range(range.clone()),
        None if args.staged => Scope::Staged,
        None => Scope::WorkingTree,
    };
    let comparison = repository.comparison(&scope).await?;
    let files = repository.files(&comparison).await?;
    let config = ConfigArgs { config: args.model.config.clone() };
    let settings = settings::look_in(paths, &config, Some(&repository.root)).settings?;
    let profile = settings.profile(args.model.profile.as_deref())?;
    let permissions = AgentManager::new(settings).permissions(&profile).map_err(explained)?;
    let change = Change::read(&repository, &comparison, &files, &permissions).await;
    Ok(Found { repository, comparison, scope, change })
}

fn is_for_people(args: &ReviewArgs) -> bool {
    !args.quiet && !args.form.json
}

/// Returns a conversation with the agent that only reads. A change may look like a list of jobs, and is none.
fn conversation(args: &ReviewArgs) -> ConversationArgs {
    ConversationArgs {
        agent: Some(format!("{NAME}/{CHANGE_REVIEWER}")),
        no_split: true,
        max_turns: args.max_turns,
        ..ConversationArgs::default()
    }
}

fn message(scope: &Scope, change: &Change, comparison: &Comparison) -> Message {
    let request = format!("Review {}.", scope.words());
    let text = format!("{}\n{}", change.text(), comparison.disk());
    Message::new(Role::User, [MessageContent::text(request), synthetic(text.trim_end())])
}

/// Asks the model, and closes the session.
async fn ask(
    args: &ReviewArgs,
    assembled: Assembled,
    message: Message,
    input: &Arc<Input>,
    mut signals: Signals,
) -> io::Result<Ending> {
    let detail = if is_for_people(args) { Detail::Usual } else { Detail::Quiet };
    let mut screen = Screen::new(detail).without_answer();
    let follower = Follower {
        exchange: &assembled.exchange,
        view: &mut screen,
        signals: &mut signals,
        input: stderr::can_ask().then_some(input),
        notify: assembled.notify,
    };
    let ending = follower.follow(assembled.exchange.reply_to(message)).await;
    input.restore();
    let within = if matches!(ending, Ok(Ending::Leave(_))) { LEAVE_TIME } else { END_TIME };
    // Asked again, goose does not wait for anything.
    signals.unless_signalled(assembled.close(within)).await?.ok();
    ending
}
