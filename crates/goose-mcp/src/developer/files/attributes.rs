//! Extended attributes, access control lists among them: what else a file has, besides its bytes and permissions.

use std::{fs::File, io, path::Path};

/// How large all names together, or one value, may be: what Linux allows.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
const MAX_BYTES: usize = 64 * 1024;

/// Attributes that the system gives each file itself.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
const NOT_OURS: [&[u8]; 2] = [b"security.", b"com.apple."];

/// Gives a new file the attributes of another.
///
/// # Errors
///
/// Where one cannot be read or set.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
pub(super) fn keep(from: &Path, to: &File) -> io::Result<()> {
    use rustix::{buffer::spare_capacity, fs};
    let mut names = Vec::with_capacity(MAX_BYTES);
    match fs::listxattr(from, spare_capacity(&mut names)).map_err(io::Error::from) {
        // A file system without attributes.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(()),
        listed => listed?,
    };
    let is_ours = |name: &&[u8]| !name.is_empty() && !NOT_OURS.iter().any(|start| name.starts_with(start));
    for name in names.split(|byte| *byte == 0).filter(is_ours) {
        let mut value = Vec::with_capacity(MAX_BYTES);
        fs::getxattr(from, name, spare_capacity(&mut value))?;
        fs::fsetxattr(to, name, &value, fs::XattrFlags::empty())?;
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn keep(_: &Path, _: &File) -> io::Result<()> {
    Ok(())
}
