//! goose's agents as an extension with one tool for each mode, for `goose mcp agents`.
//!
//! A call runs a task in a new session. Its approvals and questions are put to the caller as elicitations.
//! From MCP 2026-07-28 on, a call that asks something ends and is made again with the answer: the session
//! waits in between, and the call with the same id resumes it.

use std::{
    path::PathBuf,
    sync::{Arc, Weak},
    time::Duration,
};

use goose_extension::{
    ElicitAction, Elicitation, Elicited, ErrorCode, QuestionKind, RegistryExtension, ToolDef, hashmap,
    prelude::*, visible,
};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

use super::{
    AgentManager, OpenOptions,
    delegation::NAME_CHARS,
    run_result::{last_answer, result},
};
use crate::{
    agents::manifest::{AgentManifest, AgentMode},
    config::{MAX_TIMEOUT, Profile},
    exchange::{Answer, Approval, Decision, Event, EventRecord, Exchange, MAX_TASK, Outcome, Reply},
    session::NewSession,
};

const NAME: &str = "agents";
const DESCRIPTION: &str = "goose's agents: one tool for each mode, which does a task and returns the answer";
const INSTRUCTIONS: &str = "Each tool gives a task to an agent, which works by itself with tools of its own and may take \
                            minutes. Say everything that it needs to know: it sees nothing of this conversation.";

/// Maximum number of sessions that wait for an answer of the caller. If there are more, the oldest one ends.
const MAX_WAITING: usize = 32;

/// Time that a session waits for an answer of the caller.
const WAITING_TIME: Duration = Duration::from_secs(60 * 60);

/// Maximum number of characters of a call's arguments in a question.
const SHOWN_CHARS: usize = 20_000;

/// Error for a caller that cannot be asked.
const CANNOT_ASK: &str = "the program that gave you the task cannot ask its user (it does not support elicitation), so nothing \
                          that needs approval is run. Do what you can without it, and say what is missing.";

/// Field of a question that is answered with a word.
const DECISION: &str = "decision";

/// An agent in a mode, as a tool.
struct ServedAgent {
    manifest: Arc<AgentManifest>,
    mode: AgentMode,
    host: Arc<ServingHost>,
}

/// Parts that all calls share.
struct ServingHost {
    manager: AgentManager,
    profile: Profile,
    working_dir: PathBuf,
    waiting: Mutex<Vec<WaitingSession>>,
}

/// A session that waits for an answer of the caller.
struct WaitingSession {
    /// Id of the call that resumes the session.
    call: String,
    run: Run,
    /// Ends the session when the time is over.
    _expiry: AbortOnDropHandle<()>,
}

/// A running task. When it is dropped, for whatever reason its call has ended, the task is cancelled and its
/// session closed.
struct Run {
    exchange: Exchange,
    reply: Reply,
    /// Open question.
    question: Option<Arc<EventRecord>>,
    /// Number of reports to the caller.
    reports: u32,
}

impl Drop for Run {
    fn drop(&mut self) {
        let exchange = self.exchange.clone();
        // Without a runtime, the session has already ended with it.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { exchange.close().await });
        }
    }
}

impl AgentManager {
    /// Returns all agents of a folder as an extension whose calls run tasks there, with the models of a
    /// profile.
    pub fn served_agents(&self, profile: Profile, working_dir: impl Into<PathBuf>) -> RegistryExtension {
        let working_dir = working_dir.into();
        let catalog = self.known_agents.catalog(&working_dir);
        let host =
            Arc::new(ServingHost { manager: self.clone(), profile, working_dir, waiting: Mutex::default() });
        let served = catalog.agents.iter().filter(|entry| !entry.is_internal());
        let modes = served.flat_map(|entry| {
            entry.manifest.modes.iter().map(|mode| (Arc::clone(&entry.manifest), mode.clone()))
        });
        let served = RegistryExtension::new(NAME, DESCRIPTION).with_instructions(INSTRUCTIONS).with_status({
            let host = Arc::clone(&host);
            move || hashmap! { "waiting_for_answers" => json!(host.waiting.lock().len()) }
        });
        modes.fold(served, |served, (manifest, mode)| {
            let (agent, tool) = ServedAgent::new(manifest, mode, Arc::clone(&host));
            served.with_tool(&Arc::new(agent), tool)
        })
    }
}

impl ServedAgent {
    fn new(manifest: Arc<AgentManifest>, mode: AgentMode, host: Arc<ServingHost>) -> (Self, ToolDef<Self>) {
        let name = format!("{}__{}", manifest.name, mode.slug);
        let about = [&manifest.description, &mode.description, &mode.when_to_use];
        let about: Vec<&str> =
            about.into_iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
        let about = format!(
            "Give a task to the agent {}/{}. Returns its answer. Fails if it cannot finish. {}",
            manifest.name,
            mode.slug,
            about.join(" ")
        );
        // The limits of its session apply to a task.
        let tool = Self::run_tool()
            .map_tool(|tool| tool.with_name(name).with_description(about).with_timeout(MAX_TIMEOUT));
        (Self { manifest, mode, host }, tool)
    }

