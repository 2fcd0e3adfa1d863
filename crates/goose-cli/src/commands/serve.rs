//! `goose serve`: the agents over HTTP, and the tokens of its clients.

use std::{
    env, io,
    net::{IpAddr, ToSocketAddrs as _},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use goose::config::{ExtensionConfig, Paths, Secret};
use goose_server::{DEFAULT_PORT, SECRET_KEY, Scope, Server, ServerOptions, TlsFiles, TokenInfo, TokenStore};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::schedule::{beside_server, user_zone};
use crate::{
    args::{JsonArgs, builtins},
    choice, escape,
    output::{FAINT, NAME, Output, WARNING, print, print_json, say, write},
    runtime,
    settings::{self, ConfigArgs},
    signals::Signals,
    stderr,
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose serve
  goose serve --root ~/projects --port 3284
  goose serve --host 0.0.0.0 --tls --tls-cert-path cert.pem --tls-key-path key.pem
  goose serve token new --name laptop --scope run

Clients send `Authorization: Bearer TOKEN`. Programs of the same user need no token on the socket.
docs/server.md describes the protocols, limits and files.";

/// Log of a server if `RUST_LOG` does not say otherwise.
const LOG_LEVEL: &str = "goose_server=info,warn";

/// Arguments of `goose serve`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Address to listen on: an IP address, or `localhost`
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Port to listen on; 0 for any free one
    #[arg(long, default_value_t = DEFAULT_PORT)]
    port: u16,
    /// Folder below which sessions may work; may be repeated [default: the working folder]
    #[arg(long = "root", value_name = "DIR")]
    roots: Vec<PathBuf>,
    /// Unix socket for programs of this user, which need no token there [default: goosed.sock in the data folder]
    #[arg(long, value_name = "FILE", conflicts_with = "no_socket")]
    socket: Option<PathBuf>,
    /// Listen on no Unix socket
    #[arg(long)]
    no_socket: bool,
    /// Encrypt with TLS
    #[arg(long, requires_all = ["tls_cert_path", "tls_key_path"])]
    tls: bool,
    /// Certificate for TLS, with those of its issuers, as PEM
    #[arg(long, value_name = "FILE")]
    tls_cert_path: Option<PathBuf>,
    /// Private key for TLS, as PEM
    #[arg(long, value_name = "FILE")]
    tls_key_path: Option<PathBuf>,
    /// Additional `Host` that clients may use, such as that of a proxy; may be repeated
    #[arg(long = "allowed-host", value_name = "NAME[:PORT]")]
    allowed_hosts: Vec<String>,
    /// Origin of web pages that may use the server; may be repeated
    #[arg(long = "allowed-origin", value_name = "ORIGIN")]
    allowed_origins: Vec<String>,
    /// Add built-in extensions to all sessions, such as 'memory' or 'memory,tutorial'
    #[arg(long = "with-builtin", value_name = "NAMES", value_delimiter = ',', value_parser = builtins())]
    builtins: Vec<String>,
    /// Also run scheduled jobs, as 'goose schedule run' does
    #[arg(long)]
    enable_scheduler: bool,
    /// Accept requests without a token, from this machine only
    #[arg(long)]
    dangerously_unauthenticated: bool,
    /// Has no effect; for scripts written for other versions
    #[arg(long, hide = true, value_parser = ["cli", "desktop"])]
    platform: Option<String>,
    #[command(subcommand)]
    command: Option<ServeCommand>,
}

#[derive(Debug, Subcommand)]
enum ServeCommand {
    /// Manage the tokens of clients
    #[command(subcommand)]
    Token(TokenCommand),
    /// Print the OpenAPI document
    Openapi,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token and show it once
    #[command(after_help = "Examples:\n  goose serve token new --name laptop --scope run")]
    New {
        /// Name of the token
        #[arg(long)]
        name: String,
        /// Rights of the token
        #[arg(long, value_enum, default_value_t = ScopeArg::Run)]
        scope: ScopeArg,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// List the tokens, without their secrets
    List(JsonArgs),
    /// Revoke a token and end its streams
    Revoke {
        /// Name or id of the token
        token: String,
    },
}

/// Rights of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScopeArg {
    /// Read sessions, events and agents
    Read,
    /// Run agents and answer their questions
    Run,
    /// Change rules, import and remove sessions
    Admin,
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Read => Self::Read,
            ScopeArg::Run => Self::Run,
            ScopeArg::Admin => Self::Admin,
        }
    }
}

/// Serves until a signal arrives, or manages the tokens.
pub(crate) fn run(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    match &args.command {
        Some(ServeCommand::Token(command)) => token(command, &paths),
        Some(ServeCommand::Openapi) => print_json(&goose_server::openapi_document()),
        None => serve(args, &paths),
    }
}

fn serve(args: ServeArgs, paths: &Paths) -> anyhow::Result<ExitCode> {
    let options = options(&args, paths)?;
    start_logging();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("goose could not start")?;
    let ended = runtime.block_on(serve_until_signal(args, paths, options));
    runtime.shutdown_background();
    ended
}

