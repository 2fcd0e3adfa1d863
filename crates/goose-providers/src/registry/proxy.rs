//! The proxy that the usual variables name for a URL: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`.

use url::{Host, Url};

use super::{resolve::bad, setup_error::SetupError};
use crate::lookup::Asked;

/// The proxy to go through, where there is one. What is on this machine is reached directly.
pub(super) fn of(url: &Url, lookup: &Asked<'_>) -> Result<Option<Url>, SetupError> {
    let names = match url.scheme() {
        "https" => ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        _ => ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"],
    };
    let set = |name: &'static str| Some((name, lookup.value(name).filter(|text| !text.trim().is_empty())?));
    let Some((name, text)) = names.into_iter().find_map(set) else { return Ok(None) };
    if is_here(url) || is_excepted(url, lookup) {
        return Ok(None);
    }
    let text = if text.contains("://") { text } else { format!("http://{}", text.trim()) };
    let proxy = Url::parse(text.trim()).map_err(|error| bad(name, format!("it is no address ({error})")))?;
    match proxy.scheme() {
        "http" | "https" => Ok(Some(proxy)),
        scheme => Err(bad(
            name,
            format!("`{scheme}` is no kind of proxy that goose knows; it may be http or https"),
        )),
    }
}

fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => true,
    }
}

/// `NO_PROXY` is a list of hosts; one stands for all below it, and `*` for all.
fn is_excepted(url: &Url, lookup: &Asked<'_>) -> bool {
    let Some(list) = lookup.value("NO_PROXY").or_else(|| lookup.value("no_proxy")) else { return false };
    let host = url.host_str().unwrap_or_default();
    let covers = |entry: &str| {
        let entry = entry.trim().trim_start_matches("*.").trim_start_matches('.');
        let below = |rest: &str| rest.is_empty() || rest.ends_with('.');
        !entry.is_empty() && (entry == "*" || host.strip_suffix(entry).is_some_and(below))
    };
    list.split(',').any(covers)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_way_there_is_the_usual_one() {
        let set: BTreeMap<String, String> =
            [("HTTPS_PROXY", "proxy.lan:3128"), ("NO_PROXY", "example.org, .internal")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into();
        let of = |url: &str| {
            of(&Url::parse(url).unwrap(), &Asked::new(&set)).unwrap().map(|proxy| proxy.to_string())
        };
        assert_eq!(of("https://api.openai.com").as_deref(), Some("http://proxy.lan:3128/"));
        for direct in [
            "https://example.org",
            "https://a.example.org",
            "https://x.internal",
            "https://localhost:1",
            "http://api.openai.com",
        ] {
            assert_eq!(of(direct), None, "{direct}");
        }
        assert_eq!(of("https://notexample.org").as_deref(), Some("http://proxy.lan:3128/"));
    }
}
