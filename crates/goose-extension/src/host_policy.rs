//! [`HostPolicy`]: the hosts that a call may reach, as the permissions judged it.
//!
//! A page may redirect, and a name may lead elsewhere a moment later. So a tool that fetches does not get a yes or no,
//! but the rules themselves: it asks for each host, and checks each address that it connects to.

use std::{fmt, net::IpAddr};

use url::{Host, Url};

use crate::address_class::{AddressClass, is_local_name, is_metadata_name};

/// Longest name of a host.
const MAX_HOST_BYTES: usize = 255;

/// Hosts that a rule names: `docs.rs`, `*.example.com`, `localhost:3000`, `[::1]:8080`. Each `*` stands for any
/// characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    /// Texts between the `*`s, in lower case.
    pieces: Vec<String>,
    port: Option<u16>,
}

/// A host that a request goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedHost {
    name: String,
    port: u16,
    address: Option<IpAddr>,
}

/// Error for an address that may not be connected to, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RefusedAddress(pub String);

/// Decision about one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAccess {
    /// Not reached, for this reason.
    Refused(String),
    /// Reached if its address is public.
    Public,
    /// Reached also in a private network. Metadata services are not.
    Private,
}

/// The hosts that a call may reach. Empty, it allows all public ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostPolicy {
    denied: Vec<(HostPattern, String)>,
    allowed: Vec<HostPattern>,
    named: Option<FetchedHost>,
    is_closed: bool,
}

impl HostPattern {
    /// Parses a host with an optional port; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, "*")) if !host.ends_with(':') => (host, None),
            Some((host, port)) if !host.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                // An IPv6 address without brackets ends in digits, too.
                match host.contains(':') && !host.ends_with(']') {
                    true => (text, None),
                    false => (host, Some(port.parse().ok()?)),
                }
            }
            _ => (text, None),
        };
        let host = host.trim_end_matches('.').to_lowercase();
        let is_host = |c: char| c.is_alphanumeric() || "*-_.:[]".contains(c);
        if host.is_empty() || host.len() > MAX_HOST_BYTES || !host.chars().all(is_host) {
            return None;
        }
        let host = if host.contains('*') { host } else { canonical(&host)? };
        Some(Self { pieces: host.split('*').map(str::to_owned).collect(), port })
    }

    /// Returns true if the host is one of those.
    pub fn matches(&self, host: &FetchedHost) -> bool {
        self.port.is_none_or(|port| port == host.port) && matches_pieces(&self.pieces, &host.name)
    }

    /// Returns true if the pattern names one host.
    pub fn is_literal(&self) -> bool {
        self.pieces.len() == 1
    }

    /// Returns true if the pattern allows a host in a private network: it names the host, and where the name does not
    /// say so itself also the port. A public name that was once allowed must not open the network when it moves.
    fn allows_private(&self, host: &FetchedHost) -> bool {
        self.is_literal() && (host.is_local() || self.port.is_some())
    }
}

/// Returns a host as URLs write it: names in ASCII, addresses in their usual form.
fn canonical(host: &str) -> Option<String> {
    let host = match host.parse::<std::net::Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => host.to_owned(),
    };
    Some(Host::parse(&host).ok()?.to_string())
}

fn matches_pieces(pieces: &[String], mut text: &str) -> bool {
    let Some((first, rest)) = pieces.split_first() else { return false };
    let Some((last, middle)) = rest.split_last() else { return text == first };
    let Some(after) = text.strip_prefix(first.as_str()) else { return false };
    text = after;
    for piece in middle {
        let Some(at) = text.find(piece.as_str()) else { return false };
        text = &text[at + piece.len()..];
    }
    text.ends_with(last.as_str())
}

impl FetchedHost {
    /// Returns the host of an `http` or `https` URL.
    pub fn of(url: &Url) -> Option<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let (name, address) = match url.host()? {
            Host::Domain(name) => (name.trim_end_matches('.').to_owned(), None),
            Host::Ipv4(address) => (address.to_string(), Some(address.into())),
            Host::Ipv6(address) => (format!("[{address}]"), Some(address.into())),
        };
        (!name.is_empty()).then_some(Self { name, port: url.port_or_known_default()?, address })
    }

    /// Returns the name, or the address that is written in its place.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the address that is written in place of a name.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Returns true if it is a metadata service.
    pub fn is_metadata(&self) -> bool {
        match self.address {
            Some(address) => AddressClass::of(address) == AddressClass::Metadata,
            None => is_metadata_name(&self.name),
        }
    }

    /// Returns true if it is visible that the host is not on the internet.
    pub fn is_local(&self) -> bool {
        match self.address {
            Some(address) => AddressClass::of(address) != AddressClass::Public,
            None => is_local_name(&self.name),
        }
    }

    /// Returns true if both are the same site: the same host, with or without `www.`.
    fn is_same_site(&self, other: &Self) -> bool {
        let bare = |host: &Self| host.name.strip_prefix("www.").unwrap_or(&host.name).to_owned();
        bare(self) == bare(other)
    }
}

/// The host as a rule names it. The usual ports are left out.
impl fmt::Display for FetchedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            80 | 443 => f.write_str(&self.name),
            port => write!(f, "{}:{port}", self.name),
        }
    }
}

impl HostPolicy {
    /// Refuses the hosts of a pattern.
    pub fn deny(&mut self, pattern: HostPattern, reason: impl Into<String>) {
        self.denied.push((pattern, reason.into()));
    }

    /// Allows the hosts of a pattern. One that names a host and its port also allows it in a private network.
    pub fn allow(&mut self, pattern: HostPattern) {
        self.allowed.push(pattern);
    }

