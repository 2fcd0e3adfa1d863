//! [`ServerAgent`]: an agent on a server.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use goose::agent_manager::acp_mcp_adapter::{
    AgentEnd, AgentError, AgentHost, CANCEL_GRACE, ConnectRequest, ConnectedAgent, TASK_LIMIT,
};
use goose_extension::{ElicitAction, Elicitation};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    events::{Next, RunEvents},
    http::{Answer, Http},
};

/// The questions of one task.
const MAX_QUESTIONS: usize = 32;

/// The agents of a server that are looked at.
const MAX_AGENTS: usize = 1_000;

/// The name of the field that a person answers in.
const ANSWER: &str = "answer";

/// An agent on a server.
struct ServerAgent {
    name: String,
    /// Its name there.
    remote: String,
    http: Http,
    /// The session there, which later tasks go on in.
    session: Mutex<Option<String>>,
    is_broken: AtomicBool,
}

/// Looks for an agent on its server.
pub(crate) async fn connect(request: &ConnectRequest) -> Result<Arc<dyn ConnectedAgent>, AgentError> {
    let http = Http::new(request)?;
    let remote = match &request.connection.agent {
        Some(remote) => {
            http.get(&["agents", remote]).await?;
            remote.clone()
        }
        None => only_agent(&http, &request.name).await?,
    };
    let (name, session, is_broken) = (request.name.clone(), Mutex::default(), AtomicBool::new(false));
    Ok(Arc::new(ServerAgent { name, remote, http, session, is_broken }))
}

/// The agent of that name, or the only one that the server has.
async fn only_agent(http: &Http, name: &str) -> Result<String, AgentError> {
    let listed = http.get(&["agents"]).await?;
    let agents = listed.get("agents").and_then(Value::as_array);
    let agents = agents.ok_or_else(|| http.broken("has no list of agents at /agents"))?;
    let names: Vec<&str> =
        agents.iter().take(MAX_AGENTS).filter_map(|agent| agent.get("name")?.as_str()).collect();
    match names.as_slice() {
        names if names.contains(&name) => Ok(name.to_owned()),
        [only] => Ok((*only).to_owned()),
        names => Err(AgentError::Unusable(format!(
            "The server of the agent `{name}` has several agents or none. Write 'agent: …' in its entry. There are: {}.",
            names.join(", ")
        ))),
    }
}

#[async_trait]
impl ConnectedAgent for ServerAgent {
    async fn run(&self, task: &str, host: Arc<dyn AgentHost>) -> Result<AgentEnd, AgentError> {
        let cancellation = host.cancellation();
        let run = Mutex::new(None);
        let ended = tokio::select! {
            biased;
            () = cancellation.cancelled() => None,
            ended = timeout(TASK_LIMIT, self.work(task, &*host, &run)) => Some(ended),
        };
        let ended = match ended {
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err(AgentError::Broken(format!(
                "The agent `{}` worked for {} minutes without an end and was cancelled.",
                self.name,
                TASK_LIMIT.as_secs() / 60
            ))),
            None => Ok(AgentEnd::Cancelled),
        };
        let id = run.lock().take();
        if let Some(id) = id.filter(|_| !matches!(ended, Ok(AgentEnd::Done))) {
            // A run that is over already cannot be cancelled, and a server that does not answer must not hold this up.
            let _ = timeout(CANCEL_GRACE, self.http.post(&["runs", &id, "cancel"], &json!({}))).await;
        }
        if let Err(AgentError::Broken(_)) = ended {
            self.is_broken.store(true, Ordering::Relaxed);
        }
        ended
    }

    fn is_usable(&self) -> bool {
        !self.is_broken.load(Ordering::Relaxed)
    }

    async fn close(&self) {}
}

impl ServerAgent {
    async fn work(
        &self,
        task: &str,
        host: &dyn AgentHost,
        run: &Mutex<Option<String>>,
    ) -> Result<AgentEnd, AgentError> {
        let mut events = RunEvents::new(&self.name);
        let mut body = json!({"agent_name": self.remote, "input": [message(task)], "mode": "stream"});
        if let Some(session) = &*self.session.lock() {
            body["session_id"] = session.as_str().into();
        }
        let mut answer = self.http.post(&["runs"], &body).await?;
        for _ in 0..MAX_QUESTIONS {
            let next = self.follow(answer, &mut events, host, run).await?;
            self.session.lock().clone_from(&events.session);
            let question = match next {
                Next::Awaiting(question) => question,
                Next::Ended(ended) => return ended,
                Next::Event => return Err(self.http.broken("closed the connection before the run was over")),
            };
            let Some(id) = events.run.clone() else {
                return Err(self.http.broken("asked something and did not name the run"));
            };
            let said = self.ask(question, host).await?;
            let body = json!({
                "run_id": id,
                "await_resume": {"type": "message", "message": message(&said)},
                "mode": "stream",
            });
            answer = self.http.post(&["runs", &id], &body).await?;
        }
        Err(AgentError::Failed(format!(
            "The agent `{}` asked more than {MAX_QUESTIONS} questions.",
            self.name
        )))
    }

    /// Follows a run until it stops.
    async fn follow(
        &self,
        answer: Answer,
        events: &mut RunEvents,
        host: &dyn AgentHost,
        run: &Mutex<Option<String>>,
    ) -> Result<Next, AgentError> {
        let mut stream = match answer {
            Answer::Value(value) => return events.ended(&value, host),
            Answer::Events(stream) => stream,
        };
        // Known before the first event, so that the run can be cancelled until then.
        events.run = stream.run.take().or(events.run.take());
        run.lock().clone_from(&events.run);
        while let Some(event) = stream.next(&self.http).await? {
            let next = events.take(&event, host)?;
            run.lock().clone_from(&events.run);
            if next != Next::Event {
                return Ok(next);
            }
        }
        Ok(Next::Event)
    }

    /// Puts a question of the agent to the person.
    async fn ask(&self, question: String, host: &dyn AgentHost) -> Result<String, AgentError> {
        let name = &self.name;
        let schema = json!({
            "type": "object",
            "properties": {ANSWER: {"type": "string", "title": "Answer"}},
            "required": [ANSWER],
        });
        let requested_schema = serde_json::from_value(schema).map_err(|error| {
            AgentError::Failed(format!("The question of `{name}` cannot be shown: {error}."))
        })?;
        let message = if question.is_empty() { format!("{name} waits for an answer.") } else { question };
        let asked =
            Elicitation::FormElicitationParams { meta: None, message: message.clone(), requested_schema };
        let answer = host.ask(asked).await.map_err(|error| {
            AgentError::Failed(format!(
                "The agent `{name}` asked \"{message}\", which was not answered: {error} Give it the answer with the task."
            ))
        })?;
        let text = answer.content.as_ref().and_then(|content| content.get(ANSWER)).and_then(Value::as_str);
        match (answer.action, text) {
            (ElicitAction::Accept, Some(text)) => Ok(text.to_owned()),
            _ => Err(AgentError::Failed(format!(
                "The agent `{name}` asked \"{message}\", and the user did not answer."
            ))),
        }
    }
}

fn message(text: &str) -> Value {
    json!({"role": "user", "parts": [{"content_type": "text/plain", "content": text}]})
}
