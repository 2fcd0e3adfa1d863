//! Starting a service: from what would run to something that answers.

use std::{sync::Arc, time::Duration};

use goose_extension::{Extension, ToolError, ToolResult};
use goose_mcp_bridge::{ConnectOptions, Lifecycle, Serve, Target, connect};
use tokio::process::Command;

use super::{
    context::BindingContext,
    launch::{Http, Program, Script, What},
    options::BuildService,
    pool::Shared,
    python,
    running::Running,
};

/// How a service is treated.
pub(super) struct Limits {
    pub(super) name: String,
    /// How long a call may be silent.
    pub(super) call_timeout: Duration,
    /// How long a call may take in all.
    pub(super) max_call_time: Duration,
    /// How it wants to be greeted.
    pub(super) lifecycle: Lifecycle,
}

/// Starts a service, within the pool's time for it.
pub(super) async fn start(what: What, limits: Limits, shared: Arc<Shared>) -> ToolResult<Running> {
    let options = ConnectOptions::default()
        .with_name(&limits.name)
        .with_lifecycle(limits.lifecycle)
        .with_handshake_timeout(shared.options.start_timeout)
        .with_call_timeout(limits.call_timeout)
        .with_max_call_time(limits.max_call_time);
    match &shared.options.interceptors {
        Some(interceptors) => {
            let options = options.with_interceptor(interceptors(&limits.name)?);
            run(what, options, &shared).await
        }
        None => match what.in_process(&shared)? {
            Some(extension) => Ok(Running::local(extension)),
            None => run(what, options, &shared).await,
        },
    }
}

/// Runs a service at the other end of a connection. What is part of this process gets one too.
async fn run(what: What, options: ConnectOptions, shared: &Shared) -> ToolResult<Running> {
    if let Some(extension) = what.in_process(shared)? {
        return remote(Serve::shared(extension).duplex(), options.with_trusted_groups()).await;
    }
    match what {
        What::Program(program) => remote(command(&program), options).await,
        What::Script(script) => remote(command(&placed(script, shared).await?), options).await,
        What::Http(http) => {
            let options = http_options(&http, options);
            remote(http.url, options).await
        }
        What::Never(reason) => Err(ToolError::Disconnected(reason)),
        What::Builtin(name, _) | What::Platform(name, _) => Err(unknown("extension", &name, &[])),
        What::Given(extension) => Ok(Running::local(extension)),
    }
}

async fn remote(target: impl Into<Target>, options: ConnectOptions) -> ToolResult<Running> {
    Ok(Running::remote(connect(target, options).await?))
}

impl What {
    /// The extension, where it is part of this process.
    fn in_process(&self, shared: &Shared) -> ToolResult<Option<Arc<dyn Extension>>> {
        let options = &shared.options;
        match self {
            Self::Builtin(name, context) => build("built-in", name, context, &*options.builtins).map(Some),
            Self::Platform(name, context) => {
                build("platform extension", name, context, &*options.platform).map(Some)
            }
            Self::Given(extension) => Ok(Some(Arc::clone(extension))),
            _ => Ok(None),
        }
    }
}

fn build(
    what: &str,
    name: &str,
    context: &BindingContext,
    from: &dyn BuildService,
) -> ToolResult<Arc<dyn Extension>> {
    from.build(name, context).ok_or_else(|| unknown(what, name, &from.names()))
}

fn unknown(what: &str, name: &str, known: &[String]) -> ToolError {
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    ToolError::Disconnected(format!("this goose has no {what} `{name}`. It has: {known}."))
}

fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.program);
    command.args(&program.arguments).env_clear().envs(&program.environment);
    if let Some(dir) = &program.working_dir {
        command.current_dir(dir);
    }
    command
}

/// The program that runs a script, which lies in a file then.
async fn placed(script: Script, shared: &Shared) -> ToolResult<Program> {
    let folder = shared.options.scratch_dir.clone();
    let Script { code, dependencies, environment, working_dir } = script;
    let placing = tokio::task::spawn_blocking(move || python::place(&code, &folder)).await;
    let path = placing.map_err(|error| ToolError::ExecutionError(error.to_string()))??;
    let arguments = python::arguments(&dependencies, &path);
    Ok(Program { program: python::RUNNER.to_owned(), arguments, environment, working_dir })
}

fn http_options(http: &Http, mut options: ConnectOptions) -> ConnectOptions {
    for (name, value) in &http.headers {
        options = options.with_header(name, value.expose());
    }
    match http.login() {
        Some(oauth) => options.with_oauth(oauth),
        None => options,
    }
}
