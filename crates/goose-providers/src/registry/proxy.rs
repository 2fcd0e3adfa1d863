//! The proxy that the usual variables name for a URL: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`.

use url::Url;

use super::{address::is_here, resolve::bad, setup_error::SetupError};
use crate::lookup::TrackedLookup;

/// The variables that are meant for many kinds of traffic, of which the web's is only one.
const FOR_ALL: [&str; 2] = ["ALL_PROXY", "all_proxy"];

/// The proxy to go through, where there is one. What is on this machine is reached directly.
///
/// # Errors
///
/// A proxy for the web that goose cannot use. One for everything (`ALL_PROXY`) is then not meant for goose.
pub(super) fn proxy_for(url: &Url, lookup: &TrackedLookup<'_>) -> Result<Option<Url>, SetupError> {
    let names = match url.scheme() {
        "https" => ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        _ => ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"],
    };
    if is_here(url) || is_excepted(url, lookup) {
        return Ok(None);
    }
    for name in names {
        let Some(text) = lookup.value(name).filter(|text| !text.trim().is_empty()) else { continue };
        match parse(name, text) {
            Err(problem) if FOR_ALL.contains(&name) => tracing::warn!("{problem}; ignoring it"),
            parsed => return parsed.map(Some),
        }
    }
    Ok(None)
}

fn parse(name: &str, text: String) -> Result<Url, SetupError> {
    let text = if text.contains("://") { text } else { format!("http://{}", text.trim()) };
    let proxy =
        Url::parse(text.trim()).map_err(|error| bad(name, format!("not a valid address ({error})")))?;
    match proxy.scheme() {
        "http" | "https" => Ok(proxy),
        scheme => Err(bad(name, format!("unsupported proxy scheme `{scheme}`; use http or https"))),
    }
}

/// `NO_PROXY` is a list of hosts; one stands for all below it, and `*` for all.
fn is_excepted(url: &Url, lookup: &TrackedLookup<'_>) -> bool {
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
        let through = |url: &str| {
            proxy_for(&Url::parse(url).unwrap(), &TrackedLookup::new(&set))
                .unwrap()
                .map(|proxy| proxy.to_string())
        };
        assert_eq!(through("https://api.openai.com").as_deref(), Some("http://proxy.lan:3128/"));
        for direct in [
            "https://example.org",
            "https://a.example.org",
            "https://x.internal",
            "https://localhost:1",
            "http://api.openai.com",
        ] {
            assert_eq!(through(direct), None, "{direct}");
        }
        assert_eq!(through("https://notexample.org").as_deref(), Some("http://proxy.lan:3128/"));
    }

    #[test]
    fn a_proxy_for_everything_is_used_where_it_can_be() {
        let through = |pairs: &[(&str, &str)]| {
            let set: BTreeMap<String, String> =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            proxy_for(&Url::parse("https://api.openai.com").unwrap(), &TrackedLookup::new(&set))
                .map(|proxy| proxy.map(|it| it.to_string()))
        };
        let socks = "socks5://proxy.lan:1080";
        assert_eq!(through(&[("ALL_PROXY", socks)]).unwrap(), None);
        assert_eq!(
            through(&[("ALL_PROXY", socks), ("all_proxy", "proxy.lan:1")]).unwrap().as_deref(),
            Some("http://proxy.lan:1/")
        );
        assert!(through(&[("HTTPS_PROXY", socks)]).is_err());
    }
}