    // The description names the agent, see `new`.
    #[tool]
    async fn run(
        &self,
        /// The task, with everything that is needed to do it: the agent sees nothing else
        #[arg(min_length = 1, max_length = MAX_TASK)]
        task: &str,
        context: &CallContext,
    ) -> ToolResult<String> {
        let waiting = context.call_id().and_then(|call| self.host.resume(call));
        let run = match waiting {
            Some(run) => run,
            None => self.begin(task, context).await?,
        };
        self.follow(run, context).await
    }

    async fn begin(&self, task: &str, context: &CallContext) -> ToolResult<Run> {
        let failed = |error: &dyn std::fmt::Display| {
            ToolError::execution(format!("The task could not be begun: {error}"))
        };
        let host = &self.host;
        let folder = context.own_working_dir().unwrap_or(&host.working_dir);
        let name = goose_fs::truncate_chars(task, NAME_CHARS).into_owned();
        let new = NewSession::in_folder(folder)
            .named(name)
            .with_agent(format!("{}/{}", self.manifest.name, self.mode.slug));
        let session = host.manager.store().create(new).await.map_err(|error| failed(&error))?;
        let options = OpenOptions::new(host.profile.clone())
            .with_agent(Arc::clone(&self.manifest), self.mode.clone())
            .with_session(session)
            .with_working_dir(folder);
        let exchange = host.manager.open(options).await.map_err(|error| failed(&error))?;
        exchange.set_attended(context.can_ask(QuestionKind::ElicitForm));
        // The prefix keeps an `@agent` in the task from choosing another agent.
        let reply = exchange.reply_to(format!("Your task:\n\n{task}\n"));
        Ok(Run { exchange, reply, question: None, reports: 0 })
    }

    /// Follows a task to its end, or to a question that the caller answers with another call.
    async fn follow(&self, mut run: Run, context: &CallContext) -> ToolResult<String> {
        loop {
            if let Some(record) = run.question.take() {
                let (session, who) = (run.exchange.session_id().to_string(), run.exchange.agent().id());
                match answer(&record.event, &format!("{session}/{}", record.number), &who, context).await {
                    Ok((id, answer)) => drop(run.exchange.answer(&id, answer)),
                    Err(ToolError::InputRequired(text)) => {
                        run.question = Some(record);
                        // A call without an id cannot be made again, so its session ends.
                        if let Some(call) = context.call_id() {
                            self.host.wait(call, run);
                        }
                        return Err(ToolError::InputRequired(text));
                    }
                    Err(error) => return Err(error),
                }
            }
            let record = run.reply.next_record().await;
            let record = record.ok_or_else(|| ToolError::execution("The session of the task was closed."))?;
            match &record.event {
                Event::Approval(_) | Event::Elicitation(_) | Event::Consent(_) => run.question = Some(record),
                Event::Finished(outcome) => return finish(&run, outcome.clone()).await,
                event => run.report(event, context),
            }
        }
    }
}

/// Ends the session of a task.
async fn finish(run: &Run, outcome: Outcome) -> ToolResult<String> {
    let answer = last_answer(&run.exchange);
    run.exchange.close().await;
    result(outcome, answer)
}

impl Run {
    /// Reports an event to the caller, in one line.
    fn report(&mut self, event: &Event, context: &CallContext) {
        let line = match event {
            Event::ToolStarted { name, .. } => name.clone(),
            Event::Status { message, .. } if !message.is_empty() => message.clone(),
            Event::Retrying { reason, .. } => format!("The model is asked again: {reason}"),
            Event::Notice(text) => text.clone(),
            _ => return,
        };
        self.reports += 1;
        context.progress(f64::from(self.reports), None, visible(&line).into_owned());
    }
}

impl ServingHost {
    /// Takes the session that waits for the answer to a question of this call.
    fn resume(&self, call: &str) -> Option<Run> {
        let mut waiting = self.waiting.lock();
        let at = waiting.iter().position(|it| it.call == call)?;
        Some(waiting.remove(at).run)
    }

