//! Fingerprints of extensions: equal hashes mean the same program with the same input, or the same server.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Value, json};

use crate::digest::json_digest;
use crate::{
    Secret,
    environment::Resolved,
    extension::{ExtensionConfig, ExtensionKind, OAuthConfig},
};

/// Version of the hash. It changes together with the hashed data, so that old hashes are not taken for new
/// ones.
const FORM: &str = "goose-extension-3";

impl ExtensionConfig {
    /// Returns the hash for data that is cached on disk, such as the list of tools. It covers the command and
    /// arguments, the address, the code, literal variables, and the *names* of secret ones and of headers, so
    /// a new token does not change it and it contains no secret. Name, description, timeout and available
    /// tools do not count; the working folder counts only if the command depends on it. The hash is the same
    /// in every run and on every machine.
    pub fn listing_fingerprint(&self, working_dir: Option<&Path>) -> String {
        let (envs, _) = self.variables();
        let folder = working_dir.filter(|_| self.is_relative()).map(bytes);
        json_digest(json!([FORM, self.definition(), envs, folder]))
    }

    /// Returns whether the command depends on the working folder.
    fn is_relative(&self) -> bool {
        let ExtensionKind::Stdio { cmd, args, .. } = &self.kind else { return false };
        let is_path = |text: &str| text.starts_with('.') || (text.contains('/') && !text.contains("://"));
        let is_relative = |text: &str| is_path(text) && !text.starts_with(['/', '-', '@', '~']);
        is_relative(cmd) || args.iter().any(|arg| is_relative(arg))
    }

    /// Returns the hash for sharing a running service: everything in the
    /// [listing](Self::listing_fingerprint), the values of variables and headers, and the working folder.
    pub fn running_fingerprint(&self, resolved: &Resolved, working_dir: Option<&Path>) -> String {
        let (variables, headers) = (exposed(&resolved.variables), exposed(&resolved.headers));
        let secret = resolved.client_secret.as_ref().map(Secret::expose);
        json_digest(json!([FORM, self.definition(), variables, headers, secret, working_dir.map(bytes)]))
    }

    /// Returns the parts that decide what runs, with the names of variables and headers instead of their
    /// values.
    fn definition(&self) -> Value {
        let (envs, env_keys) = self.variables();
        let mut names: Vec<_> = envs.into_iter().flat_map(|envs| envs.keys()).chain(env_keys).collect();
        names.sort();
        names.dedup();
        let parts = match &self.kind {
            ExtensionKind::Builtin { .. } | ExtensionKind::Platform => json!(self.key()),
            ExtensionKind::Stdio { cmd, args, .. } => json!([cmd, args]),
            ExtensionKind::StreamableHttp { uri, headers, oauth, .. } => {
                let oauth = oauth.as_ref().map(|oauth| OAuthConfig { redirect_port: None, ..oauth.clone() });
                json!([uri, headers.keys().collect::<Vec<_>>(), oauth])
            }
            ExtensionKind::Frontend { tools, instructions } => json!([tools, instructions]),
            ExtensionKind::InlinePython { code, dependencies } => json!([code, dependencies]),
            ExtensionKind::Sse { uri } => json!(uri),
        };
        json!([self.type_name(), parts, names])
    }
}

fn exposed(secrets: &BTreeMap<String, Secret>) -> BTreeMap<&str, &str> {
    secrets.iter().map(|(name, secret)| (name.as_str(), secret.expose())).collect()
}

/// Returns the bytes of a path, which need not be Unicode.
fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}
