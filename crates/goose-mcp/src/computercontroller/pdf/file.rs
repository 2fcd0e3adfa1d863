//! [`PdfFile`]: the objects of a file and its pages.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashSet},
};

use super::{
    PdfError, filter,
    object::{Dict, Lexer, Object},
};

/// Maximum number of objects and of pages.
const MAX_OBJECTS: usize = 500_000;
const MAX_PAGES: usize = 20_000;

/// Maximum size of one unpacked stream, of all that hold objects, and of all together.
pub(super) const MAX_STREAM_BYTES: usize = 24 * 1024 * 1024;
const MAX_HELD_BYTES: usize = 24 * 1024 * 1024;
const MAX_UNPACKED_BYTES: usize = 192 * 1024 * 1024;

/// Maximum number of references that lead to an object.
const MAX_REFERENCES: usize = 16;

type Result<T> = std::result::Result<T, PdfError>;

/// Place of an object.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// In the file.
    File(usize),
    /// In an unpacked stream, by its index.
    Held(usize, usize),
}

/// A PDF in memory.
pub(super) struct PdfFile<'a> {
    bytes: &'a [u8],
    objects: BTreeMap<u32, Place>,
    /// Unpacked streams that hold objects.
    held: Vec<Vec<u8>>,
    root: Option<Object>,
    /// Bytes that may still be unpacked.
    left: Cell<usize>,
}

/// A page with what it inherits.
#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    pub(super) dict: Dict,
    pub(super) resources: Object,
}

impl Default for Object {
    fn default() -> Self {
        Self::Null
    }
}

