//! A server that wants logins, a login server on another origin, and a browser that says yes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use axum::{
    body::Body,
    http::{Method, Response, header},
};
use futures::StreamExt as _;
use goose_extension::{Extension, prelude::*};
use goose_mcp_bridge::{
    Browser, ConnectOptions, Lifecycle, MemoryTokenStore, OAuth, RemoteExtension, connect,
};
use url::{Url, form_urlencoded};

use crate::web::{Asked, Web, json_answer, mcp, status, with_header};

/// The state and the behaviour of the login server.
#[derive(Default)]
pub(crate) struct LoginServer {
    /// The address of the MCP server.
    pub(crate) server: String,
    /// The address of the login server.
    pub(crate) url: String,
    /// The login server, which lives as long as this.
    pub(crate) desk: Option<Web>,
    /// The login server that the MCP server names, if not this one.
    pub(crate) elsewhere: Option<String>,
    /// True if no server says where to log in.
    pub(crate) silent: bool,
    /// The login server's answer to requests for a token: an error and its status.
    pub(crate) trouble: Option<(&'static str, u16)>,
    /// The requests to the login server.
    pub(crate) posted: Vec<String>,
    /// The requests to paths where the MCP server has nothing.
    pub(crate) strays: Vec<String>,
    /// Calls that were refused for want of a login.
    pub(crate) refused_calls: usize,
    /// True if the server has sessions with streams.
    pub(crate) has_streams: bool,
    /// Ends a stream.
    pub(crate) hung_up: Arc<tokio::sync::Notify>,
    /// True if the greeting needs no login.
    pub(crate) greets_all: bool,
    /// Streams that were opened.
    pub(crate) streams: usize,
    /// The announced address of the login page, if it is not the login server's.
    pub(crate) page: Option<String>,
    /// The scopes of each token.
    pub(crate) tokens: BTreeMap<String, BTreeSet<String>>,
    pub(crate) refresh_tokens: BTreeSet<String>,
    pub(crate) lasts: Option<u64>,
    pub(crate) refuses: bool,
    pub(crate) issued: usize,
    pub(crate) logins: usize,
    pub(crate) refreshes: usize,
    pub(crate) asked_scopes: Vec<String>,
    /// The `Authorization` headers that came to the MCP server.
    pub(crate) seen: Vec<String>,
    /// The target of redirects.
    pub(crate) moved: Option<String>,
}

pub(crate) type Shared = Arc<Mutex<LoginServer>>;

pub(crate) fn lock(login_server: &Shared) -> MutexGuard<'_, LoginServer> {
    login_server.lock().unwrap()
}

/// A snapshot of the state.
pub(crate) fn look<T>(login_server: &Shared, read: impl FnOnce(&LoginServer) -> T) -> T {
    read(&lock(login_server))
}

pub(crate) async fn oauth_server() -> (Web, Shared) {
    let login_server = Shared::default();
    let (server, desk) = (
        serve(&login_server, LoginServer::answer).await,
        serve(&login_server, LoginServer::answer_at_desk).await,
    );
    let mut filled = lock(&login_server);
    (filled.server, filled.url) = (server.url(""), desk.url(""));
    filled.desk = Some(desk);
    drop(filled);
    (server, login_server)
}

async fn serve(login_server: &Shared, answer: fn(&mut LoginServer, &Asked) -> Response<Body>) -> Web {
    let login_server = Arc::clone(login_server);
    let web = Web::serve(move |asked| {
        let answer = answer(&mut lock(&login_server), &asked);
        async move { answer }
    });
    web.await
}

