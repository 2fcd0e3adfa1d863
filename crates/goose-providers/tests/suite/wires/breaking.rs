//! Answers that break off, fall silent, or fail in the middle.

use std::time::{Duration, Instant};

use futures::StreamExt;
use goose_extension::Message;
use goose_providers::{Endpoint, ProviderError, ReplyEvent};

use super::{
    server::{Act, Answer, Server},
    speak::{ALL, Call, Stop, Tongue},
    talk::{ask, begin},
};

const LS: Call<'_> = Call { place: 1, id: "call_a", name: "shell" };

fn assert_network(tongue: Tongue, error: &ProviderError) {
    assert!(matches!(error, ProviderError::Network { .. }) && error.is_transient(), "{tongue:?}: {error:?}");
}

/// What came is passed on, and then it is said that the rest is missing.
#[tokio::test]
async fn a_cut_in_text_is_an_error() {
    for tongue in ALL {
        let frames = [tongue.start(), tongue.text("Hel"), tongue.text("lo")];
        for last in [Some(Act::Cut), None] {
            let answer = Answer::events(frames.clone());
            let answer = last.iter().fold(answer, |answer, act| answer.then(act.clone()));
            let heard = tongue.hear(answer).await;
            assert_eq!(heard.text(), "Hello", "{tongue:?}");
            assert_network(tongue, &heard.failure());
        }
    }
}

