//! Characters and names of keys, on the keyboard as it is.

/// Names of keys, and the symbols that X11 has for them.
const NAMES: [(&str, u32); 41] = [
    ("return", 0xFF0D),
    ("enter", 0xFF0D),
    ("tab", 0xFF09),
    ("escape", 0xFF1B),
    ("esc", 0xFF1B),
    ("backspace", 0xFF08),
    ("delete", 0xFFFF),
    ("insert", 0xFF63),
    ("home", 0xFF50),
    ("end", 0xFF57),
    ("left", 0xFF51),
    ("up", 0xFF52),
    ("right", 0xFF53),
    ("down", 0xFF54),
    ("pageup", 0xFF55),
    ("page_up", 0xFF55),
    ("pagedown", 0xFF56),
    ("page_down", 0xFF56),
    ("space", 0x20),
    ("plus", 0x2B),
    ("minus", 0x2D),
    ("ctrl", 0xFFE3),
    ("control", 0xFFE3),
    ("shift", 0xFFE1),
    ("alt", 0xFFE9),
    ("super", 0xFFEB),
    ("meta", 0xFFE7),
    ("menu", 0xFF67),
    ("print", 0xFF61),
    ("f1", 0xFFBE),
    ("f2", 0xFFBF),
    ("f3", 0xFFC0),
    ("f4", 0xFFC1),
    ("f5", 0xFFC2),
    ("f6", 0xFFC3),
    ("f7", 0xFFC4),
    ("f8", 0xFFC5),
    ("f9", 0xFFC6),
    ("f10", 0xFFC7),
    ("f11", 0xFFC8),
    ("f12", 0xFFC9),
];

/// Symbol of the shift key.
pub(super) const SHIFT: u32 = 0xFFE1;

/// A place on the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) code: u8,
    pub(super) is_shifted: bool,
}

/// The symbols of all keys.
pub(super) struct Keyboard {
    pub(super) first: u8,
    pub(super) per_key: usize,
    pub(super) symbols: Vec<u32>,
}

/// Returns the symbol of a character.
pub(super) fn symbol(character: char) -> u32 {
    match character {
        '\n' => 0xFF0D,
        '\t' => 0xFF09,
        ' '..='~' | '\u{a0}'..='\u{ff}' => u32::from(character),
        character => 0x0100_0000 + u32::from(character),
    }
}

/// Returns the symbol of a key by name, or by its only character.
pub(super) fn named(name: &str) -> Option<u32> {
    let lower = name.to_lowercase();
    if let Some((_, symbol)) = NAMES.iter().find(|(known, _)| *known == lower) {
        return Some(*symbol);
    }
    let mut characters = name.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Some(symbol(character)),
        _ => None,
    }
}

impl Keyboard {
    /// Returns the key that has a symbol, with or without shift.
    pub(super) fn find(&self, symbol: u32) -> Option<Key> {
        let keys = || (self.first..=u8::MAX).zip(self.symbols.chunks(self.per_key.max(1)));
        let level = |level: usize| {
            keys()
                .find(|(_, symbols)| symbols.get(level) == Some(&symbol))
                .map(|(code, _)| Key { code, is_shifted: level == 1 })
        };
        level(0).or_else(|| level(1))
    }

    /// Returns a key without symbols.
    pub(super) fn unused(&self) -> Option<u8> {
        let mut keys = (self.first..=u8::MAX).zip(self.symbols.chunks(self.per_key.max(1)));
        keys.find(|(_, symbols)| symbols.iter().all(|symbol| *symbol == 0)).map(|(code, _)| code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_found_with_and_without_shift() {
        let keyboard = Keyboard { first: 8, per_key: 2, symbols: vec![0x61, 0x41, 0, 0, 0x32, 0x22] };
        assert_eq!(keyboard.find(symbol('a')), Some(Key { code: 8, is_shifted: false }));
        assert_eq!(keyboard.find(symbol('"')), Some(Key { code: 10, is_shifted: true }));
        assert_eq!(keyboard.find(symbol('€')), None);
        assert_eq!(keyboard.unused(), Some(9));
        assert_eq!((named("Ctrl"), named("c"), named("nope")), (Some(0xFFE3), Some(0x63), None));
    }
}
