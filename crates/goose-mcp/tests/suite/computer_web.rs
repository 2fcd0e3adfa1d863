//! `web_scrape`: pages of servers on loopback, and the ways to reach an address that is not on the internet.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use goose_test_support::{HttpAnswer, Loopback};
use serde_json::json;

use crate::computer_support::{Office, approved, host_of};

/// Serves some pages.
fn server() -> Loopback {
    Loopback::answering(|asked| {
        let html = |body: &str| HttpAnswer::new(200, body).with_header("content-type", "text/html; charset=utf-8");
        match asked.path.as_str() {
            "/page" => html(
                "<html><head><title>A page</title><script>alert('no')</script></head><body><h2>Part &amp; one</h2><p>Some <b>bold</b> \
                 text with a <a href='/next'>link</a>.</p><ul><li>one</li><li>two</li></ul><table><tr><th>a</th><th>b</th></tr>\
                 <tr><td>1</td><td>2</td></tr></table><pre>let x = 1;</pre></body></html>",
            ),
            "/latin" => HttpAnswer::new(200, b"gr\xfc\xdfe".to_vec()).with_header("content-type", "text/plain; charset=latin1"),
            "/json" => HttpAnswer::new(200, r#"{"b":1,"a":[2]}"#).with_header("content-type", "application/json"),
            "/bytes" => HttpAnswer::new(200, vec![0, 159, 146, 150]).with_header("content-type", "application/octet-stream"),
            "/large" => HttpAnswer::new(200, vec![b'x'; 11 * 1024 * 1024]).with_header("content-type", "text/plain"),
            "/bomb" => {
                let mut packed = GzEncoder::new(Vec::new(), Compression::best());
                packed.write_all(&vec![b'x'; 64 * 1024 * 1024]).unwrap();
                HttpAnswer::new(200, packed.finish().unwrap()).with_header("content-encoding", "gzip")
            }
            "/missing" => HttpAnswer::new(404, "there is nothing"),
            path => match path.strip_prefix("/to/") {
                Some("loop") => HttpAnswer::new(302, "").with_header("location", "/to/loop"),
                Some("page") => HttpAnswer::new(302, "").with_header("location", "/page"),
                Some(place) => HttpAnswer::new(302, "").with_header("location", &place.replace("%2F", "/")),
                None => HttpAnswer::new(200, "plain"),
            },
        }
    })
    .unwrap()
}

#[tokio::test]
async fn pages_are_returned_in_each_form() {
    let (office, server) = (Office::new(), server());
    let (url, host) = (server.url(), host_of(&server.url()));
    let get = |path: &'static str, form: &'static str| {
        let url = format!("{url}{path}");
        let (office, host) = (&office, host.as_str());
        async move { office.fetch(&url, form, &[host]).await }
    };
    let markdown = get("/page", "markdown").await.unwrap();
    for part in [
        "# A page",
        "## Part & one",
        "Some **bold** text with a [link](",
        "- one\n- two",
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
        "```\nlet x = 1;\n```",
    ] {
        assert!(markdown.contains(part), "{part}\n{markdown}");
    }
    assert!(!markdown.contains("alert"), "{markdown}");
    let text = get("/page", "text").await.unwrap();
    assert!(text.contains("Some bold text with a link.") && !text.contains("**"), "{text}");
    assert!(get("/latin", "text").await.unwrap().contains("grüße"));
    assert!(get("/json", "json").await.unwrap().contains("\"b\": 1"));
    assert!(get("/page", "json").await.unwrap_err().contains("is not JSON"));
    assert!(get("/bytes", "text").await.unwrap_err().contains("`binary`"));
    let saved = get("/bytes", "binary").await.unwrap();
    let path = saved.split("Saved to ").nth(1).unwrap().trim();
    assert_eq!(std::fs::read(path).unwrap(), [0, 159, 146, 150]);
    assert!(get("/to/page", "markdown").await.unwrap().contains("# A page"));
    assert!(get("/large", "text").await.unwrap_err().contains("larger than 10 MB"));
    assert!(get("/bomb", "text").await.unwrap_err().contains("larger than 10 MB"));
    assert!(get("/to/loop", "text").await.unwrap_err().contains("more than 5 times"));
    let missing = get("/missing", "text").await.unwrap_err();
    assert!(missing.contains("404") && missing.contains("there is nothing"), "{missing}");
}

#[tokio::test]
async fn what_was_saved_is_in_the_cache() {
    let (office, server) = (Office::new(), server());
    office.fetch(&format!("{}/page", server.url()), "markdown", &[&host_of(&server.url())]).await.unwrap();
    let listed = office.ok("cache", json!({ "command": "list" })).await;
    let path = listed.split(" (").next().unwrap();
    assert!(office.ok("cache", json!({ "command": "view", "path": path })).await.contains("# A page"));
    assert!(
        office
            .err("cache", json!({ "command": "view", "path": "/etc/passwd" }))
            .await
            .contains("not a file of the cache")
    );
    office.ok("cache", json!({ "command": "delete", "path": path })).await;
    assert_eq!(office.ok("cache", json!({ "command": "list" })).await, "The cache is empty.");
}

/// Ways to write an address that is not on the internet. `PORT` is that of a server that would answer.
const PRIVATE: [&str; 34] = [
    "http://127.0.0.1:PORT/",
    "http://localhost:PORT/",
    "http://LOCALHOST:PORT/",
    "http://localhost.:PORT/",
    "http://a.localhost:PORT/",
    "http://127.1:PORT/",
    "http://127.000.000.001:PORT/",
    "http://0x7f.0.0.1:PORT/",
    "http://0x7f000001:PORT/",
    "http://2130706433:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://017700000001:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://127.8.8.8:PORT/",
    "http://0.0.0.0:PORT/",
    "http://0:PORT/",
    "http://[::1]:PORT/",
    "http://[0:0:0:0:0:0:0:1]:PORT/",
    "http://[::]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://[2002:7f00:1::]:PORT/",
    "http://[fe80::1]:PORT/",
    "http://[fd00::1]:PORT/",
    "http://%31%32%37.0.0.1:PORT/",
    "http://１２７.0.0.1:PORT/",
    "http://127。0。0。1:PORT/",
    "http:\\\\127.0.0.1:PORT\\",
    "http://10.0.0.1:PORT/",
    "http://192.168.0.1:PORT/",
    "http://172.16.0.1:PORT/",
    "http://169.254.1.1:PORT/",
];

/// Ways to name a service with credentials. No rule allows them.
const METADATA: [&str; 7] = [
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/",
    "http://2852039166/",
    "http://[::ffff:169.254.169.254]/",
    "http://[fd00:ec2::254]/",
    "http://metadata.google.internal/",
    "http://100.100.100.200/",
];

#[tokio::test]
async fn no_way_leads_to_a_private_address() {
    let (office, server) = (Office::new(), server());
    let port = server.url().rsplit(':').next().unwrap().trim_matches('/').to_owned();
    let direct = PRIVATE.iter().chain(&METADATA).map(|url| url.replace("PORT", &port));
    for url in direct {
        // Not even if all hosts are allowed by a rule with `*`.
        let refused = office.fetch(&url, "text", &["*"]).await.unwrap_err();
        assert!(refused.contains("was not fetched"), "{url}: {refused}");
    }
    assert!(server.asked().is_empty(), "{:?}", server.asked().len());
    for url in ["http://docs.rs@127.0.0.1:PORT/", "http://user:x@127.0.0.1:PORT/"] {
        let refused = office.fetch(&url.replace("PORT", &port), "text", &["127.0.0.1"]).await.unwrap_err();
        assert!(refused.contains("user name"), "{url}: {refused}");
    }
    for url in [
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "ftp://127.0.0.1/",
        "data:text/plain,x",
        "javascript:1",
        "//127.0.0.1/",
    ] {
        assert!(office.fetch(url, "text", &["*"]).await.is_err(), "{url}");
    }
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn no_redirect_leads_to_a_private_address() {
    let (office, first, second) = (Office::new(), server(), server());
    let port = second.url().rsplit(':').next().unwrap().trim_matches('/').to_owned();
    let allowed = host_of(&first.url());
    for place in PRIVATE.iter().chain(&METADATA) {
        let place = place.replace("PORT", &port).replace('/', "%2F");
        if !place.is_ascii() || place.contains('\\') || place.contains("%31") {
            continue;
        }
        let url = format!("{}/to/{place}", first.url());
        let refused = office.fetch(&url, "text", &[&allowed]).await.unwrap_err();
        assert!(refused.contains("was not fetched"), "{url}: {refused}");
    }
    assert!(!first.asked().is_empty() && second.asked().is_empty());
    // An approval is for the host that was shown, and not for one that it redirects to.
    let url = format!("{}/to/{}%2Fpage", first.url(), second.url().replace('/', "%2F"));
    let context = office.context().with_judged_hosts(approved(&url).into());
    let refused = office.call_in("web_scrape", json!({ "url": url }), &context).await;
    let text = match refused {
        Ok(output) => output.as_text(),
        Err(error) => error.to_string(),
    };
    assert!(text.contains("was not fetched") && second.asked().is_empty(), "{text}");
}

#[tokio::test]
async fn an_allowed_host_of_this_machine_is_reached() {
    let (office, server) = (Office::new(), server());
    let port = server.url().rsplit(':').next().unwrap().trim_matches('/').to_owned();
    let page = office
        .fetch(&format!("http://localhost:{port}/page"), "markdown", &[&format!("localhost:{port}")])
        .await;
    assert!(page.unwrap().contains("# A page"));
    assert!(
        office.fetch(&format!("http://localhost:{port}/page"), "markdown", &["localhost:1"]).await.is_err()
    );
    let url = format!("http://127.0.0.1:{port}/page");
    let context = office.context().with_judged_hosts(approved(&url).into());
    let output = office.call_in("web_scrape", json!({ "url": url }), &context).await.unwrap();
    assert!(output.as_text().contains("# A page"));
}
