//! Untrusted questions: they are bounded, their answers fit, and the call's clock stops meanwhile.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use goose_extension::{
    Answer, Caller, ElicitAction, Elicited, Extension, JsonObject, Question, QuestionKind, Sampled,
    prelude::*,
};
use goose_mcp_bridge::{ConnectOptions, Lifecycle, connect, serve};

use crate::faulty_servers::{Server, play};

/// Gives a prepared answer after a while.
struct Person {
    pause: Duration,
    content: Option<Value>,
    longest: Mutex<u32>,
}

#[async_trait]
impl Caller for Person {
    async fn ask(&self, _key: &str, question: Question) -> ToolResult<Answer> {
        tokio::time::sleep(self.pause).await;
        if let Question::Sample(sampling) = question {
            *self.longest.lock().unwrap() = sampling.max_tokens();
            return Ok(Answer::Sampled(Sampled::new("model", "yes")));
        }
        let mut answer = Elicited::new(ElicitAction::Accept);
        answer.content = self.content.clone();
        Ok(Answer::Elicited(answer))
    }

    fn can_answer(&self, _kind: QuestionKind) -> bool {
        true
    }
}

/// A server that asks the same thing several times in a call, and then answers with what it got.
async fn asked(options: ConnectOptions, person: &Arc<Person>, times: usize, question: Value) -> Vec<Value> {
    let script = move |mut server: Server| async move {
        let request = server.begin().await.unwrap();
        let mut answers = Vec::new();
        for id in 0..times {
            let mut question = question.clone();
            question["jsonrpc"] = json!("2.0");
            question["id"] = json!(1000 + id);
            server.send(&question.to_string()).await;
            let mut answer = server.next().await.unwrap();
            answers.push(match answer.get_mut("result") {
                Some(result) => result.take(),
                None => answer["error"].take(),
            });
        }
        let text = Value::Array(answers).to_string();
        server.answer(&request, json!({ "content": [{ "type": "text", "text": text }] })).await;
        server.next().await;
    };
    let (extension, _playing) = play(options, script).await;
    let extension = extension.unwrap();
    let context = CallContext::new().with_caller(person.clone());
    let call = extension.call("work", JsonObject::new(), &context);
    let output = tokio::time::timeout(Duration::from_secs(20), call).await.expect("the call hangs").unwrap();
    serde_json::from_str(&output.as_text()).unwrap_or_else(|_| panic!("{output:?}"))
}

fn person(content: Option<Value>) -> Arc<Person> {
    Arc::new(Person { pause: Duration::ZERO, content, longest: Mutex::default() })
}

fn form(schema: Value) -> Value {
    json!({ "method": "elicitation/create", "params": { "message": "?", "requestedSchema": schema } })
}

fn sample(text: &str) -> Value {
    json!({ "method": "sampling/createMessage", "params": {
        "maxTokens": 1_000_000, "messages": [{ "role": "user", "content": { "type": "text", "text": text } }],
    } })
}

