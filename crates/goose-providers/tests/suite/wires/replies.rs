//! Regular answers: the same events and the same message on every wire.

use goose_extension::{Message, MessageContent, Reasoning, Role};
use goose_providers::{Reply, ReplyEvent, StopReason, Usage};
use serde_json::json;

use super::{
    server::{Answer, Server},
    speak::{ALL, Call, Stop, TEXTUAL, Tongue},
    talk::{ask, begin, call},
};

const LS: Call<'_> = Call { place: 1, id: "call_a", name: "shell" };
const READ: Call<'_> = Call { place: 2, id: "call_b", name: "read" };

fn said(tongue: Tongue, middle: Vec<Vec<u8>>, stop: Stop) -> Answer {
    let frames = [vec![tongue.start()], middle, tongue.stop(stop)].concat();
    Answer::events(frames)
}

#[tokio::test]
async fn text_comes_as_it_is_said() {
    for tongue in ALL {
        let heard =
            tongue.hear(said(tongue, vec![tongue.text("Hel"), tongue.text("lo é 日")], Stop::End)).await;

        let texts: Vec<&ReplyEvent> =
            heard.events.iter().filter(|event| matches!(event, ReplyEvent::Text(_))).collect();
        assert_eq!(
            texts,
            [&ReplyEvent::Text("Hel".into()), &ReplyEvent::Text("lo é 日".into())],
            "{tongue:?}"
        );
        let reply = heard.reply();
        assert_eq!(reply.message, Message::assistant("Hello é 日"), "{tongue:?}");
        assert_eq!(reply.stop, StopReason::EndTurn);
        let cache_write = if matches!(tongue, Tongue::Anthropic | Tongue::Converse) { 5 } else { 0 };
        assert_eq!(reply.usage, Usage { input: 105, output: 7, cached_input: 90, cache_write }, "{tongue:?}");
    }
}

/// The short way to a whole answer.
#[tokio::test]
async fn a_stream_is_collected() {
    for tongue in ALL {
        let server = Server::always(said(tongue, vec![tongue.text("Hello")], Stop::End)).await;
        let reply = Reply::collect(begin(&*tongue.at(&server)).await.unwrap()).await.unwrap();
        assert_eq!(reply.message, Message::assistant("Hello"), "{tongue:?}");
        let server = Server::always(Answer::events([tongue.start(), tongue.text("Hel")])).await;
        let error = Reply::collect(begin(&*tongue.at(&server)).await.unwrap()).await.unwrap_err();
        assert!(error.is_transient(), "{tongue:?}: {error:?}");
    }
}

