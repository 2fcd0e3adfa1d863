//! [`Launch`]: what would run, with everything looked up.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc};

use goose_extension::Extension;
use goose_mcp_bridge::OAuth;

use super::options::PoolOptions;
use crate::config::{ExtensionConfig, ExtensionKind, OAuthConfig, Resolved, Secret};

/// What would run. It holds secrets, and so does not print.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(super) what: What,
    /// What kind of service it is, as configurations say it.
    pub(super) kind: &'static str,
    /// The hash under which something that runs is shared; none for what belongs to one agent.
    pub(super) running_key: Option<String>,
    /// The hash under which its listing is kept on disk; none for what costs nothing to start.
    pub(super) listing_key: Option<String>,
}

/// The ways to run a service.
#[derive(Clone)]
pub(super) enum What {
    /// A part of this program, by name.
    Builtin(String),
    /// A platform extension, by name.
    Platform(String),
    /// An extension that is there already.
    Given(Arc<dyn Extension>),
    /// A child process.
    Program(Program),
    /// Python code, run by a child process.
    Script(Script),
    /// A server.
    Http(Http),
    /// Nothing: the configuration can never work, and this is why.
    Never(String),
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
}

impl Launch {
    /// What a configuration means. What cannot work is a launch as well, so that it has a place where its reason shows.
    pub(super) fn of(config: &ExtensionConfig, options: &PoolOptions) -> Self {
        let kind = config.type_name();
        match config.check().and_then(|()| config.resolve(&*options.secrets)) {
            Ok(resolved) => {
                let folder = options.working_dir.as_deref();
                let running_key = config.running_fingerprint(&resolved, folder);
                let what = What::of(config, resolved, options);
                let listing_key = what.is_elsewhere().then(|| config.listing_fingerprint(folder).to_string());
                Self { what, kind, running_key: Some(running_key.to_string()), listing_key }
            }
            Err(error) => {
                Self { what: What::Never(error.to_string()), kind, running_key: None, listing_key: None }
            }
        }
    }

    /// Whether repeated failures mean that it will never work. A server elsewhere may be back tomorrow.
    pub(super) fn gives_up(&self) -> bool {
        !matches!(self.what, What::Http(_))
    }

    /// An extension of this program.
    pub(crate) fn given(extension: Arc<dyn Extension>, kind: &'static str) -> Self {
        Self { what: What::Given(extension), kind, running_key: None, listing_key: None }
    }
}

impl What {
    fn of(config: &ExtensionConfig, resolved: Resolved, options: &PoolOptions) -> Self {
        let environment = || options.environment.for_child(&resolved);
        let working_dir = options.working_dir.clone();
        match &config.kind {
            ExtensionKind::Builtin => Self::Builtin(config.key()),
            ExtensionKind::Platform => Self::Platform(config.key()),
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
            }),
            ExtensionKind::Frontend { .. } => {
                Self::Never("its tools run in a user interface, and none is attached".to_owned())
            }
            // `check` has refused it already, with more to say.
            ExtensionKind::Sse { .. } => Self::Never("this kind of server is no longer reached".to_owned()),
        }
    }

    /// Whether it runs outside of this process, and so takes its time to start.
    fn is_elsewhere(&self) -> bool {
        matches!(self, Self::Program(_) | Self::Script(_) | Self::Http(_))
    }
}

impl Http {
    /// How to log in there.
    pub(super) fn login(&self, oauth: OAuth) -> OAuth {
        let Some(config) = &self.oauth else { return oauth };
        let secret = self.client_secret.as_ref().map(|secret| secret.expose().to_owned());
        let oauth = match &config.client_id {
            Some(id) => oauth.with_client(id, secret),
            None => oauth,
        };
        let oauth = match &config.issuer {
            Some(issuer) => oauth.with_issuer(issuer),
            None => oauth,
        };
        let oauth = match config.redirect_port {
            Some(port) => oauth.with_redirect_port(port),
            None => oauth,
        };
        if config.scopes.is_empty() { oauth } else { oauth.with_scopes(config.scopes.clone()) }
    }
}