impl<'a> PdfFile<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self> {
        // Some programs put something before it.
        let head = &bytes[..bytes.len().min(1024)];
        if !head.windows(5).any(|start| start == b"%PDF-") {
            return Err(PdfError("it does not begin like one".to_owned()));
        }
        let left = Cell::new(MAX_UNPACKED_BYTES);
        let mut file = Self { bytes, objects: BTreeMap::new(), held: Vec::new(), root: None, left };
        file.find_objects()?;
        file.find_root()?;
        Ok(file)
    }

    /// Finds all `12 0 obj`. A later object of the same number replaces an earlier one.
    fn find_objects(&mut self) -> Result<()> {
        let (mut at, mut held_bytes) = (0, 0);
        while let Some(found) = find(self.bytes, b"obj", at) {
            at = found + 3;
            let Some(number) = number_before(self.bytes, found) else { continue };
            if self.objects.len() >= MAX_OBJECTS {
                return Err(PdfError(format!("it has more than {MAX_OBJECTS} objects")));
            }
            self.objects.insert(number, Place::File(at));
            let mut lexer = Lexer::new(self.bytes, at);
            let Some(Object::Dict(dict)) = lexer.object() else { continue };
            // What looks like an object within a stream is none.
            let data = self.data(&mut lexer, &dict);
            if let Some(data) = data {
                at = at.max(lexer.at + data.len());
                match dict.get("Type").and_then(Object::name) {
                    Some("ObjStm") => {
                        let unpacked = filter::decode(self, &dict, data)?.bytes;
                        held_bytes += unpacked.len();
                        if held_bytes > MAX_HELD_BYTES {
                            return Err(PdfError(format!(
                                "its objects unpack to more than {MAX_HELD_BYTES} bytes"
                            )));
                        }
                        self.hold(&dict, unpacked);
                    }
                    Some("XRef") => self.note_trailer(&dict)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Adds the objects that a stream holds.
    fn hold(&mut self, dict: &Dict, unpacked: Vec<u8>) {
        let index = |key: &str| dict.get(key).and_then(Object::index).unwrap_or(0);
        let (count, first) = (index("N").min(MAX_OBJECTS), index("First"));
        let mut lexer = Lexer::new(&unpacked, 0);
        let stream = self.held.len();
        for _ in 0..count {
            let (Some(number), Some(offset)) = (lexer.object(), lexer.object()) else { break };
            let (Some(number), Some(offset)) = (number.index(), offset.index()) else { break };
            if self.objects.len() < MAX_OBJECTS
                && let Ok(number) = u32::try_from(number)
            {
                self.objects.insert(number, Place::Held(stream, first.saturating_add(offset)));
            }
        }
        self.held.push(unpacked);
    }

    fn note_trailer(&mut self, dict: &Dict) -> Result<()> {
        if dict.get("Encrypt").is_some_and(|encrypt| *encrypt != Object::Null) {
            return Err(PdfError("it is encrypted. Ask the person for a copy without protection".to_owned()));
        }
        if let Some(root) = dict.get("Root") {
            self.root = Some(root.clone());
        }
        Ok(())
    }

    fn find_root(&mut self) -> Result<()> {
        let mut at = 0;
        while let Some(found) = find(self.bytes, b"trailer", at) {
            at = found + 7;
            if let Some(Object::Dict(dict)) = Lexer::new(self.bytes, at).object() {
                self.note_trailer(&dict)?;
            }
        }
        Ok(())
    }

    /// Returns an object, at the end of its references.
    pub(super) fn resolve(&self, object: &Object) -> Object {
        let mut object = object.clone();
        for _ in 0..MAX_REFERENCES {
            let Object::Ref(number) = object else { return object };
            object = self.lexer(number).and_then(|mut lexer| lexer.object()).unwrap_or_default();
        }
        Object::Null
    }

    fn lexer(&self, number: u32) -> Option<Lexer<'_>> {
        Some(match *self.objects.get(&number)? {
            Place::File(at) => Lexer::new(self.bytes, at),
            Place::Held(stream, at) => Lexer::new(self.held.get(stream)?, at),
        })
    }

    /// Returns a value of a dictionary.
    pub(super) fn get(&self, dict: &Dict, key: &str) -> Object {
        dict.get(key).map(|object| self.resolve(object)).unwrap_or_default()
    }

    /// Returns a dictionary in a dictionary.
    pub(super) fn get_dict(&self, dict: &Dict, key: &str) -> Dict {
        match self.get(dict, key) {
            Object::Dict(dict) => dict,
            _ => Dict::new(),
        }
    }

    /// Returns the dictionary and the packed bytes of a stream.
    pub(super) fn stream(&self, object: &Object) -> Option<(Dict, &'a [u8])> {
        let Object::Ref(number) = object else { return None };
        let Place::File(at) = *self.objects.get(number)? else { return None };
        let mut lexer = Lexer::new(self.bytes, at);
        let Object::Dict(dict) = lexer.object()? else { return None };
        let data = self.data(&mut lexer, &dict)?;
        Some((dict, data))
    }

    /// Returns the packed bytes that follow a dictionary.
    fn data(&self, lexer: &mut Lexer<'_>, dict: &Dict) -> Option<&'a [u8]> {
        lexer.skip_space();
        let rest = self.bytes.get(lexer.at..)?.strip_prefix(b"stream")?;
        let rest = rest
            .strip_prefix(b"\r\n")
            .or_else(|| rest.strip_prefix(b"\n"))
            .or_else(|| rest.strip_prefix(b"\r"))
            .unwrap_or(rest);
        lexer.at = self.bytes.len() - rest.len();
        let ends = |length: usize| {
            let after = rest.get(length..)?;
            let after = &after[..after.len().min(16)];
            after.windows(9).any(|word| word == b"endstream").then_some(length)
        };
        let length = self.get(dict, "Length").index().and_then(ends);
        let length = length.or_else(|| find(rest, b"endstream", 0)).unwrap_or(rest.len());
        Some(&rest[..length])
    }

    /// Returns the unpacked bytes of a stream.
    pub(super) fn unpacked(&self, object: &Object) -> Result<Vec<u8>> {
        match self.stream(object) {
            Some((dict, data)) => Ok(filter::decode(self, &dict, data)?.bytes),
            None => Ok(Vec::new()),
        }
    }

    /// Counts unpacked bytes.
    ///
    /// # Errors
    ///
    /// Fails if there are too many.
    pub(super) fn count_unpacked(&self, bytes: usize) -> Result<()> {
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(PdfError(format!("it unpacks to more than {MAX_UNPACKED_BYTES} bytes"))),
        }
    }

    /// Returns the pages, in order.
    pub(super) fn pages(&self) -> Result<Vec<Page>> {
        let mut pages = Vec::new();
        if let Some(Object::Dict(root)) = self.root.as_ref().map(|root| self.resolve(root))
            && let Some(tree) = root.get("Pages")
        {
            self.walk(tree, &Object::Null, &mut HashSet::new(), &mut pages);
        }
        if pages.is_empty() {
            // The tree is missing or damaged. The pages themselves may still be there.
            for number in self.objects.keys() {
                if let Object::Dict(dict) = self.resolve(&Object::Ref(*number))
                    && dict.get("Type").and_then(Object::name) == Some("Page")
                    && pages.len() < MAX_PAGES
                {
                    pages.push(Page { resources: self.get(&dict, "Resources"), dict });
                }
            }
        }
        match pages.is_empty() {
            false => Ok(pages),
            true => Err(PdfError("it has no pages; it may be cut off".to_owned())),
        }
    }

    fn walk(&self, node: &Object, inherited: &Object, seen: &mut HashSet<u32>, pages: &mut Vec<Page>) {
        // The nodes that are still to come, last first: a tree may be deep.
        let mut open = vec![(node.clone(), inherited.clone())];
        while let Some((node, inherited)) = open.pop() {
            if let Object::Ref(number) = node
                && !seen.insert(number)
            {
                continue;
            }
            let Object::Dict(dict) = self.resolve(&node) else { continue };
            let resources = match self.get(&dict, "Resources") {
                Object::Null => inherited,
                own => own,
            };
            match self.get(&dict, "Kids") {
                Object::Array(kids) => {
                    open.extend(kids.into_iter().rev().map(|kid| (kid, resources.clone())))
                }
                _ if pages.len() < MAX_PAGES => pages.push(Page { dict, resources }),
                _ => return,
            }
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let first = *wanted.first()?;
    let mut at = from;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == first)?;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        at += 1;
    }
}

/// Returns the number of an object, by the place of its `obj`.
fn number_before(bytes: &[u8], at: usize) -> Option<u32> {
    let before = &bytes[at.saturating_sub(24)..at];
    let text: String = before.iter().map(|byte| char::from(*byte)).collect();
    let trimmed = text.trim_end_matches([' ', '\r', '\n', '\t']);
    let (rest, generation) = trimmed.rsplit_once(|c: char| !c.is_ascii_digit())?;
    if generation.is_empty() || generation.len() > 5 {
        return None;
    }
    let rest = rest.trim_end();
    let start = rest.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    rest.get(start..)?.parse().ok()
}
