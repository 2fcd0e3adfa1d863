//! Error messages of services, and the errors that they become.

use serde_json::json;

use super::*;

fn endpoint() -> Endpoint {
    let url = url::Url::parse("https://api.example.com/v1").unwrap();
    Endpoint::new("example", url).with_key("sk-canary", "EXAMPLE_API_KEY")
}

fn refused(status: u16, headers: &[(&'static str, &str)], body: &str) -> ProviderError {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    let refusal = ShortAnswer {
        status: StatusCode::from_u16(status).unwrap(),
        headers: map,
        body: body.as_bytes().to_vec(),
    };
    from_refusal(&endpoint(), &refusal)
}

fn class(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::Auth { .. } => "auth",
        ProviderError::RateLimited { .. } => "rate",
        ProviderError::ContextLength { .. } => "length",
        ProviderError::Quota { .. } => "quota",
        ProviderError::Server { .. } => "server",
        ProviderError::Refused { .. } => "refused",
        _ => "other",
    }
}

/// Each status, in the words of many services.
#[test]
fn every_service_is_understood() {
    let table = [
        (
            400,
            r#"{"error":{"message":"Invalid schema for function 'x'","type":"invalid_request_error"}}"#,
            "refused",
        ),
        (400, r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#, "length"),
        (400, r#"{"error":{"message":"This model's maximum context length is 8192 tokens."}}"#, "length"),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            "length",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"The input token count (1) exceeds the maximum number of tokens allowed (0).","status":"INVALID_ARGUMENT"}}"#,
            "length",
        ),
        (
            400,
            r#"{"error":{"type":"exceed_context_size_error","message":"the request exceeds the available context size"}}"#,
            "length",
        ),
        (422, r#"{"detail":"too many tokens"}"#, "length"),
        (
            413,
            r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            "length",
        ),
        (
            400,
            r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            "quota",
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            "quota",
        ),
        (402, r#"{"error":"Insufficient Balance"}"#, "quota"),
        (403, r#"{"error":{"message":"You exceeded your current quota"}}"#, "quota"),
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-canary.","code":"invalid_api_key"}}"#,
            "auth",
        ),
        (403, "Forbidden", "auth"),
        (404, r#"{"error":{"message":"model not found"}}"#, "refused"),
        (429, r#"{"message":"slow down"}"#, "rate"),
        (500, r#"{"error":{"message":"The server had an error"}}"#, "server"),
        (502, "<html><head><title>502 Bad Gateway</title></head></html>", "server"),
        (503, "", "server"),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "server"),
        (408, "", "server"),
        (418, "[]", "refused"),
    ];
    for (status, body, expected) in table {
        let error = refused(status, &[], body);
        assert_eq!(class(&error), expected, "{status} {body}: {error:?}");
        let text = format!("{error} {error:?} {:?}", error.hint());
        assert!(!text.contains("sk-canary"), "{text}");
    }
}

/// Google calls every limit a quota; one of a minute is waited for, one of a day is not.
#[test]
fn a_quota_of_a_minute_is_a_rate_limit() {
    let message =
        "You exceeded your current quota, please check your plan and billing details. Please retry in 58.8s.";
    let refusal = |details: Value| {
        let error =
            json!({ "code": 429, "status": "RESOURCE_EXHAUSTED", "message": message, "details": details });
        refused(429, &[], &json!({ "error": error }).to_string())
    };
    let violated = |quota: &str| json!({ "violations": [{ "quotaId": quota }] });
    let delay = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "26s" });

    let by_the_minute = refusal(json!([violated("GenerateRequestsPerMinutePerProject"), delay]));
    assert_eq!(class(&by_the_minute), "rate");
    assert_eq!(by_the_minute.retry_after(), Some(Duration::from_secs(26)));
    assert_eq!(refusal(Value::Null).retry_after(), Some(Duration::from_millis(58_800)));
    let by_the_day = refusal(json!([violated("GenerateRequestsPerDayPerProject"), delay]));
    assert_eq!(class(&by_the_day), "quota");
}

#[test]
fn the_key_variable_is_named() {
    let error = refused(401, &[], r#"{"error":{"message":"bad key"}}"#);
    assert_eq!(error.to_string(), "example rejected the API key: bad key");
    assert!(error.hint().unwrap().contains("EXAMPLE_API_KEY"), "{error:?}");
}

#[test]
fn an_html_page_is_not_repeated() {
    let error = refused(502, &[], "<html><head><title>Bad Gateway</title></head><body>…</body></html>");
    assert_eq!(error.to_string(), "service error (502): Bad Gateway");
    assert_eq!(refused(503, &[], "").to_string(), "service error (503): Service Unavailable");
}

#[test]
fn words_are_cut_and_cleaned() {
    let body = json!({ "error": { "message": format!("a\u{1b}[31m\u{202e}b\n{}", "x".repeat(5000)) } });
    let error = refused(400, &[], &body.to_string()).to_string();
    assert!(error.starts_with("the service refused the request (400): a [31m b xxx"), "{error}");
    assert!(error.chars().count() < MAX_MESSAGE_CHARS + 50 && error.ends_with('…'));
}

/// A secret is hidden wherever the user has set it, and a word that is none is left alone.
#[test]
fn secrets_are_hidden_and_words_are_not() {
    let url = url::Url::parse("http://localhost:1/").unwrap();
    let headers = [("X-Gateway-Token", "Bearer canary-in-header"), ("X-Title", "something else")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let endpoint = Endpoint { headers, ..Endpoint::new("local", url).with_key("none", "LOCAL_API_KEY") };
    let text = "none of canary-in-header, something else";
    assert_eq!(without_secrets(&endpoint, text), "none of [hidden], something else");
}

#[test]
fn a_redirect_is_refused_with_its_target() {
    let error = refused(307, &[("location", "https://other.example/v1?token=sk-canary")], "");
    assert!(error.to_string().contains("`https://other.example/v1`"), "{error}");
    assert!(!error.is_transient());
}

/// Seconds, a date, absurd, past; and the other ways to say it.
#[test]
fn all_forms_of_retry_after_are_read() {
    let wait = |headers: &[(&'static str, &str)], body: &str| refused(429, headers, body).retry_after();
    let secs = |number| Some(Duration::from_secs(number));
    let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(30));

    assert_eq!(wait(&[("retry-after", "7")], ""), secs(7));
    assert_eq!(wait(&[("retry-after", "1.5")], ""), Some(Duration::from_millis(1500)));
    assert_eq!(wait(&[("retry-after", "-5")], ""), secs(0));
    assert_eq!(wait(&[("retry-after", "1e300")], ""), Some(Duration::MAX));
    assert_eq!(wait(&[("retry-after", "soon")], ""), None);
    assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")], ""), secs(0));
    let dated = wait(&[("retry-after", &soon)], "").unwrap();
    assert!((25..=30).contains(&dated.as_secs()), "{dated:?}");
    assert_eq!(
        wait(&[("retry-after-ms", "250"), ("retry-after", "9")], ""),
        Some(Duration::from_millis(250))
    );
    let used_up = [("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0.5s")];
    assert_eq!(wait(&used_up, ""), Some(Duration::from_millis(360_500)));
    let not_used_up = [("x-ratelimit-remaining-tokens", "5"), ("x-ratelimit-reset-tokens", "6m")];
    assert_eq!(wait(&not_used_up, ""), None);
    assert_eq!(wait(&[("x-ratelimit-reset", "1000000000000")], ""), secs(0));
    let said = r#"{"error":{"message":"Rate limit reached. Please try again in 20ms. Visit…"}}"#;
    assert_eq!(wait(&[], said), Some(Duration::from_millis(20)));
}

/// Errors in the middle of a stream have no status, but a kind.
#[test]
fn errors_in_a_stream_are_understood() {
    let of = |value: Value| from_value(&endpoint(), &value);
    let table = [
        (json!({"type": "overloaded_error", "message": "Overloaded"}), "server"),
        (json!({"type": "rate_limit_error", "message": "slow"}), "rate"),
        (json!({"code": "rate_limit_exceeded", "message": "slow"}), "rate"),
        (json!({"code": 429, "message": "slow"}), "rate"),
        (json!({"code": 502, "message": "provider returned error"}), "server"),
        (json!({"code": "server_error", "message": "oops"}), "server"),
        (json!({"type": "invalid_request_error", "message": "no"}), "refused"),
        (json!({"type": "authentication_error", "message": "no"}), "auth"),
        (json!({"code": "context_length_exceeded", "message": "no"}), "length"),
        (json!("something went wrong"), "server"),
    ];
    for (value, expected) in table {
        assert_eq!(class(&of(value.clone())), expected, "{value}");
    }
}
