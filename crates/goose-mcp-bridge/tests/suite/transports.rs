//! The ways to reach an extension. Every one leads to the same [`KitchenSink`].

use std::sync::Arc;

use goose_extension::Extension;
use goose_mcp_bridge::{
    ConnectOptions, HttpOptions, HttpServer, Lifecycle, ProcessSpec, Target, connect, serve,
};
use goose_test_support::{KitchenSink, binary};

/// A path, and on it an era of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportKind {
    Direct,
    Duplex(Lifecycle),
    Stdio(Lifecycle),
    Http(Lifecycle),
}

impl TransportKind {
    /// Every path, on both eras.
    pub(crate) const WIRES: [Self; 6] = [
        Self::Duplex(Lifecycle::Discover),
        Self::Duplex(Lifecycle::Initialize),
        Self::Stdio(Lifecycle::Discover),
        Self::Stdio(Lifecycle::Initialize),
        Self::Http(Lifecycle::Discover),
        Self::Http(Lifecycle::Initialize),
    ];

    pub(crate) async fn open(self) -> Opened {
        self.open_with(ConnectOptions::default()).await
    }

    pub(crate) async fn open_with(self, options: ConnectOptions) -> Opened {
        let (target, lifecycle, server) = match self {
            Self::Direct => return Opened { extension: Arc::new(KitchenSink::new()), _server: None },
            Self::Duplex(lifecycle) => (Target::from(serve(KitchenSink::new()).duplex()), lifecycle, None),
            Self::Stdio(lifecycle) => {
                let program = tokio::task::spawn_blocking(|| binary("kitchen_sink")).await.unwrap().unwrap();
                (Target::from(ProcessSpec::new(program)), lifecycle, None)
            }
            Self::Http(lifecycle) => {
                let server = serve(KitchenSink::new()).http(HttpOptions::default()).await.unwrap();
                (Target::from(server.url()), lifecycle, Some(server))
            }
        };
        let extension =
            connect(target, ConnectOptions { lifecycle, trust_groups: true, ..options }).await.unwrap();
        Opened { extension, _server: server }
    }
}

/// An extension, and whatever must live as long as it.
pub(crate) struct Opened {
    pub(crate) extension: Arc<dyn Extension>,
    _server: Option<HttpServer>,
}