    /// Allows the host that the call names. Where it is visibly in a private network, that was agreed to.
    pub fn allow_named(&mut self, host: FetchedHost) {
        self.named = Some(host);
    }

    /// Refuses all hosts that are not allowed.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Returns the decision about a host.
    pub fn access(&self, host: &FetchedHost) -> HostAccess {
        if host.is_metadata() {
            return HostAccess::Refused(format!(
                "`{host}` is a metadata service of a cloud, which holds credentials"
            ));
        }
        let named = self.named.as_ref();
        let is_named = named == Some(host);
        // A host that a rule asks about was approved, if the call names it.
        let mut denied = self.denied.iter().filter(|_| !is_named);
        if let Some((_, reason)) = denied.find(|(pattern, _)| pattern.matches(host)) {
            return HostAccess::Refused(reason.clone());
        }
        let mut rules = self.allowed.iter().filter(|pattern| pattern.matches(host)).peekable();
        let is_allowed = rules.peek().is_some();
        if rules.any(|pattern| pattern.allows_private(host)) || (is_named && host.is_local()) {
            return HostAccess::Private;
        }
        if host.is_local() {
            return HostAccess::Refused(format!("`{host}` is not on the internet. {}", advice(host)));
        }
        if is_named || is_allowed || !self.is_closed || named.is_some_and(|named| named.is_same_site(host)) {
            return HostAccess::Public;
        }
        HostAccess::Refused(format!("`{host}` was not approved. Fetch it with a call of its own"))
    }

    /// Checks an address that a host leads to.
    ///
    /// # Errors
    ///
    /// Fails if it may not be connected to.
    pub fn check_address(&self, host: &FetchedHost, address: IpAddr) -> Result<(), RefusedAddress> {
        let is_private = match self.access(host) {
            HostAccess::Refused(reason) => return Err(RefusedAddress(reason)),
            HostAccess::Public => false,
            HostAccess::Private => true,
        };
        match AddressClass::of(address) {
            AddressClass::Metadata => Err(RefusedAddress(format!(
                "`{host}` leads to {address}, a metadata service of a cloud, which holds credentials"
            ))),
            AddressClass::Public => Ok(()),
            _ if is_private => Ok(()),
            _ => Err(RefusedAddress(format!(
                "`{host}` leads to {address}, which is not on the internet. {}",
                advice(host)
            ))),
        }
    }
}

fn advice(host: &FetchedHost) -> String {
    let FetchedHost { name, port, .. } = host;
    format!("If this is a server of the user, they can allow it with the rule `allow: fetch {name}:{port}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(url: &str) -> FetchedHost {
        FetchedHost::of(&Url::parse(url).unwrap()).unwrap()
    }

    fn pattern(text: &str) -> HostPattern {
        HostPattern::parse(text).unwrap()
    }

    #[test]
    fn patterns_match_hosts_and_ports() {
        for (text, url, expected) in [
            ("docs.rs", "https://docs.rs/a", true),
            ("docs.rs", "http://DOCS.rs.:8080/", true),
            ("docs.rs", "https://evil-docs.rs/", false),
            ("*.example.com", "https://a.b.example.com/", true),
            ("*.example.com", "https://example.com/", false),
            ("localhost:3000", "http://localhost:3000/", true),
            ("localhost:3000", "http://localhost:3001/", false),
            ("localhost:*", "http://localhost:3001/", true),
            ("127.0.0.1:80", "http://0x7f.1/", true),
            ("[::1]:8080", "http://[0::1]:8080/", true),
            ("::1", "http://[::1]:8080/", true),
            ("bücher.example", "https://xn--bcher-kva.example/", true),
            ("*", "https://a.example/", true),
        ] {
            assert_eq!(pattern(text).matches(&host(url)), expected, "{text} {url}");
        }
        for bad in ["", "a b", "https://docs.rs", "docs.rs/a", "a:99999", "user@host"] {
            assert_eq!(HostPattern::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn private_hosts_must_be_named() {
        let mut policy = HostPolicy::default();
        assert_eq!(policy.access(&host("https://docs.rs/")), HostAccess::Public);
        assert!(matches!(policy.access(&host("http://localhost:3000/")), HostAccess::Refused(_)));
        policy.allow(pattern("*"));
        assert!(matches!(policy.access(&host("http://127.0.0.1/")), HostAccess::Refused(_)));
        policy.allow(pattern("localhost:3000"));
        assert_eq!(policy.access(&host("http://localhost:3000/")), HostAccess::Private);
        policy.allow(pattern("169.254.169.254"));
        assert!(matches!(policy.access(&host("http://169.254.169.254/")), HostAccess::Refused(_)));
        policy.allow(pattern("intranet.example.com:443"));
        let intranet = host("https://intranet.example.com/");
        assert_eq!(policy.check_address(&intranet, "10.0.0.1".parse().unwrap()), Ok(()));
        assert!(policy.check_address(&intranet, "169.254.169.254".parse().unwrap()).is_err());
        let public = host("https://docs.rs/");
        assert!(policy.check_address(&public, "10.0.0.1".parse().unwrap()).is_err());
        assert_eq!(policy.check_address(&public, "1.1.1.1".parse().unwrap()), Ok(()));
    }

    #[test]
    fn a_closed_policy_allows_what_was_named() {
        let mut policy = HostPolicy::default();
        policy.close();
        policy.allow_named(host("http://example.com/"));
        assert_eq!(policy.access(&host("https://www.example.com/")), HostAccess::Public);
        assert!(matches!(policy.access(&host("https://other.example/")), HostAccess::Refused(_)));
        policy.deny(pattern("*.example.com"), "no");
        assert_eq!(policy.access(&host("https://www.example.com/")), HostAccess::Refused("no".to_owned()));
    }
}
