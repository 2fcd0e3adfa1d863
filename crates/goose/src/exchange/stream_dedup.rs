//! [`StreamDedup`]: keeps track of the text of an answer that was shown, so that a retry does not show it
//! twice.

use super::Event;

/// Kind of text in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thinking,
}

/// Text that was shown since the model was first asked. Adjacent pieces are of different kinds.
#[derive(Debug, Default)]
pub(super) struct StreamDedup {
    pieces: Vec<(Kind, String)>,
    /// End of the part that the new answer has repeated so far; none if there is nothing left to repeat.
    repeated: Option<Place>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Place {
    piece: usize,
    byte: usize,
}

impl StreamDedup {
    /// Starts a new attempt, which is expected to repeat the text that was shown.
    pub(super) fn again(&mut self) {
        self.repeated = (!self.pieces.is_empty()).then(Place::default);
    }

    /// Returns all answer text that was shown, without reasoning.
    pub(super) fn text(&self) -> String {
        let texts = self.pieces.iter().filter(|(kind, _)| *kind == Kind::Text);
        texts.map(|(_, text)| text.as_str()).collect()
    }

    /// Adds text of the answer. Returns the events that show it.
    pub(super) fn more(&mut self, kind: Kind, text: String) -> Vec<Event> {
        let Some(mut place) = self.repeated else {
            self.push(kind, &text);
            return vec![event(kind, text)];
        };
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let Some((shown_kind, shown)) = self.pieces.get(place.piece) else {
                self.repeated = None;
                self.push(kind, rest);
                return vec![event(kind, rest.to_owned())];
            };
            let expected = &shown.as_bytes()[place.byte..];
            let common = expected.len().min(rest.len());
            if *shown_kind != kind || expected[..common] != rest.as_bytes()[..common] {
                return self.differs(place, kind, rest);
            }
            rest = &rest[common..];
            place = match common == expected.len() {
                true => Place { piece: place.piece + 1, byte: 0 },
                false => Place { byte: place.byte + common, ..place },
            };
        }
        self.repeated = Some(place);
        Vec::new()
    }

    /// Ends the answer. If it is shorter than the text that was shown, it replaces that.
    pub(super) fn end(&mut self) -> Vec<Event> {
        match self.repeated {
            Some(place) if place.piece < self.pieces.len() => self.differs(place, Kind::Text, ""),
            _ => Vec::new(),
        }
    }

    /// Shows a new answer that differs, from its start.
    fn differs(&mut self, place: Place, kind: Kind, rest: &str) -> Vec<Event> {
        self.repeated = None;
        self.pieces.truncate(place.piece + 1);
        if let Some((_, piece)) = self.pieces.get_mut(place.piece) {
            piece.truncate(place.byte);
        }
        self.pieces.retain(|(_, piece)| !piece.is_empty());
        self.push(kind, rest);
        let pieces = self.pieces.iter().map(|(kind, text)| event(*kind, text.clone()));
        std::iter::once(Event::Restarted).chain(pieces).collect()
    }

    fn push(&mut self, kind: Kind, text: &str) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some((last, shown)) if *last == kind => shown.push_str(text),
            _ => self.pieces.push((kind, text.to_owned())),
        }
    }
}

fn event(kind: Kind, text: String) -> Event {
    match kind {
        Kind::Text => Event::Text(text),
        Kind::Thinking => Event::Thinking(text),
    }
}

#[cfg(test)]
#[path = "stream_dedup_tests.rs"]
mod tests;