#[tokio::test]
async fn parallel_calls_come_in_order() {
    for tongue in ALL {
        let calls = [tongue.call(LS, r#"{"command":"ls"}"#), tongue.call(READ, r#"{"path":"a"}"#)].concat();
        let heard =
            tongue.hear(said(tongue, [vec![tongue.text("Both.")], calls].concat(), Stop::Tools)).await;

        let started = ReplyEvent::CallStarted { id: "call_a".into(), name: "shell".into() };
        assert!(heard.events.contains(&started), "{tongue:?}: {:?}", heard.events);
        let reply = heard.reply();
        let expected = [
            MessageContent::text("Both."),
            call("call_a", "shell", json!({"command": "ls"})),
            call("call_b", "read", json!({"path": "a"})),
        ];
        assert_eq!(reply.message, Message::new(Role::Assistant, expected), "{tongue:?}");
        assert_eq!(reply.stop, StopReason::ToolUse);
    }
}

#[tokio::test]
async fn interleaved_calls_are_told_apart() {
    for tongue in ALL {
        let frames = vec![
            tongue.begin(LS),
            tongue.begin(READ),
            tongue.arguments(2, r#"{"pa"#),
            tongue.arguments(1, r#"{"comm"#),
            tongue.arguments(2, r#"th":"a"}"#),
            tongue.arguments(1, r#"and":"ls"}"#),
            tongue.end(LS, r#"{"command":"ls"}"#),
            tongue.end(READ, r#"{"path":"a"}"#),
        ];
        let reply = tongue.hear(said(tongue, frames, Stop::Tools)).await.reply();
        let expected =
            [call("call_a", "shell", json!({"command": "ls"})), call("call_b", "read", json!({"path": "a"}))];
        assert_eq!(reply.message.content, expected, "{tongue:?}");
    }
}

#[tokio::test]
async fn arguments_may_come_byte_by_byte() {
    let command = "x".repeat(5_000);
    let arguments = json!({ "command": command }).to_string();
    for tongue in ALL {
        let pieces = arguments.chars().map(|c| tongue.arguments(1, &c.to_string()));
        // Many events in one chunk, as a fast model sends them.
        let grown = pieces.collect::<Vec<_>>().concat();
        let frames = vec![tongue.begin(LS), grown, tongue.end(LS, &arguments)];
        let reply = tongue.hear(said(tongue, frames, Stop::Tools)).await.reply();
        assert_eq!(
            reply.message.content,
            [call("call_a", "shell", json!({"command": command}))],
            "{tongue:?}"
        );
    }
}

/// Thoughts are shown, kept, and sent back to the wire that wants them.
#[tokio::test]
async fn thoughts_go_round() {
    for tongue in ALL {
        let middle = [tongue.thought("First ", "this."), tongue.call(LS, "{}")].concat();
        let server = Server::always(said(tongue, middle, Stop::Tools)).await;
        let provider = tongue.at(&server);

        let heard = ask(&*provider, &[Message::user("hello").into()]).await;

        let shown: Vec<&ReplyEvent> =
            heard.events.iter().filter(|event| matches!(event, ReplyEvent::Thinking(_))).collect();
        assert_eq!(shown.len(), 2, "{tongue:?}: {:?}", heard.events);
        let message = heard.reply().message;
        let MessageContent::Reasoning(Reasoning { text, opaque: Some(_) }) = &message.content[0] else {
            panic!("{tongue:?}: {message:?}")
        };
        assert_eq!(text, "First this.");
        assert_eq!(message.content.len(), 2, "{tongue:?}: {message:?}");

        let results = MessageContent::tool_result("call_a", goose_extension::ToolOutput::text("done"));
        let history =
            [Message::user("hello").into(), message.into(), Message::new(Role::User, [results]).into()];
        ask(&*provider, &history).await.reply();
        let body = &server.asked()[1].body;
        let wanted = match tongue {
            Tongue::Chat => r#""reasoning_content":"First this.""#,
            Tongue::Responses => {
                r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"First this."}],"encrypted_content":"c2VhbGVk"}"#
            }
            Tongue::Anthropic => r#"{"type":"thinking","thinking":"First this.","signature":"c2VhbGVk"}"#,
            Tongue::Gemini => r#""args":{}},"thoughtSignature":"c2VhbGVk"}"#,
            Tongue::Converse => {
                r#"{"reasoningContent":{"reasoningText":{"text":"First this.","signature":"c2VhbGVk"}}}"#
            }
        };
        assert!(body.contains(wanted), "{tongue:?}: {body}");

        // The other wires cannot read it and do not get it.
        for other in ALL.into_iter().filter(|other| *other != tongue) {
            let server = Server::always(said(other, vec![other.text("ok")], Stop::End)).await;
            ask(&*other.at(&server), &history).await.reply();
            let body = &server.asked()[0].body;
            assert!(
                !body.contains("First this.") && !body.contains("c2VhbGVk"),
                "{tongue:?} → {other:?}: {body}"
            );
        }
    }
}

/// Each way to stop has its name, also where nothing, or only thinking, came.
#[tokio::test]
async fn every_stop_is_defined() {
    for tongue in ALL {
        let stops = [
            (Stop::End, StopReason::EndTurn),
            (Stop::Length, StopReason::MaxTokens),
            (Stop::Filter, StopReason::Refused),
        ];
        for (stop, expected) in stops {
            let reply = tongue.hear(said(tongue, vec![tongue.text("So")], stop)).await.reply();
            assert_eq!((reply.stop, reply.message.text()), (expected, "So".to_owned()), "{tongue:?}");
        }
        let nothing = tongue.hear(said(tongue, vec![], Stop::End)).await.reply();
        assert_eq!((nothing.message.content.len(), nothing.stop), (0, StopReason::EndTurn), "{tongue:?}");
        let thoughts = tongue.hear(said(tongue, tongue.thought("a", "b"), Stop::End)).await.reply();
        assert_eq!((thoughts.message.content.len(), thoughts.stop), (1, StopReason::EndTurn), "{tongue:?}");
        // A service may claim tools that never came, or forget to say that they did.
        let none = tongue.hear(said(tongue, vec![tongue.text("a")], Stop::Tools)).await.reply();
        assert_eq!(none.stop, StopReason::EndTurn, "{tongue:?}");
        let some = tongue.hear(said(tongue, tongue.call(LS, "{}"), Stop::End)).await.reply();
        assert_eq!(some.stop, StopReason::ToolUse, "{tongue:?}");
    }
}

/// Some are asked for a stream and answer in one piece.
#[tokio::test]
async fn a_whole_answer_is_taken_too() {
    for tongue in TEXTUAL {
        let answer = Answer::body(200, "application/json", tongue.whole().to_string());
        let reply = tongue.hear(answer).await.reply();
        let expected = [MessageContent::text("Looking."), call("call_a", "shell", json!({"command": "ls"}))];
        assert_eq!(reply.message.content, expected, "{tongue:?}");
        assert_eq!(
            (reply.stop, reply.usage.input, reply.usage.output),
            (StopReason::ToolUse, 3, 4),
            "{tongue:?}"
        );
    }
}

#[tokio::test]
async fn one_connection_serves_many_turns() {
    for tongue in ALL {
        let server = Server::always(said(tongue, vec![tongue.text("ok")], Stop::End)).await;
        let provider = tongue.at(&server);
        for _ in 0..5 {
            ask(&*provider, &[Message::user("hello").into()]).await.reply();
        }
        assert_eq!((server.asked().len(), server.connections()), (5, 1), "{tongue:?}");
    }
}
