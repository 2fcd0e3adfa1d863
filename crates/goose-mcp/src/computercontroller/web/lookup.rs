//! [`Lookup`]: names to addresses. Each address is checked before it is connected to, so that a name that leads
//! elsewhere a moment later changes nothing.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use async_trait::async_trait;
use goose_extension::{FetchedHost, HostPolicy, address_class::is_loopback_name};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Maximum number of addresses of a name.
const MAX_ADDRESSES: usize = 64;

/// Finds the addresses of a name.
#[async_trait]
pub(crate) trait Lookup: Send + Sync {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The lookup of the system.
pub(crate) struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        if is_loopback_name(name) {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        Ok(tokio::net::lookup_host((name, 0))
            .await?
            .map(|address| address.ip())
            .take(MAX_ADDRESSES)
            .collect())
    }
}

/// Lookup for one request, which gives only addresses that the policy allows.
pub(super) struct CheckedLookup {
    pub(super) host: FetchedHost,
    pub(super) policy: Arc<HostPolicy>,
    pub(super) lookup: Arc<dyn Lookup>,
}

impl Resolve for CheckedLookup {
    fn resolve(&self, name: Name) -> Resolving {
        let (host, policy, lookup) = (self.host.clone(), Arc::clone(&self.policy), Arc::clone(&self.lookup));
        Box::pin(async move {
            let addresses = lookup.lookup(name.as_str()).await?;
            for address in &addresses {
                // One of several is enough to refuse: which one is connected to is decided by chance.
                policy.check_address(&host, *address)?;
            }
            Ok(Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}
