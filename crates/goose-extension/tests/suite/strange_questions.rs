//! Questions of strangers: bounded, and the answers fit them. While we are asked, the server's time does not run.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use goose_extension::{
    Answer, Caller, ElicitAction, Elicited, Extension, JsonObject, Question, QuestionKind, Sampled,
    mcp::ConnectOptions, prelude::*,
};

use crate::bad_servers::{Server, play};

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
    let options = ConnectOptions::default().with_call_timeout(Duration::from_millis(800));
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
