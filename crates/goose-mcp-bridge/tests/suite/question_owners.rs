//! The owner of a question or a log message, when the server does not name it, and for how long.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use goose_extension::{
    Answer, Caller, ElicitAction, Elicited, Extension, JsonObject, Notifier, Question, QuestionKind,
    RichRenderable, prelude::*,
};
use goose_mcp_bridge::{ConnectOptions, RemoteExtension};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::faulty_servers::{Server, play};

const PATIENCE: Duration = Duration::from_secs(20);

/// Answers as often as it is let.
struct Person {
    asked: AtomicUsize,
    open: Arc<AtomicUsize>,
    may_answer: Semaphore,
}

impl Person {
    fn new(answers: usize) -> Arc<Self> {
        let may_answer = Semaphore::new(answers);
        Arc::new(Self { asked: AtomicUsize::new(0), open: Arc::default(), may_answer })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    fn context(self: &Arc<Self>) -> CallContext {
        CallContext::new().with_caller(self.clone())
    }
}

/// A question that the person sees.
struct Prompt(Arc<AtomicUsize>);

impl Drop for Prompt {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Caller for Person {
    async fn ask(&self, _key: &str, _question: Question) -> ToolResult<Answer> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.open.fetch_add(1, Ordering::SeqCst);
        let _prompt = Prompt(Arc::clone(&self.open));
        self.may_answer.acquire().await.unwrap().forget();
        Ok(Answer::Elicited(Elicited::new(ElicitAction::Decline)))
    }

    fn can_answer(&self, _kind: QuestionKind) -> bool {
        true
    }
}

/// A server that is told what to do next, and what came in.
struct Puppet {
    lines: mpsc::Sender<Value>,
    heard: mpsc::Receiver<Value>,
    extension: Arc<RemoteExtension>,
    _playing: JoinHandle<()>,
}

impl Puppet {
    async fn start(options: ConnectOptions) -> Self {
        let (lines, mut to_say) = mpsc::channel::<Value>(64);
        let (hears, heard) = mpsc::channel(64);
        let script = |mut server: Server| async move {
            let list = server.greet().await.unwrap();
            let tool = json!({ "name": "work", "inputSchema": { "type": "object" } });
            server.answer(&list, json!({ "tools": [tool] })).await;
            loop {
                tokio::select! {
                    line = to_say.recv() => match line {
                        Some(line) => server.send(&line.to_string()).await,
                        None => return,
                    },
                    message = server.next() => match message {
                        Some(message) => hears.send(message).await.unwrap(),
                        None => return,
                    },
                }
            }
        };
        let (extension, playing) = play(options, script).await;
        Self { lines, heard, extension: extension.unwrap(), _playing: playing }
    }

    async fn say(&self, line: Value) {
        self.lines.send(line).await.unwrap();
    }

