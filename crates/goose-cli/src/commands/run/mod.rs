//! `goose run`: runs a single task and exits.

pub(crate) mod args;
pub(crate) mod checks;
mod instructions;
pub(crate) mod recipe;

use std::{io, process::ExitCode, sync::Arc, time::Instant};

use clap::{Args as _, Command, FromArgMatches as _, error::ErrorKind};
use goose::{
    config::Paths,
    exchange::{AttachmentRequest, Cost, Outcome},
};

use self::{
    args::{OutputFormat, RunArgs},
    checks::{Checked, Task, Tries},
    instructions::Wait,
    recipe::{Prepared, RecipeRun},
};
use super::{
    attachments::attached,
    conversation_setup::{self, Assembled, Checkpoints, END_TIME, Keep, LEAVE_TIME, SetupOptions, assemble},
    session::{Chat, ChatSetup},
};
use crate::{
    choice::Verbosity,
    runtime::run_to_end,
    settings::working_folder,
    signals::{ExitSignal, Signals},
    stderr,
    terminal::{
        follow::{Ending, Follower},
        input::Input,
        json::{Form, JsonView},
        screen::{Detail, Screen, View},
    },
};

/// Exit code if the turn limit was reached.
const MAX_TURNS: u8 = 3;

/// Runs the task.
pub(crate) fn run(args: RunArgs) -> anyhow::Result<ExitCode> {
    if args.interactive && args.output_format != OutputFormat::Text {
        return Ok(usage("--interactive works only with --output-format text."));
    }
    if args.recipe.explain || args.recipe.render_recipe {
        return run_to_end(task(args, String::new()));
    }
    let message = match instructions::read(&args)? {
        Some(message) => message,
        None if args.recipe.recipe.is_some() => String::new(),
        None if args.conversation.resume || args.interactive => String::new(),
        None => {
            return Ok(usage(
                "No task given. Use goose run 'TEXT', --text TEXT, --instructions FILE, or pipe it in.",
            ));
        }
    };
    run_to_end(task(args, message))
}

/// Runs what is piped into a goose without arguments. Returns `None` if nothing is.
pub(crate) fn run_piped() -> anyhow::Result<Option<ExitCode>> {
    let Some(message) = instructions::piped(Wait::Briefly)? else { return Ok(None) };
    let command = RunArgs::augment_args(Command::new("goose run"));
    let args = RunArgs::from_arg_matches(&command.try_get_matches_from(["goose run"])?)?;
    run_to_end(task(args, message)).map(Some)
}

/// Prints a usage error the way clap does.
fn usage(message: &str) -> ExitCode {
    let mut command = RunArgs::augment_args(Command::new("goose run"));
    let error = command.error(ErrorKind::MissingRequiredArgument, message);
    // If standard error cannot be written to, there is no other place for the message.
    let _ = error.print();
    ExitCode::from(2)
}

async fn task(args: RunArgs, mut message: String) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let input = Arc::new(Input::new(args.interactive.then(|| conversation_setup::history(&paths))));
    let mut signals = Signals::listen()?;
    let recipe = match &args.recipe.recipe {
        Some(name) => match signals.unless_signalled(recipe::prepare(name, &args, &input)).await? {
            Ok(prepared) => match prepared? {
                Prepared::Run(recipe) => Some(*recipe),
                Prepared::Shown(code) => return Ok(code),
            },
            Err(asked) => return Ok(asked.code()),
        },
        None => None,
    };
    if let Some(recipe) = &recipe {
        message = with_task(recipe, &message);
    }
    let schema = args.schema.as_deref().map(conversation_setup::schema).transpose()?;
    let setup = SetupOptions {
        model: &args.model,
        conversation: &args.conversation,
        which: &args.which,
        system: args.system.as_deref(),
        schema: schema.as_ref(),
        keep: if args.no_session { Keep::Unsaved } else { Keep::Saved },
        scheduled_by: args.scheduled_by.as_ref(),
        verbosity: verbosity(&args),
        request: Some(message.as_str()).filter(|message| !message.is_empty()),
        recipe: recipe.as_ref(),
        checkpoints: if args.interactive { Checkpoints::Kept } else { Checkpoints::NotKept },
    };
    let folder = working_folder()?;
    let assembled = assemble(None, &folder, &setup, &paths, &input);
    let assembled = match signals.unless_signalled(assembled).await? {
        Ok(assembled) => assembled?,
        Err(asked) => return Ok(asked.code()),
    };
    let has_schema = recipe.as_ref().is_some_and(|run: &RecipeRun| run.recipe.response.is_some());
    let typed = args.words.as_deref().or(args.text.as_deref()).unwrap_or_default();
    let request = AttachmentRequest { text: &message, typed, images: &args.image };
    let attached = attached(&assembled.exchange, request, &input, verbosity(&args));
    let message = match signals.unless_signalled(attached).await? {
        Ok(Ok(message)) => message,
        Ok(Err(error)) => {
            input.restore();
            assembled.close(END_TIME).await;
            return Err(error.into());
        }
        Err(asked) => return Ok(asked.code()),
    };
    let task = Task { message, retry: recipe.and_then(|run| run.recipe.retry) };
    match args.output_format {
        OutputFormat::Text if args.interactive => interactive(&args, assembled, input, signals, task).await,
        OutputFormat::Text => {
            let is_structured = args.schema.is_some() || has_schema;
            text(&args, assembled, &input, signals, task, is_structured).await
        }
        OutputFormat::Json | OutputFormat::StreamJson => json(&args, assembled, &input, signals, task).await,
    }
}

