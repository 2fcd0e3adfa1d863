//! Faults that come before the message is looked at: statuses, redirects; and the log of headers.

use std::{collections::VecDeque, fmt::Write as _, fs::OpenOptions, io::Write as _, path::Path};

use axum::{
    http::{
        HeaderMap, HeaderName, Method, StatusCode,
        header::{LOCATION, RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse as _, Response},
};
use parking_lot::Mutex;

use crate::faulty_server::options::Http;

/// Messages that belong to the greeting.
const GREETING: &[&str] = &["initialize", "notifications/initialized", "server/discover"];

/// The statuses that are left to give.
pub(super) struct Faults {
    statuses: Mutex<VecDeque<(u16, u64)>>,
}

impl Faults {
    pub(super) fn new(options: &Http) -> Self {
        Self { statuses: Mutex::new(options.statuses.iter().copied().collect()) }
    }

    /// The response that a request gets instead of an answer. `called` is the method of its message.
    pub(super) fn response(
        &self,
        options: &Http,
        method: &Method,
        headers: &HeaderMap,
        called: Option<&str>,
    ) -> Option<Response> {
        if let Some(path) = &options.headers_log {
            log(path, method, headers);
        }
        if let Some(url) = &options.redirect {
            let mut response = StatusCode::TEMPORARY_REDIRECT.into_response();
            insert(&mut response, LOCATION, Some(url));
            return Some(response);
        }
        let code = self.status(options, method, called)?;
        Some(failure(options, StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)))
    }

    fn status(&self, options: &Http, method: &Method, called: Option<&str>) -> Option<u16> {
        if options.status_on.is_some() && options.status_on.as_deref() != called {
            return None;
        }
        if options.status_always.is_some() {
            return options.status_always;
        }
        let greets = called.is_some_and(|called| GREETING.contains(&called));
        if *method != Method::POST || (greets && options.status_on.is_none()) {
            return None;
        }
        self.next_status()
    }

    fn next_status(&self) -> Option<u16> {
        let mut statuses = self.statuses.lock();
        while let Some((code, times)) = statuses.front_mut() {
            if *times > 0 {
                *times -= 1;
                return Some(*code);
            }
            statuses.pop_front();
        }
        None
    }
}

fn failure(options: &Http, status: StatusCode) -> Response {
    let mut response = (status, "refused on purpose").into_response();
    insert(&mut response, RETRY_AFTER, options.retry_after.as_ref());
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        insert(&mut response, WWW_AUTHENTICATE, options.www_authenticate.as_ref());
    }
    response
}

fn insert(response: &mut Response, name: HeaderName, value: Option<&String>) {
    if let Some(value) = value.and_then(|value| value.parse().ok()) {
        response.headers_mut().insert(name, value);
    }
}

/// One line for the request, one for each header, and a blank one.
fn log(path: &Path, method: &Method, headers: &HeaderMap) {
    let mut text = format!("{method}\n");
    for (name, value) in headers {
        let _ = writeln!(text, "{name}: {}", String::from_utf8_lossy(value.as_bytes()));
    }
    text.push('\n');
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
        let _ = file.write_all(text.as_bytes());
    }
}
