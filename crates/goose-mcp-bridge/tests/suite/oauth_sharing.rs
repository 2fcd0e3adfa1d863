//! Logins: who asks for one, who shares it, and whose time it takes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::future::{join, join_all};
use goose_extension::prelude::*;
use goose_mcp_bridge::{Browser, ConnectOptions, MemoryTokenStore, OAuth, connect};
use url::Url;

use crate::{
    oauth_server::{Shared, Visitor, lock, look, oauth_server, open, options, until, work},
    web::Asked,
};

/// A person who says no only when all eight calls wait.
struct Patient {
    login_server: Shared,
    opened: AtomicUsize,
    visitor: Visitor,
}

#[async_trait]
impl Browser for Patient {
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        while look(&self.login_server, |it| it.refuses && it.refused_calls < 8) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.visitor.open(server, url).await
    }
}

fn logging_in_with(browser: Arc<dyn Browser>) -> OAuth {
    OAuth::new(Arc::new(MemoryTokenStore::default())).with_browser(browser)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_login_is_shared_by_all_waiting_connections() {
    let (web, login_server) = oauth_server().await;
    let (opened, visitor) = (AtomicUsize::new(0), Visitor::default());
    let patient = Arc::new(Patient { login_server: Arc::clone(&login_server), opened, visitor });
    let server = open(&web, &logging_in_with(patient.clone())).await.unwrap();
    lock(&login_server).refuses = true;
    lock(&login_server).revoke();
    let results = join_all((0..8).map(|_| work(&server, false))).await;
    for result in results {
        let error = result.unwrap_err();
        assert!(matches!(&error, ToolError::Denied(text) if text.contains("access_denied")), "{error:?}");
    }
    assert_eq!(patient.opened.load(Ordering::SeqCst), 2);
    // The next one asks again.
    lock(&login_server).refuses = false;
    assert_eq!(work(&server, false).await, Ok(json!("done")));
    assert_eq!(patient.opened.load(Ordering::SeqCst), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_login_is_shown_for_a_background_request() {
    let (web, login_server) = oauth_server().await;
    let visitor = Arc::new(Visitor::default());
    let server = open(&web, &logging_in_with(visitor.clone())).await.unwrap();
    // What can be had without a person is had.
    lock(&login_server).tokens.clear();
    server.ping(Duration::from_secs(20)).await.unwrap();
    lock(&login_server).revoke();
    let error = server.ping(Duration::from_secs(20)).await.unwrap_err().to_string();
    assert!(error.contains("401") && error.contains("no login page was shown"), "{error}");
    assert_eq!(visitor.visits.load(Ordering::SeqCst), 1);
    assert_eq!(work(&server, false).await, Ok(json!("done")));
    assert_eq!(visitor.visits.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_requires_a_login_asks_for_one() {
    let (web, login_server) = oauth_server().await;
    lock(&login_server).greets_all = true;
    let visitor = Arc::new(Visitor::default());
    let server = open(&web, &logging_in_with(visitor.clone())).await.unwrap();
    assert_eq!(work(&server, false).await, Ok(json!("done")));
    assert_eq!(visitor.visits.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_the_login_of_another_connection_is_not_the_servers_time() {
    const LIMIT: Duration = Duration::from_secs(1);
    struct Slow(Visitor);
    #[async_trait]
    impl Browser for Slow {
        async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
            tokio::time::sleep(LIMIT + Duration::from_millis(700)).await;
            self.0.open(server, url).await
        }
    }
    let (web, login_server) = oauth_server().await;
    let oauth = logging_in_with(Arc::new(Slow(Visitor::default())));
    let options =
        || ConnectOptions { handshake_timeout: LIMIT, call_timeout: Some(LIMIT), ..options(&oauth) };
    let first = tokio::spawn(connect(web.url("/mcp"), options()));
    // The second greets during the login for the first.
    until(async || lock(&login_server).posted.iter().any(|text| text.contains("redirect_uris"))).await;
    let (first, second) = join(first, connect(web.url("/mcp"), options())).await;
    let (first, second) = (first.unwrap().unwrap(), second.unwrap());
    lock(&login_server).revoke();
    let results = join(work(&first, false), work(&second, false)).await;
    assert_eq!(results, (Ok(json!("done")), Ok(json!("done"))));
    assert_eq!(lock(&login_server).logins, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_are_under_way_at_once() {
    const CALLS: usize = 40;
    let meeting = Arc::new(tokio::sync::Barrier::new(CALLS));
    let web = crate::web::Web::serve(move |asked: Asked| {
        let meeting = Arc::clone(&meeting);
        async move {
            if asked.rpc() == "tools/call" {
                meeting.wait().await;
            }
            crate::web::mcp(&asked)
        }
    });
    let web = web.await;
    let server = open(&web, &OAuth::new(Arc::new(MemoryTokenStore::default()))).await.unwrap();
    let results = join_all((0..CALLS).map(|_| work(&server, false))).await;
    assert!(results.iter().all(|result| *result == Ok(json!("done"))), "{results:?}");
}
