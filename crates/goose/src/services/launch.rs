//! [`Launch`]: a service with a resolved configuration, ready to be started. `start` runs it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    hash::{Hash, Hasher},
    path::PathBuf,
    sync::Arc,
};

use goose_extension::Extension;
use goose_mcp_bridge::OAuth;

use super::{frontend::FrontendExtension, options::BindingContext};
use crate::{
    config::{BaseEnvironment, ExtensionConfig, ExtensionKind, OAuthConfig, Resolved, Secret},
    permission::Origin,
};

/// Program that runs Python code with its dependencies.
const SCRIPT_RUNNER: &str = "uvx";

/// Service that can be started. Without `Debug`, because it holds secrets.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(super) what: LaunchKind,
    /// Kind of service, as in configurations.
    pub(super) kind: &'static str,
    /// Origin. A part of goose is trusted to describe itself correctly.
    pub(super) origin: Origin,
    /// Key for sharing a running service; none for one that belongs to a single agent.
    pub(super) running_key: Option<RunningKey>,
    /// Hash under which its listing is kept on disk; none for a service that starts at no cost.
    pub(super) listing_key: Option<String>,
}

/// Key for sharing a running service. Equal keys mean the same launch.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct RunningKey {
    /// Hash of the configuration with its secrets, and of the folder if the service sees it.
    fingerprint: String,
    /// Environment, if the service sees it.
    environment: Option<Arc<BaseEnvironment>>,
    /// Logins, if the service may need one.
    login: Option<SharedLogin>,
}

/// Logins as part of a key, compared by identity. The key keeps them alive, so that an address is not reused.
#[derive(Clone)]
struct SharedLogin(Arc<OAuth>);

impl PartialEq for SharedLogin {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedLogin {}

impl Hash for SharedLogin {
    // Equal logins must have equal hashes. The other parts of the key are enough to distinguish services.
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

/// Ways to run a service.
#[derive(Clone)]
pub(super) enum LaunchKind {
    /// Part of this program, by name.
    Builtin(String, BindingContext),
    /// Existing extension object.
    InProcess(Arc<dyn Extension>),
    /// Child process.
    Program(Program),
    /// Python code, run by a child process. Its arguments are known once the code is in a file.
    Script(Script, Program),
    /// Remote server.
    Http(Http),
    /// Configuration that can never work, with the reason.
    Invalid(String),
}

/// Child process.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) environment: BTreeMap<OsString, OsString>,
    pub(super) working_dir: Option<PathBuf>,
}

/// Python code with its dependencies.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) code: String,
    pub(super) dependencies: Vec<String>,
}

/// Server that is reached by URL.
#[derive(Clone)]
pub(super) struct Http {
    pub(super) url: String,
    pub(super) headers: BTreeMap<String, Secret>,
    oauth: Option<OAuthConfig>,
    client_secret: Option<Secret>,
    login: Option<Arc<OAuth>>,
}

impl Launch {
    /// Resolves a configuration. An invalid one becomes a launch as well, so that the reason is shown to the
    /// user.
    pub(super) fn new(config: &ExtensionConfig, context: &BindingContext) -> Self {
        let kind = config.type_name();
        let origin = if config.is_own() { Origin::Own } else { Origin::Foreign };
        let resolved = match config.check().and_then(|()| config.resolve(&*context.secrets)) {
            Ok(resolved) => resolved,
            Err(error) => return Self::unshared(LaunchKind::Invalid(error.to_string()), kind, origin),
        };
        // The tools of a user interface belong to its session.
        let is_shared = !matches!(config.kind, ExtensionKind::Frontend { .. });
        let running_key = is_shared.then(|| RunningKey::new(config, &resolved, context));
        let what = LaunchKind::new(config, resolved, context);
        let folder = context.working_dir.as_deref();
        let listing_key = what.is_external().then(|| config.listing_fingerprint(folder));
        Self { what, kind, origin, running_key, listing_key }
    }

