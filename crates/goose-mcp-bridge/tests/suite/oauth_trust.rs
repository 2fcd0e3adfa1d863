//! Logins: who gets to see a token or a secret, and who does not.

use std::sync::{Arc, atomic::Ordering};

use goose_extension::prelude::*;
use goose_mcp_bridge::{ConnectOptions, FileTokenStore, MemoryTokenStore, OAuth, TokenStore, connect};
use url::Url;

use crate::{
    oauth_server::{Visitor, in_memory, lock, look, oauth_server, open, options, until, work},
    web::{Web, mcp, status, with_header},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_token_does_not_go_to_a_server_that_names_no_login_server() {
    let (web, login_server) = oauth_server().await;
    lock(&login_server).lasts = Some(1);
    let server = open(&web, &in_memory()).await.unwrap();
    lock(&login_server).silent = true;
    let error = work(&server, false).await.unwrap_err().to_string();
    assert!(error.contains("does not say where to log in"), "{error}");
    assert_eq!(lock(&login_server).strays, Vec::<String>::new());
    // When it is named again, all is well.
    lock(&login_server).silent = false;
    assert_eq!(work(&server, false).await, Ok(json!("done")));
    assert_eq!(lock(&login_server).logins, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_token_does_not_go_to_another_login_server() {
    let ((web, login_server), (_other, stranger)) = (oauth_server().await, oauth_server().await);
    let store = Arc::new(MemoryTokenStore::default());
    lock(&login_server).lasts = Some(1);
    drop(open(&web, &OAuth::new(store.clone()).with_browser(Arc::new(Visitor::default()))).await.unwrap());
    let elsewhere = look(&stranger, |it| it.url.clone());
    lock(&login_server).elsewhere = Some(elsewhere);
    let error = open(&web, &OAuth::new(store.clone())).await.unwrap_err().to_string();
    assert!(error.contains("no browser"), "{error}");
    assert_eq!(lock(&stranger).posted, Vec::<String>::new());
    // The login is kept, for the server may come to its senses.
    assert!(store.load(&Url::parse(&web.url("/mcp")).unwrap()).await.unwrap().is_some());
    lock(&login_server).elsewhere = None;
    assert_eq!(work(&open(&web, &OAuth::new(store)).await.unwrap(), false).await, Ok(json!("done")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_secret_goes_to_the_login_server_that_it_is_for() {
    let ((web, login_server), (_other, stranger)) = (oauth_server().await, oauth_server().await);
    let (mine, elsewhere) = (look(&login_server, |it| it.url.clone()), look(&stranger, |it| it.url.clone()));
    let visitor = Arc::new(Visitor::default());
    let oauth = OAuth::new(Arc::new(MemoryTokenStore::default()))
        .with_browser(visitor.clone())
        .with(|it| it.client = Some(("mine".to_owned(), Some("canary-secret".to_owned()))));
    // The first one that is seen, where none is configured.
    let server = open(&web, &oauth).await.unwrap();
    lock(&login_server).elsewhere = Some(elsewhere.clone());
    lock(&login_server).revoke();
    let error = work(&server, false).await.unwrap_err().to_string();
    assert!(error.contains(&mine) && error.contains(&elsewhere) && !error.contains("canary"), "{error}");
    // Or the one that is.
    let store = || Arc::new(MemoryTokenStore::default());
    let fresh = |issuer: String| {
        OAuth::new(store()).with_browser(visitor.clone()).with(|it| {
            (it.client, it.issuer) = (Some(("mine".to_owned(), None)), Some(issuer));
        })
    };
    let error = open(&web, &fresh(mine.clone())).await.unwrap_err().to_string();
    assert!(error.contains("as the issuer"), "{error}");
    assert_eq!(look(&stranger, |it| (it.posted.clone(), it.logins)), (Vec::new(), 0));
    assert_eq!(visitor.visits.load(Ordering::SeqCst), 1);
    lock(&login_server).elsewhere = None;
    let server = open(&web, &fresh(format!("{mine}/"))).await.unwrap();
    assert_eq!(work(&server, false).await, Ok(json!("done")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_server_in_trouble_is_not_a_refusal() {
    let (web, login_server) = oauth_server().await;
    let server = open(&web, &in_memory()).await.unwrap();
    for trouble in [("temporarily_unavailable", 503), ("server_error", 500)] {
        lock(&login_server).tokens.clear();
        lock(&login_server).trouble = Some(trouble);
        let error = work(&server, false).await.unwrap_err();
        let ToolError::Disconnected(text) = &error else { panic!("{error:?}") };
        assert!(text.contains("Try again later") && text.contains(trouble.0), "{error}");
        lock(&login_server).trouble = None;
        assert_eq!(work(&server, false).await, Ok(json!("done")));
        assert_eq!(lock(&login_server).logins, 1);
    }
    // These are.
    for (nth, error) in ["invalid_client", "unauthorized_client", "invalid_grant"].into_iter().enumerate() {
        lock(&login_server).tokens.clear();
        lock(&login_server).trouble = Some((error, 400));
        assert_eq!(work(&server, false).await, Ok(json!("done")), "{error}");
        assert_eq!(lock(&login_server).logins, nth + 2, "{error}");
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn no_token_travels_unprotected() {
    let web = Web::serve(|asked| async move {
        if asked.header("authorization") == Some("Bearer mine") {
            return mcp(&asked);
        }
        with_header(status(401), "www-authenticate", "Bearer")
    });
    // The address of any interface is not one that can be trusted to be this machine's own.
    let web = web.await;
    let url = format!("http://0.0.0.0:{}/mcp", web.address.port());
    let error = connect(url.clone(), options(&in_memory())).await.unwrap_err().to_string();
    assert!(error.contains("not https") && error.contains("`Authorization` header"), "{error}");
    // What the user wrote is the user's business.
    let options = ConnectOptions {
        headers: vec![("Authorization".into(), "Bearer mine".into())],
        ..options(&in_memory())
    };
    assert_eq!(work(&connect(url, options).await.unwrap(), false).await, Ok(json!("done")));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_was_there_is_closed_to_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let (web, login_server) = oauth_server().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let store = Arc::new(FileTokenStore::new(folder.path()));
    let server = open(&web, &OAuth::new(store).with_browser(Arc::new(Visitor::default()))).await.unwrap();
    assert_eq!(mode(folder.path()), 0o700);
    lock(&login_server).tokens.clear();
    assert_eq!(work(&server, false).await, Ok(json!("done")));
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.iter().any(|file| file.extension().is_some_and(|it| it == "lock")), "{files:?}");
    assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_comes_back_when_its_token_has_ended() {
    let (web, login_server) = oauth_server().await;
    lock(&login_server).has_streams = true;
    let server = open(&web, &in_memory()).await.unwrap();
    until(async || lock(&login_server).streams == 1).await;
    lock(&login_server).tokens.clear();
    lock(&login_server).hung_up.notify_one();
    until(async || lock(&login_server).streams == 2).await;
    assert_eq!(look(&login_server, |it| (it.logins, it.refreshes)), (1, 1));
    assert_eq!(work(&server, false).await, Ok(json!("done")));
}
