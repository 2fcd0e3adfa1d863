//! Starting a service: from a [`LaunchKind`] to an [`Instance`]. `inline_python` runs with `uvx`.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use goose_extension::{Extension, ToolError, ToolResult};
use goose_fs::{AtomicFile, create_private_dir};
use goose_mcp_bridge::{ConnectOptions, Serve, Target, connect};
use goose_process::ProcessSpec;

use super::{
    instance::Instance,
    launch::{LaunchKind, Program, Script},
    options::{BindingContext, BuildService},
    pool::Shared,
};
use goose_config::digest::sha256;

/// Starts a service within the pool's time limit. An extension in this process is called directly, or through
/// a connection if there is an interceptor.
pub(super) async fn start(
    what: LaunchKind,
    mut options: ConnectOptions,
    shared: Arc<Shared>,
) -> ToolResult<Instance> {
    if let Some(interceptors) = &shared.options.interceptors {
        options.interceptor = Some(interceptors(options.name.as_deref().unwrap_or_default())?);
    }
    let extension = match what {
        LaunchKind::Builtin(name, context) => build(&name, &context, &*shared.options.builtins)?,
        LaunchKind::InProcess(extension) => extension,
        LaunchKind::Program(program) => return remote(command(&program), options).await,
        LaunchKind::Script(script, mut runner) => {
            runner.arguments = script_arguments(script, &shared).await?;
            return remote(command(&runner), options).await;
        }
        LaunchKind::Http(http) => {
            let headers = http.headers.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
            let options = ConnectOptions { headers: headers.collect(), oauth: http.login(), ..options };
            return remote(http.url, options).await;
        }
        LaunchKind::Invalid(reason) => return Err(ToolError::Disconnected(reason)),
    };
    if options.interceptor.is_none() {
        return Ok(Instance::local(extension));
    }
    let options = ConnectOptions { trust_groups: true, ..options };
    remote(Serve::shared(extension).duplex(), options).await
}

async fn remote(target: impl Into<Target>, options: ConnectOptions) -> ToolResult<Instance> {
    Ok(Instance::remote(connect(target, options).await?))
}

fn build(name: &str, context: &BindingContext, from: &dyn BuildService) -> ToolResult<Arc<dyn Extension>> {
    from.build(name, context).ok_or_else(|| {
        let known = from.names().join(", ");
        ToolError::Disconnected(format!("this goose has no built-in `{name}`. It has: {known}."))
    })
}

fn command(program: &Program) -> ProcessSpec {
    let mut command = ProcessSpec::new(&program.program);
    command.args(&program.arguments).env_clear().envs(&program.environment);
    if let Some(dir) = &program.working_dir {
        command.current_dir(dir);
    }
    command
}

/// Writes a script to a file. Returns the arguments of the program that runs it.
async fn script_arguments(script: Script, shared: &Shared) -> ToolResult<Vec<String>> {
    let folder = shared.options.scratch_dir.clone();
    let Script { code, dependencies } = script;
    let placing = tokio::task::spawn_blocking(move || write_script(&code, &folder)).await;
    let path = placing.map_err(|error| ToolError::ExecutionError(error.to_string()))??;
    Ok(runner_arguments(&dependencies, &path))
}

/// Writes the code to a file named by its hash. Returns the path. Blocking.
fn write_script(code: &str, folder: &Path) -> io::Result<PathBuf> {
    let name = format!("{}.py", sha256(code));
    let path = folder.join(name);
    if goose_fs::read_regular(&path, code.len() as u64).is_ok_and(|there| there == code.as_bytes()) {
        return Ok(path);
    }
    create_private_dir(folder)?;
    AtomicFile::new(&path).write(code.as_bytes())?;
    Ok(path)
}

/// Returns the runner's arguments: the MCP library, the code's own dependencies, the code.
fn runner_arguments(dependencies: &[String], script: &Path) -> Vec<String> {
    let wanted = std::iter::once("mcp").chain(dependencies.iter().map(String::as_str));
    let mut arguments: Vec<String> = wanted.flat_map(|it| ["--with".to_owned(), it.to_owned()]).collect();
    arguments.push("python".to_owned());
    arguments.push(script.display().to_string());
    arguments
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
