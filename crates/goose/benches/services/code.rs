//! Calls from a program against direct calls.

use std::{sync::Arc, time::Instant};

use anyhow::ensure;
use futures::future::try_join_all;
use goose::{agents::extension_manager::ExtensionManager, platform::code_execution::CodeExecution};
use goose_extension::{CallContext, JsonObject, ToolCaller, prelude::*};

use crate::{
    Effort,
    home::{self, ECHO, Home},
    report::{Bar, Report, median},
};

/// As many as a program runs at once.
const CALLERS: usize = 16;

/// The calls of each in a round: together fewer than a program may make.
const CALLS: usize = 60;

const ROUNDS: usize = 40;

/// The share of the direct throughput that has to be reached.
const BAR: f64 = 0.5;

/// The calls of a program, by the name that the model would use.
struct Through(Arc<ExtensionManager>);

#[async_trait]
impl ToolCaller for Through {
    async fn call_tool(&self, name: &str, arguments: JsonObject) -> ToolResult<ToolOutput> {
        self.0.call_tool(name, arguments).await
    }
}

pub(crate) async fn measure(report: &mut Report, effort: Effort) -> anyhow::Result<()> {
    let home = Home::new()?;
    let manager = Arc::new(home::manager(&home.pool(), vec![home::server("echo", &[ECHO])?]).await?);
    manager.list_tools().await?;
    let known = Arc::clone(&manager);
    let extension = CodeExecution::new(move || known.known_tools());
    let context = CallContext::new().with_tool_caller(Arc::new(Through(Arc::clone(&manager))));
    for callers in [CALLERS, 1] {
        let (mut direct, mut coded) = (Vec::new(), Vec::new());
        for _ in 0..effort.rounds(ROUNDS) {
            direct.push(directly(&context, callers).await?);
            coded.push(from_code(&extension, &context, callers).await?);
        }
        report.note(&format!("{callers} at once, direct"), median(direct.clone()), "calls/s");
        report.note(&format!("{callers} at once, from code"), median(coded.clone()), "calls/s");
        let share = median(coded.iter().zip(&direct).map(|(ours, theirs)| ours / theirs).collect());
        report.judge(
            &format!("calls from code as a share of direct, {callers} at once"),
            share,
            "",
            Bar::AtLeast(BAR),
        );
    }
    manager.close().await;
    Ok(())
}

/// Calls in a second, by all callers together.
async fn directly(context: &CallContext, callers: usize) -> anyhow::Result<f64> {
    let begin = Instant::now();
    let caller = async || -> anyhow::Result<()> {
        for _ in 0..CALLS {
            let arguments = JsonObject::from_iter([("message".to_owned(), json!("hello"))]);
            let output = context.call_tool("echo__echo", arguments).await?;
            ensure!(!output.is_error, "{output:?}");
        }
        Ok(())
    };
    try_join_all((0..callers).map(|_| caller())).await?;
    Ok((callers * CALLS) as f64 / begin.elapsed().as_secs_f64())
}

/// The same from a program. Its start is a part of it.
async fn from_code(extension: &CodeExecution, context: &CallContext, callers: usize) -> anyhow::Result<f64> {
    let code = format!(
        "const caller = async () => {{ for (let i = 0; i < {CALLS}; i++) await echo.echo({{ message: 'hello' }}) }};
         await Promise.all(Array.from({{ length: {callers} }}, caller));
         console.log('done')"
    );
    let arguments = JsonObject::from_iter([("code".to_owned(), json!(code))]);
    let begin = Instant::now();
    let output = extension.call("execute_typescript", arguments, context).await?;
    let elapsed = begin.elapsed().as_secs_f64();
    ensure!(output.as_text().starts_with("done"), "{}", output.as_text());
    Ok((callers * CALLS) as f64 / elapsed)
}
