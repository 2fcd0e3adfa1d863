//! Names with values: environment variables, headers.

use std::{
    collections::BTreeMap,
    fmt,
    ops::{Deref, DerefMut},
};

use serde::{Deserialize, Serialize};

/// Names with values, in the order of the names. Its `Debug` form shows the names only, because people do write
/// secrets into their configuration.
///
/// In YAML a value may be any scalar and is taken as it is written: `PORT: 8080` is `"8080"`, `VERSION: 1.10` is
/// `"1.10"`, and nothing is `""`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Option<String>>")]
pub struct Values(BTreeMap<String, String>);

impl From<BTreeMap<String, Option<String>>> for Values {
    fn from(written: BTreeMap<String, Option<String>>) -> Self {
        Self(written.into_iter().map(|(name, value)| (name, value.unwrap_or_default())).collect())
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Values {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl Deref for Values {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Values {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
