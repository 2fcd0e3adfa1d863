//! [`SpecialTokens`]: tokens that are matched as a whole in any text, before it is split into words.

use super::vocabulary::{Role, Vocabulary};

/// User-defined tokens of a vocabulary with their texts, the longest first.
pub(super) struct SpecialTokens(Vec<(u32, String)>);

/// Part of a text.
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

    /// Calls `segment` with each part of the text. Plain parts are never empty. The next position of each
    /// token is remembered, so that a text full of one token is not searched again and again for the
    /// others.
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

/// Returns the first position, and the index of its token. The longest token comes first, so it wins a
/// tie.
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
    fn the_first_token_wins_then_the_longest() {
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
    fn a_text_full_of_one_token_is_split_in_linear_time() {
        // Searching for every token at each position would scan hundreds of gigabytes here.
        let others: Vec<String> = (0..100).map(|i| format!("<other_{i}>")).collect();
        let mut names: Vec<&str> = others.iter().map(String::as_str).collect();
        names.push("<tool_call>");
        let text = "<tool_call>".repeat(20_000);
        assert_eq!(split(&names, &text).len(), 20_000);
    }
}
