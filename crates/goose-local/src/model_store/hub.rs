//! [`Hub`]: a file at a model hub, fetched over HTTP, going on where the part ends.

use std::time::Duration;

use reqwest::{
    Client, Response, StatusCode,
    header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, HeaderMap, HeaderValue, RANGE, USER_AGENT},
    redirect::{Attempt, Policy},
};
use tokio::time::{sleep, timeout};
use url::{Host, Url};

use super::{
    error::ModelStoreError,
    partial_file::PartialFile,
    pull::{Event, Events, PullOptions, SourceError},
};

/// The time limit of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// The longest silence.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The most redirects.
const MAX_REDIRECTS: usize = 8;

/// The retries before anything was received, and since something was.
const FIRST_TRIES: u32 = 1;
const LATER_TRIES: u32 = 5;

/// The most requests in all.
const MAX_TRIES: u32 = 100;

/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// A file at a hub.
pub(super) struct Hub {
    client: Client,
    url: Url,
    pause: Duration,
}

/// Why a try did not bring the rest.
enum Fault {
    /// Another try may.
    Passing(String),
    /// It will stay so.
    Lasting(String),
    /// Nothing can be written.
    Ours(SourceError),
}

impl Hub {
    /// Nothing is connected yet.
    pub(super) fn new(options: &PullOptions, repository: &str, file: &str) -> Result<Self, SourceError> {
        let url = address(&options.hub, repository, file);
        let client = client(&url).map_err(|error| SourceError::Source(causes(&error)))?;
        Ok(Self { client, url, pause: options.pause })
    }

    /// Fetches what is missing, in as many tries as it takes and makes sense.
    pub(super) async fn fetch(
        &self,
        partial: &mut PartialFile,
        events: Events<'_>,
    ) -> Result<(), SourceError> {
        let (mut left, mut pause) = (FIRST_TRIES, self.pause);
        for _ in 0..MAX_TRIES {
            let before = partial.bytes();
            let reason = match self.once(partial, events).await {
                Ok(()) => return Ok(()),
                Err(Fault::Ours(failed)) => return Err(failed),
                Err(Fault::Lasting(reason)) => return Err(SourceError::Source(reason)),
                Err(Fault::Passing(reason)) => reason,
            };
            if partial.bytes() > before {
                (left, pause) = (LATER_TRIES, self.pause);
            }
            if left == 0 {
                return Err(SourceError::Source(reason));
            }
            events(Event::Again { reason: &reason });
            sleep(pause).await;
            left -= 1;
            pause = (pause * 2).min(MAX_PAUSE);
        }
        Err(SourceError::Source(format!("it was asked {MAX_TRIES} times, and the file is not whole yet")))
    }

    async fn once(&self, partial: &mut PartialFile, events: Events<'_>) -> Result<(), Fault> {
        if partial.missing() == 0 {
            return Ok(());
        }
        let mut response = self.ask(partial).await?;
        let known = known_bytes(response.status(), response.headers(), partial)?;
        receive(&mut response, known, partial, events).await
    }

    async fn ask(&self, partial: &PartialFile) -> Result<Response, Fault> {
        let mut request = self.client.get(self.url.clone());
        if partial.bytes() > 0 {
            // No check that it is still the same file: the hash of the whole decides.
            request = request.header(RANGE, format!("bytes={}-", partial.bytes()));
        }
        match timeout(IDLE_TIMEOUT, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() || error.is_redirect() => {
                let reason = format!("{} cannot be reached: {}", host(&self.url), causes(&error));
                // A network that goes away in the middle may come back.
                Err(if partial.bytes() > 0 { Fault::Passing(reason) } else { Fault::Lasting(reason) })
            }
            Ok(Err(error)) => Err(Fault::Passing(causes(&error))),
            Err(_) => Err(silent()),
        }
    }
}

/// Adds what comes to the part, but for the first bytes, as many as are `known`.
async fn receive(
    response: &mut Response,
    mut known: u64,
    partial: &mut PartialFile,
    events: Events<'_>,
) -> Result<(), Fault> {
    let total = partial.total();
    loop {
        let mut chunk = match timeout(IDLE_TIMEOUT, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => break,
            Ok(Err(error)) => return Err(cut(partial, &causes(&error))),
            Err(_) => return Err(silent()),
        };
        let skipped = chunk.len().min(usize::try_from(known).unwrap_or(usize::MAX));
        known -= chunk.split_to(skipped).len() as u64;
        if chunk.is_empty() {
            continue;
        }
        if partial.append(&chunk).map_err(ours)?.is_err() {
            return Err(Fault::Lasting(format!("more than {total} bytes come from it")));
        }
        events(Event::Bytes { bytes: partial.bytes(), total });
    }
    if partial.missing() > 0 {
        return Err(cut(partial, "nothing more came"));
    }
    Ok(())
}

