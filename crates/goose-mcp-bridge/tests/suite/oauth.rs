//! Logins: with a real server, a login server on another origin, and a browser that says yes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use axum::http::Method;
use futures::future::join_all;
use goose_extension::prelude::*;
use goose_mcp_bridge::{
    Browser, ConnectOptions, FileTokenStore, MemoryTokenStore, OAuth, TokenStore, connect,
};
use url::Url;

use crate::{
    oauth_server::{Visitor, in_memory, lock, look, oauth_server, open, options, until, work},
    web::{Asked, Web, mcp},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_stored_for_later_and_for_its_owner_only() {
    let (web, login_server) = oauth_server().await;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("logins");
    let store: Arc<dyn TokenStore> = Arc::new(FileTokenStore::new(&folder));
    let server = open(&web, &OAuth::new(store).with_browser(Arc::new(Visitor::default()))).await.unwrap();
    assert_eq!(work(&server, false).await, Ok(json!("done")));
    assert_eq!(look(&login_server, |it| (it.logins, it.asked_scopes.clone())), (1, vec!["read".to_owned()]));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.iter().map(|file| mode(file)).collect::<Vec<_>>(), [0o600], "{files:?}");
    }
    drop(server);
    // Another process, without a browser.
    let again = OAuth::new(Arc::new(FileTokenStore::new(&folder)));
    let server = open(&web, &again).await.unwrap();
    assert_eq!(work(&server, false).await, Ok(json!("done")));
    assert_eq!(lock(&login_server).logins, 1);
    // Another server gets nothing of it.
    let (other, its_login_server) = oauth_server().await;
    let error = open(&other, &again).await.unwrap_err().to_string();
    assert!(error.contains("no browser"), "{error}");
    assert_eq!(lock(&its_login_server).seen, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_ends_is_renewed_and_one_that_cannot_be_is_asked_for_again() {
    let (web, login_server) = oauth_server().await;
    lock(&login_server).lasts = Some(1);
    let oauth = in_memory();
    let server = open(&web, &oauth).await.unwrap();
    lock(&login_server).lasts = None;
    assert_eq!(work(&server, false).await, Ok(json!("done")));
    let renewed = lock(&login_server).refreshes;
    assert!(renewed > 0);
    assert_eq!(lock(&login_server).logins, 1);
    // Revoked, but it can be renewed.
    lock(&login_server).tokens.clear();
    assert_eq!(work(&server, false).await, Ok(json!("done")));
    assert_eq!(look(&login_server, |it| (it.refreshes, it.logins)), (renewed + 1, 1));
    lock(&login_server).revoke();
    assert_eq!(work(&server, false).await, Ok(json!("done")));
    assert_eq!(look(&login_server, |it| (it.refreshes, it.logins)), (renewed + 2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_needs_more_asks_for_more_and_keeps_what_there_was() {
    let (web, login_server) = oauth_server().await;
    let server = open(&web, &in_memory()).await.unwrap();
    assert_eq!(work(&server, false).await, Ok(json!("done")));
    assert_eq!(work(&server, true).await, Ok(json!("done")));
    assert_eq!(lock(&login_server).asked_scopes, ["read", "read write"]);
    assert_eq!(work(&server, true).await, Ok(json!("done")));
    assert_eq!(lock(&login_server).logins, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_need_a_login_at_once_share_one() {
    let (web, login_server) = oauth_server().await;
    let server = open(&web, &in_memory()).await.unwrap();
    lock(&login_server).revoke();
    let results = join_all((0..8).map(|_| work(&server, false))).await;
    assert!(results.iter().all(|result| *result == Ok(json!("done"))), "{results:?}");
    assert_eq!(lock(&login_server).logins, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_is_refused_says_so() {
    let (web, login_server) = oauth_server().await;
    lock(&login_server).refuses = true;
    let error = open(&web, &in_memory()).await.unwrap_err().to_string();
    assert!(error.contains("access_denied"), "{error}");
    assert_eq!(look(&login_server, |it| (it.logins, it.issued)), (1, 0));
    // In the middle of a session, too.
    lock(&login_server).refuses = false;
    let server = open(&web, &in_memory()).await.unwrap();
    lock(&login_server).refuses = true;
    lock(&login_server).revoke();
    let error = work(&server, false).await.unwrap_err();
    assert!(matches!(&error, ToolError::Denied(text) if text.contains("access_denied")), "{error:?}");
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
}

/// A browser whose person never answers.
struct Nobody;

#[async_trait]
impl Browser for Nobody {
    async fn open(&self, _server: &str, _url: &Url) -> ToolResult<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_has_a_time_limit_and_frees_its_port() {
    let (web, _login_server) = oauth_server().await;
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let oauth = OAuth::new(Arc::new(MemoryTokenStore::default()))
        .with_browser(Arc::new(Nobody))
        .with(|it| it.redirect_port = port);
    let error =
        open(&web, &oauth.clone().with(|it| it.timeout = Duration::from_millis(200))).await.unwrap_err();
    assert!(error.to_string().contains("the login was not finished within 200ms"), "{error}");
    let listens = async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok();
    let connecting = tokio::spawn(connect(web.url("/mcp"), options(&oauth)));
    until(async || listens().await).await;
    connecting.abort();
    until(async || !listens().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn time_that_a_person_takes_is_not_the_servers() {
    struct Slow(Visitor);
    #[async_trait]
    impl Browser for Slow {
        async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            self.0.open(server, url).await
        }
    }
    let (web, login_server) = oauth_server().await;
    let oauth =
        OAuth::new(Arc::new(MemoryTokenStore::default())).with_browser(Arc::new(Slow(Visitor::default())));
    let options = ConnectOptions {
        handshake_timeout: Duration::from_secs(1),
        call_timeout: Some(Duration::from_secs(1)),
        ..options(&oauth)
    };
    let server = connect(web.url("/mcp"), options).await.unwrap();
    lock(&login_server).revoke();
    assert_eq!(work(&server, false).await, Ok(json!("done")));
    assert_eq!(lock(&login_server).logins, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_header_takes_precedence_over_a_login() {
    let (web, login_server) = oauth_server().await;
    let options = ConnectOptions {
        headers: vec![("Authorization".into(), "Bearer mine".into())],
        ..options(&in_memory())
    };
    let error = connect(web.url("/mcp"), options).await.unwrap_err().to_string();
    assert!(error.contains("401"), "{error}");
    assert_eq!(look(&login_server, |it| (it.logins, it.seen.clone())), (0, vec!["Bearer mine".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_goes_to_no_other_origin() {
    let hits = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&hits);
    let other = Web::serve(move |asked: Asked| {
        counting.fetch_add(1, Ordering::SeqCst);
        assert_ne!(asked.method, Method::CONNECT);
        async move { mcp(&asked) }
    });
    let other = other.await;
    let (web, login_server) = oauth_server().await;
    let server = open(&web, &in_memory()).await.unwrap();
    lock(&login_server).moved = Some(other.url("/mcp"));
    let error = work(&server, false).await.unwrap_err().to_string();
    assert!(error.contains("redirects"), "{error}");
    assert_eq!(hits.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn login_pages_that_are_not_safe_are_not_opened() {
    let bad =
        ["http://login.example/login", "file:///etc/passwd", "javascript:alert(1)", "ftp://127.0.0.1/login"];
    for page in bad {
        let (web, login_server) = oauth_server().await;
        lock(&login_server).page = Some(page.to_owned());
        let visitor = Arc::new(Visitor::default());
        let oauth = OAuth::new(Arc::new(MemoryTokenStore::default())).with_browser(visitor.clone());
        let error = open(&web, &oauth).await.unwrap_err().to_string();
        assert!(error.contains("is not https"), "{error}");
        assert_eq!(visitor.visits.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_read_is_named_and_kept() {
    let (web, login_server) = oauth_server().await;
    let folder = tempfile::tempdir().unwrap();
    let oauth =
        OAuth::new(Arc::new(FileTokenStore::new(folder.path()))).with_browser(Arc::new(Visitor::default()));
    drop(open(&web, &oauth).await.unwrap());
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "{ canary").unwrap();
    let error = open(&web, &oauth).await.unwrap_err().to_string();
    assert!(error.contains(file.to_str().unwrap()) && !error.contains("canary"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ canary");
    assert_eq!(lock(&login_server).logins, 1);
}

#[tokio::test]
async fn nothing_secret_is_shown() {
    let (web, _login_server) = oauth_server().await;
    let store = Arc::new(MemoryTokenStore::default());
    let oauth = OAuth::new(store.clone())
        .with_browser(Arc::new(Visitor::default()))
        .with(|it| it.client = Some(("goose".to_owned(), Some("canary-secret".to_owned()))));
    open(&web, &oauth).await.unwrap();
    let login = store.load(&Url::parse(&web.url("/mcp")).unwrap()).await.unwrap().unwrap();
    let shown = format!("{oauth:?} {login:?}");
    assert!(shown.contains("goose") && !shown.contains("canary"), "{shown}");
    assert!(serde_json::to_string(&login).unwrap().contains("canary"));
}