    fn unshared(what: LaunchKind, kind: &'static str, origin: Origin) -> Self {
        Self { what, kind, origin, running_key: None, listing_key: None }
    }

    /// Returns true if repeated failures mean that it will never work. A remote server may be back later.
    pub(super) fn gives_up(&self) -> bool {
        !matches!(self.what, LaunchKind::Http(_))
    }

    /// Creates the launch of an extension object of this program.
    pub(crate) fn in_process(extension: Arc<dyn Extension>) -> Self {
        Self::unshared(LaunchKind::InProcess(extension), "in_process", Origin::Own)
    }
}

impl RunningKey {
    /// Creates a key. A server that is reached by URL sees neither folder nor environment, and is shared by
    /// all sessions with the same logins.
    fn new(config: &ExtensionConfig, resolved: &Resolved, context: &BindingContext) -> Self {
        let is_reached = matches!(config.kind, ExtensionKind::StreamableHttp { .. });
        let folder = context.working_dir.as_deref().filter(|_| !is_reached);
        let login = context.oauth.as_ref().filter(|_| is_reached);
        Self {
            fingerprint: config.running_fingerprint(resolved, folder),
            environment: (!is_reached).then(|| Arc::clone(&context.environment)),
            login: login.map(|oauth| SharedLogin(Arc::clone(oauth))),
        }
    }
}

impl LaunchKind {
    fn new(config: &ExtensionConfig, resolved: Resolved, context: &BindingContext) -> Self {
        let program = |program: &str, arguments: &[String]| Program {
            program: program.to_owned(),
            arguments: arguments.to_vec(),
            environment: context.environment.for_child(&resolved),
            working_dir: context.working_dir.clone(),
        };
        match &config.kind {
            ExtensionKind::Builtin { .. } | ExtensionKind::Platform => {
                let mut context = context.clone();
                if !resolved.variables.is_empty() {
                    context.environment = Arc::new(context.environment.with_variables(&resolved));
                }
                Self::Builtin(config.key(), context)
            }
            ExtensionKind::Stdio { cmd, args, .. } => Self::Program(program(cmd, args)),
            ExtensionKind::InlinePython { code, dependencies } => {
                let script = Script { code: code.clone(), dependencies: dependencies.clone() };
                Self::Script(script, program(SCRIPT_RUNNER, &[]))
            }
            ExtensionKind::StreamableHttp { uri, oauth, .. } => Self::Http(Http {
                url: uri.clone(),
                headers: resolved.headers,
                oauth: oauth.clone(),
                client_secret: resolved.client_secret,
                login: context.oauth.clone(),
            }),
            ExtensionKind::Frontend { tools, instructions } => match &context.frontend {
                Some(frontend) => {
                    let frontend = Arc::clone(frontend);
                    let tools = FrontendExtension::new(config, tools, instructions.as_ref(), frontend);
                    Self::InProcess(Arc::new(tools))
                }
                None => Self::Invalid("its tools run in a user interface, and none is attached".to_owned()),
            },
            // Unreachable: `check` has already refused it with a longer message.
            ExtensionKind::Sse { .. } => Self::Invalid("this kind of server is no longer reached".to_owned()),
        }
    }

    /// Returns true if it runs outside of this process, and so takes time to start.
    fn is_external(&self) -> bool {
        matches!(self, Self::Program(_) | Self::Script(..) | Self::Http(_))
    }
}

impl Http {
    /// Returns the login for the server.
    pub(super) fn login(&self) -> Option<OAuth> {
        let login = self.login.as_deref().cloned()?;
        let Some(config) = &self.oauth else { return Some(login) };
        let secret = self.client_secret.as_ref().map(|secret| secret.expose().to_owned());
        Some(login.with(|it| {
            it.client = config.client_id.clone().map(|id| (id, secret)).or(it.client.take());
            it.issuer = config.issuer.clone().or(it.issuer.take());
            it.redirect_port = config.redirect_port.unwrap_or(it.redirect_port);
            if !config.scopes.is_empty() {
                it.scopes.clone_from(&config.scopes);
            }
        }))
    }
}
