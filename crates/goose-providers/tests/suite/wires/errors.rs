//! Services that cannot be reached, or will not answer.

use std::{net::SocketAddr, time::Duration};

use goose_extension::Message;
use goose_providers::{Endpoint, KeyHeader, ProviderError, RetryPolicy};
use tokio::{io::AsyncWriteExt, net::TcpListener};

use super::{
    server::{Answer, Server},
    speak::{ALL, Stop, Tongue},
    talk::{KEY, ask},
};

async fn failure_at(tongue: Tongue, url: &str) -> ProviderError {
    let provider = tongue.provider(tongue.endpoint(url), tongue.model());
    ask(&*provider, &[Message::user("hello").into()]).await.failure()
}

/// Answers everything, a TLS greeting too, in plain HTTP. It ends with the test's runtime.
async fn plain_speaker() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    address
}

/// Nothing listens, the name is unknown, it is not TLS: the reason is said, with the address and without secrets.
#[tokio::test]
async fn who_cannot_be_reached_is_named_with_the_reason() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = silent.local_addr().unwrap();
    drop(silent);
    let plain = plain_speaker().await;
    // Too long for a name, so that no resolver is asked.
    let nameless = format!("http://{}.invalid/v1", "x".repeat(64));
    for tongue in ALL {
        let refused = failure_at(tongue, &format!("http://{closed}/v1?secret=canary")).await;
        let text = refused.to_string();
        assert!(text.contains(&format!("cannot reach example at http://{closed}/v1:")), "{text}");
        assert!(text.contains("connection refused") && !text.contains("canary"), "{text}");

        let unknown = failure_at(tongue, &nameless).await.to_string();
        assert!(unknown.contains("cannot resolve the host name"), "{unknown}");

        let tls = failure_at(tongue, &format!("https://{plain}/v1")).await.to_string();
        assert!(tls.contains("TLS failed"), "{tls}");

        for attempt in 1..=5 {
            assert!(RetryPolicy::default().delay(attempt, &refused).is_some());
        }
        assert!(refused.hint().is_some());
    }
}

#[tokio::test]
async fn localhost_is_known_without_looking_it_up() {
    for tongue in ALL {
        let frames = [vec![tongue.text("ok")], tongue.stop(Stop::End)].concat();
        let server = Server::always(Answer::events(frames)).await;
        let endpoint = tongue.endpoint(&format!("http://localhost:{}/v1", server.address().port()));
        let provider = tongue.provider(endpoint, tongue.model());
        ask(&*provider, &[Message::user("hello").into()]).await.reply();
    }
}

/// Status, words and the moment to come back.
#[tokio::test]
async fn each_status_has_its_meaning() {
    for tongue in ALL {
        let refused = |status, body: &str| tongue.hear(Answer::body(status, "application/json", body));
        let error = refused(401, r#"{"error":{"message":"bad key sk-canary-key"}}"#).await.failure();
        assert!(
            matches!(&error, ProviderError::Auth { provider, key: Some(key), .. } if provider == "example" && key == "EXAMPLE_API_KEY")
        );
        assert!(error.hint().unwrap().contains("EXAMPLE_API_KEY"));
        let error = refused(402, "").await.failure();
        assert!(matches!(error, ProviderError::Quota { .. }), "{error:?}");
        let error = refused(400, r#"{"error":{"message":"prompt is too long"}}"#).await.failure();
        assert!(matches!(error, ProviderError::ContextLength { .. }), "{error:?}");
        let error = refused(400, r#"{"error":{"message":"bad field"}}"#).await.failure();
        assert!(matches!(error, ProviderError::Refused { status: Some(400), .. }), "{error:?}");
        for status in [500, 502, 503, 529] {
            let error = refused(status, "{}").await.failure();
            assert!(
                matches!(error, ProviderError::Server { status: Some(said), .. } if said == status),
                "{error:?}"
            );
            assert!(error.is_transient());
        }
        let busy = Answer::body(429, "text/plain", "slow down").with_header("retry-after", "3");
        let error = tongue.hear(busy).await.failure();
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3)), "{error:?}");
    }
}

/// An endless refusal is read to a cap.
#[tokio::test]
async fn an_endless_refusal_is_cut() {
    for tongue in ALL {
        let mut answer = Answer::body(500, "text/plain", "oh no ");
        answer.acts.push(super::server::Act::Repeat(vec![b'x'; 64 * 1024], 1000, Duration::ZERO));
        let error = tongue.hear(answer).await.failure();
        assert!(error.to_string().len() < 4_000, "{}", error.to_string().len());
    }
}

/// A redirect is not followed, and the key goes nowhere else.
#[tokio::test]
async fn redirects_are_not_followed() {
    for tongue in ALL {
        let elsewhere = Server::always(Answer::events([tongue.text("evil")])).await;
        let target = format!("http://{}/v1", elsewhere.address());
        let answer = Answer::body(307, "text/plain", "").with_header("location", &target);
        let error = tongue.hear(answer).await.failure();
        assert!(error.to_string().contains(&target), "{error}");
        assert_eq!(elsewhere.connections(), 0);
    }
}

#[tokio::test]
async fn the_key_goes_where_the_service_wants_it() {
    for tongue in ALL {
        let frames = [vec![tongue.text("ok")], tongue.stop(Stop::End)].concat();
        let server = Server::always(Answer::events(frames)).await;
        let endpoint = tongue.endpoint(&format!("http://{}/v1?api-version=1", server.address()));
        let own = Endpoint {
            key_header: KeyHeader::Named("api-key".into()),
            headers: vec![("X-Team".into(), "birds".into())],
            ..endpoint.clone()
        };
        for endpoint in [endpoint, own] {
            ask(&*tongue.provider(endpoint, tongue.model()), &[Message::user("hello").into()]).await.reply();
        }
        let heads: Vec<String> = server.asked().into_iter().map(|asked| asked.head).collect();
        let usual = match tongue {
            Tongue::Anthropic => format!("x-api-key: {KEY}"),
            Tongue::Gemini => format!("x-goog-api-key: {KEY}"),
            _ => format!("authorization: Bearer {KEY}"),
        };
        assert!(heads[0].contains(&usual) && heads[0].starts_with("POST /v1?api-version=1 "), "{}", heads[0]);
        assert!(
            heads[1].contains(&format!("api-key: {KEY}")) && heads[1].contains("x-team: birds"),
            "{}",
            heads[1]
        );
        assert!(!heads[1].contains(&usual) || tongue == Tongue::Anthropic, "{}", heads[1]);
        assert_eq!(heads[0].contains("anthropic-version: 2023-06-01"), tongue == Tongue::Anthropic);
    }
}

/// A key with a line break cannot be sent, and is not shown.
#[tokio::test]
async fn a_key_that_cannot_be_sent_is_an_auth_error() {
    for tongue in ALL {
        let endpoint = tongue.endpoint("http://127.0.0.1:9/").with_key("sk-canary-key\nx", "EXAMPLE_API_KEY");
        let provider = tongue.provider(endpoint, tongue.model());
        let error = ask(&*provider, &[Message::user("hello").into()]).await.failure();
        assert!(matches!(error, ProviderError::Auth { .. }), "{error:?}");
    }
}