async fn serve_until_signal(
    args: ServeArgs,
    paths: &Paths,
    options: ServerOptions,
) -> anyhow::Result<ExitCode> {
    // Before the server listens: a supervisor may end it as soon as it does.
    let mut signals = Signals::listen()?;
    let settings =
        settings::look_in(paths, &args.config, options.roots.first().map(PathBuf::as_path)).settings?;
    // Without any model the server starts, and a run says what is missing.
    let model = choice::choose_if_unset(&settings).await.map(|choice| choice.model);
    let manager = runtime::agent_manager(settings);
    let extensions = args.builtins.iter().map(ExtensionConfig::builtin).collect();
    let server = Server::start(manager, model, extensions, options).await.map_err(|error| anyhow!(error))?;
    greet_user(&server);
    let stop = CancellationToken::new();
    let scheduler = async {
        if args.enable_scheduler {
            beside_server::run(paths, &args.config, &stop).await;
        }
    };
    let serving = async {
        let asked = signals.next().await;
        stop.cancel();
        asked?;
        tokio::select! {
            () = server.shutdown() => Ok(ExitCode::SUCCESS),
            // A second signal ends it at once.
            signal = signals.next() => Ok(signal?.code()),
        }
    };
    tokio::join!(serving, scheduler).0
}

fn options(args: &ServeArgs, paths: &Paths) -> anyhow::Result<ServerOptions> {
    let folder = || {
        env::current_dir()
            .context("the working folder does not exist; change to one that does, or use --root")
    };
    let roots = if args.roots.is_empty() { vec![folder()?] } else { args.roots.clone() };
    let mut options = ServerOptions::new(paths, "");
    options.roots = roots;
    options.host = host(&args.host)?;
    options.port = args.port;
    let socket = || ServerOptions::socket_file(paths);
    options.socket = (!args.no_socket).then(|| args.socket.clone().unwrap_or_else(socket));
    options.tls = match (args.tls, args.tls_cert_path.clone(), args.tls_key_path.clone()) {
        (true, Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
        (false, Some(_), _) | (false, _, Some(_)) => bail!("a certificate is used only with --tls; add it"),
        _ => None,
    };
    options.allowed_hosts.clone_from(&args.allowed_hosts);
    options.allowed_origins.clone_from(&args.allowed_origins);
    options.is_unauthenticated = args.dangerously_unauthenticated;
    options.time_zone = user_zone();
    options.secret_key = env::var(SECRET_KEY).ok().map(Secret::new);
    #[cfg(feature = "otel")]
    {
        options.traces = goose_server::TraceSettings::read(|name| env::var(name).ok())?;
    }
    Ok(options)
}

fn host(name: &str) -> anyhow::Result<IpAddr> {
    if let Ok(address) = name.parse() {
        return Ok(address);
    }
    let found = (name, 0).to_socket_addrs().with_context(|| format!("'{name}' is not an address"))?;
    let first = found.map(|address| address.ip()).next();
    first.with_context(|| format!("'{name}' has no address"))
}

/// Logs to standard error, if it has not been set up already.
fn start_logging() {
    let levels = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOG_LEVEL));
    let subscriber = tracing_subscriber::fmt().with_env_filter(levels).with_writer(io::stderr);
    // With `RUST_LOG`, the program has set it up.
    let _ = subscriber.try_init();
}

fn greet_user(server: &Server) {
    stderr::line(format_args!("{NAME}goose{NAME:#} serves at {}", server.url()));
    if let Some(socket) = server.socket() {
        stderr::line(format_args!("{FAINT}  socket  {}{FAINT:#}", escape::path(socket)));
    }
    for root in server.roots() {
        stderr::line(format_args!("{FAINT}  root    {}{FAINT:#}", escape::path(root)));
    }
    for warning in server.warnings() {
        stderr::line(format_args!("{WARNING}{}{WARNING:#}", escape::text(warning)));
    }
    if let Some(token) = server.first_token() {
        stderr::line(format_args!(
            "The token of the first client, with all rights. It is not shown again:\n\n  {}\n",
            token.secret
        ));
    }
}

fn token(command: &TokenCommand, paths: &Paths) -> anyhow::Result<ExitCode> {
    let store = TokenStore::new(ServerOptions::token_file(paths));
    match command {
        TokenCommand::New { name, scope, form } => {
            let new = store.create(name, (*scope).into())?;
            if form.json {
                let mut document = serde_json::to_value(&new.info)?;
                document["token"] = new.secret.into();
                return write(|out| out.line(escape::json(&document.to_string())));
            }
            stderr::line("The token is not shown again.");
            say(&new.secret)
        }
        TokenCommand::List(form) => {
            let tokens = store.list()?;
            print(form, || &tokens, |out| list(out, &tokens))
        }
        TokenCommand::Revoke { token } => {
            if !store.revoke(token)? {
                bail!("there is no token '{token}'; `goose serve token list` lists them");
            }
            stderr::line(format_args!("Revoked {}.", escape::line(token)));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn list(out: &mut Output, tokens: &[TokenInfo]) -> io::Result<()> {
    if tokens.is_empty() {
        return out.line("There are no tokens. The first start of the server makes one.");
    }
    for token in tokens {
        let name = out.paint(NAME, escape::line(&token.name));
        let details = format!("{}  {}  {}", token.scope, token.id, token.created_at);
        let details = out.paint(FAINT, details);
        out.line(format_args!("{name}  {details}"))?;
    }
    Ok(())
}
