//! The hash of what would run. Equal hashes mean: the same program with the same input, or the same server.

use std::{fmt, path::Path};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    environment::Resolved,
    extension::{ExtensionConfig, ExtensionKind, OAuthConfig},
};

/// Changes when the way to hash changes, so that old hashes are not mistaken for new ones.
const FORM: &str = "goose-extension-2";

/// A SHA-256, as 64 lower-case hex digits. It is the same in every run and on every machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The hex digits; good for a file's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ExtensionConfig {
    /// For what is remembered on disk, such as the list of tools: the command and arguments, the address, the code,
    /// literal variables, and the *names* of secret ones and of headers. A new token does not change it, and no secret
    /// goes into it. Name, description, timeout and available tools do not count; the working folder only where the
    /// command depends on it.
    pub fn listing_fingerprint(&self, working_dir: Option<&Path>) -> Fingerprint {
        let mut hash = self.hash_listing();
        let (envs, _) = self.variables();
        for (name, value) in envs.into_iter().flat_map(|envs| envs.iter()) {
            hash.text(name, value);
        }
        if self.is_relative() {
            hash.folder(working_dir);
        }
        hash.finish()
    }

    /// Returns whether the same command is another program in another folder.
    fn is_relative(&self) -> bool {
        let ExtensionKind::Stdio { cmd, args, .. } = &self.kind else { return false };
        let is_path = |text: &str| text.starts_with('.') || (text.contains('/') && !text.contains("://"));
        let is_relative = |text: &str| is_path(text) && !text.starts_with(['/', '-', '@', '~']);
        is_relative(cmd) || args.iter().any(|arg| is_relative(arg))
    }

    /// For sharing what runs: all of the [listing](Self::listing_fingerprint), the values of variables and headers,
    /// and the working folder.
    pub fn running_fingerprint(&self, resolved: &Resolved, working_dir: Option<&Path>) -> Fingerprint {
        let mut hash = self.hash_listing();
        for (part, values) in [("variables", &resolved.variables), ("headers", &resolved.headers)] {
            hash.count(part, values.len());
            values.iter().for_each(|(name, value)| hash.text(name, value.expose()));
        }
        hash.optional("client secret", resolved.client_secret.as_ref().map(|secret| secret.expose()));
        hash.folder(working_dir);
        hash.finish()
    }

    fn hash_listing(&self) -> Hash {
        let mut hash = Hash::default();
        hash.text(FORM, self.type_name());
        match &self.kind {
            ExtensionKind::Builtin | ExtensionKind::Platform => hash.text("name", &self.key()),
            ExtensionKind::Stdio { cmd, args, .. } => {
                hash.text("cmd", cmd);
                hash.list("args", args);
            }
            ExtensionKind::StreamableHttp { uri, headers, oauth, .. } => {
                hash.text("uri", uri);
                hash.list("headers", headers.keys());
                hash.sign_in(oauth.as_ref());
            }
            ExtensionKind::Frontend { tools, instructions } => {
                hash.count("tools", tools.len());
                tools.iter().for_each(|tool| hash.json(tool));
                hash.optional("instructions", instructions.as_deref());
            }
            ExtensionKind::InlinePython { code, dependencies } => {
                hash.text("code", code);
                hash.list("dependencies", dependencies);
            }
            ExtensionKind::Sse { uri } => hash.optional("uri", uri.as_deref()),
        }
        hash.list("variables", self.variable_names());
        hash
    }

    fn variable_names(&self) -> Vec<&String> {
        let (envs, env_keys) = self.variables();
        let mut names: Vec<_> = envs.into_iter().flat_map(|envs| envs.keys()).chain(env_keys).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// A hash of parts. Each is preceded by its length, so that `["ab", "c"]` and `["a", "bc"]` differ.
#[derive(Default)]
struct Hash(Sha256);

impl Hash {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn text(&mut self, name: &str, value: &str) {
        self.bytes(name.as_bytes());
        self.bytes(value.as_bytes());
    }

    fn count(&mut self, name: &str, count: usize) {
        self.bytes(name.as_bytes());
        self.0.update((count as u64).to_le_bytes());
    }

    fn optional(&mut self, name: &str, value: Option<&str>) {
        self.count(name, usize::from(value.is_some()));
        self.bytes(value.unwrap_or_default().as_bytes());
    }

    fn list<T: AsRef<str>>(&mut self, name: &str, values: impl IntoIterator<Item = T>) {
        let values: Vec<T> = values.into_iter().collect();
        self.count(name, values.len());
        values.iter().for_each(|value| self.bytes(value.as_ref().as_bytes()));
    }

    fn folder(&mut self, folder: Option<&Path>) {
        self.count("working folder", usize::from(folder.is_some()));
        self.bytes(folder.map_or(&[], |folder| folder.as_os_str().as_encoded_bytes()));
    }

    fn sign_in(&mut self, oauth: Option<&OAuthConfig>) {
        self.count("oauth", usize::from(oauth.is_some()));
        let Some(oauth) = oauth else { return };
        self.optional("client_id", oauth.client_id.as_deref());
        self.optional("client_secret_key", oauth.client_secret_key.as_deref());
        self.list("scopes", &oauth.scopes);
        // Only where there is one, so that what was kept without it stays valid.
        if let Some(issuer) = &oauth.issuer {
            self.text("issuer", issuer);
        }
    }

    /// A JSON value, with the keys of objects in alphabetical order.
    fn json(&mut self, value: &Value) {
        match value {
            Value::Array(items) => {
                self.count("array", items.len());
                items.iter().for_each(|item| self.json(item));
            }
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_by_key(|(name, _)| *name);
                self.count("object", fields.len());
                for (name, field) in fields {
                    self.bytes(name.as_bytes());
                    self.json(field);
                }
            }
            plain => self.text("plain", &plain.to_string()),
        }
    }

    fn finish(self) -> Fingerprint {
        Fingerprint(self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}
