//! From a host as people write it, and a path, to the URL that is asked.
//!
//! People give a bare host, a base URL that ends in a version, or the whole URL; each comes out right, and nothing is
//! doubled: `https://x`, `https://x/v1` and `https://x/v1/chat/completions` are the same service. A URL is reached through
//! the proxy that the usual variables name for it: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`.

use url::{Host, Url};

use super::{resolve::bad, setup_error::SetupError};
use crate::lookup::TrackedLookup;

/// The defaults for parts that an address leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Usual {
    /// Ollama is on its own port, and asked without TLS.
    Ollama,
    /// Other services are asked with TLS, unless they are on this machine.
    Service,
}

/// Ollama's port.
const OLLAMA_PORT: u16 = 11434;

/// Reads a host or base URL.
///
/// # Errors
///
/// In words, for the setting that holds it.
pub(crate) fn parse(text: &str, usual: Usual) -> Result<Url, String> {
    let text = text.trim();
    let url = match text.contains("://") {
        true => Url::parse(text),
        false => with_scheme(text, usual),
    };
    // The text itself is not repeated: it may hold a password or a key.
    let mut url = url.map_err(|error| format!("not a valid address ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("unsupported scheme `{}`; use http or https", url.scheme()));
    }
    if usual == Usual::Ollama && url.scheme() == "http" && url.port().is_none() && !says_port(text) {
        // Fails for URLs without a host only, and http has one.
        let _ = url.set_port(Some(OLLAMA_PORT));
    }
    reachable(&mut url);
    url.set_fragment(None);
    Ok(url)
}

fn with_scheme(text: &str, usual: Usual) -> Result<Url, url::ParseError> {
    let url = Url::parse(&format!("http://{text}"))?;
    if usual == Usual::Ollama || is_here(&url) {
        return Ok(url);
    }
    Url::parse(&format!("https://{text}"))
}

/// Returns whether it is an address of this machine.
pub fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        None => false,
    }
}

/// Returns whether port 80 is written out, which a parsed URL does not show.
fn says_port(text: &str) -> bool {
    let authority = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    authority.ends_with(":80")
}

/// Servers listen on `0.0.0.0`; no client can connect to it.
fn reachable(url: &mut Url) {
    let here = match url.host() {
        Some(Host::Ipv4(address)) if address.is_unspecified() => "127.0.0.1",
        Some(Host::Ipv6(address)) if address.is_unspecified() => "[::1]",
        _ => return,
    };
    let _ = url.set_host(Some(here));
}

/// Adds the path, as much of it as is not there yet. A query in the path wins over one in the base.
pub(super) fn join(base: &Url, path: &str) -> Url {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let have = segments(base.path());
    let want = segments(path);
    let mut url = base.clone();
    let all: Vec<&str> = have.iter().chain(missing(&have, &want)).copied().collect();
    url.set_path(&all.join("/"));
    if query.is_some() {
        url.set_query(query);
    }
    url
}

/// A base URL as the makers' own libraries take it: it holds everything but the last step.
pub(super) fn join_base(base: &Url, path: &str) -> Url {
    let want = segments(path);
    match segments(base.path()).is_empty() {
        true => join(base, path),
        false => join(base, &tail(&want).join("/")),
    }
}

fn segments(path: &str) -> Vec<&str> {
    path.split('/').filter(|segment| !segment.is_empty()).collect()
}

