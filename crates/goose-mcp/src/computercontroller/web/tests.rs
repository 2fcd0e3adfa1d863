//! Names that lead elsewhere: what a system's lookup cannot be made to answer in a test.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use goose_extension::{HostPattern, HostPolicy};
use goose_test_support::{HttpAnswer, Loopback};

use super::{Lookup, fetch::fetch};

/// A lookup that gives one answer after the other, and the last one again.
struct Answers(Vec<Vec<&'static str>>, AtomicUsize);

#[async_trait]
impl Lookup for Answers {
    async fn lookup(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let index = self.1.fetch_add(1, Ordering::Relaxed).min(self.0.len() - 1);
        Ok(self.0[index].iter().map(|address| address.parse().unwrap()).collect())
    }
}

async fn get(url: &str, policy: HostPolicy, answers: &[&[&'static str]]) -> Result<(), String> {
    let answers = answers.iter().map(|addresses| addresses.to_vec()).collect();
    let lookup: Arc<dyn Lookup> = Arc::new(Answers(answers, AtomicUsize::new(0)));
    fetch(url, &Arc::new(policy), &lookup).await.map(drop).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_refused() {
    let server = Loopback::answering(|_| HttpAnswer::new(200, "secret")).unwrap();
    let port = server.url().rsplit(':').next().unwrap().trim_matches('/').to_owned();
    let url = format!("http://rebind.example:{port}/");
    let answers: [&[&'static str]; 8] = [
        &["127.0.0.1"],
        &["::1"],
        &["::ffff:127.0.0.1"],
        &["10.1.1.1"],
        &["0.0.0.0"],
        &["169.254.169.254"],
        // One public address among others does not help.
        &["93.184.216.34", "127.0.0.1"],
        &["64:ff9b::7f00:1"],
    ];
    for addresses in answers {
        let refused = get(&url, HostPolicy::default(), &[addresses]).await.unwrap_err();
        assert!(
            refused.contains("leads to") && refused.contains("was not fetched"),
            "{addresses:?}: {refused}"
        );
    }
    assert!(server.asked().is_empty());
    // The person has named the host. A service with credentials stays out of reach.
    let named = || {
        let mut policy = HostPolicy::default();
        policy.allow(HostPattern::parse(&format!("rebind.example:{port}")).unwrap());
        policy
    };
    assert_eq!(get(&url, named(), &[&["127.0.0.1"]]).await, Ok(()));
    assert!(get(&url, named(), &[&["169.254.169.254"]]).await.is_err());
}

#[tokio::test]
async fn a_name_that_changes_after_a_redirect_is_refused() {
    let server = Loopback::answering(|asked| match asked.path.as_str() {
        "/" => HttpAnswer::new(302, "").with_header("location", "http://other.example/secret"),
        _ => HttpAnswer::new(200, "secret"),
    })
    .unwrap();
    let port = server.url().rsplit(':').next().unwrap().trim_matches('/').to_owned();
    let mut policy = HostPolicy::default();
    policy.allow(HostPattern::parse(&format!("rebind.example:{port}")).unwrap());
    let url = format!("http://rebind.example:{port}/");
    let refused = get(&url, policy, &[&["127.0.0.1"], &["127.0.0.1"]]).await.unwrap_err();
    assert!(refused.contains("`other.example` leads to 127.0.0.1"), "{refused}");
    assert_eq!(server.asked().len(), 1);
}
