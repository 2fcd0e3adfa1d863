//! Tells requests in English from others. The training examples are in English, so others go to the default agent.

use crate::{
    lexicon::{self, lookup},
    words::Word,
};

/// The table of `data/frequent_words.txt`: frequent short words of English, and those of other languages in Latin
/// letters.
const FREQUENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/frequent_words.bin"));

/// The classes of words in the table.
const ENGLISH: u64 = 1;
const OTHER: u64 = 2;

/// Returns true if a text is not English, as far as its letters and frequent words tell. `is_known` knows the training
/// words.
pub(crate) fn is_foreign(text: &str, words: &[Word], is_known: impl Fn(&Word) -> bool) -> bool {
    let (mut latin, mut marked, mut others) = (0_usize, 0_usize, 0_usize);
    for c in text.chars().take(2_000).filter(|c| c.is_alphabetic()) {
        match c {
            'a'..='z' | 'A'..='Z' => latin += 1,
            '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => marked += 1,
            _ => others += 1,
        }
    }
    if others * 4 > latin {
        return true;
    }
    let (mut english, mut foreign) = (0.0_f32, 0.0_f32);
    for word in words.iter().take(200).filter(|word| !word.stem.starts_with('<')) {
        let classes = lookup(FREQUENT, &word.shown);
        match (classes & ENGLISH != 0, classes & OTHER != 0) {
            (true, false) => english += 1.0,
            (false, true) => foreign += 1.0,
            (true, true) => {}
            (false, false) if !word.shown.is_ascii() => foreign += 0.7,
            // Names of techniques are the same in all languages.
            (false, false) if lexicon::classes(&word.stem) & *lexicon::TECHNICAL != 0 => {}
            (false, false) if is_known(word) => english += 0.6,
            (false, false) if word.shown.bytes().all(|byte| byte.is_ascii_alphabetic()) => foreign += 0.3,
            (false, false) => {}
        }
    }
    let is_marked = marked * 12 > latin;
    foreign > english && (foreign >= 0.8 || is_marked)
}
