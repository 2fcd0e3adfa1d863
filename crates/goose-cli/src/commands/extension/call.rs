//! `goose extension call`: reads the arguments, calls the tool, and prints its result.

use std::{
    borrow::Cow,
    env,
    fs::File,
    io::{self, Read},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, anyhow, bail, ensure};
use goose::{
    agents::extension_manager::ExtensionManager,
    config::{ExtensionConfig, Settings},
};
use goose_extension::{
    CallContext, ContentBlock, JsonObject, MAX_ARGUMENT_BYTES, ResourceContents, ToolError, ToolOutput,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    args::JsonArgs,
    escape,
    output::{self, Output},
    runtime::with_extensions,
    stderr,
    terminal_caller::TerminalCaller,
};

/// Advice at the end of each message about bad arguments.
const ADVICE: &str = "Pass a JSON object, such as --args '{\"name\": \"value\"}'.";

/// A tool call.
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: JsonObject,
    /// Shows progress and logs even if standard error is not a terminal.
    pub(super) verbose: bool,
}

/// Calls the tool and prints its result.
pub(super) fn run(
    settings: &Settings,
    config: ExtensionConfig,
    call: Call,
    form: &JsonArgs,
) -> anyhow::Result<ExitCode> {
    with_extensions(settings, vec![config], async |manager, stop| {
        let output = carry_out(manager, stop, call).await.map_err(readable)?;
        stderr::end_status();
        print(&output, form)
    })
}

async fn carry_out(
    manager: &ExtensionManager,
    stop: &CancellationToken,
    call: Call,
) -> Result<ToolOutput, ToolError> {
    let person = Arc::new(TerminalCaller::new(call.verbose));
    let context = CallContext::new()
        .with_cancellation(stop.clone())
        .with_caller(Arc::clone(&person) as _)
        .with_notifier(person.as_notifier());
    let context = match env::current_dir() {
        Ok(folder) => context.with_working_dir(folder),
        Err(_) => context,
    };
    manager.call_tool_with(&call.tool, call.arguments, &context).await
}

/// Makes a protocol error readable.
fn readable(error: ToolError) -> anyhow::Error {
    match error {
        ToolError::Protocol(data) => anyhow!("{} (MCP error {})", data.message.trim_end(), data.code.0),
        other => other.into(),
    }
}

fn print(output: &ToolOutput, form: &JsonArgs) -> anyhow::Result<ExitCode> {
    if let (Some(ToolError::Disconnected(reason)), false) = (output.failure(), form.json) {
        bail!(reason);
    }
    output::print(form, || as_json(output), |out| print_content(out, output))?;
    Ok(if output.is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Reads arguments: JSON itself, `-` for standard input, `@FILE` for a file.
pub(super) fn read_arguments(given: &str) -> anyhow::Result<JsonObject> {
    match given.strip_prefix('@') {
        _ if given == "-" => parse(&read_text(io::stdin().lock(), "standard input")?, "standard input"),
        Some(path) => {
            let file = File::open(path)
                .with_context(|| format!("The arguments in {path} cannot be read (--args @{path})"))?;
            parse(&read_text(file, path)?, path)
        }
        None => parse(given, "--args"),
    }
}

fn read_text(from: impl Read, name: &str) -> anyhow::Result<String> {
    let most = MAX_ARGUMENT_BYTES as u64;
    let mut text = String::new();
    from.take(most + 1).read_to_string(&mut text).with_context(|| format!("{name} cannot be read"))?;
    ensure!(text.len() as u64 <= most, "The arguments in {name} are larger than {most} bytes.");
    Ok(text)
}

fn parse(json: &str, name: &str) -> anyhow::Result<JsonObject> {
    match serde_json::from_str(json) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(anyhow!("The arguments in {name} are {}, not an object. {ADVICE}", kind(&other))),
        Err(error) => Err(anyhow!("The arguments in {name} are not JSON: {error}. {ADVICE}")),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Writes text as it is, and a one-line placeholder for everything else.
fn print_content(out: &mut Output, output: &ToolOutput) -> io::Result<()> {
    for block in &output.content {
        let text = match block {
            ContentBlock::Text(text) => out.foreign(&text.text),
            other => Cow::Owned(placeholder(other)),
        };
        out.line(text.strip_suffix('\n').unwrap_or(&text))?;
    }
    match &output.structured {
        Some(value) if output.content.is_empty() => out.json(value),
        _ => Ok(()),
    }
}

fn placeholder(block: &ContentBlock) -> String {
    let line = match block {
        ContentBlock::Image(image) => {
            format!("[image: {}, {}]", image.mime_type, size(decoded_len(&image.data)))
        }
        ContentBlock::Audio(audio) => {
            format!("[audio: {}, {}]", audio.mime_type, size(decoded_len(&audio.data)))
        }
        ContentBlock::Resource(resource) => contents(&resource.resource),
        ContentBlock::ResourceLink(link) => format!("[link: {} {}]", link.name, link.uri),
        _ => "[unknown content]".to_owned(),
    };
    escape::line(&line).into_owned()
}

fn contents(contents: &ResourceContents) -> String {
    let (uri, mime_type, bytes) = match contents {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => (uri, mime_type, text.len()),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            (uri, mime_type, decoded_len(blob))
        }
        _ => return "[unknown resource]".to_owned(),
    };
    let mime_type = mime_type.as_deref().unwrap_or("unknown type");
    format!("[resource: {uri}, {mime_type}, {}]", size(bytes))
}

/// Returns the decoded length of base64 text.
fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// Converts the result to its MCP form.
fn as_json(output: &ToolOutput) -> Value {
    let mut result = json!({ "content": output.content, "isError": output.is_error });
    if let Some(value) = &output.structured {
        if output.content.is_empty() {
            result["content"] = json!([ContentBlock::text(value.to_string())]);
        }
        result["structuredContent"] = value.clone();
    }
    if let Some(meta) = &output.meta {
        result["_meta"] = json!(meta);
    }
    result
}