/// Returns the part of the wanted path that is missing at the end of the existing one.
fn missing<'w>(have: &[&str], want: &'w [&'w str]) -> &'w [&'w str] {
    let end = tail(want);
    if !end.is_empty() && have.ends_with(end) {
        return &[];
    }
    let overlap = (1..=want.len()).rev().find(|count| have.ends_with(&want[..*count]));
    match overlap {
        Some(count) => &want[count..],
        None if have.last().is_some_and(|last| is_version(last)) => end,
        None => want,
    }
}

/// Returns the part after the version: `chat/completions` of `v1/chat/completions`.
fn tail<'w>(want: &'w [&'w str]) -> &'w [&'w str] {
    let version = want.iter().rposition(|segment| is_version(segment));
    version.map_or(want, |at| &want[at + 1..])
}

/// `v1`, `v4`, `v1beta`.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The variables that are meant for many kinds of traffic, of which the web's is only one.
const FOR_ALL: [&str; 2] = ["ALL_PROXY", "all_proxy"];

/// The proxy to go through, where there is one. What is on this machine is reached directly.
///
/// # Errors
///
/// A proxy for the web that goose cannot use. One for everything (`ALL_PROXY`) is then not meant for goose.
pub(crate) fn proxy_for(url: &Url, lookup: &TrackedLookup<'_>) -> Result<Option<Url>, SetupError> {
    let names = match url.scheme() {
        "https" => ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        _ => ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"],
    };
    if is_here(url) || is_excepted(url, lookup) {
        return Ok(None);
    }
    for name in names {
        let Some(text) = lookup.value(name).filter(|text| !text.trim().is_empty()) else { continue };
        match parse_proxy(name, text) {
            Err(problem) if FOR_ALL.contains(&name) => tracing::warn!("{problem}; ignoring it"),
            parsed => return parsed.map(Some),
        }
    }
    Ok(None)
}

fn parse_proxy(name: &str, text: String) -> Result<Url, SetupError> {
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

    const CHAT: &str = "v1/chat/completions";

    fn ollama(text: &str) -> String {
        parse(text, Usual::Ollama).unwrap().to_string()
    }

    fn joined(base: &str, path: &str) -> String {
        let base = parse(base, Usual::Service).unwrap();
        join(&base, path).to_string()
    }

    #[test]
    fn a_path_is_added_as_far_as_it_is_missing() {
        for (base, path, expected) in [
            ("https://x.com", CHAT, "https://x.com/v1/chat/completions"),
            ("https://x.com/", CHAT, "https://x.com/v1/chat/completions"),
            ("https://x.com/v1", CHAT, "https://x.com/v1/chat/completions"),
            ("https://x.com/v1/", CHAT, "https://x.com/v1/chat/completions"),
            ("https://x.com/v1/chat/completions", CHAT, "https://x.com/v1/chat/completions"),
            ("https://x.com/api/paas/v4", CHAT, "https://x.com/api/paas/v4/chat/completions"),
            ("https://x.com/zen/go", CHAT, "https://x.com/zen/go/v1/chat/completions"),
            (
                "https://x.com/openai",
                "openai/v1/chat/completions",
                "https://x.com/openai/v1/chat/completions",
            ),
            ("http://127.0.0.1:9/v1", "openai/v1/chat/completions", "http://127.0.0.1:9/v1/chat/completions"),
            ("https://x.com", "v1/messages", "https://x.com/v1/messages"),
            ("https://x.com/v1?a=b", CHAT, "https://x.com/v1/chat/completions?a=b"),
            ("https://x.com?a=b", "chat?api-version=1", "https://x.com/chat?api-version=1"),
            ("https://x.com/v1beta", "v1beta", "https://x.com/v1beta"),
            ("https://x.com", "", "https://x.com/"),
        ] {
            assert_eq!(joined(base, path), expected, "{base} + {path}");
        }
    }

    #[test]
    fn a_base_url_of_a_library_holds_all_but_the_last_step() {
        let base = |text: &str| Url::parse(text).unwrap();
        assert_eq!(
            join_base(&base("https://x.com/api"), CHAT).as_str(),
            "https://x.com/api/chat/completions"
        );
        assert_eq!(join_base(&base("https://x.com/v1"), CHAT).as_str(), "https://x.com/v1/chat/completions");
        assert_eq!(join_base(&base("https://x.com"), CHAT).as_str(), "https://x.com/v1/chat/completions");
    }

    #[test]
    fn ollama_is_found_under_every_form_of_its_address() {
        for (text, expected) in [
            ("localhost", "http://localhost:11434/"),
            ("localhost:11434", "http://localhost:11434/"),
            ("127.0.0.1:1", "http://127.0.0.1:1/"),
            ("0.0.0.0", "http://127.0.0.1:11434/"),
            ("[::]:5", "http://[::1]:5/"),
            ("box.lan", "http://box.lan:11434/"),
            ("http://box.lan", "http://box.lan:11434/"),
            ("http://box.lan:80", "http://box.lan/"),
            ("box.lan:80", "http://box.lan/"),
            ("https://ollama.example.com", "https://ollama.example.com/"),
            ("https://example.com:8443/ollama/", "https://example.com:8443/ollama/"),
        ] {
            assert_eq!(ollama(text), expected, "{text}");
        }
    }

    #[test]
    fn an_address_without_a_scheme_is_protected_unless_it_is_here() {
        let parsed = |text| parse(text, Usual::Service).unwrap().to_string();
        assert_eq!(parsed("example.com"), "https://example.com/");
        assert_eq!(parsed("localhost:4000"), "http://localhost:4000/");
        for bad in ["", "http://", "ftp://x.com", "a b"] {
            assert!(parse(bad, Usual::Service).is_err(), "{bad}");
        }
    }

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