#[tokio::test(flavor = "multi_thread")]
async fn time_stands_still_while_the_server_waits_for_us() {
    let slow = Arc::new(Person {
        pause: Duration::from_millis(1500),
        content: Some(json!({})),
        longest: Mutex::default(),
    });
    let options =
        ConnectOptions { call_timeout: Some(Duration::from_millis(800)), ..ConnectOptions::default() };
    let answers = asked(options, &slow, 2, form(json!({ "type": "object", "properties": {} }))).await;
    assert_eq!(
        answers,
        [json!({ "action": "accept", "content": {} }), json!({ "action": "accept", "content": {} })]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn defaults_are_filled_in_where_the_person_gave_no_value() {
    let schema = json!({ "type": "object", "properties": {
        "name": { "type": "string", "default": "John" }, "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 }, "sure": { "type": "boolean", "default": true },
        "state": { "type": "string", "enum": ["on", "off"], "default": "on" }, "note": { "type": "string" },
    } });
    for content in [None, Some(json!({})), Some(json!({ "name": "John" }))] {
        let answers = asked(ConnectOptions::default(), &person(content), 1, form(schema.clone())).await;
        let expected = json!({ "name": "John", "age": 30, "score": 95.5, "sure": true, "state": "on" });
        assert_eq!(answers[0]["content"], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_does_not_fit_the_form_is_not_sent() {
    let schema = json!({
        "type": "object", "properties": { "age": { "type": "integer", "minimum": 0 } }, "required": ["age"],
    });
    for content in
        [None, Some(json!({})), Some(json!({ "age": "old" })), Some(json!({ "age": -1 })), Some(json!([]))]
    {
        let answers =
            asked(ConnectOptions::default(), &person(content.clone()), 1, form(schema.clone())).await;
        let message = answers[0]["message"].as_str().unwrap_or_default();
        assert!(message.contains("does not fit"), "{content:?}: {answers:?}");
    }
    let answers = asked(ConnectOptions::default(), &person(Some(json!({ "age": 7 }))), 1, form(schema)).await;
    assert_eq!(answers[0], json!({ "action": "accept", "content": { "age": 7 } }));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_web_pages_are_shown_to_the_person() {
    for (url, passes) in [
        ("https://example.org/form", true),
        ("http://127.0.0.1:8080/", true),
        ("file:///etc/passwd", false),
        ("javascript:alert(1)", false),
        ("vscode://open", false),
        ("nonsense", false),
        ("", false),
    ] {
        let question = json!({ "method": "elicitation/create", "params": {
            "mode": "url", "message": "?", "url": url, "elicitationId": "1",
        } });
        let answers = asked(ConnectOptions::default(), &person(None), 1, question).await;
        assert_eq!(answers[0]["action"] == "accept", passes, "{url}: {answers:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_to_our_model_are_bounded_in_number_length_and_size() {
    let someone = person(None);
    let answers = asked(ConnectOptions::default(), &someone, 10, sample("well?")).await;
    let answered = answers.iter().filter(|answer| answer["model"] == "model").count();
    assert_eq!(answered, 8, "{answers:?}");
    assert!(answers[9]["message"].as_str().unwrap_or_default().contains("may not ask again"), "{answers:?}");
    assert_eq!(*someone.longest.lock().unwrap(), 8192);
    let answers = asked(ConnectOptions::default(), &someone, 1, sample(&"x".repeat(1 << 20))).await;
    assert!(answers[0]["message"].as_str().unwrap_or_default().contains("at most 1048576"), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_to_the_person_are_bounded_in_number_and_size() {
    let someone = person(Some(json!({})));
    let empty = json!({ "type": "object", "properties": {} });
    let answers = asked(ConnectOptions::default(), &someone, 34, form(empty.clone())).await;
    assert_eq!(answers.iter().filter(|answer| answer["action"] == "accept").count(), 32, "{answers:?}");
    assert!(answers[33]["message"].as_str().unwrap_or_default().contains("may not ask again"), "{answers:?}");
    let mut long = form(empty);
    long["params"]["message"] = json!("x".repeat(64 * 1024 + 1));
    let text = "x".repeat(256 * 1024);
    let large = form(json!({ "type": "object", "properties": { "a": { "type": "string", "title": text } } }));
    for (question, limit) in [(long, "at most 65536"), (large, "at most 262144")] {
        let answers = asked(ConnectOptions::default(), &someone, 1, question).await;
        assert!(answers[0]["message"].as_str().unwrap_or_default().contains(limit), "{answers:?}");
    }
}

/// Asks very much at once.
struct Curious;

#[extension]
impl Curious {
    /// Asks as many questions.
    #[tool]
    async fn ask(&self, context: &CallContext, questions: usize) -> ToolResult<usize> {
        let keys: Vec<String> = (0..questions).map(|key| key.to_string()).collect();
        let asking = keys.iter().map(|key| context.roots(key));
        let answers: ToolResult<Vec<_>> = futures::future::join_all(asking).await.into_iter().collect();
        Ok(answers?.len())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_with_too_many_questions_is_refused_before_any_is_asked() {
    let options = ConnectOptions { lifecycle: Lifecycle::Discover, ..ConnectOptions::default() };
    let extension = connect(serve(Curious).duplex(), options).await.unwrap();
    for (questions, passes) in [(16, true), (17, false)] {
        let recorder = goose_test_support::RecordingCaller::new();
        let arguments = json!({ "questions": questions }).as_object().cloned().unwrap();
        let result = extension.call("ask", arguments, &recorder.context()).await;
        let text = format!("{result:?}");
        assert_eq!(text.contains("at once"), !passes, "{text}");
        assert_eq!(recorder.seen().len(), if passes { questions } else { 0 });
    }
}
