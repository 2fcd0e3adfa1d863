//! The only check of a request, for all routes: `Host`, `Origin`, fetch metadata, token, scope and rate.
//!
//! A web page in the user's browser can reach any port of this machine, so a token alone does not help where a page
//! gets hold of one, and a name that resolves to this machine (DNS rebinding) makes any page look like ours. `Host`
//! must therefore name this server, and `Origin`, if there is one, must be this server or on the list. Other ports of
//! `localhost` are not trusted: the app that an agent builds runs on one of them.

use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderName, Method, StatusCode, header, uri::Authority};
use serde_json::json;

use crate::{
    error::{ApiError, ApiResult},
    listen::Peer,
    state::AppState,
    tokens::{Client, Scope},
};

/// Header with a token that clients of goose 1.52 send.
const SECRET_KEY: HeaderName = HeaderName::from_static("x-secret-key");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Maximum length of the path in a log.
const MAX_LOGGED_PATH: usize = 200;

/// Right that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everyone.
    Open,
    /// A token with at least this scope.
    Scope(Scope),
}

/// Hosts and origins that are accepted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// Names and addresses of this server, with its port.
    pub(crate) own: Vec<String>,
    pub(crate) port: u16,
    /// Additional hosts, with any port if none is given.
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) allowed_origins: Vec<String>,
    /// Scheme of this server.
    pub(crate) scheme: &'static str,
}

impl Names {
    /// Returns the names of a server at an address. An address for all interfaces has no name of its own.
    pub(crate) fn of(address: IpAddr) -> Vec<String> {
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        if !address.is_loopback() && !address.is_unspecified() {
            names.push(match address {
                IpAddr::V4(address) => address.to_string(),
                IpAddr::V6(address) => format!("[{address}]"),
            });
        }
        names
    }

    /// Checks `Host`. Returns it as the client wrote it.
    fn host<'a>(&self, headers: &'a HeaderMap, peer: &Peer) -> ApiResult<&'a str> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(ApiError::new(
                StatusCode::BAD_REQUEST,
                "bad_host",
                "A request has exactly one `Host`.",
            ));
        };
        let malformed = || ApiError::new(StatusCode::BAD_REQUEST, "bad_host", "`Host` is malformed.");
        let host = host.to_str().map_err(|_| malformed())?;
        let authority: Authority = host.parse().map_err(|_| malformed())?;
        let port = authority.port_u16();
        let is_clean = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
        if !is_clean || authority.host().is_empty() || (port.is_none() && !host.ends_with(authority.host())) {
            return Err(malformed());
        }
        let name = authority.host();
        let is_default_port = matches!((self.scheme, self.port), ("http", 80) | ("https", 443));
        let is_own_port = port == Some(self.port) || (port.is_none() && is_default_port);
        let is_own = is_own_port && self.own.iter().any(|own| own.eq_ignore_ascii_case(name));
        let is_allowed = || {
            self.allowed_hosts
                .iter()
                .any(|allowed| allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(name))
        };
        // A browser cannot connect to a Unix socket, and its clients write any name.
        if is_own || matches!(peer, Peer::Unix(_)) || is_allowed() {
            return Ok(host);
        }
        let message = "This `Host` is not a name of this server. Start it with --allowed-host to add one.";
        Err(ApiError::new(StatusCode::MISDIRECTED_REQUEST, "foreign_host", message))
    }

    /// Checks `Origin` and the fetch metadata of a request to a host.
    fn origin(&self, headers: &HeaderMap, host: &str) -> ApiResult<()> {
        let foreign = || {
            let message = "Web pages of this origin may not use this server. Start it with --allowed-origin to allow one.";
            ApiError::forbidden("foreign_origin", message)
        };
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let origin = origins.next().map(|origin| origin.to_str().map_err(|_| foreign())).transpose()?;
        if origins.next().is_some() {
            return Err(foreign());
        }
        if let Some(origin) = origin {
            if self.allowed_origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)) {
                return Ok(());
            }
            let own = format!("{}://{host}", self.scheme);
            if !own.eq_ignore_ascii_case(origin) {
                return Err(foreign());
            }
        }
        let sites = headers.get_all(FETCH_SITE).iter();
        for site in sites {
            if !matches!(site.as_bytes(), b"same-origin" | b"none") {
                return Err(ApiError::forbidden("cross_site", "Requests of other sites are refused."));
            }
        }
        Ok(())
    }
}

