//! Tasks of a compound request. It is cut only where both sides are work for different modes.

use super::{
    needs::needs,
    pieces::{Join, Piece, pieces},
};

/// The most tasks of a request.
pub(crate) const MAX_TASKS: usize = 8;

/// The mode for a piece of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Choice {
    /// A number for the mode, equal for equal modes.
    pub(crate) mode: usize,
    pub(crate) confidence: f32,
    /// The mode is the default one.
    pub(crate) is_default: bool,
}

/// A task: the words of the request, its mode, and the places of the tasks that it needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part<'t> {
    pub(crate) text: &'t str,
    pub(crate) choice: Choice,
    pub(crate) needs: Vec<usize>,
}

/// The tasks of a request; one where it is to stay whole. `choose` finds the mode of a piece.
pub(crate) fn split<'t>(text: &'t str, choose: impl Fn(&str) -> Choice) -> Vec<Part<'t>> {
    let pieces = pieces(text);
    let mut groups: Vec<Group> = Vec::new();
    for piece in pieces {
        let core = text.get(piece.core.clone()).unwrap_or_default();
        let choice = choose(core);
        match groups.last_mut() {
            Some(group) if !is_cut(text, group, &piece, choice) => group.add(text, &piece, &choose),
            _ => groups.push(Group { choice, join: piece.join, first: piece.clone(), end: piece.core.end }),
        }
    }
    if groups.len() > MAX_TASKS {
        groups.clear();
    }
    if groups.len() < 2 {
        return vec![Part { text, choice: choose(text), needs: Vec::new() }];
    }
    let texts: Vec<&str> =
        groups.iter().map(|group| text.get(group.first.core.start..group.end).unwrap_or_default()).collect();
    let parts = groups.iter().enumerate().map(|(at, group)| Part {
        text: texts[at],
        choice: group.choice,
        needs: needs(texts.get(..=at).unwrap_or_default(), group.join),
    });
    parts.collect()
}

/// Pieces that are one task.
struct Group {
    choice: Choice,
    join: Join,
    first: Piece,
    end: usize,
}

impl Group {
    fn add(&mut self, text: &str, piece: &Piece, choose: impl Fn(&str) -> Choice) {
        self.end = piece.core.end;
        self.choice = choose(text.get(self.first.core.start..self.end).unwrap_or_default());
    }
}

fn is_cut(text: &str, group: &Group, piece: &Piece, choice: Choice) -> bool {
    if group.choice.mode == choice.mode {
        return false;
    }
    let least = match piece.join {
        Join::Item => 0.3,
        Join::Then | Join::Also => 0.4,
        Join::Sentence => 0.5,
        Join::First | Join::Clause => 0.7,
    };
    let core = text.get(piece.core.clone()).unwrap_or_default();
    let least_of_default =
        if piece.join == Join::Clause || core.split_whitespace().count() < 3 { 2.0 } else { least + 0.1 };
    let is_enough =
        |choice: Choice| choice.confidence >= if choice.is_default { least_of_default } else { least };
    is_enough(group.choice) && is_enough(choice)
}
