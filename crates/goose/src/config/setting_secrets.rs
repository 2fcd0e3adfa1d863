//! Where the secrets of [`Settings`](super::Settings) are, in the order in which they are asked for.

use std::sync::Arc;

use super::{
    ConfigError, ConfigFile, EnvSecrets, FileSecrets, KeyringSecrets, Secret, SecretChain, Secrets,
    SettingsSource, keyring::Keyring,
};

/// The key that switches the keyring off.
const DISABLE_KEYRING: &str = "GOOSE_DISABLE_KEYRING";

/// The environment, `secrets.yaml`, `config.yaml`, the keyring. Nothing is read yet.
pub(super) fn secret_chain(source: &SettingsSource, user: &Arc<ConfigFile>) -> SecretChain {
    let variables = source.environment.iter().chain(&source.flags);
    let chain = SecretChain::default()
        .then(variables.map(|(name, value)| (name.as_str(), value.as_str())).collect::<EnvSecrets>())
        .then(FileSecrets::new(source.paths.secrets_file()))
        .then(InConfig(Arc::clone(user)));
    if is_keyring_disabled(source, user) {
        return chain;
    }
    chain.then(KeyringSecrets::new(Keyring::of_system(&source.environment)))
}

/// `true`, `1` and everything else that is not a clear no: whoever names it does not want the keyring.
pub(super) fn is_keyring_disabled(source: &SettingsSource, user: &ConfigFile) -> bool {
    let written = source.variable(DISABLE_KEYRING).map(str::to_owned);
    let in_file = || user.get::<String>(DISABLE_KEYRING).unwrap_or_else(|error| Some(error.to_string()));
    let written = written.or_else(in_file);
    written
        .is_some_and(|text| !matches!(text.to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off"))
}

/// People do write keys into `config.yaml`.
struct InConfig(Arc<ConfigFile>);

impl Secrets for InConfig {
    fn get(&self, name: &str) -> Result<Option<Secret>, ConfigError> {
        Ok(self.0.get::<String>(name)?.map(Secret::new))
    }
}
