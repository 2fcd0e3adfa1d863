//! Assignment of recorded messages to requests.

use super::*;

fn client(message: Value) -> Entry {
    Entry { connection: 1, stream: None, event: Event::Client(message) }
}

fn server(message: Value) -> Entry {
    Entry { connection: 1, stream: None, event: Event::Server(message) }
}

#[test]
fn what_comes_after_a_cancellation_belongs_to_the_request_that_is_still_open() {
    let call =
        |id: u64| client(json!({ "id": id, "method": "tools/call", "params": { "name": id.to_string() } }));
    let cancel = json!({ "method": "notifications/cancelled", "params": { "requestId": 2 } });
    let question = json!({ "id": "s1", "method": "roots/list" });
    let messages = vec![call(1), call(2), client(cancel), server(question)];
    let scripts = Scripts::new(Document::new(String::new(), messages));
    let steps: Vec<usize> = scripts.all.iter().map(|script| script.steps.len()).collect();
    assert_eq!(steps, [1, 0]);
    assert_eq!(scripts.questions.get("s1").map(|question| question.script), Some(0));
}