    /// Keeps a session until its call is made again with the answer, or for [`WAITING_TIME`]. A caller that
    /// disconnects does not say so; therefore the session that has waited longest ends if there are too many.
    fn wait(self: &Arc<Self>, call: &str, run: Run) {
        let (host, id): (Weak<Self>, String) = (Arc::downgrade(self), call.to_owned());
        let expiry = AbortOnDropHandle::new(tokio::spawn(async move {
            tokio::time::sleep(WAITING_TIME).await;
            if let Some(host) = host.upgrade() {
                host.waiting.lock().retain(|it| it.call != id);
            }
        }));
        let mut waiting = self.waiting.lock();
        if waiting.len() >= MAX_WAITING {
            waiting.remove(0);
        }
        waiting.push(WaitingSession { call: call.to_owned(), run, _expiry: expiry });
    }
}

/// Returns the reason for a denial if the caller was asked, but its answer cannot be used.
fn unusable_answer(error: &ToolError) -> String {
    format!(
        "the program that gave you the task was asked for approval, but its answer cannot be used: {error}. Do what you can \
         without it, and say what is missing."
    )
}

/// Puts a question of a session to the caller. Returns the id of the question and the answer.
async fn answer(
    question: &Event,
    key: &str,
    who: &str,
    context: &CallContext,
) -> ToolResult<(String, Answer)> {
    let can_ask = context.can_ask(QuestionKind::ElicitForm);
    Ok(match question {
        Event::Approval(approval) => {
            let decision = match can_ask {
                true => decision(approval, key, who, context).await?,
                false => Decision::Deny { instead: Some(CANNOT_ASK.to_owned()) },
            };
            (approval.id.clone(), decision.into())
        }
        Event::Consent(request) => {
            let prompt = goose_fs::truncate_chars(&request.prompt, SHOWN_CHARS).into_owned();
            let message = format!("{} wants to use the model of {who} with:\n{prompt}", request.extension);
            let words = [("allow", "Allow".to_owned()), ("deny", "Deny".to_owned())];
            let is_allowed = can_ask
                && word(&context.elicit(key, form(&visible(&message), &words)?).await?) == Some("allow");
            (request.id.clone(), Answer::Consent(is_allowed))
        }
        Event::Elicitation(request) => {
            let said = match can_ask {
                true => context.elicit(key, (*request.question).clone()).await?,
                false => Elicited::new(ElicitAction::Decline),
            };
            (request.id.clone(), said.into())
        }
        _ => return Err(ToolError::execution("The session asked something unknown.")),
    })
}

/// Asks the caller for an approval.
async fn decision(approval: &Approval, key: &str, who: &str, context: &CallContext) -> ToolResult<Decision> {
    let arguments = match &approval.preview {
        Some(preview) => preview.plain(),
        None => serde_json::to_string_pretty(&approval.arguments).unwrap_or_default(),
    };
    let arguments = goose_fs::truncate_chars(&arguments, SHOWN_CHARS);
    let reasons = approval.reasons.join("\n");
    let session = match approval.session.is_empty() {
        true => "Allow exactly this for the session".to_owned(),
        false => format!("For this session: {}", approval.session.join("; ")),
    };
    let mut words = vec![("allow", "Allow".to_owned()), ("deny", "Deny".to_owned()), ("session", session)];
    if !approval.always.is_empty() {
        words.push(("always", format!("Always: {}", approval.always.join("; "))));
    }
    let message = format!("{who} wants to call {}.\n{reasons}\n{arguments}", approval.tool);
    let said = context.elicit(key, form(&visible(&message), &words)?).await;
    Ok(match said.as_ref().map(word) {
        Ok(Some("allow")) => Decision::Allow,
        Ok(Some("session")) => Decision::Session,
        Ok(Some("always")) if !approval.always.is_empty() => Decision::Always,
        Ok(_) => Decision::Deny { instead: None },
        Err(ToolError::InputRequired(_) | ToolError::Cancelled(_)) => said.map(|_| Decision::Allow)?,
        Err(ToolError::Protocol(error)) if error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => {
            Decision::Deny { instead: Some(CANNOT_ASK.to_owned()) }
        }
        Err(error) => Decision::Deny { instead: Some(unusable_answer(error)) },
    })
}

/// Returns a form with one choice among words.
fn form(message: &str, words: &[(&str, String)]) -> ToolResult<Elicitation> {
    let choices: Vec<Value> =
        words.iter().map(|(word, title)| json!({"const": word, "title": title})).collect();
    let schema = json!({
        "type": "object",
        "properties": {DECISION: {"type": "string", "oneOf": choices}},
        "required": [DECISION],
    });
    let requested_schema = serde_json::from_value(schema)
        .map_err(|error| ToolError::execution(format!("The question cannot be shown as a form: {error}")))?;
    Ok(Elicitation::FormElicitationParams { meta: None, message: message.to_owned(), requested_schema })
}

/// Returns the word that was chosen.
fn word(said: &Elicited) -> Option<&str> {
    let content = said.content.as_ref().filter(|_| said.action == ElicitAction::Accept);
    content.and_then(|content| content.get(DECISION)).and_then(Value::as_str)
}
