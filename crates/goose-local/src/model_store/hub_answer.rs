//! What a hub's answer means for a part.

use reqwest::{
    StatusCode,
    header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderMap},
};

use super::{growing::Growing, hub::Fault};

/// How many of the bytes that come are in the part already.
///
/// # Errors
///
/// Where nothing comes that fits. The part stays as it is: another source may go on with it.
pub(super) fn read(status: StatusCode, headers: &HeaderMap, growing: &Growing) -> Result<u64, Fault> {
    match status {
        StatusCode::OK => {
            let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
            same_size(length, growing)?;
            Ok(growing.bytes())
        }
        StatusCode::PARTIAL_CONTENT => {
            let (from, total) = range(headers).ok_or_else(elsewhere)?;
            same_size(total, growing)?;
            growing.bytes().checked_sub(from).ok_or_else(elsewhere)
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            same_size(unsatisfied(headers), growing)?;
            Err(elsewhere())
        }
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(Fault::Passing(refusal(status))),
        _ if status.is_server_error() => Err(Fault::Passing(refusal(status))),
        _ => Err(Fault::Lasting(refusal(status))),
    }
}

/// A file of another size is another file.
fn same_size(total: Option<u64>, growing: &Growing) -> Result<(), Fault> {
    match total {
        Some(total) if total != growing.total() => Err(Fault::Lasting(format!(
            "the file there has {total} bytes, and the one that goose knows has {}",
            growing.total()
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
