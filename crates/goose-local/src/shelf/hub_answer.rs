//! What a hub's answer means for a part.

use reqwest::{
    StatusCode,
    header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap},
};

use super::{growing::Growing, hub::Fault};

/// The longest version that is remembered.
const MAX_TAG_BYTES: usize = 1024;

/// What comes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// What is missing.
    Rest,
    /// All, from the begin.
    Whole,
    /// Nothing that fits to what is there.
    NotFrom,
}

pub(super) fn read(status: StatusCode, headers: &HeaderMap, growing: &Growing) -> Result<Answer, Fault> {
    match status {
        StatusCode::OK => whole(headers, growing),
        StatusCode::PARTIAL_CONTENT => Ok(match range(headers) {
            Some((from, total))
                if from == growing.bytes() && total.is_none_or(|it| it == growing.total()) =>
            {
                Answer::Rest
            }
            _ => Answer::NotFrom,
        }),
        StatusCode::RANGE_NOT_SATISFIABLE => Ok(Answer::NotFrom),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(Fault::Passing(refusal(status))),
        _ if status.is_server_error() => Err(Fault::Passing(refusal(status))),
        _ => Err(Fault::Lasting(refusal(status))),
    }
}

fn whole(headers: &HeaderMap, growing: &Growing) -> Result<Answer, Fault> {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    match length {
        Some(length) if length != growing.total() => Err(Fault::Lasting(format!(
            "the file there has {length} bytes, and the one that goose knows has {}",
            growing.total()
        ))),
        _ => Ok(Answer::Whole),
    }
}

/// `bytes 100-199/200`: from where on, and how much there is.
fn range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (span, total) = text.split_once('/')?;
    let (from, _) = span.split_once('-')?;
    Some((from.trim().parse().ok()?, total.trim().parse().ok()))
}

/// The version that a server gives, where it stands for each byte.
pub(super) fn strong_tag(headers: &HeaderMap) -> Option<&str> {
    let is_strong = |tag: &&str| tag.starts_with('"') && tag.len() <= MAX_TAG_BYTES;
    headers.get(ETAG)?.to_str().ok().filter(is_strong)
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
