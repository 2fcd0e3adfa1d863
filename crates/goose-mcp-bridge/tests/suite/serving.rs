//! A server under its own limits: keys, and extensions that hang.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use goose_extension::{Extension, Features, ToolError, prelude::*};
use goose_mcp_bridge::{
    ConnectOptions, ExtensionServer, HttpOptions, Lifecycle, ServeOptions, connect, serve,
};
use goose_test_support::KitchenSink;

#[tokio::test]
async fn a_state_key_that_is_too_short_is_refused() {
    let options = ServeOptions { state_key: Some(b"short".to_vec()), ..ServeOptions::default() };
    let Err(error) = ExtensionServer::new(Arc::new(KitchenSink::new()), options.clone()) else {
        panic!("the key was taken")
    };
    assert!(matches!(&error, ToolError::InvalidParameters(text) if text.contains("32")), "{error:?}");
    let served = serve(KitchenSink::new()).with_options(options).http(HttpOptions::default()).await;
    assert!(served.is_err());
}

/// Hangs when one of its resources is subscribed to.
#[derive(Clone, Default)]
struct Hangs {
    subscribed: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl Extension for Hangs {
    fn name(&self) -> &str {
        "hangs"
    }

    fn description(&self) -> &str {
        "Hangs"
    }

    fn instructions(&self) -> &str {
        ""
    }

    fn tools(&self) -> &[Tool] {
        &[]
    }

    fn features(&self) -> Features {
        Features { resources: true, subscriptions: true, ..Features::default() }
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok(HashMap::new())
    }

    async fn call_tool(&self, name: &str, _parameters: HashMap<String, Value>) -> ToolResult<Value> {
        Err(ToolError::NotFound(name.to_owned()))
    }

    async fn subscribe(&self, uri: &str) -> ToolResult<()> {
        if uri == "note://hangs" {
            std::future::pending::<()>().await;
        }
        self.subscribed.lock().unwrap().push(uri.to_owned());
        Ok(())
    }
}

#[tokio::test]
async fn a_subscription_that_hangs_holds_up_no_other_client() {
    let extension = Hangs::default();
    let server = serve(extension.clone()).http(HttpOptions::default()).await.unwrap();
    let options = || ConnectOptions { lifecycle: Lifecycle::Initialize, ..ConnectOptions::default() };
    let stuck = connect(server.url(), options()).await.unwrap();
    let other = connect(server.url(), options()).await.unwrap();
    let waiting = tokio::spawn(async move { stuck.subscribe("note://hangs").await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let subscribing = other.subscribe("note://1");
    tokio::time::timeout(Duration::from_secs(10), subscribing).await.expect("it was held up").unwrap();
    assert_eq!(*extension.subscribed.lock().unwrap(), ["note://1"]);
    waiting.abort();
}

#[tokio::test]
async fn a_subscription_that_hangs_ends_with_an_error() {
    let limits = ServeOptions { subscribe_timeout: Duration::from_millis(100), ..ServeOptions::default() };
    let options = ConnectOptions { lifecycle: Lifecycle::Initialize, ..ConnectOptions::default() };
    let client = connect(serve(Hangs::default()).with_options(limits).duplex(), options).await.unwrap();
    let error = client.subscribe("note://hangs").await.unwrap_err();
    assert!(error.to_string().contains("note://hangs"), "{error}");
}