fn field(text: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(text.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn refusal(error: &str, status: u16) -> Response<Body> {
    let mut response = json_answer(&json!({ "error": error }));
    *response.status_mut() = status.try_into().unwrap();
    response
}

impl LoginServer {
    fn answer(&mut self, asked: &Asked) -> Response<Body> {
        match asked.uri.path() {
            "/.well-known/oauth-protected-resource/mcp" if !self.silent => json_answer(&json!({
                "resource": format!("{}/mcp", self.server),
                "authorization_servers": [self.elsewhere.as_ref().unwrap_or(&self.url)],
            })),
            "/mcp" => self.mcp(asked),
            path => {
                if asked.method == Method::POST {
                    self.strays.push(format!("{path} {}", asked.text));
                }
                status(404)
            }
        }
    }

    fn answer_at_desk(&mut self, asked: &Asked) -> Response<Body> {
        if asked.method == Method::POST {
            self.posted.push(asked.text.clone());
        }
        let url = &self.url;
        match asked.uri.path() {
            "/.well-known/oauth-authorization-server" => json_answer(&json!({
                "issuer": url, "token_endpoint": format!("{url}/token"),
                "authorization_endpoint": self.page.clone().unwrap_or_else(|| format!("{url}/login")),
                "registration_endpoint": format!("{url}/register"),
                "code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"],
            })),
            "/register" => json_answer(&json!({
                "client_id": "goose", "client_secret": "canary-client", "redirect_uris": [],
            })),
            "/login" => self.login(asked.uri.query().unwrap_or_default()),
            "/token" => self.token(&asked.text),
            _ => status(404),
        }
    }

    fn login(&mut self, query: &str) -> Response<Body> {
        self.logins += 1;
        let scope = field(query, "scope").unwrap_or_default();
        let mut back = Url::parse(&field(query, "redirect_uri").unwrap()).unwrap();
        back.query_pairs_mut().append_pair("state", &field(query, "state").unwrap());
        if self.refuses {
            back.query_pairs_mut().append_pair("error", "access_denied");
        } else {
            back.query_pairs_mut().append_pair("code", &format!("code {scope}"));
        }
        self.asked_scopes.push(scope);
        with_header(status(302), "location", back.as_str())
    }

    fn token(&mut self, form: &str) -> Response<Body> {
        let scope = match field(form, "grant_type").as_deref() {
            Some("refresh_token") => {
                self.refreshes += 1;
                if let Some((error, status)) = self.trouble {
                    return refusal(error, status);
                }
                if !self.refresh_tokens.remove(&field(form, "refresh_token").unwrap()) {
                    return refusal("invalid_grant", 400);
                }
                field(form, "scope").unwrap_or_default()
            }
            _ => field(form, "code").unwrap().trim_start_matches("code ").to_owned(),
        };
        self.issued += 1;
        let (token, refresh) = (format!("canary-{}", self.issued), format!("canary-again-{}", self.issued));
        self.tokens.insert(token.clone(), scope.split_whitespace().map(str::to_owned).collect());
        self.refresh_tokens.insert(refresh.clone());
        json_answer(&json!({
            "access_token": token, "token_type": "Bearer", "refresh_token": refresh,
            "expires_in": self.lasts.unwrap_or(3600), "scope": scope,
        }))
    }

    fn mcp(&mut self, asked: &Asked) -> Response<Body> {
        let sent = asked.header("authorization").unwrap_or_default().to_owned();
        let scopes = self.tokens.get(sent.trim_start_matches("Bearer ")).cloned();
        let metadata =
            format!("resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"", self.server);
        if !sent.is_empty() {
            self.seen.push(sent);
        }
        if self.greets_all && matches!(asked.rpc().as_str(), "initialize" | "notifications/initialized") {
            return mcp(asked);
        }
        let Some(scopes) = scopes else {
            self.refused_calls += usize::from(asked.rpc() == "tools/call");
            let challenge = format!("Bearer scope=\"read\", {metadata}");
            return with_header(status(401), "www-authenticate", &challenge);
        };
        if asked.rpc() == "tools/call" {
            if let Some(url) = &self.moved {
                return with_header(status(307), "location", url);
            }
            if asked.message()["params"]["arguments"]["write"] == json!(true) && !scopes.contains("write") {
                let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"write\", {metadata}");
                return with_header(status(403), "www-authenticate", &challenge);
            }
        }
        if self.has_streams && asked.method == Method::GET {
            return self.stream();
        }
        let answer = mcp(asked);
        if self.has_streams { with_header(answer, "mcp-session-id", "1") } else { answer }
    }

    /// A stream without events, which ends when it is hung up.
    fn stream(&mut self) -> Response<Body> {
        self.streams += 1;
        let hung_up = Arc::clone(&self.hung_up);
        let start = futures::stream::iter([Ok::<_, std::io::Error>("retry: 10\n\n")]);
        let end = futures::stream::once(async move { hung_up.notified().await }).map(|()| Ok("\n"));
        let response = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
        response.body(Body::from_stream(start.chain(end))).unwrap()
    }

    /// Forgets all tokens.
    pub(crate) fn revoke(&mut self) {
        self.tokens.clear();
        self.refresh_tokens.clear();
    }
}

/// Goes where the login page sends it, after some detours that browsers take.
#[derive(Default)]
pub(crate) struct Visitor {
    pub(crate) visits: AtomicUsize,
}

#[async_trait]
impl Browser for Visitor {
    async fn open(&self, _server: &str, url: &Url) -> ToolResult<()> {
        self.visits.fetch_add(1, Ordering::SeqCst);
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let page = client.get(url.clone()).send().await.unwrap();
        let back = Url::parse(page.headers()["location"].to_str().unwrap()).unwrap();
        // An open connection that says nothing, another page, a stranger's answer.
        let _silent = tokio::net::TcpStream::connect(("127.0.0.1", back.port().unwrap())).await.unwrap();
        assert_eq!(client.get(back.join("/favicon.ico").unwrap()).send().await.unwrap().status(), 404);
        let strange = back.join("/callback?state=guess&code=stolen").unwrap();
        assert_eq!(client.get(strange).send().await.unwrap().status(), 400);
        let answer = client.get(back).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert!(answer.text().await.unwrap().contains("goose"));
        Ok(())
    }
}

pub(crate) fn options(oauth: &OAuth) -> ConnectOptions {
    ConnectOptions {
        lifecycle: Lifecycle::Initialize,
        oauth: Some(oauth.clone()),
        ..ConnectOptions::default()
    }
}

pub(crate) fn in_memory() -> OAuth {
    OAuth::new(Arc::new(MemoryTokenStore::default())).with_browser(Arc::new(Visitor::default()))
}

pub(crate) async fn open(web: &Web, oauth: &OAuth) -> ToolResult<Arc<RemoteExtension>> {
    let connecting = connect(web.url("/mcp"), options(oauth));
    tokio::time::timeout(Duration::from_secs(30), connecting).await.expect("the connection hangs")
}

pub(crate) async fn work(server: &RemoteExtension, write: bool) -> ToolResult<Value> {
    let call = server.call_tool("work", hashmap! { "write" => json!(write) });
    tokio::time::timeout(Duration::from_secs(30), call).await.expect("the call hangs")
}

pub(crate) async fn until(mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it never came true");
}
