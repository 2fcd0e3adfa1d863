//! Addresses that a login may use, and the challenges of servers that want one.

use std::net::{IpAddr, Ipv4Addr};

use rmcp::transport::auth::{AuthorizationMetadata, WWWAuthenticateParams};
use url::{Host, Url};

use crate::client::http_error::HttpError;

/// A request that was refused for want of a login (HTTP 401) or of a scope (403).
#[derive(Clone)]
pub(in crate::client) struct Challenge {
    /// The server's explanation.
    pub(in crate::client) header: Option<String>,
    /// The token that was not enough.
    pub(in crate::client) rejected: Option<String>,
    /// The scope that is wanted.
    pub(in crate::client) scope: Option<String>,
    /// Logins that had failed when the request was made. One that failed since is the answer to this, too.
    pub(super) failures: u64,
}

impl Challenge {
    pub(in crate::client) fn login(header: Option<String>, rejected: Option<String>) -> Self {
        Self { header, rejected, scope: None, failures: 0 }
    }

    /// A refusal that a wider login can help: only one that names the scope.
    pub(in crate::client) fn scope(
        header: Option<String>,
        rejected: Option<String>,
        server: &Url,
    ) -> Option<Self> {
        let params = WWWAuthenticateParams::parse(header.as_deref()?, server);
        let scope = params.scope.clone().filter(|_| params.is_insufficient_scope())?;
        Some(Self { header, rejected, scope: Some(scope), failures: 0 })
    }

    /// The same for a request that was made after so many failed logins.
    pub(in crate::client) fn after(self, failures: u64) -> Self {
        Self { failures, ..self }
    }

    /// The error where there is nothing to log in with.
    pub(in crate::client) fn unanswered(&self, server: &Url) -> HttpError {
        if !is_private_way(server) {
            return HttpError::LoginUnsafe;
        }
        match &self.scope {
            None => HttpError::LoginNeeded { hint: "OAuth is not set up here.".to_owned() },
            Some(scope) => {
                HttpError::Forbidden(format!(": the scope `{scope}` is needed, and OAuth is not set up here"))
            }
        }
    }

    /// The error if no caller waits who could log in.
    pub(in crate::client) fn unattended(&self) -> HttpError {
        let hint =
            "The request was made in the background, so no login page was shown; the next call shows it.";
        match &self.scope {
            None => HttpError::LoginNeeded { hint: hint.to_owned() },
            Some(scope) => {
                HttpError::Forbidden(format!(": the scope `{scope}` is needed; the next call asks for it"))
            }
        }
    }

    /// The error if no person can be asked.
    pub(super) fn unseen(&self) -> HttpError {
        match &self.scope {
            None => HttpError::LoginNeeded { hint: "There is no browser here to log in with.".to_owned() },
            Some(scope) => HttpError::Forbidden(format!(
                ": the scope `{scope}` is needed, and there is no browser here to log in again with"
            )),
        }
    }

    /// The error where a login did not help.
    pub(in crate::client) fn in_vain(&self) -> HttpError {
        match &self.scope {
            None => {
                HttpError::LoginFailed("the server refuses the token that was just issued for it".to_owned())
            }
            Some(scope) => HttpError::Forbidden(format!(
                ": it wants the scope `{scope}` although the login has it or cannot get it. Ask the owner of the \
                 server for access"
            )),
        }
    }
}

/// Returns whether what is sent there is encrypted, or stays on this machine.
pub(in crate::client) fn is_private_way(url: &Url) -> bool {
    match (url.scheme(), url.host()) {
        ("https", Some(_)) => true,
        ("http", Some(host)) => is_loopback(&host),
        _ => false,
    }
}

/// Tokens and secrets travel encrypted, or stay on this machine.
pub(super) fn check(metadata: &AuthorizationMetadata) -> Result<(), HttpError> {
    let registration = metadata.registration_endpoint.as_ref();
    for endpoint in
        [&metadata.authorization_endpoint, &metadata.token_endpoint].into_iter().chain(registration)
    {
        if !is_private_way(&Url::parse(endpoint).map_err(HttpError::login_failed)?) {
            return Err(HttpError::login_failed(format!(
                "the login server's address `{endpoint}` is not https"
            )));
        }
    }
    Ok(())
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// Returns whether a server is on this machine or in a private network, and so may have its login server there. One whose name
/// has a public address too is not.
pub(super) async fn is_internal(server: &Url) -> bool {
    match server.host() {
        Some(host) if is_loopback(&host) => true,
        Some(Host::Ipv4(address)) => is_internal_address(address.into()),
        Some(Host::Ipv6(address)) => is_internal_address(address.into()),
        Some(Host::Domain(name)) => {
            let port = server.port_or_known_default().unwrap_or_default();
            let Ok(addresses) = tokio::net::lookup_host((name, port)).await else { return false };
            let addresses: Vec<_> = addresses.collect();
            !addresses.is_empty() && addresses.iter().all(|address| is_internal_address(address.ip()))
        }
        None => false,
    }
}

fn is_internal_address(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_private() || is_shared(address),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
    }
}

/// Addresses between a provider and its customers (100.64.0.0/10), which company networks use too.
fn is_shared(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    first == 100 && (64..128).contains(&second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn servers_of_a_private_network_are_told_from_public_ones() -> Result<(), url::ParseError> {
        let internal = [
            "https://10.1.2.3/mcp",
            "https://192.168.0.1:8443/",
            "https://100.64.0.1/",
            "http://127.0.0.1:1/",
            "https://[fd00::1]/",
            "https://[::ffff:10.0.0.1]/",
            "http://localhost/",
        ];
        let others = [
            "https://8.8.8.8/",
            "https://100.128.0.1/",
            "https://[2606:4700::1111]/",
            "https://169.254.1.1/",
        ];
        for url in internal {
            assert!(is_internal(&Url::parse(url)?).await, "{url}");
        }
        for url in others {
            assert!(!is_internal(&Url::parse(url)?).await, "{url}");
        }
        Ok(())
    }

    #[test]
    fn only_loopback_is_private_without_encryption() -> Result<(), url::ParseError> {
        for (url, is_private) in [
            ("https://example.com/mcp", true),
            ("http://127.0.0.1:1/", true),
            ("http://localhost/", true),
            ("http://[::1]/", true),
            ("http://example.com/mcp", false),
            ("http://10.0.0.1/", false),
            ("http://localhost.example.com/", false),
        ] {
            assert_eq!(is_private_way(&Url::parse(url)?), is_private, "{url}");
        }
        Ok(())
    }
}