/// A call that came whole does not make the answer whole.
#[tokio::test]
async fn a_cut_after_a_call_is_an_error() {
    for tongue in ALL {
        let frames = [vec![tongue.start()], tongue.call(LS, r#"{"command":"ls"}"#)].concat();
        for last in [Some(Act::Cut), None] {
            let answer = Answer::events(frames.clone());
            let answer = last.iter().fold(answer, |answer, act| answer.then(act.clone()));
            assert_network(tongue, &tongue.hear(answer).await.failure());
        }
    }
}

/// A cut within an event is a cut, not nonsense.
#[tokio::test]
async fn a_cut_event_is_no_event() {
    for tongue in ALL {
        let mut half = tongue.text("never seen");
        half.truncate(half.len() - 15);
        let heard = tongue.hear(Answer::events([tongue.start(), tongue.text("seen"), half])).await;
        assert_eq!(heard.text(), "seen");
        assert_network(tongue, &heard.failure());
    }
}

#[tokio::test]
async fn nothing_at_all_is_a_cut() {
    for tongue in ALL {
        for answer in
            [Answer::events([]), Answer::events([b"\n\n".to_vec()]), Answer::events([]).then(Act::Cut)]
        {
            assert_network(tongue, &tongue.hear(answer).await.failure());
        }
    }
}

/// A service that has said why it stopped need not close the stream properly.
#[tokio::test]
async fn the_last_words_may_be_missing() {
    for tongue in [Tongue::Chat, Tongue::Anthropic] {
        let mut frames = [vec![tongue.start(), tongue.text("Hello")], tongue.stop(Stop::End)].concat();
        frames.pop();
        let reply = tongue.hear(Answer::events(frames)).await.reply();
        assert_eq!((reply.message.text(), reply.usage.output), ("Hello".to_owned(), 7), "{tongue:?}");
    }
}

/// A whole answer is not asked for again because its connection ends badly, or does not end.
#[tokio::test]
async fn an_answer_that_has_stopped_is_complete_however_its_connection_ends() {
    let listen = |(tongue, last): (Tongue, Act)| async move {
        let mut frames = [vec![tongue.start(), tongue.text("Hello")], tongue.stop(Stop::End)].concat();
        frames.pop();
        let reply = tongue.hear(Answer::events(frames).then(last)).await.reply();
        assert_eq!((reply.message.text(), reply.usage.output), ("Hello".to_owned(), 7), "{tongue:?}");
    };
    let endings = [Tongue::Chat, Tongue::Anthropic]
        .into_iter()
        .flat_map(|tongue| [(tongue, Act::Cut), (tongue, Act::Stay)]);
    futures::future::join_all(endings.map(listen)).await;
}

/// An error is passed on at once, though the connection stays open.
#[tokio::test]
async fn a_failure_on_an_open_socket_is_told_at_once() {
    for tongue in ALL {
        let answer = Answer::events([tongue.start(), tongue.text("Hel"), tongue.failure()]).then(Act::Stay);
        let server = Server::always(answer).await;
        let endpoint = tongue.endpoint(&format!("http://{}/", server.address()));
        let endpoint = Endpoint { timeout: Some(Duration::from_secs(600)), ..endpoint };
        let provider = tongue.provider(endpoint, tongue.model());

        let heard = ask(&*provider, &[Message::user("hello").into()]).await;

        assert_eq!(heard.text(), "Hel");
        let error = heard.failure();
        assert!(
            matches!(error, ProviderError::Server { .. }) && error.to_string().contains("Overloaded"),
            "{error:?}"
        );
    }
}

/// The end of an answer is its last event, not the end of the connection.
#[tokio::test]
async fn an_answer_ends_though_the_socket_stays_open() {
    for tongue in ALL {
        let frames = [vec![tongue.start(), tongue.text("Hello")], tongue.stop(Stop::End)].concat();
        let reply = tongue.hear(Answer::events(frames).then(Act::Stay)).await.reply();
        assert_eq!(reply.message.text(), "Hello", "{tongue:?}");
    }
}

/// Who says nothing for too long, is given up.
#[tokio::test]
async fn a_silent_stream_is_given_up() {
    let patience = Duration::from_millis(300);
    for tongue in ALL {
        for frames in [vec![], vec![tongue.start(), tongue.text("Hel")]] {
            let server = Server::always(Answer::events(frames).then(Act::Stay)).await;
            let endpoint = tongue.endpoint(&format!("http://{}/", server.address()));
            let endpoint = Endpoint { timeout: Some(patience), ..endpoint };
            let provider = tongue.provider(endpoint, tongue.model());
            let begun = Instant::now();
            let error = ask(&*provider, &[Message::user("hello").into()]).await.failure();
            assert_network(tongue, &error);
            assert!(error.to_string().contains("no data from"), "{error}");
            assert!(begun.elapsed() >= patience);
        }
    }
}

/// Bytes that complete nothing are no sign of life, however often they come.
#[tokio::test]
async fn a_stream_that_trickles_is_given_up() {
    let patience = Duration::from_millis(600);
    let listen = |tongue: Tongue| async move {
        let mut answer = Answer::events([tongue.start()]);
        answer.acts.push(Act::Repeat("x".into(), 200, patience / 12));
        let server = Server::always(answer.then(Act::Stay)).await;
        let endpoint = tongue.endpoint(&format!("http://{}/", server.address()));
        let endpoint = Endpoint { timeout: Some(patience), ..endpoint };
        let provider = tongue.provider(endpoint, tongue.model());
        let begun = Instant::now();
        let error = ask(&*provider, &[Message::user("hello").into()]).await.failure();
        assert_network(tongue, &error);
        assert!(begun.elapsed() >= patience && begun.elapsed() < patience * 8, "{:?}", begun.elapsed());
    };
    // There the bytes would be the length of a frame, and end the answer at once.
    let tongues = ALL.into_iter().filter(|tongue| *tongue != Tongue::Converse);
    futures::future::join_all(tongues.map(listen)).await;
}

/// Signs of life keep an answer alive for longer than the patience, though they say nothing.
#[tokio::test]
async fn keep_alives_keep_alive() {
    let patience = Duration::from_secs(3);
    let listen = |tongue: Tongue| async move {
        let mut answer = Answer::events([tongue.start()]);
        answer.acts.push(Act::Repeat(tongue.keep_alive(), 14, patience / 12));
        answer.acts.push(Act::Send(tongue.text("Hello")));
        answer.acts.extend(tongue.stop(Stop::End).into_iter().map(Act::Send));
        let server = Server::always(answer).await;
        let endpoint = tongue.endpoint(&format!("http://{}/", server.address()));
        let endpoint = Endpoint { timeout: Some(patience), ..endpoint };
        let provider = tongue.provider(endpoint, tongue.model());
        let begun = Instant::now();
        let reply = ask(&*provider, &[Message::user("hello").into()]).await.reply();
        assert_eq!(reply.message.text(), "Hello", "{tongue:?}");
        assert!(begun.elapsed() > patience, "{tongue:?}");
    };
    futures::future::join_all(ALL.map(listen)).await;
}

#[tokio::test]
async fn dropping_the_stream_ends_the_request() {
    for tongue in ALL {
        let server =
            Server::always(Answer::events([tongue.start(), tongue.text("Hel")]).then(Act::Stay)).await;
        let provider = tongue.at(&server);
        let mut stream = begin(&*provider).await.unwrap();
        while !matches!(stream.next().await, Some(Ok(ReplyEvent::Text(_)))) {}
        assert_eq!(server.left(), 0);
        drop(stream);
        let gone = async {
            while server.left() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), gone).await.expect("the server is left");
    }
}
