//! What models pass to tools when they do it wrong. Nothing of it is an error of the answer: the model is told.

use std::collections::HashSet;

use goose_extension::{Message, MessageContent, Role, ToolOutput};
use goose_providers::{Arguments, ReplyEvent, ToolCall};
use serde_json::Value;

use super::{
    server::{Answer, Server},
    speak::{ALL, Call, Stop, Tongue, WITH_RAW_ARGUMENTS},
    talk::{Heard, ask},
};

fn calls(heard: &Heard) -> Vec<&ToolCall> {
    let calls = heard.events.iter().filter_map(|event| match event {
        ReplyEvent::Call(call) => Some(call),
        _ => None,
    });
    calls.collect()
}

fn passing(tongue: Tongue, arguments: &str) -> Answer {
    let call = Call { place: 1, id: "call_a", name: "shell" };
    Answer::events([vec![tongue.start()], tongue.call(call, arguments), tongue.stop(Stop::Tools)].concat())
}

#[tokio::test]
async fn what_is_no_object_is_told_to_the_model() {
    let table = [
        (r#"{"command":"l"#, "cut off"),
        (r#"["ls"]"#, "a list"),
        ("null", "null"),
        ("\"ls\"", "a string"),
        ("{command: ls}", "not valid JSON"),
        ("{} {}", "not valid JSON"),
    ];
    for tongue in WITH_RAW_ARGUMENTS {
        for (arguments, expected) in table {
            let heard = tongue.hear(passing(tongue, arguments)).await;
            let Arguments::Malformed { raw, why } = &calls(&heard)[0].arguments else {
                panic!("{tongue:?} {arguments}: {heard:?}")
            };
            assert!(why.contains(expected), "{tongue:?} {arguments}: {why}");
            assert_eq!(raw, arguments);
        }
        let heard = tongue.hear(passing(tongue, "")).await;
        assert_eq!(calls(&heard)[0].arguments, Arguments::Object(serde_json::Map::new()), "{tongue:?}");
    }
}

/// A call that the length limit cut off before its arguments is not one without arguments; those before it are whole.
#[tokio::test]
async fn a_call_cut_before_its_arguments_is_told_to_the_model() {
    for tongue in ALL {
        let (one, two) = (Call { place: 1, id: "a", name: "tree" }, Call { place: 2, id: "b", name: "tree" });
        let said = [vec![tongue.start()], tongue.call(one, ""), tongue.call(two, "")].concat();
        let heard = tongue.hear(Answer::events([said.clone(), tongue.stop(Stop::Length)].concat())).await;
        let none = Arguments::Object(serde_json::Map::new());
        assert_eq!(calls(&heard)[0].arguments, none, "{tongue:?}");
        let Arguments::Malformed { why, .. } = &calls(&heard)[1].arguments else { panic!("{tongue:?}") };
        assert!(why.contains("cut off"), "{tongue:?}: {why}");
        heard.reply();

        let heard = tongue.hear(Answer::events([said, tongue.stop(Stop::Tools)].concat())).await;
        assert!(calls(&heard).iter().all(|call| call.arguments == none), "{tongue:?}");
    }
}

#[tokio::test]
async fn five_megabytes_are_refused_and_not_kept() {
    let huge = format!(r#"{{"command":"{}"}}"#, "é".repeat(5 * 512 * 1024));
    for tongue in ALL {
        let heard = tongue.hear(passing(tongue, &huge)).await;
        let Arguments::Malformed { raw, why } = &calls(&heard)[0].arguments else { panic!("{tongue:?}") };
        assert!(why.contains(&huge.len().to_string()) && raw.len() < 10_000, "{tongue:?}: {why}");
        heard.reply();
    }
}

/// A broken call is stored as it came, and sent back as a valid one.
#[tokio::test]
async fn a_broken_call_makes_a_valid_history() {
    for tongue in WITH_RAW_ARGUMENTS {
        let server = Server::always(passing(tongue, r#"["ls"#)).await;
        let provider = tongue.at(&server);
        let message = ask(&*provider, &[Message::user("hello").into()]).await.reply().message;
        assert!(
            matches!(&message.content[0], MessageContent::ToolCall { arguments: Value::String(raw), .. } if raw == "[\"ls"),
            "{message:?}"
        );
        let result = MessageContent::tool_result("call_a", ToolOutput::error("bad arguments"));
        let history =
            [Message::user("hello").into(), message.into(), Message::new(Role::User, [result]).into()];
        ask(&*provider, &history).await.reply();
        let body = server.asked()[1].body.clone();
        let sent = match tongue {
            Tongue::Anthropic | Tongue::Converse => r#""input":{}"#,
            _ => r#""arguments":"{}""#,
        };
        assert!(body.contains(sent) && !body.contains(r#"[\"ls"#), "{tongue:?}: {body}");
    }
}

#[tokio::test]
async fn every_call_has_an_id_of_its_own() {
    let long = "x".repeat(200);
    for tongue in ALL {
        let ids = ["same", "same", "", "", &long, "späte id", "call_0"];
        let said =
            ids.iter().zip(1..).flat_map(|(id, place)| tongue.call(Call { place, id, name: "shell" }, "{}"));
        let said: Vec<Vec<u8>> = said.collect();
        let answer = Answer::events([vec![tongue.start()], said, tongue.stop(Stop::Tools)].concat());
        let server = Server::always(answer).await;
        // One that an earlier answer used is for the conversation to tell apart: what was said before is not searched.
        let earlier = super::talk::call("call_0", "shell", serde_json::json!({}));
        let result = MessageContent::tool_result("call_0", ToolOutput::text("done"));
        let history = [
            Message::user("hello").into(),
            Message::new(Role::Assistant, [earlier]).into(),
            Message::new(Role::User, [result]).into(),
        ];

        let heard = ask(&*tongue.at(&server), &history).await;

        let calls = calls(&heard);
        let ids: HashSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!((calls.len(), ids.len()), (7, 7), "{tongue:?}: {ids:?}");
        assert!(ids.contains("same") && ids.contains("call_0"), "{ids:?}");
        let is_valid = |id: &&str| !id.is_empty() && id.len() <= 64 && id.is_ascii() && !id.contains(' ');
        assert!(ids.iter().all(is_valid), "{ids:?}");
    }
}

#[tokio::test]
async fn a_thousand_calls_are_too_many() {
    for tongue in ALL {
        let said: Vec<Vec<u8>> =
            (1..1000).flat_map(|place| tongue.call(Call { place, id: "", name: "shell" }, "{}")).collect();
        let error = tongue.hear(Answer::events([said, tongue.stop(Stop::Tools)].concat())).await.failure();
        assert!(error.to_string().contains("more than 128 tools"), "{tongue:?}: {error}");
    }
}