/// Rights that the routes need.
#[derive(Debug, Default)]
pub(crate) struct AccessTable(pub(crate) HashMap<(Method, &'static str), Access>);

impl AccessTable {
    fn of(&self, request: &Request) -> Access {
        let path = request.extensions().get::<MatchedPath>();
        let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
        let found = path.and_then(|path| {
            self.0
                .iter()
                .find(|((its_method, its_path), _)| its_method == method && *its_path == path.as_str())
        });
        // Without a token, nothing tells which paths exist.
        found.map_or(Access::Scope(Scope::Read), |(_, access)| *access)
    }
}

/// Checks a request before its route is entered, and logs it afterwards.
pub(crate) async fn gate(State(app): State<AppState>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let path: String = request.uri().path().chars().take(MAX_LOGGED_PATH).collect();
    let (client, response) = match check(&app, &request) {
        Ok(client) => {
            let id = client.as_ref().map(|client| Arc::clone(&client.id));
            if let Some(client) = client {
                request.extensions_mut().insert(client);
            }
            (id, next.run(request).await)
        }
        Err(error) => (None, error.into_response()),
    };
    let status = response.status();
    app.metrics.answered(status);
    let elapsed = started.elapsed().as_millis();
    tracing::info!(client = client.as_deref(), %method, path, status = status.as_u16(), elapsed, "request");
    // What changes nothing and was let in is not worth a line that stays.
    if method != Method::GET || matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        app.audit.write(&json!({
            "client": client.as_deref(),
            "method": method.as_str(),
            "path": path,
            "status": status.as_u16(),
        }));
    }
    secured(response)
}

fn check(app: &AppState, request: &Request) -> ApiResult<Option<Client>> {
    let headers = request.headers();
    let unknown = Peer::Unknown;
    let peer = request.extensions().get::<Peer>().unwrap_or(&unknown);
    let host = app.names.host(headers, peer)?;
    app.names.origin(headers, host)?;
    let needed = match app.access.of(request) {
        Access::Open => return Ok(None),
        Access::Scope(scope) => scope,
    };
    let client = client(app, headers, peer)?;
    app.limits.request(&client)?;
    if client.scope < needed {
        let message =
            format!("This needs a token with the scope `{needed}`; this one has `{}`.", client.scope);
        return Err(ApiError::forbidden("scope", message));
    }
    Ok(Some(client))
}

/// Returns the client that a request comes from.
fn client(app: &AppState, headers: &HeaderMap, peer: &Peer) -> ApiResult<Client> {
    let token = token(headers)?;
    let found = match (token, peer) {
        (Some(token), _) => app.tokens.client(token),
        (None, Peer::Unix(user)) if *user == rustix::process::geteuid().as_raw() => {
            Some(Client::without_token("local"))
        }
        (None, _) => None,
    };
    match found {
        Some(client) => Ok(client),
        None if app.options.is_unauthenticated => Ok(Client::without_token("anyone")),
        None => {
            app.metrics.refusals.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            app.limits.refusal()?;
            let message = "A valid token is missing. Send `Authorization: Bearer TOKEN`. \
                           `goose serve token new` makes a token.";
            Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message))
        }
    }
}

/// Returns the token of a request: of one header, because two could mean different clients to different programs.
fn token(headers: &HeaderMap) -> ApiResult<Option<&[u8]>> {
    let bearers = headers.get_all(header::AUTHORIZATION).iter().map(|value| {
        let (scheme, token) = value.as_bytes().split_at_checked(7)?;
        scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token.trim_ascii())
    });
    let keys = headers.get_all(SECRET_KEY).iter().map(|value| Some(value.as_bytes()));
    let mut tokens = bearers.chain(keys);
    let first = tokens.next();
    if tokens.next().is_some() {
        return Err(ApiError::bad_request("A request has one token."));
    }
    // Another scheme is no token.
    Ok(first.map(|token| token.unwrap_or_default()))
}

/// Adds headers for browsers. Answers are data: never a page, a script or a frame.
fn secured(mut response: Response) -> Response {
    const HEADERS: [(HeaderName, &str); 5] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, http::HeaderValue::from_static(value));
    }
    response
}
