//! [`Hub`]: downloads a file from a model hub over HTTP. Resumes where the partial file ends.

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

/// Time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum time without data.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 8;

/// Retries before any data has arrived, and after.
const FIRST_TRIES: u32 = 1;
const LATER_TRIES: u32 = 5;

/// Maximum number of requests.
const MAX_TRIES: u32 = 100;

/// Maximum pause between two requests.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// File on a model hub.
pub(super) struct Hub {
    client: Client,
    url: Url,
    pause: Duration,
}

/// Failure of one request.
enum Fault {
    /// A retry may succeed.
    Temporary(String),
    /// A retry would fail in the same way.
    Permanent(String),
    /// The data cannot be stored.
    Storage(ModelStoreError),
}

impl Hub {
    /// Creates the client. Connects later, in [`fetch`](Self::fetch).
    pub(super) fn new(options: &PullOptions, repository: &str, file: &str) -> Result<Self, SourceError> {
        let url = address(&options.hub, repository, file);
        let client = client(&url).map_err(|error| SourceError::Source(causes(&error)))?;
        Ok(Self { client, url, pause: options.pause })
    }

    /// Downloads the missing bytes, with retries.
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
                Err(Fault::Storage(error)) => return Err(error.into()),
                Err(Fault::Permanent(reason)) => return Err(SourceError::Source(reason)),
                Err(Fault::Temporary(reason)) => reason,
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
        Err(SourceError::Source(format!("the file is incomplete after {MAX_TRIES} requests")))
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
            // No `If-Range`: the checksum shows whether the file has changed since.
            request = request.header(RANGE, format!("bytes={}-", partial.bytes()));
        }
        match timeout(IDLE_TIMEOUT, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() || error.is_redirect() => {
                let host = self.url.host_str().unwrap_or("the hub");
                let reason = format!("{host} cannot be reached: {}", causes(&error));
                // A network that failed in the middle of a download often comes back.
                Err(if partial.bytes() > 0 { Fault::Temporary(reason) } else { Fault::Permanent(reason) })
            }
            Ok(Err(error)) => Err(Fault::Temporary(causes(&error))),
            Err(_) => Err(silent()),
        }
    }
}

/// Appends the body to the partial file, without its first `known` bytes.
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
        if !partial.append(&chunk).map_err(Fault::Storage)? {
            return Err(Fault::Permanent(format!("the server sent more than {total} bytes")));
        }
        events(Event::Bytes { bytes: partial.bytes(), total });
    }
    if partial.missing() > 0 {
        return Err(cut(partial, "the connection was closed"));
    }
    Ok(())
}

fn cut(partial: &PartialFile, why: &str) -> Fault {
    let (bytes, total) = (partial.bytes(), partial.total());
    Fault::Temporary(format!("the download stopped after {bytes} of {total} bytes: {why}"))
}

fn silent() -> Fault {
    Fault::Temporary(format!("no data for {} seconds", IDLE_TIMEOUT.as_secs()))
}

/// Returns `HUB/REPOSITORY/resolve/main/FILE`.
fn address(hub: &Url, repository: &str, file: &str) -> Url {
    let mut url = hub.clone();
    let before = hub.path().trim_end_matches('/');
    url.set_path(&format!("{before}/{repository}/resolve/main/{file}"));
    url.set_query(None);
    url
}

fn client(url: &Url) -> reqwest::Result<Client> {
    // TLS is rustls with ring. This fails if the program has already installed a provider, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("goose/", env!("CARGO_PKG_VERSION"))));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let mut builder = Client::builder()
        .default_headers(headers)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(Policy::custom(redirect))
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate();
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build()
}

/// Follows redirects, but never from HTTPS to another scheme.
fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let was_protected = attempt.previous().last().is_some_and(|url| url.scheme() == "https");
    if attempt.previous().len() > MAX_REDIRECTS {
        attempt.error("there are too many redirects")
    } else if was_protected && attempt.url().scheme() != "https" {
        attempt.error("a redirect leaves https")
    } else {
        attempt.follow()
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns an error with its causes, without the URL.
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

/// Returns the number of bytes in the body that the partial file already has.
///
/// # Errors
///
/// The response does not fit. The partial file stays as it is, because another source may continue it.
fn known_bytes(status: StatusCode, headers: &HeaderMap, partial: &PartialFile) -> Result<u64, Fault> {
    match status {
        StatusCode::OK => {
            let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
            same_size(length, partial)?;
            Ok(partial.bytes())
        }
        StatusCode::PARTIAL_CONTENT => {
            let (from, total) = range(headers).ok_or_else(not_resumed)?;
            same_size(total, partial)?;
            partial.bytes().checked_sub(from).ok_or_else(not_resumed)
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            same_size(unsatisfied(headers), partial)?;
            Err(not_resumed())
        }
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(Fault::Temporary(refusal(status))),
        _ if status.is_server_error() => Err(Fault::Temporary(refusal(status))),
        _ => Err(Fault::Permanent(refusal(status))),
    }
}

/// Checks the size of the file on the server. Another size means another file.
fn same_size(total: Option<u64>, partial: &PartialFile) -> Result<(), Fault> {
    match total {
        Some(total) if total != partial.total() => {
            Err(Fault::Permanent(format!("the file there has {total} bytes instead of {}", partial.total())))
        }
        _ => Ok(()),
    }
}

fn not_resumed() -> Fault {
    Fault::Permanent("the server does not resume where the download ended".to_owned())
}

/// Parses `bytes 100-199/200` into the first byte and the total.
fn range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let (span, total) = content_range(headers)?.split_once('/')?;
    let (from, _) = span.split_once('-')?;
    Some((from.trim().parse().ok()?, total.trim().parse().ok()))
}

/// Parses the total in `bytes */200`.
fn unsatisfied(headers: &HeaderMap) -> Option<u64> {
    content_range(headers)?.strip_prefix("*/")?.trim().parse().ok()
}

fn content_range(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")
}

fn refusal(status: StatusCode) -> String {
    match status {
        StatusCode::NOT_FOUND => "the file is not there (404)".to_owned(),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            format!("access is denied ({})", status.as_u16())
        }
        StatusCode::TOO_MANY_REQUESTS => "there were too many requests (429)".to_owned(),
        status => format!("the server answered {status}"),
    }
}
