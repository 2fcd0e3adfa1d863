//! [`RequestBody`]: the JSON of a request, written once from front to back. What changes from turn to turn comes last.

use serde::Serialize;

/// Initial capacity of a request.
const USUAL_BYTES: usize = 8 * 1024;

/// A request in the making: an object to which lists are added.
pub(super) struct RequestBody(Vec<u8>);

impl RequestBody {
    /// Begins with the fields of a head, which is an object and has at least one.
    pub(super) fn new(head: &impl Serialize) -> Self {
        let mut out = Vec::with_capacity(USUAL_BYTES);
        write_json(&mut out, head);
        // The head goes on.
        out.pop();
        Self(out)
    }

    /// The same with a list; where nothing is in it, without.
    pub(super) fn list<T: Serialize>(self, name: &str, elements: impl IntoIterator<Item = T>) -> Self {
        let mut elements = elements.into_iter().peekable();
        if elements.peek().is_none() {
            return self;
        }
        self.written_list(name, |out| elements.for_each(|element| write_element(out, &element)))
    }

    /// The same with a list of what `write` writes: elements with a comma before each.
    pub(super) fn written_list(mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let out = &mut self.0;
        out.extend_from_slice(b",\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":[");
        let start = out.len();
        write(out);
        if out.get(start) == Some(&b',') {
            out.remove(start);
        }
        out.push(b']');
        self
    }

    /// The whole of it.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// Appends an element of a list, with the comma before it.
pub(super) fn write_element(out: &mut Vec<u8>, value: &impl Serialize) {
    out.push(b',');
    write_json(out, value);
}

/// Nothing that is written here can fail to be JSON; if it did, it would be `null`.
fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}
