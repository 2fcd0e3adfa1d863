//! Models that people add to the catalogue themselves, such as a team's mirror: a JSON list of entries.

use std::{fs::File, io::Read as _, path::Path};

use super::{
    catalogue::{Catalogue, CatalogueEntry},
    error::ModelStoreError,
};

/// The largest file with models of one's own.
pub const MAX_CATALOGUE_BYTES: u64 = 1024 * 1024;

impl Catalogue {
    /// What goose knows, with the models of a file, where it is there. They win under the same name.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or an entry that makes no sense.
    pub fn with_own(path: &Path) -> Result<Self, ModelStoreError> {
        let mut catalogue = Self::builtin();
        let mut text = String::new();
        match File::open(path) {
            Ok(file) => {
                file.take(MAX_CATALOGUE_BYTES + 1)
                    .read_to_string(&mut text)
                    .map_err(|error| ModelStoreError::io("read", path, error))?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(catalogue),
            Err(error) => return Err(ModelStoreError::io("open", path, error)),
        }
        let wrong = |reason: String| ModelStoreError::Catalogue { path: path.to_owned(), reason };
        if text.len() as u64 > MAX_CATALOGUE_BYTES {
            return Err(wrong(format!("it is larger than {MAX_CATALOGUE_BYTES} bytes")));
        }
        let own: Vec<CatalogueEntry> =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if let Some(problem) = own.iter().find_map(CatalogueEntry::problem) {
            return Err(wrong(problem));
        }
        catalogue.entries.retain(|known| !own.iter().any(|entry| entry.name == known.name));
        catalogue.entries.splice(0..0, own);
        Ok(catalogue)
    }
}
