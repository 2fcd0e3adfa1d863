//! The environment of a child process and the headers of a remote server: the variables that the
//! configuration of the extension asks for, without the secrets of other extensions.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
};

use goose_extension::is_secret_variable;

use crate::{
    ConfigError, Secret, Secrets,
    extension::{ExtensionConfig, ExtensionKind, OAuthConfig},
    extension_check::check_header_value,
    process_environment,
};

/// Environment that every child process starts with: the given variables without those that [look like
/// secrets](is_secret_variable), by name or by value.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct BaseEnvironment {
    variables: BTreeMap<OsString, OsString>,
    /// Variables that look like secrets, and their values.
    withheld: BTreeMap<OsString, OsString>,
}

impl BaseEnvironment {
    /// Takes the variables of this process, as they are now. For programs; everything else gets them as
    /// arguments.
    pub fn from_process() -> Self {
        process_environment::variables().collect()
    }

    /// Returns the variables of one child: these, and those of its configuration, which take precedence.
    pub fn for_child(&self, resolved: &Resolved) -> BTreeMap<OsString, OsString> {
        let own = resolved.variables.iter().map(|(name, value)| (name.into(), value.expose().into()));
        self.variables.clone().into_iter().chain(own).collect()
    }

    /// Returns the same environment with the variables of a built-in service.
    #[must_use]
    pub fn with_variables(&self, resolved: &Resolved) -> Self {
        let mut withheld = self.withheld.clone();
        withheld.retain(|name, _| !resolved.variables.keys().any(|own| name == own.as_str()));
        Self { variables: self.for_child(resolved), withheld }
    }

    /// Returns the variables that look like secrets. No child process gets them.
    pub fn withheld(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.withheld.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Returns all variables.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Sets a variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.variables.insert(name.into(), value.into());
    }

    /// Returns one variable.
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables.get(name.as_ref()).map(OsString::as_os_str)
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for BaseEnvironment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let (withheld, variables) = variables.partition(|(name, value): &(OsString, OsString)| {
            is_secret_variable(&name.to_string_lossy(), &value.to_string_lossy())
        });
        Self { variables, withheld }
    }
}

impl fmt::Debug for BaseEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BaseEnvironment({} variables)", self.variables.len())
    }
}

/// Variables and headers that the configuration of an extension asks for, with their values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Variables of `envs` and `env_keys`.
    pub variables: BTreeMap<String, Secret>,
    /// Headers, with variables replaced.
    pub headers: BTreeMap<String, Secret>,
    /// Client secret for the login.
    pub client_secret: Option<Secret>,
}

impl ExtensionConfig {
    /// Looks up everything that the configuration asks for by name. If `envs` and `env_keys` have the same
    /// name, the literal value of `envs` is used.
    pub fn resolve(&self, secrets: &dyn Secrets) -> Result<Resolved, ConfigError> {
        let mut resolved = Resolved { variables: self.resolve_variables(secrets)?, ..Resolved::default() };
        if let ExtensionKind::StreamableHttp { headers, oauth, .. } = &self.kind {
            let lookup = |name: &str| match resolved.variables.get(name) {
                Some(value) => Ok(Some(value.clone())),
                None => secrets.get(name),
            };
            for (name, value) in headers.iter() {
                resolved.headers.insert(name.clone(), self.header(name, value, lookup)?);
            }
            resolved.client_secret = self.client_secret(oauth, secrets)?;
        }
        Ok(resolved)
    }

    fn resolve_variables(&self, secrets: &dyn Secrets) -> Result<BTreeMap<String, Secret>, ConfigError> {
        let (envs, env_keys) = self.variables();
        let literal = envs.into_iter().flat_map(|envs| envs.iter());
        let mut variables: BTreeMap<_, _> =
            literal.map(|(name, value)| (name.clone(), Secret::new(value.as_str()))).collect();
        for name in env_keys {
            if !variables.contains_key(name) {
                match secrets.get(name)? {
                    Some(value) => variables.insert(name.clone(), value),
                    // Commands of a built-in service do without it.
                    None if self.is_own() => None,
                    None => return Err(self.missing(name, "env_keys")),
                };
            }
        }
        Ok(variables)
    }

    fn header(
        &self,
        name: &str,
        value: &str,
        lookup: impl Fn(&str) -> Result<Option<Secret>, ConfigError>,
    ) -> Result<Secret, ConfigError> {
        let value = substitute(value, lookup).map_err(|error| match error {
            ConfigError::UnknownVariable(variable) => {
                self.missing(&variable, &format!("the header '{name}'"))
            }
            other => other,
        })?;
        check_header_value(name, &value)
            .map_err(|flaw| ConfigError::extension(&self.name, flaw.to_string()))?;
        Ok(Secret::new(value))
    }

    fn client_secret(
        &self,
        oauth: &Option<OAuthConfig>,
        secrets: &dyn Secrets,
    ) -> Result<Option<Secret>, ConfigError> {
        let Some(name) = oauth.as_ref().and_then(|oauth| oauth.client_secret_key.as_deref()) else {
            return Ok(None);
        };
        secrets.get(name)?.ok_or_else(|| self.missing(name, "oauth.client_secret_key")).map(Some)
    }

    fn missing(&self, name: &str, used_for: &str) -> ConfigError {
        ConfigError::MissingVariable {
            extension: self.name.clone(),
            name: name.to_owned(),
            used_for: used_for.to_owned(),
        }
    }
}

/// Replaces each `$NAME` and `${NAME}` with its value. A `$` without a name stays as it is (`$5`, `$$`, a
/// lone `$`, `${`), and `$` in values is not replaced.
///
/// # Errors
///
/// Fails if `lookup` does not know a name.
pub fn substitute(
    text: &str,
    lookup: impl Fn(&str) -> Result<Option<Secret>, ConfigError>,
) -> Result<String, ConfigError> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        result.push_str(before);
        rest = match name_at(after) {
            Some((name, after)) => {
                let unknown = || ConfigError::UnknownVariable(name.to_owned());
                result.push_str(lookup(name)?.ok_or_else(unknown)?.expose());
                after
            }
            None => {
                result.push('$');
                after
            }
        };
    }
    result.push_str(rest);
    Ok(result)
}

/// Returns the name after a `$`, and the rest of the text.
fn name_at(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('{') {
        Some(inner) => {
            inner.split_once('}').filter(|(name, _)| !name.is_empty() && name_length(name) == name.len())
        }
        None => text.split_at_checked(name_length(text)).filter(|(name, _)| !name.is_empty()),
    }
}

/// Returns the length of the variable name at the start.
fn name_length(text: &str) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len())
}