    async fn ask(&self, id: &str) {
        let params = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
        self.say(json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params }))
            .await;
    }

    async fn finish(&self, call: &Value) {
        let result = json!({ "content": [{ "type": "text", "text": "fine" }] });
        self.say(json!({ "jsonrpc": "2.0", "id": call["id"], "result": result })).await;
    }

    async fn next(&mut self) -> Value {
        tokio::time::timeout(PATIENCE, self.heard.recv()).await.expect("nothing comes").unwrap()
    }

    /// Makes a call; gives it, and its request once that has arrived.
    async fn call(&mut self, context: CallContext) -> (JoinHandle<ToolResult<ToolOutput>>, Value) {
        let extension = Arc::clone(&self.extension);
        let call = tokio::spawn(async move { extension.call("work", JsonObject::new(), &context).await });
        let request = self.next().await;
        assert_eq!(request["method"], "tools/call");
        (call, request)
    }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_a_cancelled_call_reaches_no_other_caller() {
    let mut puppet = Puppet::start(ConnectOptions::default()).await;
    let (one, other) = (Person::new(9), Person::new(9));
    let token = CancellationToken::new();
    let (withdrawn, first) = puppet.call(one.context().with_cancellation(token.clone())).await;
    token.cancel();
    withdrawn.await.unwrap().unwrap_err();
    assert_eq!(puppet.next().await["method"], "notifications/cancelled");
    let (call, second) = puppet.call(other.context()).await;
    puppet.ask("too late").await;
    let answer = puppet.next().await;
    assert_eq!((&answer["id"], answer["error"].is_object()), (&json!("too late"), true), "{answer}");
    assert_eq!((one.asked(), other.asked()), (0, 0));

    // Once the late answer is here, no other caller can be meant.
    puppet.finish(&first).await;
    puppet.ask("in time").await;
    let answer = puppet.next().await;
    assert_eq!(answer["result"]["action"], "decline", "{answer}");
    assert_eq!((one.asked(), other.asked()), (0, 1));
    puppet.finish(&second).await;
    call.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_cancelled_a_call_can_still_be_asked() {
    let mut puppet = Puppet::start(ConnectOptions::default()).await;
    let person = Person::new(9);
    let token = CancellationToken::new();
    let (withdrawn, _) = puppet.call(person.context().with_cancellation(token.clone())).await;
    token.cancel();
    withdrawn.await.unwrap().unwrap_err();
    assert_eq!(puppet.next().await["method"], "notifications/cancelled");
    let (call, request) = puppet.call(person.context()).await;
    puppet.ask("q").await;
    assert_eq!(puppet.next().await["result"]["action"], "decline");
    puppet.finish(&request).await;
    call.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_ends_with_its_call() {
    let mut puppet = Puppet::start(ConnectOptions::default()).await;
    let person = Person::new(0);
    let (call, request) = puppet.call(person.context()).await;
    puppet.ask("q").await;
    until("the person is asked", || person.open() == 1).await;
    puppet.finish(&request).await;
    call.await.unwrap().unwrap();
    until("the question is withdrawn", || person.open() == 0).await;
    assert!(puppet.next().await["error"].is_object());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_one_of_several_calls_holds_the_time_of_all_and_ends_with_the_last() {
    let options =
        ConnectOptions { call_timeout: Some(Duration::from_millis(400)), ..ConnectOptions::default() };
    let mut puppet = Puppet::start(options).await;
    let person = Person::new(0);
    let (first, one) = puppet.call(person.context()).await;
    let (second, two) = puppet.call(person.context()).await;
    puppet.ask("q").await;
    until("the person is asked", || person.open() == 1).await;
    puppet.finish(&one).await;
    first.await.unwrap().unwrap();
    // Twice the time that a call may be silent.
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert!(!second.is_finished() && person.open() == 1);
    puppet.finish(&two).await;
    second.await.unwrap().unwrap();
    until("the question is withdrawn", || person.open() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_open_questions_is_limited() {
    let mut puppet = Puppet::start(ConnectOptions::default()).await;
    let person = Person::new(0);
    let (call, request) = puppet.call(person.context()).await;
    for id in 0..20 {
        puppet.ask(&format!("q{id}")).await;
    }
    for _ in 0..4 {
        let answer = puppet.next().await;
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("more than 16 questions at once"), "{answer}");
    }
    until("the person is asked", || person.open() == 16).await;
    puppet.finish(&request).await;
    call.await.unwrap().unwrap();
    until("the questions are withdrawn", || person.open() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_hears_that_a_call_was_withdrawn_before_it_is_stopped() {
    for _ in 0..20 {
        let mut puppet = Puppet::start(ConnectOptions::default()).await;
        let token = CancellationToken::new();
        let (call, request) = puppet.call(CallContext::new().with_cancellation(token.clone())).await;
        token.cancel();
        call.await.unwrap().unwrap_err();
        puppet.extension.stop().await;
        let notice = tokio::time::timeout(PATIENCE, puppet.heard.recv()).await.expect("it is not stopped");
        let notice = notice.expect("the server was stopped before it was told");
        assert_eq!(notice["params"]["requestId"], request["id"], "{notice}");
    }
}

/// Counts what it hears.
#[derive(Default)]
struct Ear(AtomicUsize);

impl Notifier for Ear {
    fn log(&self, _content: RichRenderable) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn status(&self, _message: String) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_message_of_one_of_two_listeners_reaches_neither() {
    let aside = Arc::new(Ear::default());
    let surroundings = CallContext::new().with_notifier(aside.clone());
    let mut puppet = Puppet::start(ConnectOptions { surroundings, ..ConnectOptions::default() }).await;
    let (one, two) = (Arc::new(Ear::default()), Arc::new(Ear::default()));
    let (first, request_1) = puppet.call(CallContext::new().with_notifier(one.clone())).await;
    let (second, request_2) = puppet.call(CallContext::new().with_notifier(two.clone())).await;
    let log = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": "x" } });
    puppet.say(log.clone()).await;
    puppet.finish(&request_1).await;
    first.await.unwrap().unwrap();
    puppet.say(log).await;
    puppet.finish(&request_2).await;
    second.await.unwrap().unwrap();
    let heard = |ear: &Ear| ear.0.load(Ordering::SeqCst);
    assert_eq!((heard(&aside), heard(&one), heard(&two)), (1, 0, 1));
}