fn ours(error: ModelStoreError) -> Fault {
    Fault::Ours(error.into())
}

fn cut(partial: &PartialFile, why: &str) -> Fault {
    Fault::Passing(format!("it broke off after {} of {} bytes: {why}", partial.bytes(), partial.total()))
}

fn silent() -> Fault {
    Fault::Passing(format!("nothing came for {} seconds", IDLE_TIMEOUT.as_secs()))
}

/// `HUB/REPOSITORY/resolve/main/FILE`.
fn address(hub: &Url, repository: &str, file: &str) -> Url {
    let mut url = hub.clone();
    let before = hub.path().trim_end_matches('/');
    url.set_path(&format!("{before}/{repository}/resolve/main/{file}"));
    url.set_query(None);
    url
}

fn client(url: &Url) -> reqwest::Result<Client> {
    // TLS is rustls with ring, unless the program has chosen something else already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("goose/", env!("CARGO_PKG_VERSION"))));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let mut builder = Client::builder()
        .default_headers(headers)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(Policy::custom(followed))
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate();
    if is_here(url) {
        builder = builder.no_proxy();
    }
    builder.build()
}

/// Follows redirects, but never from HTTPS to something else.
fn followed(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let was_protected = attempt.previous().last().is_some_and(|url| url.scheme() == "https");
    if attempt.previous().len() > MAX_REDIRECTS {
        attempt.error("it leads from one address to the next without end")
    } else if was_protected && attempt.url().scheme() != "https" {
        attempt.error("it leads away from https")
    } else {
        attempt.follow()
    }
}

fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn host(url: &Url) -> &str {
    url.host_str().unwrap_or("it")
}

/// An error with what is behind it; the address is said elsewhere.
fn causes(error: &reqwest::Error) -> String {
    let mut texts = vec![error.to_string().split(" for url (").next().unwrap_or_default().to_owned()];
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let text = error.to_string();
        if !texts.iter().any(|there| there.contains(&text)) {
            texts.push(text);
        }
        cause = error.source();
    }
    texts.join(": ")
}

/// Returns how many of the bytes that come are in the part already.
///
/// # Errors
///
/// The response does not fit. The partial file stays as it is: another source may continue it.
fn known_bytes(status: StatusCode, headers: &HeaderMap, partial: &PartialFile) -> Result<u64, Fault> {
    match status {
        StatusCode::OK => {
            let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
            same_size(length, partial)?;
            Ok(partial.bytes())
        }
        StatusCode::PARTIAL_CONTENT => {
            let (from, total) = range(headers).ok_or_else(elsewhere)?;
            same_size(total, partial)?;
            partial.bytes().checked_sub(from).ok_or_else(elsewhere)
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            same_size(unsatisfied(headers), partial)?;
            Err(elsewhere())
        }
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(Fault::Passing(refusal(status))),
        _ if status.is_server_error() => Err(Fault::Passing(refusal(status))),
        _ => Err(Fault::Lasting(refusal(status))),
    }
}

/// A file of another size is another file.
fn same_size(total: Option<u64>, partial: &PartialFile) -> Result<(), Fault> {
    match total {
        Some(total) if total != partial.total() => Err(Fault::Lasting(format!(
            "the file there has {total} bytes, and the one that goose knows has {}",
            partial.total()
        ))),
        _ => Ok(()),
    }
}

fn elsewhere() -> Fault {
    Fault::Lasting("it does not go on from where the download ended".to_owned())
}

/// `bytes 100-199/200`: from where on, and how much there is.
fn range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let (span, total) = said(headers)?.split_once('/')?;
    let (from, _) = span.split_once('-')?;
    Some((from.trim().parse().ok()?, total.trim().parse().ok()))
}

/// `bytes */200`: how much there is.
fn unsatisfied(headers: &HeaderMap) -> Option<u64> {
    said(headers)?.strip_prefix("*/")?.trim().parse().ok()
}

fn said(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")
}

fn refusal(status: StatusCode) -> String {
    match status {
        StatusCode::NOT_FOUND => "the file is not there (404)".to_owned(),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            format!("it may not be fetched ({})", status.as_u16())
        }
        StatusCode::TOO_MANY_REQUESTS => "it was asked too often (429)".to_owned(),
        status => format!("it answers with {status}"),
    }
}
