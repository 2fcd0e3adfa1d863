//! The archive that an office document is: parts by name, with caps, and copies with some parts changed.

use std::{
    collections::HashMap,
    io::{BufReader, Cursor, Read, Write as _},
};

use quick_xml::events::Event;
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

use super::xml::{FormatError, Result, XmlReader, attribute, error, name};

/// Maximum number of parts.
const MAX_PARTS: usize = 10_000;

/// Maximum size of an unpacked part. Parts are read as a stream.
const MAX_PART_BYTES: u64 = 128 * 1024 * 1024;

/// Maximum size of a document that is written.
const MAX_WRITTEN_BYTES: usize = 48 * 1024 * 1024;

/// First bytes of a file with a password, and of the formats before 2007.
const OLE: &[u8] = b"\xD0\xCF\x11\xE0";

/// Part of the archive as it is written.
pub(super) type Output = ZipWriter<Cursor<Vec<u8>>>;

/// An archive in memory.
pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
}

/// Relations of a part: type and target by id.
pub(super) type Relations = HashMap<String, (String, String)>;

impl<'a> Archive<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self> {
        if bytes.starts_with(OLE) {
            return error(
                "it is protected by a password or in the format before 2007; save a copy without password in the new format",
            );
        }
        let zip = ZipArchive::new(Cursor::new(bytes))?;
        match zip.len() <= MAX_PARTS {
            true => Ok(Self { zip }),
            false => error(format!("it has more than {MAX_PARTS} parts")),
        }
    }

    pub(super) fn has(&self, part: &str) -> bool {
        self.zip.index_for_name(part).is_some()
    }

    /// Opens a part.
    pub(super) fn part(&mut self, part: &str) -> Result<impl std::io::BufRead + use<'_, 'a>> {
        let file = match self.zip.by_name(part) {
            Err(zip::result::ZipError::FileNotFound) => return error(format!("it has no part `{part}`")),
            file => file?,
        };
        if file.size() > MAX_PART_BYTES {
            return error(format!(
                "its part `{part}` unpacks to {} bytes, at most {MAX_PART_BYTES} are read",
                file.size()
            ));
        }
        // What the archive says of the size need not be true.
        Ok(BufReader::new(Limited { inner: file, left: MAX_PART_BYTES }))
    }

    /// Returns the part that an office document starts with.
    pub(super) fn main_part(&mut self) -> Result<String> {
        let relations = self.relations("")?;
        let main = relations.values().find(|(kind, _)| kind.ends_with("/officeDocument"));
        main.map(|(_, target)| target.clone())
            .ok_or_else(|| FormatError::Other("it names no main part".to_owned()))
    }

    /// Returns the relations of a part, with targets from the root of the archive.
    pub(super) fn relations(&mut self, part: &str) -> Result<Relations> {
        let file = relations_part(part);
        let mut found = Relations::new();
        if !self.has(&file) {
            return Ok(found);
        }
        let folder = part.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let mut reader = XmlReader::new(self.part(&file)?);
        loop {
            match reader.next()? {
                Event::Eof => return Ok(found),
                Event::Start(element) | Event::Empty(element) if name(&element) == "Relationship" => {
                    let get = |name| attribute(&element, name);
                    if let (Some(id), Some(kind), Some(target)) = (get("Id"), get("Type"), get("Target")) {
                        found.insert(id, (kind, joined(&folder, &target)));
                    }
                }
                _ => {}
            }
        }
    }

    /// Copies the archive. `change` writes the parts that differ and returns true for these.
    pub(super) fn rewrite(
        &mut self,
        mut change: impl FnMut(&mut Self, &str, &mut Output) -> Result<Change>,
        added: &[(String, Vec<u8>)],
    ) -> Result<Vec<u8>> {
        let mut output = ZipWriter::new(Cursor::new(Vec::new()));
        for index in 0..self.zip.len() {
            let part = self.zip.by_index_raw(index)?.name()?.into_owned();
            if added.iter().any(|(name, _)| *name == part) {
                continue;
            }
            if change(self, &part, &mut output)? == Change::Copied {
                output.raw_copy_file(self.zip.by_index_raw(index)?)?;
            }
        }
        for (part, bytes) in added {
            start(&mut output, part)?;
            output.write_all(bytes)?;
        }
        finish(output)
    }
}

/// Fate of a part in a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The part is the same.
    Copied,
    /// The part was written in another form.
    Written,
    /// The part is left out.
    Dropped,
}

/// Starts a part. What is written then belongs to it.
pub(super) fn start(output: &mut Output, part: &str) -> Result<()> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    Ok(output.start_file(part, options)?)
}

/// Creates an archive.
pub(super) fn create(parts: &[(&str, &str)]) -> Result<Vec<u8>> {
    let mut output = ZipWriter::new(Cursor::new(Vec::new()));
    for (part, text) in parts {
        start(&mut output, part)?;
        output.write_all(text.as_bytes())?;
    }
    finish(output)
}

fn finish(output: Output) -> Result<Vec<u8>> {
    let bytes = output.finish()?.into_inner();
    match bytes.len() <= MAX_WRITTEN_BYTES {
        true => Ok(bytes),
        false => error(format!(
            "the new file would have {} bytes, at most {MAX_WRITTEN_BYTES} are written",
            bytes.len()
        )),
    }
}

/// Returns the part with the relations of a part.
pub(super) fn relations_part(part: &str) -> String {
    match part.rsplit_once('/') {
        Some((folder, file)) => format!("{folder}/_rels/{file}.rels"),
        None => format!("_rels/{part}.rels"),
    }
}

fn joined(folder: &str, target: &str) -> String {
    let mut path: Vec<&str> = match target.starts_with('/') {
        true => Vec::new(),
        false => folder.split('/').filter(|name| !name.is_empty()).collect(),
    };
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(path.pop()),
            name => path.push(name),
        }
    }
    path.join("/")
}

/// A reader that fails at its limit.
struct Limited<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            std::io::Error::other(format!("it unpacks to more than {MAX_PART_BYTES} bytes"))
        })?;
        Ok(count)
    }
}
