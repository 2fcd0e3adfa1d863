//! [`SpecialTokens`]: tokens that are found in any text as a whole, before it is cut into words.

use super::vocabulary::{Role, Vocabulary};

/// The user-defined tokens of a vocabulary with their texts, the longest first.
pub(super) struct SpecialTokens(Vec<(u32, String)>);

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Segment<'a> {
    Plain(&'a str),
    Token(u32),
}

impl SpecialTokens {
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let text = |token| std::str::from_utf8(vocabulary.bytes(token)).ok().filter(|text| !text.is_empty());
        let mut tokens: Vec<(u32, String)> = vocabulary
            .with_role(Role::UserDefined)
            .filter_map(|token| Some((token, text(token)?.to_owned())))
            .collect();
        tokens.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
        Self(tokens)
    }

    /// Calls `segment` with each part of the text; plain parts are never empty. Where each token comes next is
    /// remembered, so that a text full of one of them is not searched for the others again and again.
    pub(super) fn split<'a>(&self, text: &'a str, segment: &mut dyn FnMut(Segment<'a>)) {
        let mut places: Vec<Option<usize>> = self.0.iter().map(|(_, name)| text.find(name)).collect();
        let mut at = 0;
        while let Some((start, which)) = first(&places) {
            let (token, name) = &self.0[which];
            if start > at {
                segment(Segment::Plain(&text[at..start]));
            }
            segment(Segment::Token(*token));
            at = start + name.len();
            for (place, (_, name)) in places.iter_mut().zip(&self.0) {
                if place.is_some_and(|place| place < at) {
                    *place = text[at..].find(name).map(|found| at + found);
                }
            }
        }
        if at < text.len() {
            segment(Segment::Plain(&text[at..]));
        }
    }
}

/// The first place, and whose it is; of several the longest token's, which comes first.
fn first(places: &[Option<usize>]) -> Option<(usize, usize)> {
    let places = places.iter().enumerate();
    places.filter_map(|(which, place)| Some(((*place)?, which))).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split<'a>(names: &[&str], text: &'a str) -> Vec<Segment<'a>> {
        let tokens = SpecialTokens((0..).zip(names.iter().map(|name| (*name).to_owned())).collect());
        let mut all = Vec::new();
        tokens.split(text, &mut |segment| all.push(segment));
        all
    }

    #[test]
    fn the_first_wins_and_at_one_place_the_longest() {
        use Segment::{Plain, Token};
        let names = ["<tool_call>", "<tool>", "<t"];
        assert_eq!(
            split(&names, "a<tool>b<t<tool_call>"),
            [Plain("a"), Token(1), Plain("b"), Token(2), Token(0)]
        );
        assert_eq!(split(&["aba", "bb"], "ababb"), [Token(0), Token(1)]);
        assert_eq!(split(&names, ""), []);
        assert_eq!(split(&[], "x"), [Plain("x")]);
    }

    #[test]
    fn a_text_full_of_one_token_is_read_in_one_go() {
        // With every token searched for anew at each place, this would look at some hundred gigabytes.
        let others: Vec<String> = (0..100).map(|i| format!("<other_{i}>")).collect();
        let mut names: Vec<&str> = others.iter().map(String::as_str).collect();
        names.push("<tool_call>");
        let text = "<tool_call>".repeat(20_000);
        assert_eq!(split(&names, &text).len(), 20_000);
    }
}