/// Returns the task of a recipe, followed by the message.
fn with_task(run: &RecipeRun, message: &str) -> String {
    let parts = [run.recipe.task().unwrap_or_default(), message].map(str::trim);
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn verbosity(args: &RunArgs) -> Verbosity {
    let is_for_people = args.output_format == OutputFormat::Text && !args.quiet;
    if is_for_people { Verbosity::Normal } else { Verbosity::Quiet }
}

fn detail(args: &RunArgs) -> Detail {
    match (args.quiet, args.conversation.debug) {
        (true, _) => Detail::Quiet,
        (false, true) => Detail::Full,
        (false, false) => Detail::Usual,
    }
}

fn screen(args: &RunArgs) -> Screen {
    Screen::new(detail(args)).explaining(args.conversation.verbose)
}

async fn interactive(
    args: &RunArgs,
    assembled: Assembled,
    input: Arc<Input>,
    signals: Signals,
    task: Task,
) -> anyhow::Result<ExitCode> {
    let setup = ChatSetup {
        conversation: args.conversation.clone(),
        model: args.model.clone(),
        which: args.which.clone(),
        system: args.system.clone(),
        keep: if args.no_session { Keep::Unsaved } else { Keep::Saved },
    };
    input.hold();
    let mut chat = Chat::new(assembled, setup, input, signals, screen(args));
    if !task.message.content.is_empty()
        && let Some(code) = chat.reply_to_task(task).await?
    {
        chat.close().await;
        return Ok(code);
    }
    chat.talk().await
}

async fn text(
    args: &RunArgs,
    assembled: Assembled,
    input: &Arc<Input>,
    signals: Signals,
    task: Task,
    is_structured: bool,
) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let mut view = screen(args).structured(is_structured);
    let code = once(assembled, input, signals, task, &mut view).await?;
    if args.stats {
        print_stats(view.cost(), began);
    }
    Ok(code)
}

async fn json(
    args: &RunArgs,
    assembled: Assembled,
    input: &Arc<Input>,
    signals: Signals,
    task: Task,
) -> anyhow::Result<ExitCode> {
    let form = if args.output_format == OutputFormat::Json { Form::Document } else { Form::Lines };
    let session = (!args.no_session).then(|| assembled.exchange.session_id().to_string());
    let mut view = JsonView::new(form, session);
    if !task.message.content.is_empty() {
        view.says(&task.message)?;
    }
    let code = once(assembled, input, signals, task, &mut view).await?;
    view.end()?;
    Ok(code)
}

/// One reply, or several until the checks of a recipe pass, and the end.
async fn once(
    assembled: Assembled,
    input: &Arc<Input>,
    mut signals: Signals,
    task: Task,
    view: &mut dyn View,
) -> io::Result<ExitCode> {
    let exchange = &assembled.exchange;
    let mut tries = Tries::new(&assembled, &task, input);
    let message = task.message;
    let mut reply = match message.content.is_empty() {
        true => exchange.reply(),
        false => exchange.reply_to(message),
    };
    let asked = stderr::can_ask().then_some(input);
    let mut is_unmet = false;
    let ended = loop {
        let notify = assembled.notify;
        let follower = Follower { exchange, view: &mut *view, signals: &mut signals, input: asked, notify };
        let ended = follower.follow(reply).await;
        let is_done = matches!(ended, Ok(Ending::Finished(Outcome::Done { .. })));
        let Some(tries) = tries.as_mut().filter(|_| is_done) else { break ended };
        match signals.unless_signalled(tries.check()).await? {
            Ok(Checked::Passed) => break ended,
            Ok(Checked::Failed) => {
                is_unmet = true;
                break ended;
            }
            Ok(Checked::Again(next)) => reply = exchange.reply_to(next),
            Err(asked) => break Ok(Ending::Leave(asked.code())),
        }
    };
    input.restore();
    let within = if matches!(ended, Ok(Ending::Leave(_))) { LEAVE_TIME } else { END_TIME };
    // Asked again, goose does not wait for anything.
    signals.unless_signalled(assembled.close(within)).await?.ok();
    Ok(match ended? {
        Ending::Leave(code) => code,
        Ending::Finished(_) if is_unmet => ExitCode::FAILURE,
        Ending::Finished(outcome) => code(&outcome),
    })
}

/// Prints the time of a run, and the tokens and the price of the session.
fn print_stats(cost: Option<&Cost>, began: Instant) {
    let Cost { session, dollars, .. } = cost.copied().unwrap_or_default();
    let seconds = began.elapsed().as_secs_f64();
    let price = dollars.map(|dollars| format!(", ${dollars:.4}")).unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a rate is shown with one digit")]
    let rate = session.output as f64 / seconds.max(0.001);
    stderr::line(format_args!(
        "{seconds:.1} s, {} input tokens ({} cached), {} output tokens ({rate:.1} per second){price}",
        session.input, session.cached_input, session.output
    ));
}

/// Returns the exit code for the outcome of a task.
pub(crate) fn code(outcome: &Outcome) -> ExitCode {
    match outcome {
        Outcome::Done { .. } => ExitCode::SUCCESS,
        Outcome::MaxTurns(_) => ExitCode::from(MAX_TURNS),
        Outcome::Cancelled => ExitSignal::Interrupt.code(),
        _ => ExitCode::FAILURE,
    }
}
