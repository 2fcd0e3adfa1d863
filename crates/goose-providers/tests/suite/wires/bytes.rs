//! Bytes as networks and servers deliver them: cut anywhere, too many, not text, something else altogether.

use std::time::Duration;

use goose_extension::Message;
use goose_providers::ProviderError;

use super::{
    server::{Act, Answer, Server},
    speak::{ALL, Call, Stop, TEXTUAL, Tongue},
    talk::ask,
};

fn rich(tongue: Tongue) -> Vec<u8> {
    let call = Call { place: 1, id: "call_a", name: "shell" };
    let frames = [
        tongue.thought("h", "m"),
        vec![tongue.text("é日"), tongue.keep_alive()],
        tongue.call(call, r#"{"a":"ü"}"#),
        tongue.stop(Stop::Tools),
    ];
    frames.concat().concat()
}

/// The same answer, however the network cuts it: at every single byte, and at every byte at once.
#[tokio::test]
async fn cuts_change_nothing() {
    for tongue in ALL {
        let bytes = rich(tongue);
        let count = bytes.len();
        let script = {
            let bytes = bytes.clone();
            move |number: usize| match bytes.split_at_checked(number) {
                Some((head, tail)) => Answer::events([head.to_vec(), tail.to_vec()]),
                None => Answer::events(bytes.iter().map(|byte| vec![*byte])),
            }
        };
        let server = Server::scripted(script).await;
        let provider = tongue.at(&server);
        let hello = [Message::user("hello").into()];
        let whole = ask(&*provider, &hello).await.reply();
        assert_eq!(whole.message.content.len(), 3, "{whole:?}");
        for cut in 1..=count + 1 {
            assert_eq!(ask(&*provider, &hello).await.reply(), whole, "{tongue:?}, cut at {cut}");
        }
    }
}

/// Windows line ends, and none at the end.
#[tokio::test]
async fn line_ends_do_not_matter() {
    for tongue in TEXTUAL {
        let text = String::from_utf8(rich(tongue)).unwrap();
        let expected = tongue.hear(Answer::events([text.clone().into_bytes()])).await.reply();
        for strange in [text.replace('\n', "\r\n"), text.replace('\n', "\r"), text.trim_end().to_owned()] {
            let reply = tongue.hear(Answer::events([strange.into_bytes()])).await.reply();
            assert_eq!(reply, expected, "{tongue:?}");
        }
    }
}

/// Bytes that are no text do not end an answer.
#[tokio::test]
async fn invalid_text_is_replaced() {
    for tongue in ALL {
        let mut frame = tongue.text("a#b");
        let at = frame.iter().position(|byte| *byte == b'#').unwrap();
        frame[at] = 0xff;
        let reply = tongue.hear(Answer::events([vec![frame], tongue.stop(Stop::End)].concat())).await.reply();
        assert_eq!(reply.message.text(), "a\u{fffd}b", "{tongue:?}");
    }
}

/// An event of 100 MB is not waited for.
#[tokio::test]
async fn an_endless_event_is_stopped_at_the_cap() {
    for tongue in ALL {
        let mut answer = Answer::events([tongue.start(), b"data: ".to_vec()]);
        answer.acts.push(Act::Repeat(vec![b'x'; 1024 * 1024], 100, Duration::ZERO));
        let server = Server::always(answer).await;
        let error = ask(&*tongue.at(&server), &[Message::user("hello").into()]).await.failure();
        assert!(matches!(error, ProviderError::Protocol { .. }), "{error:?}");
        assert!(error.to_string().contains("larger than 16 MiB"), "{error}");
    }
}

/// An answer has an end, also where none of its events holds anything that is kept.
#[tokio::test]
async fn an_answer_without_end_is_stopped_at_the_cap() {
    let tongue = Tongue::Gemini;
    let mut answer = Answer::events([tongue.start()]);
    let comment = [b": ".as_slice(), &[b'x'; 1024 * 1024], b"\n"].concat();
    answer.acts.push(Act::Repeat(comment, 300, Duration::ZERO));
    let error = tongue.hear(answer).await.failure();
    assert!(error.to_string().contains("larger than 256 MiB"), "{error}");
}

#[tokio::test]
async fn endless_text_is_stopped_at_the_cap() {
    for tongue in ALL {
        let mut answer = Answer::events([tongue.start()]);
        answer.acts.push(Act::Repeat(tongue.text(&"x".repeat(512 * 1024)), 20, Duration::ZERO));
        let error = tongue.hear(answer).await.failure();
        assert!(error.to_string().contains("8 MiB of text"), "{tongue:?}: {error}");
    }
}

/// 200 with something that is no answer.
#[tokio::test]
async fn something_else_is_told_apart() {
    let table = [
        ("text/html", "\n <!doctype html><title>Login</title>", "web page"),
        ("text/event-stream", "upstream connect error\n\n", "neither a stream of events nor JSON"),
        ("text/event-stream", "data: {\"a\":\n\ndata: 1\n\n", "cannot be read"),
        ("application/json", "{\"ok\":true}", "is missing"),
        ("application/json", "{oops}", "cannot be read"),
        ("text/event-stream", "data: {sk-canary-key}\n\n", "[hidden]"),
    ];
    for tongue in TEXTUAL {
        for (content_type, body, expected) in table {
            let error = tongue.hear(Answer::body(200, content_type, body)).await.failure();
            assert!(matches!(error, ProviderError::Protocol { .. }), "{tongue:?} {body}: {error:?}");
            assert!(error.to_string().contains(expected), "{tongue:?} {body}: {error}");
        }
        let failed = r#"{"error":{"message":"No such model","code":404}}"#;
        let error = tongue.hear(Answer::body(200, "application/json", failed)).await.failure();
        assert!(matches!(error, ProviderError::Refused { status: Some(404), .. }), "{tongue:?}: {error:?}");
        let half = Answer::body(200, "application/json", &tongue.whole().to_string()[..40]);
        let error = tongue.hear(half).await.failure();
        assert!(matches!(error, ProviderError::Network { .. }), "{tongue:?}: {error:?}");
    }
}
