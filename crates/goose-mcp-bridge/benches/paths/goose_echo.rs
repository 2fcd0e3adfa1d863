//! Our side: the echo tool as an extension, called directly and through our own adapters.

use std::sync::Arc;

use goose_extension::{JsonObject, prelude::*};
use goose_mcp_bridge::{ConnectOptions, HttpOptions, Lifecycle, ProcessSpec, Target, connect, serve};

use crate::{Contender, Wire};

struct Echo;

#[extension(name = "echo", description = "Gives back a message")]
impl Echo {
    /// Gives back a message.
    #[tool]
    async fn echo(
        &self,
        /// What to say
        message: String,
    ) -> ToolResult<Value> {
        Ok(json!({ "response": message }))
    }
}

pub(crate) async fn serve_stdio() -> anyhow::Result<()> {
    serve(Echo).stdio().await
}

pub(crate) async fn direct() -> anyhow::Result<Contender> {
    Ok(contender("direct", None, 20_000, Arc::new(Echo)))
}

pub(crate) async fn over(wire: Wire) -> anyhow::Result<Contender> {
    let (target, lifecycle, calls) = match wire {
        Wire::Duplex(lifecycle) => (Target::from(serve(Echo).duplex()), lifecycle, 500),
        Wire::Stdio(lifecycle) => {
            let mut command = ProcessSpec::new(std::env::current_exe()?);
            command.arg("serve-goose");
            (Target::from(command), lifecycle, 500)
        }
        Wire::Http(lifecycle) => {
            let server = serve(Echo).http(HttpOptions::default()).await?;
            let url = server.url();
            // It serves until the program ends.
            tokio::spawn(server.waiting());
            (Target::from(url), lifecycle, 100)
        }
    };
    let extension = connect(target, ConnectOptions { lifecycle, ..ConnectOptions::default() }).await?;
    debug_assert!(lifecycle != Lifecycle::Auto);
    Ok(contender(&format!("goose {}", wire.name()), Some(wire), calls, extension))
}

fn contender(name: &str, wire: Option<Wire>, calls: u32, extension: Arc<dyn Extension>) -> Contender {
    Contender::new(name, wire, true, calls, move || {
        let extension = Arc::clone(&extension);
        async move {
            let mut arguments = JsonObject::new();
            arguments.insert("message".to_owned(), json!("hello"));
            let output = extension.call("echo", arguments, &CallContext::new()).await?;
            anyhow::ensure!(output.structured == Some(json!({ "response": "hello" })), "{output:?}");
            Ok(())
        }
    })
}
