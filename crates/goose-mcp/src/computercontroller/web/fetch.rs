//! The request: each host is asked for, each address is checked, and redirects are followed by hand.

use std::{error::Error, sync::Arc, time::Duration};

use goose_extension::{FetchedHost, HostAccess, HostPolicy, RefusedAddress, ToolError, ToolResult};
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION},
    redirect::Policy,
};
use tokio::time::timeout;

use super::{
    super::failed,
    body,
    lookup::{CheckedLookup, Lookup},
};

/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 5;

/// Maximum size of a page, also after it was unpacked.
pub(super) const MAX_PAGE_BYTES: usize = 10 * 1024 * 1024;

/// Time limit for all of it.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Longest URL.
const MAX_URL_BYTES: usize = 8 * 1024;

/// Part of an error page that is shown.
const MAX_ERROR_CHARS: usize = 1_000;

const USER_AGENT: &str = concat!("goose/", env!("CARGO_PKG_VERSION"));

/// A page.
pub(super) struct Fetched {
    pub(super) url: Url,
    status: StatusCode,
    pub(super) content_type: String,
    pub(super) bytes: Vec<u8>,
}

impl Fetched {
    /// Returns one line about the page.
    pub(super) fn summary(&self) -> String {
        format!("{} ({}, {}, {} bytes)", self.url, self.status.as_u16(), self.content_type, self.bytes.len())
    }

    /// Returns true for HTML, also if the server does not say so.
    pub(super) fn is_html(&self, text: &str) -> bool {
        let start = text.trim_start().get(..14).unwrap_or_default().to_ascii_lowercase();
        self.content_type.contains("html")
            || start.starts_with("<!doctype html")
            || start.starts_with("<html")
    }
}

/// Fetches a page.
///
/// # Errors
///
/// Fails if a host or an address is not allowed, at a limit, and if the answer is an error.
pub(super) async fn fetch(
    url: &str,
    policy: &Arc<HostPolicy>,
    lookup: &Arc<dyn Lookup>,
) -> ToolResult<Fetched> {
    if url.len() > MAX_URL_BYTES {
        return Err(failed(format!("The URL is longer than {MAX_URL_BYTES} bytes.")));
    }
    let url = Url::parse(url).map_err(|error| {
        failed(format!("`{url}` is not a URL: {error}. Write all of it: `https://docs.rs/`."))
    })?;
    match timeout(TIME_LIMIT, follow(url, policy, lookup)).await {
        Ok(fetched) => fetched,
        Err(_) => Err(ToolError::Timeout(format!(
            "The page did not come within {} seconds. Try again later, or another page.",
            TIME_LIMIT.as_secs()
        ))),
    }
}

async fn follow(mut url: Url, policy: &Arc<HostPolicy>, lookup: &Arc<dyn Lookup>) -> ToolResult<Fetched> {
    for _ in 0..=MAX_REDIRECTS {
        let response = send(&url, policy, lookup).await?;
        let Some(next) = redirect(&url, &response)? else { return receive(url, response).await };
        url = next;
    }
    Err(failed(format!("The page redirects more than {MAX_REDIRECTS} times; the last address was {url}.")))
}

async fn send(url: &Url, policy: &Arc<HostPolicy>, lookup: &Arc<dyn Lookup>) -> ToolResult<Response> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err(failed(
            "The URL has a user name or a password in it, so it was not fetched. Leave it out.",
        ));
    }
    let Some(host) = FetchedHost::of(url) else {
        return Err(failed(format!("{url} was not fetched: only http and https are supported.")));
    };
    let refused = |reason: String| ToolError::Denied(format!("{url} was not fetched: {reason}."));
    if let HostAccess::Refused(reason) = policy.access(&host) {
        return Err(refused(reason));
    }
    if let Some(address) = host.address() {
        policy.check_address(&host, address).map_err(|error| refused(error.0))?;
    }
    let client = client(url, CheckedLookup { host, policy: Arc::clone(policy), lookup: Arc::clone(lookup) })
        .map_err(|error| failed(format!("No connection can be made: {}.", causes(&error))))?;
    let request = client
        .get(url.clone())
        .header(ACCEPT, "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.5")
        .header(ACCEPT_ENCODING, "gzip, identity");
    request.send().await.map_err(|error| match refusal(&error) {
        Some(reason) => refused(reason),
        None => failed(format!("{url} cannot be reached: {}.", causes(&error))),
    })
}

/// Creates a client for one request: the lookup knows only its host.
fn client(url: &Url, lookup: CheckedLookup) -> reqwest::Result<Client> {
    // TLS is rustls with ring, unless the program has chosen something else already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .redirect(Policy::none())
        .referer(false)
        .user_agent(USER_AGENT)
        // A proxy would look the name up by itself.
        .no_proxy()
        .dns_resolver(Arc::new(lookup));
    if url.scheme() == "http" {
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

/// Returns the address that a response redirects to.
fn redirect(url: &Url, response: &Response) -> ToolResult<Option<Url>> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let text = String::from_utf8_lossy(location.as_bytes());
    let next = url
        .join(&text)
        .map_err(|error| failed(format!("{url} redirects to an address that cannot be used: {error}.")))?;
    match next.as_str().len() <= MAX_URL_BYTES {
        true => Ok(Some(next)),
        false => Err(failed(format!("{url} redirects to an address longer than {MAX_URL_BYTES} bytes."))),
    }
}

async fn receive(url: Url, mut response: Response) -> ToolResult<Fetched> {
    let status = response.status();
    let content_type = header(response.headers(), &CONTENT_TYPE);
    let encoding = header(response.headers(), &CONTENT_ENCODING);
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if bytes.len() + chunk.len() <= MAX_PAGE_BYTES => bytes.extend_from_slice(&chunk),
            Ok(Some(_)) => return Err(too_large(&url)),
            Ok(None) => break,
            Err(error) => return Err(failed(format!("{url} broke off: {}.", causes(&error)))),
        }
    }
    let bytes = match encoding.as_str() {
        "" | "identity" => bytes,
        "gzip" | "x-gzip" => {
            let unpacked = body::gunzip(&bytes, MAX_PAGE_BYTES);
            unpacked
                .map_err(|error| failed(format!("{url} cannot be unpacked: {error}.")))?
                .ok_or_else(|| too_large(&url))?
        }
        other => return Err(failed(format!("{url} is packed with `{other}`, which was not asked for."))),
    };
    let content_type = if content_type.is_empty() { "unknown type".to_owned() } else { content_type };
    if !status.is_success() {
        let text = body::text(&bytes, &content_type).unwrap_or_default();
        let head = goose_fs::truncate_chars(text.trim(), MAX_ERROR_CHARS);
        return Err(failed(format!("{url} answered {status}.\n{head}")));
    }
    Ok(Fetched { url, status, content_type, bytes })
}

fn too_large(url: &Url) -> ToolError {
    failed(format!("{url} is larger than {} MB, so it was not kept.", MAX_PAGE_BYTES / 1024 / 1024))
}

fn header(headers: &HeaderMap, name: &HeaderName) -> String {
    let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.trim().to_ascii_lowercase()
}

/// Returns the reason of a refused address in the causes of an error.
fn refusal(error: &reqwest::Error) -> Option<String> {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(error) = cause {
        if let Some(refused) = error.downcast_ref::<RefusedAddress>() {
            return Some(refused.0.clone());
        }
        cause = error.source();
    }
    None
}

/// Returns the innermost cause of an error, which says most.
fn causes(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
