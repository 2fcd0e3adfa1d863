//! [`Launch`]: a service that could be started, with everything looked up.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    hash::{Hash, Hasher},
    path::PathBuf,
    sync::Arc,
};

use goose_extension::Extension;
use goose_mcp_bridge::OAuth;

use super::options::BindingContext;
use crate::{
    config::{BaseEnvironment, ExtensionConfig, ExtensionKind, OAuthConfig, Resolved, Secret},
    permission::Origin,
};

/// A service that could be started. It holds secrets, so it does not print.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(super) what: LaunchKind,
    /// The kind of service, as configurations name it.
    pub(super) kind: &'static str,
    /// True if it is a part of goose, whose description of itself can be believed.
    pub(super) origin: Origin,
    /// The key for sharing a running service; none for one that belongs to a single agent.
    pub(super) running_key: Option<RunningKey>,
    /// The hash under which its listing is kept on disk; none for what costs nothing to start.
    pub(super) listing_key: Option<String>,
}

/// The key for sharing a running service: equal keys mean the same launch.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct RunningKey {
    /// The configuration with its secrets, and the folder where that matters.
    fingerprint: String,
    /// The environment, where the service sees it.
    environment: Option<Arc<BaseEnvironment>>,
    /// The logins, if the service may need one.
    login: Option<SharedLogin>,
}

/// Logins as a part of a key. They have no value to compare, so only the same ones are equal; the key keeps them alive.
#[derive(Clone)]
struct SharedLogin(Arc<OAuth>);

impl PartialEq for SharedLogin {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedLogin {}

impl Hash for SharedLogin {
    // Equal logins must have equal hashes; the other parts of the key tell services apart.
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

/// The ways to run a service.
#[derive(Clone)]
pub(super) enum LaunchKind {
    /// A part of this program, by name.
    Builtin(String, BindingContext),
    /// An extension that is there already.
    InProcess(Arc<dyn Extension>),
    /// A child process.
    Program(Program),
    /// Python code, run by a child process.
    Script(Script),
    /// A server.
    Http(Http),
    /// A configuration that can never work, with the reason.
    Invalid(String),
}

/// A child process.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) environment: BTreeMap<OsString, OsString>,
    pub(super) working_dir: Option<PathBuf>,
}

/// Python code and what it needs; the program to run it is known when it lies in a file.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) code: String,
    pub(super) dependencies: Vec<String>,
    pub(super) environment: BTreeMap<OsString, OsString>,
    pub(super) working_dir: Option<PathBuf>,
}

/// A server that is reached by URL.
#[derive(Clone)]
pub(super) struct Http {
    pub(super) url: String,
    pub(super) headers: BTreeMap<String, Secret>,
    oauth: Option<OAuthConfig>,
    client_secret: Option<Secret>,
    login: Option<Arc<OAuth>>,
}

impl Launch {
    /// Resolves a configuration. One that cannot work becomes a launch as well, so that its reason is shown somewhere.
    pub(super) fn new(config: &ExtensionConfig, context: &BindingContext) -> Self {
        let kind = config.type_name();
        let origin = if config.is_own() { Origin::Own } else { Origin::Foreign };
        match config.check().and_then(|()| config.resolve(&*context.secrets)) {
            Ok(resolved) => {
                let running_key = RunningKey::new(config, &resolved, context);
                let what = LaunchKind::new(config, resolved, context);
                let folder = context.working_dir.as_deref();
                let listing_key = what.is_elsewhere().then(|| config.listing_fingerprint(folder));
                Self { what, kind, origin, running_key: Some(running_key), listing_key }
            }
            Err(error) => Self {
                what: LaunchKind::Invalid(error.to_string()),
                kind,
                origin,
                running_key: None,
                listing_key: None,
            },
        }
    }

    /// Returns whether repeated failures mean that it will never work. A remote server may be back tomorrow.
    pub(super) fn gives_up(&self) -> bool {
        !matches!(self.what, LaunchKind::Http(_))
    }

    /// An extension of this program.
    pub(crate) fn in_process(extension: Arc<dyn Extension>) -> Self {
        let what = LaunchKind::InProcess(extension);
        Self { what, kind: "in_process", origin: Origin::Own, running_key: None, listing_key: None }
    }
}

impl RunningKey {
    /// A server that is reached by URL sees neither folder nor environment, and is shared by all that have the same login.
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
        let environment = || context.environment.for_child(&resolved);
        let working_dir = context.working_dir.clone();
        match &config.kind {
            ExtensionKind::Builtin | ExtensionKind::Platform => Self::Builtin(config.key(), context.clone()),
            ExtensionKind::Stdio { cmd, args, .. } => Self::Program(Program {
                program: cmd.clone(),
                arguments: args.clone(),
                environment: environment(),
                working_dir,
            }),
            ExtensionKind::InlinePython { code, dependencies } => Self::Script(Script {
                code: code.clone(),
                dependencies: dependencies.clone(),
                environment: environment(),
                working_dir,
            }),
            ExtensionKind::StreamableHttp { uri, oauth, .. } => Self::Http(Http {
                url: uri.clone(),
                headers: resolved.headers,
                oauth: oauth.clone(),
                client_secret: resolved.client_secret,
                login: context.oauth.clone(),
            }),
            ExtensionKind::Frontend { .. } => {
                Self::Invalid("its tools run in a user interface, and none is attached".to_owned())
            }
            // `check` has refused it already, with more to say.
            ExtensionKind::Sse { .. } => Self::Invalid("this kind of server is no longer reached".to_owned()),
        }
    }

    /// Returns whether it runs outside of this process, and so takes time to start.
    fn is_elsewhere(&self) -> bool {
        matches!(self, Self::Program(_) | Self::Script(_) | Self::Http(_))
    }
}

impl Http {
    /// The way to log in there.
    pub(super) fn login(&self) -> Option<OAuth> {
        self.login.as_deref().cloned().map(|oauth| self.configured(oauth))
    }

    fn configured(&self, oauth: OAuth) -> OAuth {
        let Some(config) = &self.oauth else { return oauth };
        let secret = self.client_secret.as_ref().map(|secret| secret.expose().to_owned());
        oauth.with(|it| {
            it.client = config.client_id.clone().map(|id| (id, secret)).or(it.client.take());
            it.issuer = config.issuer.clone().or(it.issuer.take());
            it.redirect_port = config.redirect_port.unwrap_or(it.redirect_port);
            if !config.scopes.is_empty() {
                it.scopes.clone_from(&config.scopes);
            }
        })
    }
}
