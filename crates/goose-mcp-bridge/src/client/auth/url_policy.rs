//! Challenges of servers that require a login, and the addresses that secrets may be sent to.

use std::net::IpAddr;

use goose_extension::address_class::{AddressClass, is_loopback_name};
use rmcp::transport::auth::{AuthorizationMetadata, WWWAuthenticateParams};
use url::{Host, Url};

use crate::client::http_error::HttpError;

/// A request that was refused for lack of a login (HTTP 401) or of a scope (HTTP 403).
#[derive(Clone)]
pub(in crate::client) struct Challenge {
    /// `WWW-Authenticate` header of the response.
    pub(in crate::client) header: Option<String>,
    /// Token that was rejected.
    pub(in crate::client) rejected: Option<String>,
    /// Scope that is missing.
    pub(in crate::client) scope: Option<String>,
    /// Number of failed logins when the request was made. A later failure answers this challenge, too.
    pub(super) failures: u64,
}

impl Challenge {
    pub(in crate::client) fn login(header: Option<String>, rejected: Option<String>) -> Self {
        Self { header, rejected, scope: None, failures: 0 }
    }

    /// Returns the challenge of a 403 response, if it names the missing scope: only then a login can help.
    pub(in crate::client) fn scope(
        header: Option<String>,
        rejected: Option<String>,
        server: &Url,
    ) -> Option<Self> {
        let params = WWWAuthenticateParams::parse(header.as_deref()?, server);
        let scope = params.scope.clone().filter(|_| params.is_insufficient_scope())?;
        Some(Self { header, rejected, scope: Some(scope), failures: 0 })
    }

    /// Sets the number of failed logins when the request was made.
    pub(in crate::client) fn with_failures(self, failures: u64) -> Self {
        Self { failures, ..self }
    }

    /// Returns the error if OAuth is not set up.
    pub(in crate::client) fn error_without_oauth(&self, server: &Url) -> HttpError {
        if !is_confidential(server) {
            return HttpError::LoginUnsafe;
        }
        self.error_without_login("OAuth is not set up here.", ", and OAuth is not set up here")
    }

    /// Returns the error if no caller waits who could log in.
    pub(in crate::client) fn error_without_caller(&self) -> HttpError {
        self.error_without_login(
            "The request was made in the background, so no login page was shown; the next call shows it.",
            "; the next call asks for it",
        )
    }

    /// Returns the error if there is no browser.
    pub(super) fn error_without_browser(&self) -> HttpError {
        self.error_without_login(
            "There is no browser here to log in with.",
            ", and there is no browser here to log in again with",
        )
    }

    /// Returns the error for a login that is not possible here: `hint` if there was none before, `and` after the scope
    /// that it lacks.
    fn error_without_login(&self, hint: &str, and: &str) -> HttpError {
        match &self.scope {
            None => HttpError::LoginNeeded { hint: hint.to_owned() },
            Some(scope) => HttpError::Forbidden(format!(": the scope `{scope}` is needed{and}")),
        }
    }

    /// Returns the error if a login did not help.
    pub(in crate::client) fn error_after_login(&self) -> HttpError {
        match &self.scope {
            None => {
                HttpError::LoginFailed("the server refuses the token that was just issued for it".to_owned())
            }
            Some(scope) => HttpError::Forbidden(format!(
                ": it requires the scope `{scope}`, which the login has or cannot get. Ask the owner \
                 of the server for access"
            )),
        }
    }
}

/// Returns whether a request to a URL is encrypted, or stays on this machine.
pub(in crate::client) fn is_confidential(url: &Url) -> bool {
    match (url.scheme(), url.host()) {
        ("https", Some(_)) => true,
        ("http", Some(host)) => is_loopback(&host),
        _ => false,
    }
}

/// Checks that the login server's endpoints are encrypted, or on this machine.
pub(super) fn check(metadata: &AuthorizationMetadata) -> Result<(), HttpError> {
    let registration = metadata.registration_endpoint.as_ref();
    for endpoint in
        [&metadata.authorization_endpoint, &metadata.token_endpoint].into_iter().chain(registration)
    {
        if !is_confidential(&Url::parse(endpoint).map_err(HttpError::login_failed)?) {
            return Err(HttpError::login_failed(format!(
                "the login server's address `{endpoint}` is not https"
            )));
        }
    }
    Ok(())
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => is_loopback_name(name),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// Returns whether a server is on this machine or in a private network, and so may have its login server
/// there. A name that also has a public address is not.
pub(super) async fn is_internal(server: &Url) -> bool {
    match server.host() {
        Some(host) if is_loopback(&host) => true,
        Some(Host::Ipv4(address)) => is_internal_address(address),
        Some(Host::Ipv6(address)) => is_internal_address(address),
        Some(Host::Domain(name)) => {
            let port = server.port_or_known_default().unwrap_or_default();
            let Ok(addresses) = tokio::net::lookup_host((name, port)).await else { return false };
            let addresses: Vec<_> = addresses.collect();
            !addresses.is_empty() && addresses.iter().all(|address| is_internal_address(address.ip()))
        }
        None => false,
    }
}

fn is_internal_address(address: impl Into<IpAddr>) -> bool {
    AddressClass::of(address.into()).is_internal()
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
            assert_eq!(is_confidential(&Url::parse(url)?), is_private, "{url}");
        }
        Ok(())
    }
}
